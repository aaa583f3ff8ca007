"""A task before anything of it is made: how many clients and parameters it has, and what its data take.

Labels alone are read, and the model is made on torch's device "meta", where parameters have shapes and no memory. So
what does not fit is refused before data are read and a model is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from sims.training.partition import Partition
from sims.training.precision import SHORT, kept_in, require_short
from sims.training.problem import Divided, divided, made_or_refused, module_of, require_torch
from sims.training.samples import loss_scales
from sims.training.tables import require_place

if TYPE_CHECKING:
    import torch
    from torch import nn

LABEL = 8  # bytes of a class, and of a token


@dataclass(frozen=True)
class Outline:
    """What a `sims.training.task.Task` of the same parts will have, under the same names.

    source_bytes   of all data that the samples are taken from, kept for other replicates; 0 where these are all
    """

    n_clients: int
    dimension: int
    itemsize: int
    data_bytes: int
    source_bytes: int
    slots_at_once: int | None
    device: torch.device
    memory: str
    partition: Partition
    samples: tuple[int, npt.NDArray[np.int64]]
    client_weights: str


def outline(
    data: Any,
    model: Any,
    partition: Any,
    batch: int = 16,
    train_samples: int | None = None,
    test_samples: int | None = None,
    precision: str = "float32",
    engine: str = "auto",
    device: str = "cpu",
    data_hash: str | None = None,
    seed: int | None = None,
    memory: str = "device",
    buffers: str = "refuse",
    client_weights: str = "uniform",
    **_: Any,
) -> Outline:
    """The outline of a `sims.training.problem.training` of these arguments. Raises InputError as that does."""
    require_torch()
    import torch

    from sims.training import engines
    from sims.training.accepted import require_shapes
    from sims.training.buffers import require_policy
    from sims.training.layout import Layout
    from sims.training.task import a_device

    dtype, short = getattr(torch, kept_in(precision)), precision if precision in SHORT else None
    there = a_device(device)
    require_short(short, there, dtype)
    require_place(memory)
    shared = divided(data, partition, train_samples, test_samples, data_hash, count("seed", seed or 0, least=0))
    sizes = np.array([len(client) for client in shared.partition.clients])
    loss_scales(client_weights, sizes)
    module = _without_memory(model, shared, seed or 0)
    require_shapes(module)
    require_policy(buffers, module)
    made = engines.make(engine, module, there, bf16=short == "bf16", buffers=buffers)
    used, source = _bytes(shared, dtype.itemsize)
    return Outline(
        n_clients=len(shared.partition.clients),
        dimension=sum(Layout(module, buffers).sizes),
        itemsize=dtype.itemsize,
        data_bytes=used,
        source_bytes=source,
        slots_at_once=made.at_once(dtype.itemsize) if there.type == "cpu" or engine == "sequential" else None,
        device=there,
        memory=memory,
        partition=shared.partition,
        samples=(batch, sizes),
        client_weights=client_weights,
    )


def _without_memory(model: Any, shared: Divided, seed: int) -> nn.Module:
    """The model on the device "meta"; if its factory looks at numbers, which are not there, as it will be."""
    import torch

    try:
        with torch.device("meta"):
            return module_of(model, shared.labelled, seed)
    except InputError:
        raise
    except (Exception, SystemExit):  # whatever a factory makes of numbers that are not there
        return made_or_refused(model, shared.labelled, seed)


def _bytes(shared: Divided, itemsize: int) -> tuple[int, int]:
    """Bytes of the samples that are used, and of all samples where these are not all."""
    total = source = 0
    for part, used in (("train", shared.train), ("test", shared.test)):
        inputs = np.asarray(getattr(shared.labelled, f"{part}_inputs"))
        tokens = inputs.ndim != 4 and inputs.dtype.kind in "iu"
        each = inputs[:1].size * (LABEL if tokens else itemsize) + LABEL
        total += each * len(used)
        source += each * len(inputs) if len(used) < len(inputs) else 0
    return total, source
