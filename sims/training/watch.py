"""What passes of a module must leave as it is: random numbers and parameters; and how it is seen that they do not.

Whatever a module raises is told as its own fault, in one sentence; `sys.exit` in it, too.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fltheory.errors import InputError
from sims.divergence import Stopped
from sims.refusals import is_out_of_memory, reason_of
from sims.training.copies import same

DRAWN = "one that draws no random numbers (dropout of sims.training.models.layers)"
FORGETFUL = "one that keeps nothing of earlier calls (such as a count, a mean or a product) and has no noise of its own"
AGAIN_BACKWARD = "backward through the graph a second time"  # what torch says where a result is kept from call to call
PURE = "one that leaves its parameters as they are (no embedding with max_norm)"

OTHERS = ("buffers", "torch.inference_mode", "local_lr", "weight_decay")  # what else is refused within a pass
NAMED = 5  # clients that a sentence names, at most

Reader = Callable[[], object]


def generators(module: nn.Module, device: torch.device) -> list[Reader]:
    """What reads the states of all that a pass may draw from: torch, numpy, Python, and attributes of the module."""
    attributes = [value for part in module.modules() for value in vars(part).values()]
    cuda = [torch.cuda.default_generators[device.index or 0]] if device.type == "cuda" else []
    found = map(_reader, (torch.default_generator, *cuda, *attributes))
    legacy: Reader = lambda: pickle.dumps(np.random.get_state())  # noqa: E731, NPY002
    return [legacy, random.getstate, *(read for read in found if read)]


def _reader(source: object) -> Reader | None:
    if isinstance(source, torch.Generator):
        return lambda: source.get_state().numpy().tobytes()
    if isinstance(source, np.random.Generator):
        return lambda: pickle.dumps(source.bit_generator.state)
    if isinstance(source, np.random.RandomState):
        return lambda: pickle.dumps(source.get_state())
    return source.getstate if isinstance(source, random.Random) else None


@contextmanager
def drawing_nothing(readers: Sequence[Reader], module: nn.Module) -> Iterator[None]:
    """Raise InputError if a generator moves within it."""
    before = [read() for read in readers]
    yield
    _require_same(before, readers, module)


def _require_same(before: list[object], readers: Sequence[Reader], module: nn.Module) -> None:
    if before != [read() for read in readers]:
        raise InputError("module", type(module).__name__, DRAWN)


@contextmanager
def own_randomness(device: torch.device) -> Iterator[None]:
    """The global generators are afterwards as they were."""
    numpy, python = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        with torch.random.fork_rng([device.index or 0] if device.type == "cuda" else []):
            yield
    finally:
        np.random.set_state(numpy)  # noqa: NPY002
        random.setstate(python)


@contextmanager
def unwritten(
    module: nn.Module, parameters: Sequence[Tensor], *, but: int = 0, numbers: bool = False
) -> Iterator[None]:
    """Raise InputError if these are written into, also the same numbers, or get other memory (`.data = ...`).

    but       so many writes to each are expected
    numbers   compare the numbers, too: what is written through `.data` is not counted
    """
    before = [(part._version + but, part.data_ptr()) for part in parameters]
    copies = [part.detach().clone() for part in parameters] if numbers else []
    yield
    after = [(part._version, part.data_ptr()) for part in parameters]
    kept = [same(part, old) for part, old in zip(parameters, copies, strict=False)]
    if before == after and all(kept):
        return
    own, kept = {id(part): name for name, part in module.named_parameters()}, kept or [True] * len(before)
    pairs = zip(parameters, before, after, kept, strict=True)
    written = [own.get(id(part), "its parameters") for part, old, new, stays in pairs if old != new or not stays]
    raise InputError("module", f"{type(module).__name__}, which writes to {written}", PURE)


@contextmanager
def with_gradients() -> Iterator[None]:
    """Gradients are on within it, and afterwards as the caller had them, whatever a module does to them.

    Raises InputError in torch's inference mode, in which what is made never has any.
    """
    if torch.is_inference_mode_enabled():
        raise InputError("torch.inference_mode", True, "off where a module is trained or measured (no_grad may be on)")
    with torch.enable_grad():
        yield


@contextmanager
def refusing(module: nn.Module, allowed: str, what: str, instead: str = "") -> Iterator[None]:
    """Whatever a module raises before a run is an InputError: it must be `allowed` `what`, or `instead` as told."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        if AGAIN_BACKWARD in str(error):
            raise InputError("module", type(module).__name__, FORGETFUL) from None
        if is_out_of_memory(error):
            allowed, instead = "one that memory holds with", ""
        raise InputError("module", type(module).__name__, f"{allowed} {what} ({reason_of(error)}){instead}") from error


@contextmanager
def stopping(module: nn.Module, what: str, clients: Any = None, readers: Sequence[Reader] = ()) -> Iterator[None]:
    """Around passes in a run: whatever they raise, but for want of memory, is Stopped, in a sentence with the clients.

    So is what is drawn within it from these generators. What is no fault of the module (`OTHERS`) stays an InputError.
    """
    before = [read() for read in readers]
    try:
        with with_gradients():
            yield
        _require_same(before, readers, module)
    except Stopped:
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error) or getattr(error, "argument", None) in OTHERS:
            raise
        whose = "" if clients is None else _whose(np.unique(np.asarray(torch.as_tensor(clients).cpu())).tolist())
        why = str(error) if isinstance(error, InputError) else f"the module raised {reason_of(error)}"
        raise Stopped(f"in {what}{whose} {type(module).__name__} could not be trained: {why}") from error


def _whose(clients: list[int]) -> str:
    """One of these it was, if there are several."""
    if len(clients) > NAMED:
        return f" of one of its {len(clients)} clients"
    several = "one of clients" if len(clients) > 1 else "client"
    return f" of {several} {', '.join(map(str, clients))}" if clients else ""
