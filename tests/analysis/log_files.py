"""Logs as files, for the tests of their readers. The name says nothing: what a file is, its content says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from analysis.traces import Log


def file(folder: Path, text: str | bytes) -> Path:
    path = folder / "log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def written(folder: Path, columns: dict[str, list[Any]], kind: str) -> Path:
    frame, path = pl.DataFrame(columns, strict=False), folder / "log"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](path)
    return path


def require_whole_in_blocks(log: Log) -> None:
    """The parts of a log, one after the other, are the log."""
    parts = [part for _, part in log.blocks()]
    assert sum((part.clients for part in parts), ()) == log.clients
    told = [part.history(range(part.n_clients)) for part in parts]
    assert np.array_equal(np.concatenate(told, axis=2), log.history(range(log.n_clients)))
