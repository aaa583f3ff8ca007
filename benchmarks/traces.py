"""Seconds and peak memory of making, writing and reading logs of a million clients, each case in its own process.

Run `python benchmarks/traces.py`. A million clients over 1000 rounds, so 10^9 client-rounds, of which 10^5 to 10^7 are
participations. Goals: cost linear in the rows (an exponent of about 1); memory for rows and clients alone, at most 200
bytes for each further row, whatever the number of client-rounds.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CLIENTS, ROUNDS = 10**6, 1000
SIZES = (10**5, 10**6, 10**7)  # participations
KINDS = ("csv", "parquet", "jsonl")


def usage() -> tuple[float, float]:
    """Processor seconds and peak memory of this process in MiB."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, else in KiB
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def write_events(path: Path, participations: int) -> int:
    """Participations at random, a row each, in no order."""
    import polars as pl

    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {name: rng.integers(0, n, participations) for name, n in (("client", CLIENTS), ("round", ROUNDS))}
    )
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}[path.suffix](path)
    return participations


def simulate(path: Path, participations: int) -> int:
    """As `fltheory trace simulate` does: a row for each run on and each run off."""
    from analysis.traces import write_log
    from analysis.traces.made import from_process
    from fltheory.participation import Bernoulli

    log = from_process(Bernoulli(np.full(CLIENTS, participations / CLIENTS / ROUNDS)), ROUNDS, seed=0)
    write_log(log, path)
    return len(log.client)


def read(path: Path, participations: int) -> int:
    """Of all clients and rounds; the rows of the file."""
    from analysis.traces import read_log

    return read_log(path, clients=CLIENTS, rounds=ROUNDS).n_rows


def report(path: Path, participations: int) -> int:
    """What `fltheory weights` computes."""
    from analysis.traces import read_log
    from analysis.weights_report import weights_report

    return weights_report(read_log(path, clients=CLIENTS, rounds=ROUNDS), 50).log.n_rows


def measure(what: str, path: Path, participations: int) -> tuple[int, float, float]:
    """Rows, processor seconds without those of imports, and peak memory in MiB."""
    import analysis.traces.made
    import analysis.weights_report  # noqa: F401

    before, _ = usage()
    rows = globals()[what](path, participations)
    after, peak = usage()
    return rows, after - before, peak


def main() -> None:
    print(f"{CLIENTS:,} clients, {ROUNDS} rounds")
    print(f"{'':>28} {'participations':>14} {'rows':>10} {'seconds':>8} {'peak MiB':>8}")
    cases = [("write_events", "read", kind) for kind in KINDS] + [
        ("simulate", "read", "parquet"),
        ("", "report", "parquet"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for making, reading, kind in cases:
            found = []
            for size in SIZES:
                path = Path(folder) / f"log-{size}.{kind}"
                for what in filter(None, (making, reading)):
                    with multiprocessing.get_context("spawn").Pool(1) as pool:
                        rows, cpu, peak = pool.apply(measure, (what, path, size))
                    print(f"{what + ' ' + kind:>28} {size:14,} {rows:10,} {cpu:8.2f} {peak:8.0f}")
                found.append((rows, cpu, peak))
            (few, fast, small), (many, slow, large) = found[-2:]
            exponent = np.log(slow / fast) / np.log(many / few)
            print(f"{'':>28} exponent {exponent:.2f}, {(large - small) * 2**20 / (many - few):.0f} bytes a further row")


if __name__ == "__main__":
    main()
