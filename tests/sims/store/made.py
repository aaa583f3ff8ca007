"""Two experiments and data for them."""

import hashlib
import json

import numpy as np
import polars as pl

EXPERIMENT = {
    "seed": 3,
    "rounds": 2,
    "replicates": 3,
    "problem": {"name": "quadratic"},
    "process": {"name": "markov"},
    "algorithm": [{"label": "a"}, {"label": "b"}],
}
SECOND = {**EXPERIMENT, "rounds": 5, "process": {"name": "cyclic"}}


def key_of(experiment):
    """What `sims.experiment` makes of a canonical form."""
    return hashlib.sha256(json.dumps(experiment, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


KEY, OTHER = key_of(EXPERIMENT), key_of(SECOND)


def frame(shift=0.0, rows=6):
    return pl.DataFrame(
        {
            "algorithm": ["a", "b"] * (rows // 2),
            "replicate": np.arange(rows) // 2,
            "round": np.zeros(rows, dtype=np.int64),
            "gap": np.arange(rows) / 7 + shift,
            "size": [None, *range(1, rows)],
        }
    ).with_columns(pl.col("size").cast(pl.Float64))
