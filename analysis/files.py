"""Writing files: whole or not at all, and never over something that is not a file."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fltheory.errors import InputError


def write_text(path: Path, text: str) -> None:
    """Write the whole file or none of it."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name to write under, which is then renamed to `path`: a reader never sees half a file."""
    partial = new_file_beside(path)
    try:
        yield partial
        partial.chmod(0o644)
        os.replace(partial, path)
    except OSError as error:
        reason = error.strerror or str(error).partition("\n")[0]  # polars gives its errors no number
        raise InputError("output file", str(path), f"a path that can be written ({reason})") from None
    finally:
        partial.unlink(missing_ok=True)


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows by names of columns as the text of a CSV file; what a row lacks is empty."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def require_writable(path: Path) -> None:
    """Raise InputError unless a file can be written there: before the work, not after it. Leaves nothing behind."""
    new_file_beside(path).unlink()


def require_other(argument: str, path: Path, read: Iterable[Path]) -> None:
    """Raise InputError if writing to `path` would replace one of the files that are read."""
    if any(one.exists() and path.exists() and path.samefile(one) for one in read):
        raise InputError(argument, str(path), "another file than what is read")


def new_file_beside(path: Path) -> Path:
    """An empty temporary file in the folder of `path`, to be renamed to `path`.

    Raises InputError if there can be none, as in a folder that is not there: a misspelt name must not make one. Also
    if `path` is a folder, a device or anything else but a file.
    """
    _require_name(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        why = "in a folder that is there" if not path.parent.exists() else f"that can be written ({error.strerror})"
        raise InputError("output file", str(path), f"a path {why}") from None
    os.close(handle)
    return Path(name)


def make_folder(path: Path) -> None:
    """Make a folder for output, and those around it, unless it is there. Raises InputError where that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("output folder", str(path), f"a folder that can be made ({error.strerror})") from None


def _require_name(path: Path) -> None:
    try:
        good = bool(path.name) and (path.is_file() or not path.exists())
    except OSError:  # a name that is too long
        good = False
    if not good:
        raise InputError("output file", str(path), "the name of a file")
