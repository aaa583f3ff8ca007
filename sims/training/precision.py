"""The numbers of training: those that models are kept in, and shorter ones for the products of the clients' gradients.

    float64   everything in double precision
    float32   everything in single precision; TF32 is off, which torch by itself has on in convolutions
    tf32      models in float32, products with 10 bits after the point, on the tensor cores of a CUDA card
    bf16      models in float32, products in bfloat16, with 7 bits after the point (torch's autocast)

Short products are taken in stochastic gradients and local steps only: what is measured, and exact gradients, are
computed in the numbers of the model. Listing the names needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from fltheory.errors import InputError, one_of

if TYPE_CHECKING:
    import torch

KEPT = {"float32": "float32", "float64": "float64", "tf32": "float32", "bf16": "float32"}
SHORT = ("tf32", "bf16")


def kept_in(precision: str) -> str:
    """The dtype of the models. Raises InputError for an unknown name."""
    if precision not in KEPT:
        raise InputError("precision", precision, one_of(str(precision), KEPT))
    return KEPT[precision]


def require_short(short: str | None, device: torch.device, dtype: torch.dtype) -> None:
    """Raise InputError unless products of this kind can be taken: TF32 on CUDA only, either from float32 only."""
    if short is None:
        return
    if short not in SHORT:
        raise InputError("short", short, f"left out, or {one_of(str(short), SHORT)}")
    if short == "tf32" and device.type != "cuda":
        raise InputError("precision", short, f'another one: only CUDA cards have TF32, and the device is "{device}"')
    if str(dtype) != "torch.float32":
        raise InputError("precision", short, f"left out for a module in {dtype}")


def products(device: torch.device, short: str | None = None) -> AbstractContextManager[object]:
    """Within it, products of float32 on a CUDA card are taken in TF32 if that is asked for, otherwise not."""
    return _tf32(short == "tf32") if device.type == "cuda" else nullcontext()


@contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    """torch's two switches at this, and then as they were."""
    from torch import backends

    before = backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32
    backends.cudnn.allow_tf32 = backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        backends.cudnn.allow_tf32, backends.cuda.matmul.allow_tf32 = before


def require_step(step_size: float, weight_decay: float, dtype: torch.dtype) -> None:
    """Raise InputError for steps that numbers of this kind cannot hold: torch would blame the module."""
    import torch

    most, kind = torch.finfo(dtype).max, str(dtype).removeprefix("torch.")
    if step_size > most:
        raise InputError("local_lr", step_size, f"at most {most:g}, the largest number of {kind}")
    if step_size * weight_decay > most:
        allowed = f"at most {most / step_size:g}: times local_lr no more than the largest number of {kind}"
        raise InputError("weight_decay", weight_decay, allowed)
