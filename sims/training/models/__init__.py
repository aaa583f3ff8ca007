"""The models, found by name: factories of plain `torch.nn.Module`s, named by the paper that trains them.

Every model of ours maps a batch to logits (B, classes): images are float (B, C, H, W), normalised; text is integer
token ids (B, length). It is called as `model(x, masks=None)` and keeps to four rules, so that an engine may run one
client or many at once:

- it works under `torch.func.functional_call`, `vmap` and `grad`, alone or together;
- it draws nothing: the dropout masks of a step come in as a tuple of tensors (see `sims.training.models.layers`), and
  without them, as in evaluation, dropout is the identity;
- `mask_shapes(batch)` and `drop_rates` say which masks a batch takes (empty where there is no dropout);
- it has no buffers: the parameters are all of its state (a model of yours may have some: `sims.training.buffers`).

Listing the names needs no torch.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from fltheory import plugins
from fltheory.errors import InputError, one_of
from fltheory.streams import stream

if TYPE_CHECKING:
    import torch

__all__ = ["make", "models", "names"]

GROUP = "fltheory.models"
_made: dict[str, weakref.ref[torch.nn.Module]] = {}  # what each factory gave last


def names() -> list[str]:
    """The names of all installed models, none of them loaded."""
    return list(plugins.entries(GROUP))


def models() -> dict[str, Callable[..., torch.nn.Module]]:
    """Name -> factory of every installed package, this one included, from entry points of `fltheory.models`.

    Raises InputError that names the entry point that cannot be loaded or called.
    """
    return {name: _load(entry) for name, entry in plugins.entries(GROUP).items()}


def factory(name: str) -> Callable[..., torch.nn.Module]:
    """The factory of this name, no other one loaded. Raises InputError for an unknown name."""
    known = plugins.entries(GROUP)
    if name not in known:
        raise InputError("model", name, one_of(str(name), known))
    return _load(known[name])


def _load(entry: EntryPoint) -> Callable[..., torch.nn.Module]:
    found: Callable[..., torch.nn.Module] = plugins.load(entry, Callable)  # type: ignore[arg-type]  # no type to mypy
    return found


def make(name: str, *, seed: int = 0, **parameters: Any) -> torch.nn.Module:
    """A named model with the initial parameters of `seed`, in float32 on the CPU.

    torch's global generator and default type are left as they were, and the model does not depend on them.
    Raises InputError for an unknown name, unknown parameters, bad values, and a factory that gives one module twice.
    """
    make_it = factory(name)
    try:
        inspect.signature(make_it).bind(**parameters)
    except TypeError as mismatch:
        allowed = ", ".join(inspect.signature(make_it).parameters) or "nothing"
        raise InputError(f"model {name}", parameters, f"given by {allowed} ({mismatch})") from None
    import torch

    start = int(stream(seed, "sims.training.models").integers(2**63))
    kind = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float32)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(start)
            model: torch.nn.Module = make_it(**parameters)
    finally:
        torch.set_default_dtype(kind)
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model {name}", type(model).__name__, "a torch.nn.Module")
    last, _made[name] = _made.get(name), weakref.ref(model)
    outlined = torch.empty(0).device.type == "meta"  # as without memory, before the model is made
    kept = any(part.is_meta for part in model.parameters()) and not outlined
    if kept or (last is not None and last() is model):
        raise InputError(f"model {name}", "one of an earlier call", "a factory that makes a new module at each call")
    return model
