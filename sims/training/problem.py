"""Training as it stands in an experiment file: data, a model and a partition, by name.

    [problem]
    name = "training"
    data = "fashion-mnist"                # sims.data
    model = "fedau-fashion"               # sims.training.models, with its parameters: { name = "mlp", widths = [...] }
    partition = { name = "dirichlet", n_clients = 250, alpha = 0.1 }    # sims.training.partition

Listing and checking names needs no torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fltheory.errors import InputError, count, one_of
from fltheory.streams import stream

if TYPE_CHECKING:
    from sims.data import LabelledData
    from sims.training.task import Task

PRECISIONS = ("float32", "float64")


def training(
    data: Any,
    model: Any,
    partition: Any,
    batch: int = 16,
    replacement: bool = True,
    augmentation: str = "none",
    per_image: bool = True,
    weight_decay: float = 0.0,
    train_samples: int | None = None,
    test_samples: int | None = None,
    precision: Literal["float32", "float64"] = "float32",
    engine: str = "auto",
    device: str = "cpu",
    data_hash: str | None = None,
    seed: int | None = None,
) -> Task:
    """The task (`sims.training.task.Task`) of these parts.

    data            name of a data set in the cache, or a table with its options
    model           name of a model, or a table with its parameters; what the data determine need not be given
    partition       name of a scheme with its parameters, but for the seed
    train_samples, test_samples   use so many, drawn without replacement; None for all
    data_hash       the hash that the data must have
    seed            of the partition, the model's first parameters, and the samples that are used; in an experiment
                    every replicate has its own unless it is given

    Images are normalised with the mean and the standard deviation of each channel over the training images.
    Raises InputError for unknown names, data of another hash, and parameters that do not fit together.
    """
    try:
        import torch
    except ImportError:
        raise InputError("problem", "training", "asked for with torch installed (the extra `training`)") from None
    from sims.training import models
    from sims.training.partition import split
    from sims.training.task import Task, a_device

    if precision not in PRECISIONS:
        raise InputError("precision", precision, one_of(str(precision), PRECISIONS))
    a_device(device)  # before anything heavy
    seed = count("seed", seed or 0, least=0)
    name, options = _named("data", data)
    labelled = loaded(name, **options)
    if data_hash is not None and labelled.hash != data_hash:
        raise InputError(f"hash of {name}", labelled.hash, f"{data_hash}, that of the data which the experiment names")
    arrays = _arrays(name, tuple(sorted(options.items())), precision, device)
    chosen = _chosen("train_samples", train_samples, len(labelled.train_labels), seed)
    tested = _chosen("test_samples", test_samples, len(labelled.test_labels), seed)
    labels = np.asarray(labelled.train_labels)[chosen]
    groups = None if labelled.groups is None else np.asarray(labelled.groups)[chosen]
    scheme, parameters = _named("partition", partition)
    if scheme != "natural":
        parameters = {"seed": seed, **parameters}
    parts = split(scheme, labels, groups=groups, **parameters)
    model_name, given = _named("model", model)
    module = models.make(model_name, seed=seed, **_implied(model_name, given, labelled)).to(getattr(torch, precision))
    return Task(
        module,
        arrays["train_inputs"][chosen],
        arrays["train_labels"][chosen],
        parts.clients,
        test=(arrays["test_inputs"][tested], arrays["test_labels"][tested]),
        partition=parts,
        batch=batch,
        replacement=replacement,
        augmentation=augmentation,
        per_image=per_image,
        mean=arrays.get("mean"),
        std=arrays.get("std"),
        weight_decay=weight_decay,
        engine=engine,
        device=device,
    )


@lru_cache(maxsize=4)
def loaded(name: str, **options: Any) -> LabelledData:
    """`sims.data.load`, once a process."""
    from sims import data

    return data.load(name, **options)


def hash_of(data: Any) -> str:
    """The hash of the data that an experiment names."""
    name, options = _named("data", data)
    return loaded(name, **options).hash


@lru_cache(maxsize=2)
def _arrays(name: str, options: tuple[tuple[str, Any], ...], precision: str, device: str) -> dict[str, Any]:
    """The data as tensors on the device; images (n, C, H, W) normalised."""
    import torch

    labelled = loaded(name, **dict(options))
    kind = getattr(torch, precision)
    found: dict[str, Any] = {}
    for part in ("train", "test"):
        inputs = np.asarray(getattr(labelled, f"{part}_inputs"))
        found[f"{part}_labels"] = torch.from_numpy(np.array(getattr(labelled, f"{part}_labels"))).to(device)
        if inputs.ndim != 4:
            tokens = inputs.dtype.kind in "iu"
            found[f"{part}_inputs"] = torch.from_numpy(np.array(inputs)).to(device, torch.int64 if tokens else kind)
            continue
        images = torch.from_numpy(np.array(inputs)).to(device).permute(0, 3, 1, 2).contiguous().to(kind) / 255
        if part == "train":
            std, mean = torch.std_mean(images.to(torch.float64), dim=(0, 2, 3), correction=0)
            found |= {"mean": mean.tolist(), "std": std.clamp(min=1e-8).tolist()}
        shift, scale = (torch.tensor(found[of], dtype=kind, device=device)[:, None, None] for of in ("mean", "std"))
        found[f"{part}_inputs"] = (images - shift) / scale
    return found


def _implied(name: str, given: Mapping[str, Any], labelled: LabelledData) -> dict[str, Any]:
    """The parameters of a model, those that the data determine included."""
    from sims import data
    from sims.training import models

    known = models.models()
    if name not in known:
        raise InputError("model", name, one_of(name, known))
    wanted = inspect.signature(known[name]).parameters
    shape = labelled.train_inputs.shape[1:]
    implied: dict[str, Any] = {"classes": labelled.n_classes}
    if len(shape) == 3:
        implied |= {"size": shape[0], "channels": shape[2]}
    if labelled.vocabulary is None:
        implied["d"] = int(np.prod(shape))
    else:
        implied["vocabulary"] = len(labelled.vocabulary)
        if "vectors" in wanted:
            implied["vectors"] = data.word_vectors(labelled.vocabulary)[0]
    return {key: value for key, value in implied.items() if key in wanted} | dict(given)


def _named(what: str, given: Any) -> tuple[str, dict[str, Any]]:
    """A name and its parameters; the name alone will do."""
    table = {"name": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError(what, given, "a name, or a table with a name and parameters")
    return table["name"], {key: value for key, value in table.items() if key != "name"}


def _chosen(what: str, wanted: int | None, there: int, seed: int) -> Any:
    """Which samples are used: indices in order, or all of them."""
    if wanted is None:
        return slice(None)
    if count(what, wanted) > there:
        raise InputError(what, wanted, f"at most {there}, the number of samples")
    return np.sort(stream(seed, f"training.{what}").permutation(there)[:wanted])
