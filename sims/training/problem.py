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
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count, one_of
from fltheory.streams import stream
from sims.refusals import is_out_of_memory, loading, reason_of
from sims.training.partition import Partition, split
from sims.training.precision import SHORT, kept_in, require_short

if TYPE_CHECKING:
    from torch import nn

    from sims.data import LabelledData
    from sims.training.task import Task


LATER = {
    "memory": "device",
    "buffers": "refuse",
    "client_weights": "uniform",
}  # options that came after runs were kept: at these defaults no key knows of them


def require_torch() -> None:
    """Raise InputError where torch is not installed, or cannot be loaded."""
    with loading("torch", "problem", "training"):
        import torch  # noqa: F401


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
    precision: Literal["float32", "float64", "tf32", "bf16"] = "float32",
    engine: str = "auto",
    device: str = "cpu",
    data_hash: str | None = None,
    seed: int | None = None,
    memory: Literal["device", "host", "disk"] = "device",
    buffers: Literal["refuse", "keep", "average"] = "refuse",
    client_weights: Literal["uniform", "data_size"] = "uniform",
) -> Task:
    """The task (`sims.training.task.Task`) of these parts.

    data            name of a data set in the cache, or a table with its options
    model           name of a model, or a table with its parameters; what the data determine need not be given
    partition       name of a scheme with its parameters, but for the seed; of the natural clients of the data all, or
                    n_groups drawn at random, of `least` samples or more
    precision       of models, and of products in the clients' gradients (`sims.training.precision`)
    train_samples, test_samples   use so many, drawn without replacement; None for all
    data_hash       the hash that the data must have
    seed            of the partition, the model's first parameters, and the samples that are used; in an experiment
                    every replicate has its own unless it is given
    memory          where tables with a row for each client are kept (`sims.training.tables`)
    buffers         what becomes of a model's buffers (`sims.training.buffers`)
    client_weights  what clients count in the objective: all the same, or by their samples (`sims.training.samples`)

    Images are normalised with the mean and the standard deviation of each channel over the training images.
    Raises InputError for unknown names, data of another hash, and parameters that do not fit together.
    """
    require_torch()
    import torch

    from sims.training.task import Task, a_device

    kept, short = kept_in(precision), precision if precision in SHORT else None
    require_short(short, a_device(device), getattr(torch, kept))  # before anything heavy
    seed = count("seed", seed or 0, least=0)
    shared = divided(data, partition, train_samples, test_samples, data_hash, seed)
    name, options = _named("data", data)
    arrays = _arrays(name, tuple(sorted(options.items())), kept, device)
    module = made_or_refused(model, shared.labelled, seed).to(getattr(torch, kept))
    return Task(
        module,
        _of(arrays["train_inputs"], shared.train),
        _of(arrays["train_labels"], shared.train),
        shared.partition.clients,
        test=(_of(arrays["test_inputs"], shared.test), _of(arrays["test_labels"], shared.test)),
        partition=shared.partition,
        batch=batch,
        replacement=replacement,
        augmentation=augmentation,
        per_image=per_image,
        mean=arrays.get("mean"),
        std=arrays.get("std"),
        weight_decay=weight_decay,
        engine=engine,
        device=device,
        memory=memory,
        buffers=buffers,
        short=short,
        client_weights=client_weights,
    )


@dataclass(frozen=True)
class Divided:
    """A data set, the numbers of its samples that are used, in order, and who holds which of those for training."""

    labelled: LabelledData
    train: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]
    partition: Partition


def divided(
    data: Any, scheme: Any, train_samples: int | None, test_samples: int | None, data_hash: str | None, seed: int
) -> Divided:
    """Who holds what, of the labels alone: no sample is read. Raises InputError as `training` does."""
    name, options = _named("data", data)
    labelled = _load(name, options)
    if data_hash is not None and labelled.hash != data_hash:
        raise InputError("data_hash", data_hash, f"the hash of {name}, {labelled.hash}")
    named, parameters = _named("partition", scheme)
    there = {"train": np.arange(len(labelled.train_labels)), "test": np.arange(len(labelled.test_labels))}
    if named != "natural":
        parameters = {"seed": seed, **parameters}
    elif unknown := sorted(parameters.keys() - {"n_groups", "least"}):
        raise InputError("parameters of natural", unknown[0], one_of(unknown[0], ["n_groups", "least"]))
    elif "least" in parameters and "n_groups" not in parameters:
        raise InputError("least", parameters["least"], "left out, or given beside n_groups: the groups that are drawn")
    elif "n_groups" in parameters:
        drawn = {key: parameters.pop(key) for key in ("n_groups", "least") if key in parameters}
        there = _of_groups(labelled, labelled.only_groups(seed=seed, **drawn).group_names)
    chosen = _chosen("train_samples", train_samples, there["train"], seed)
    tested = _chosen("test_samples", test_samples, there["test"], seed)
    labels = np.asarray(labelled.train_labels)[chosen]
    groups = None if labelled.groups is None else np.asarray(labelled.groups)[chosen]
    return Divided(labelled, chosen, tested, split(named, labels, groups=groups, **parameters))


def module_of(model: Any, labelled: LabelledData, seed: int) -> nn.Module:
    """The model of this name, or of a table with its parameters; what the data determine need not be given."""
    from sims.training import models

    name, given = _named("model", model)
    return models.make(name, seed=seed, **_implied(name, given, labelled))


