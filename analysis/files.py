"""Writing files: whole or not at all, and never over something that is not a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fltheory.errors import InputError


def write_text(path: Path, text: str) -> None:
    """Write under a temporary name, then rename: a reader never sees half a file."""
    partial = new_file_beside(path)
    partial.write_text(text, encoding="utf-8")
    partial.chmod(0o644)
    os.replace(partial, path)


def require_writable(path: Path) -> None:
    """Raise InputError unless a file can be written there: before the work, not after it. Leaves nothing behind."""
    _require_name(path)
    absent = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    new_file_beside(path).unlink()
    for folder in absent:  # the innermost first
        folder.rmdir()


def new_file_beside(path: Path) -> Path:
    """An empty temporary file in the folder of `path`, which is made if need be; to be renamed to `path`.

    Raises InputError if there can be none, or if `path` is a folder, a device or anything else but a file.
    """
    _require_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError("output file", str(path), f"a path that can be written ({error.strerror})") from None
    os.close(handle)
    return Path(name)


def _require_name(path: Path) -> None:
    try:
        good = bool(path.name) and (path.is_file() or not path.exists())
    except OSError:  # a name that is too long
        good = False
    if not good:
        raise InputError("output file", str(path), "the name of a file")
