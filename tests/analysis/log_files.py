"""Logs as files, for the tests of their readers. The name says nothing: what a file is, its content says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl


def file(folder: Path, text: str | bytes) -> Path:
    path = folder / "log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def written(folder: Path, columns: dict[str, list[Any]], kind: str) -> Path:
    frame, path = pl.DataFrame(columns, strict=False), folder / "log"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](path)
    return path