def made_or_refused(model: Any, labelled: LabelledData, seed: int) -> nn.Module:
    """`module_of`, where whatever the factory raises, which may be the user's, is an InputError that says so."""
    try:
        return module_of(model, labelled, seed)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        allowed = "one that fits into memory" if is_out_of_memory(error) else "one that its factory makes"
        raise InputError("model", _named("model", model)[0], f"{allowed} ({reason_of(error)})") from error


@lru_cache(maxsize=4)
def loaded(name: str, **options: Any) -> LabelledData:
    """`sims.data.load`, once a process, of data that are still what was fetched."""
    from sims import data

    found = data.load(name, **options)
    if name != "digits" and not data.verify(name):
        raise InputError("data set", name, f"undamaged (run: {data.how_to_fetch(name)})")
    return found


def hash_of(data: Any) -> str:
    """The hash of the data that an experiment names."""
    return _load(*_named("data", data)).hash


def _load(name: str, options: dict[str, Any]) -> LabelledData:
    try:
        return loaded(name, **options)
    except TypeError:  # options that cannot be hashed
        raise InputError("data", options, "options that are numbers or text") from None


@lru_cache(maxsize=2)
def _arrays(name: str, options: tuple[tuple[str, Any], ...], dtype: str, device: str) -> dict[str, Any]:
    """The data as tensors on the device; images (n, C, H, W) normalised."""
    import torch

    labelled = loaded(name, **dict(options))
    kind = getattr(torch, dtype)
    found: dict[str, Any] = {}
    for part in ("train", "test"):
        inputs = np.asarray(getattr(labelled, f"{part}_inputs"))
        found[f"{part}_labels"] = torch.from_numpy(np.array(getattr(labelled, f"{part}_labels"))).to(device)
        if inputs.ndim != 4:
            tokens = inputs.dtype.kind in "iu"
            found[f"{part}_inputs"] = torch.from_numpy(np.array(inputs)).to(device, torch.int64 if tokens else kind)
            continue
        if part == "train":
            found |= _moments(inputs)
        images = torch.from_numpy(np.array(inputs)).to(device).permute(0, 3, 1, 2).to(kind).contiguous()
        shift, scale = (torch.tensor(found[of], dtype=kind, device=device)[:, None, None] for of in ("mean", "std"))
        found[f"{part}_inputs"] = images.div_(255).sub_(shift).div_(scale)
    return found


def _moments(images: npt.NDArray[np.uint8]) -> dict[str, list[float]]:
    """Mean and standard deviation of each channel of images (n, h, w, C), levels counted as fractions of 255."""
    levels = np.arange(256) / 255
    shares = [np.bincount(images[..., c].ravel(), minlength=256) / images[..., 0].size for c in range(images.shape[3])]
    means = [float(share @ levels) for share in shares]
    variances = [float(share @ (levels - mean) ** 2) for share, mean in zip(shares, means, strict=True)]
    return {"mean": means, "std": [max(variance, 1e-16) ** 0.5 for variance in variances]}


def _implied(name: str, given: Mapping[str, Any], labelled: LabelledData) -> dict[str, Any]:
    """The parameters of a model, those that the data determine included. Raises InputError for unknown ones."""
    from sims import data
    from sims.training import models

    wanted = inspect.signature(models.factory(name)).parameters
    shape = labelled.train_inputs.shape[1:]
    implied: dict[str, Any] = {"classes": labelled.n_classes}
    if len(shape) == 3:
        implied |= {"size": shape[0], "channels": shape[2]}
    if labelled.vocabulary is None:
        implied["d"] = implied["inputs"] = int(np.prod(shape))
    else:
        implied |= {"vocabulary": len(labelled.vocabulary), "vectors": None}
    for key in given:
        if key not in wanted and not any(one.kind is one.VAR_KEYWORD for one in wanted.values()):
            own = [one for one in wanted if one not in implied]
            allowed = one_of(key, own) if own else f"left out: the data give what this model has ({', '.join(wanted)})"
            raise InputError(f"key of model {name}", key, allowed)
    if labelled.vocabulary is not None and "vectors" in wanted:
        implied["vectors"] = data.word_vectors(labelled.vocabulary)[0]
    return {key: value for key, value in implied.items() if key in wanted} | dict(given)


def _named(what: str, given: Any) -> tuple[str, dict[str, Any]]:
    """A name and its parameters; the name alone will do."""
    table = {"name": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError(what, given, "a name, or a table with a name and parameters")
    return table["name"], {key: value for key, value in table.items() if key != "name"}


def _of_groups(labelled: LabelledData, names: tuple[str, ...]) -> dict[str, Any]:
    """The samples of these groups, for training and for testing."""
    kept = [number for number, name in enumerate(labelled.group_names) if name in set(names)]
    groups: dict[str, Any] = {"train": labelled.groups, "test": labelled.test_groups}
    return {part: np.flatnonzero(np.isin(of_samples, kept)) for part, of_samples in groups.items()}


def _chosen(what: str, wanted: int | None, there: Any, seed: int) -> Any:
    """The samples that are used, of those that are there (n,), in order."""
    if wanted is None:
        return there
    if count(what, wanted) > len(there):
        raise InputError(what, wanted, f"at most {len(there)}, the number of samples")
    return there[np.sort(stream(seed, f"training.{what}").permutation(len(there))[:wanted])]


def _of(array: Any, chosen: Any) -> Any:
    """The chosen rows; the array itself, not a copy, if these are all."""
    return array if len(chosen) == len(array) else array[chosen]
