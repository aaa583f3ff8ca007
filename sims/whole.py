"""Files that are there whole or not at all, whatever stops their writing: a full disk, Ctrl-C, kill -9."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A name to write to, which becomes `target` at the end; if that is not reached, nothing is left of it.

    Only a kill leaves a .tmp file, which nobody reads. Its name has the process in it, out of the way of another one
    that writes the same.
    """
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        os.replace(unfinished, target)
    except OSError as error:
        error.filename = str(target)  # a full disk names none
        raise
    finally:
        unfinished.unlink(missing_ok=True)
