"""Whether every file under its final name is whole."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from sims import store as stored


def unsound(folder: Path) -> list[str]:
    """The files below a folder that are not whole, and runs whose data are not what their manifest says."""
    bad = [name for name, file in finished(folder).items() if not _whole(file)]
    for manifest in sorted(folder.rglob("complete.json")):
        try:
            stored.find(manifest.parent, folder).data()
        except ValueError as error:
            bad.append(str(error))
    return bad


def finished(folder: Path) -> dict[str, Path]:
    """The files under their final names, by their paths below a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    below = {file.relative_to(folder): file for file in files}
    return {str(path): file for path, file in below.items() if not any(map(_is_temporary, path.parts))}


def unfinished(folder: Path) -> list[str]:
    """Files and folders under temporary names."""
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if _is_temporary(path.name)]


def _is_temporary(name: str) -> bool:
    return name.endswith(".tmp") or name.startswith(".")


def _whole(file: Path) -> bool:
    try:
        return HOW[file.suffix](file) if file.suffix in HOW else True
    except Exception:  # cut short, in one of a dozen ways
        return False


def _archive(file: Path) -> bool:
    with zipfile.ZipFile(file) as archive:
        return archive.testzip() is None


def _ends_with(end: bytes) -> Callable[[Path], bool]:
    return lambda file: file.read_bytes().rstrip().endswith(end)


HOW: dict[str, Callable[[Path], bool]] = {
    ".json": lambda file: json.loads(file.read_bytes()) is not ...,
    ".npz": _archive,
    ".parquet": lambda file: pl.read_parquet(file).height >= 0,
    ".png": _ends_with(b"IEND\xaeB`\x82"),
    ".svg": _ends_with(b"</svg>"),
    ".pdf": _ends_with(b"%%EOF"),
    ".html": _ends_with(b"</html>"),
    ".csv": lambda file: file.read_bytes().endswith(b"\n"),
    ".md": lambda file: file.read_bytes().endswith(b"\n"),
}
