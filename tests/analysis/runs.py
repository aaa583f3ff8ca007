"""Runs of experiment files with made-up numbers, for the tests of figures and tables; neither data nor torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sims import store as stored
from sims.experiment import read_without_data
from sims.recorder import PER_CLIENT

Value = Callable[[int, int, int], float]  # of algorithm, seed and round, all numbers


def made_up(file: str, scale: str, store: Path, value: Value | None = None, partial: str = "") -> stored.Run:
    """Keep a run of the file in the store, whose every metric has these values; noise without them."""
    return _kept(read_without_data(file, scale), store, value, partial)


def _kept(experiment: dict[str, Any], store: Path, value: Value | None, partial: str) -> stored.Run:
    if experiment["kind"] == "train":
        experiment["problem"]["data_hash"] = "0" * 64
    if isinstance(experiment["start"], dict):  # with the last models of another run
        experiment["start"]["run"] = _kept(experiment["start"]["run"], store, None, "").key
    rng = np.random.default_rng(0)
    every, rounds = experiment["record"]["every"], experiment["rounds"]
    at = sorted({*range(0, rounds, every), rounds})
    rows = [
        {"algorithm": one["label"], "replicate": seed, "round": t}
        | {
            column: float(rng.uniform(0.2, 0.8)) if value is None else value(k, seed, t)
            for what in experiment["record"]["what"]
            for column in _columns(what, experiment)
        }
        for k, one in enumerate(experiment["algorithm"])
        for seed in range(experiment["replicates"])
        for t in at
    ]
    key = hashlib.sha256(json.dumps(experiment, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return stored.save(store, key, experiment, pl.DataFrame(rows), partial)


def _columns(what: str, experiment: dict[str, Any]) -> list[str]:
    """The columns of a metric; one for each client where it is a vector of them."""
    if what not in PER_CLIENT:
        return [what]
    return [f"{what}_{n}" for n in range(experiment["problem"]["partition"]["n_clients"])]
