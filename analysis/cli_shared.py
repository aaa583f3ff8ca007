"""What the modules of the command line share: exit codes and options."""

from __future__ import annotations

from typing import Annotated

import typer

DONE, DIFFERS, BAD_INPUT, CLOSED_PIPE = 0, 1, 2, 141

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
