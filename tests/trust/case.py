"""A case of malformed input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """A command line, and the files that lie where it is run."""

    arguments: list[str]
    files: Mapping[str, bytes] = field(default_factory=dict)
