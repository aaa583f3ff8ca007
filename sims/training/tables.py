"""Where the tables of an algorithm are kept that have a row for each client: MIFA's updates, SCAFFOLD's variates, ...

    device   with the model
    host     in the memory of the machine, pinned so that a CUDA card reads it by itself; on a CPU the same as device
    disk     in a file without a name, mapped into memory, that ends with the process; in the folder for temporary
             files (the environment's TMPDIR), whose space is taken at once

Rows of the cohort alone travel between a table and the model. Sums over all rows are made where the table is. Listing
the names needs no torch.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from fltheory.errors import InputError, one_of

if TYPE_CHECKING:
    import torch

PLACES = ("device", "host", "disk")

Maker = Callable[[tuple[int, ...]], "torch.Tensor"]


def require_place(memory: str) -> None:
    """Raise InputError for an unknown place."""
    if memory not in PLACES:
        raise InputError("memory", memory, one_of(str(memory), PLACES))


def maker(memory: str, device: torch.device, dtype: torch.dtype) -> Maker | None:
    """What makes tables of zeros of a shape there; None where they need no place of their own."""
    import torch

    if memory == "disk":
        return lambda shape: _on_disk(shape, dtype)
    if memory == "host" and device.type != "cpu":
        return lambda shape: torch.zeros(shape, dtype=dtype, pin_memory=True)
    return None


def _on_disk(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Raises InputError if there is no space for it."""
    import torch

    numbers = math.prod(shape)
    with tempfile.NamedTemporaryFile(prefix="fltheory-") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, numbers * dtype.itemsize)
        except OSError as error:
            allowed = f"another place: {tempfile.gettempdir()} has no {numbers * dtype.itemsize:,} bytes"
            raise InputError("memory", "disk", f"{allowed} ({error.strerror})") from None
        return torch.from_file(file.name, shared=True, size=numbers, dtype=dtype).reshape(shape)
