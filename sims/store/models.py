"""The models that a run ended with, kept beside its data where its experiment asks for them: others begin with them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, one_of
from sims.store.files import Run
from sims.whole import whole

FILE = "models.npz"


def name_of(algorithm: int, replicate: int) -> str:
    """What a model is called in the file."""
    return f"{algorithm}-{replicate}"


def save_models(folder: Path, models: Mapping[str, npt.NDArray[Any]]) -> str:
    """Write the models (d,) of a run into its folder, before its manifest; the hash of what they are."""
    with whole(folder / FILE) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **models)  # type: ignore[arg-type]
    return _hash(models)


def models_of(run: Run, label: str | None = None) -> list[npt.NDArray[Any]]:
    """The models (d,) of an algorithm of a run, one for each replicate; without a label of the only one.

    Raises InputError if the run has kept none, was stopped before its end, or they are not what its manifest says.
    """
    about = run.key[:12]
    if run.models is None:
        raise InputError("run to start from", about, "one that keeps its models (final_model = true in its [record])")
    labels = [str(contestant["label"]) for contestant in run.experiment["algorithm"]]
    if label is None and len(labels) > 1:
        raise InputError("start.algorithm", label, f"given, as the run has several: {', '.join(labels)}")
    if label is not None and label not in labels:
        raise InputError("start.algorithm", label, one_of(label, labels))
    index = labels.index(label) if label is not None else 0
    try:
        with (run.folder / FILE).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            models = dict(arrays)
    except Exception:  # a damaged file fails in a dozen ways
        models = {}
    if _hash(models) != run.models:
        raise InputError("run to start from", about, f"one whose models are what its manifest says ({FILE} differs)")
    names = [name_of(index, replicate) for replicate in range(run.experiment["replicates"])]
    for name in names:
        if name not in models:
            raise InputError("run to start from", about, f"one that came to its end ({run.reason})")
    return [models[name] for name in names]


def _hash(models: Mapping[str, npt.NDArray[Any]]) -> str:
    """SHA-256 of names, types and values."""
    digest = hashlib.sha256()
    for name in sorted(models):
        digest.update(f"\n{name} {models[name].dtype} {models[name].shape}\n".encode())
        digest.update(np.ascontiguousarray(models[name]).tobytes())
    return digest.hexdigest()
