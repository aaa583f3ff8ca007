"""A few steps before anything runs: an engine's must be those of a plain loop, whichever client comes first.

The loop is the one that a user would write, and has nothing in common with the engines: parameters in their own memory,
`backward`, and steps in place. So what an engine does not see shows as a difference: a `backward` within a pass,
parameters that a pass replaces or gives other memory, views of parameters, hooks.
"""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fltheory.errors import InputError
from sims.training.buffers import counts_of_batches
from sims.training.copies import same
from sims.training.engines import Batches, Engine, logits_of, step_of
from sims.training.layout import SETTLED, Layout
from sims.training.spoil import OF_ITS_OWN, is_plain, reading_nothing_of
from sims.training.watch import AGAIN_BACKWARD, FORGETFUL, Reader, drawing_nothing, own_randomness, unwritten

REACH = 0.02  # of a step, in lengths of the model if that is above 1
APART = {"sequential": 1e-5}  # most relative difference from the loop, by a parameter (found: none on a CPU) ...
OTHERS = 1e-3  # ... and of the other engines (found: 1e-5; more where rounding takes another side of a ReLU)
SLIGHT = 1e-5  # beside this of the difference by all parameters, as rounding of what is nearly 0 is ...
ROUNDED = 4  # ... and, where a batch of B is added up onto a parameter, so many times B^(1/2) of its last places
CONTAINERS = (dict, OrderedDict, defaultdict, Counter, set, list, deque)
INPUTS_STAY = "one that leaves its inputs as they are (no inplace=True before the first layer with parameters)"
AS_THEY_STAND = "one that uses its parameters as they stand (no views of them, nothing made of them before)"


@contextmanager
def rehearsing(own: nn.Module, module: nn.Module, device: torch.device) -> Iterator[Callable[[], None]]:
    """Afterwards a module, its copy (`own`) and the global random numbers are as they were.

    What is yielded puts both back; within it the module is in the modes of its copy.
    """
    own_back, module_back = putting_back(own), putting_back(module)

    def back() -> None:
        own_back()
        module_back()
        for part, like in zip(module.modules(), own.modules(), strict=True):
            part.training = like.training

    with own_randomness(device):
        try:
            back()
            yield back
        finally:
            own_back()
            module_back()


def putting_back(module: nn.Module) -> Callable[[], None]:
    """What puts a module back into the state that it is in now.

    Without a copy of it, which an engine would not know: attributes of all parts, what lists and tables in them hold,
    also one in another, and the numbers of tensors; of parameters and buffers their memory, `grad` and hooks, too. What
    other objects hold, and the class, stay as they are.
    """
    parts = [(part, dict(vars(part))) for part in module.modules()]
    held = _held([value for _, before in parts for value in before.values()])
    own = {id(part): part for _, part in (*module.named_parameters(), *module.named_buffers())}
    states = [(t, t.data, t.detach().clone(), t.grad, t.requires_grad) for t in own.values()]
    others = [one for one in held if isinstance(one, Tensor) and one.is_leaf and id(one) not in own and is_plain(one)]
    numbers = [(tensor, tensor.detach().clone(), _copy_of(tensor.grad)) for tensor in others]
    arrays = [(one, one.copy()) for one in held if isinstance(one, np.ndarray) and one.flags.writeable]
    containers = [(one, copy.copy(one)) for one in held if type(one) in CONTAINERS]
    return partial(_put_back, parts, containers, states, numbers, arrays)


def _held(values: Iterable[object]) -> list[Any]:
    """The tensors, arrays, lists and tables among the values and in what these hold, each once."""
    found: dict[int, Any] = {}
    left: list[Any] = list(values)
    while left:
        value = left.pop()
        numbers = isinstance(value, Tensor | np.ndarray)
        if id(value) in found or not (numbers or type(value) in CONTAINERS):
            continue
        found[id(value)] = value
        if not numbers:
            left += value.values() if isinstance(value, dict) else value
    return list(found.values())


def _copy_of(grad: Tensor | None) -> Tensor | None:
    return None if grad is None else grad.detach().clone()


def _put_back(parts: Any, containers: Any, states: Any, numbers: Any, arrays: Any) -> None:
    for part, before in parts:
        vars(part).clear()
        vars(part).update(before)
    for container, before in containers:
        container.clear()
        (container.extend if isinstance(container, list | deque) else container.update)(before)
    for array, before in arrays:
        if array.tobytes() != before.tobytes():  # it may be a file
            array[...] = before
    for tensor, before, grad in numbers:
        _write(tensor.data, before)
        tensor.grad = _copy_of(grad)  # a pass may add to it
    for tensor, memory, before, grad, trained in states:
        tensor.data, tensor.grad = memory, grad
        tensor.requires_grad_(trained)
        _write(memory, before)
        for hooks in (tensor._backward_hooks, getattr(tensor, "_post_accumulate_grad_hooks", None)):
            if hooks:
                hooks.clear()  # without its table torch would still call them


def _write(memory: Tensor, before: Tensor) -> None:
    """Only if need be: it may be memory that can only be read, or a file."""
    if not same(memory, before):
        memory.copy_(before)


def require_plain_steps(
    own: nn.Module,
    module: nn.Module,
    engine: Engine,
    layout: Layout,
    models: Tensor,
    batches: Batches,
    readers: Sequence[Reader],
    back: Callable[[], None],
    original: nn.Module,
) -> None:
    """Raise InputError unless an engine's steps of two clients are those of a plain loop, in either order of them.

    own       what the engine has: a copy of the module, in which a function may still hold parts of the module
    module    what the loop has
    models    (2, d) the start, twice
    batches   for two clients
    back      puts both back
    original  whose copy `own` is: nothing of it may change the engine's steps

    One client begins with the start, the other with a model of the same size elsewhere, as a module may hold
    numbers of its start where an engine puts no others; a module that fails there alone, or has no finite gradients, is
    taken. What else a module or torch raises is passed on.
    """
    loop = _Loop(module, layout, readers)
    start = models[0]
    of_client = [_of_client(batches, client) for client in (0, 1)]
    after = _Loop(own, layout, readers)  # what the engine left in it may be of no use outside, as within vmap
    differing = partial(_differing, layout, batches[1].shape[2])
    slopes = [float(after.steps(start, [batch], 1.0).sub_(start).norm()) for batch in of_client[0]]
    size = REACH * max(1.0, float(start.norm())) / max(slopes) if 0 < max(slopes) < torch.inf else 0.0
    starts, there = models.clone(), False
    _move_elsewhere(starts[1], layout)
    try:
        back()
        there = bool(torch.isfinite(loop.steps(starts[1], of_client[1], size)).all())
    except InputError:
        raise
    except (Exception, SystemExit):  # whatever a module makes of numbers that no step leads to, such as a scale below 0
        pass
    if not there:
        starts[1] = start

    def one(client: int) -> Tensor:
        return loop.steps(starts[client], of_client[client], size).sub_(starts[client])

    back()
    expected = one(0), one(1)
    back()
    for client in (1, 0):  # one after the other, as each is as large as the model
        if differing(starts[client], expected[client], one(client), "sequential"):
            raise InputError("module", type(module).__name__, FORGETFUL)
    back()
    found = torch.empty_like(starts)
    engine.descend(found, starts, [with_own_inputs(batches)], size, 0.0)
    for begin, move, right in zip(starts, found, expected, strict=True):
        if wrong := differing(begin, move, right, engine.name):
            raise InputError("module", type(module).__name__, _as_found(engine.name, wrong))
    back()
    again = torch.empty_like(starts)
    with reading_nothing_of(original):
        engine.descend(again, starts, [with_own_inputs(batches)], size, 0.0)
    if any(differing(*moves, engine.name) for moves in zip(starts, again, found, strict=True)):
        raise InputError("module", type(module).__name__, OF_ITS_OWN)


@contextmanager
def told_by_the_loop(
    module: nn.Module, layout: Layout, model: Tensor, batches: Batches, readers: Sequence[Reader]
) -> Iterator[None]:
    """Where an engine fails, and a plain loop because of what its first step left in the module, that is what is told.

    What was kept within vmap is no tensor outside it, so that an engine may only see that gradients are missing. The
    loop has a copy, for which a cache by modules holds nothing yet.
    """
    try:
        yield
    except Exception:
        try:
            _Loop(copy.deepcopy(module), layout, readers).steps(model, _of_client(batches, 0), 0.0)
        except Exception as error:
            if AGAIN_BACKWARD in str(error):
                raise InputError("module", type(module).__name__, FORGETFUL) from None
        raise


def with_own_inputs(batches: Batches) -> Batches:
    """The batches with a copy of the inputs, which a module may write to."""
    return batches[0].clone(), *batches[1:]


def _of_client(batches: Batches, client: int) -> list[Batches]:
    """For each step its inputs (B, ...), classes (B,) and dropout masks."""
    steps = [step_of(batches, k) for k in range(batches[1].shape[1])]
    return [(i[client], t[client], tuple(mask[client] for mask in m)) for i, t, m in steps]


def require_plain_outputs(
    own: nn.Module,
    module: nn.Module,
    layout: Layout,
    inputs: Tensor,
    back: Callable[[], None],
    evaluating: Callable[[], AbstractContextManager[Any]],
    original: nn.Module,
) -> None:
    """Raise InputError unless outputs of a copy of a module are those of the module with the model that is put in.

    Of two models in either order. A module that fails at the second is taken. It is called within `evaluating`. The
    outputs of the copy do not depend on the `original`, whose copy it is.
    """
    loop, start = _Loop(module, layout, ()), layout.of(module)
    inputs = inputs.clone()  # the original may hold them, too
    models = start, 1.25 * start + 0.1

    def written(model: int) -> Tensor:
        loop.write(models[model])
        with evaluating():
            return logits_of(module, module(inputs.clone())).detach().clone()  # a parameter may be seen through them

    def held(model: int) -> Tensor:
        # a copy: what a module writes to its parameters is found elsewhere, and must not be there at the second call
        with evaluating(), layout.held(own, models[model].clone()):
            return logits_of(own, own(inputs.clone())).detach().clone()

    try:
        expected, other = _in_either_order(written, back)
        back()
        found = [held(0), held(1)]
    except (Exception, SystemExit):  # whatever a module makes of numbers that no step leads to
        return
    back()
    with reading_nothing_of(original):
        again = [held(0), held(1)]
    for right, now in zip(found, again, strict=True):
        if bool(torch.isfinite(right).all()) and not close(now, right):
            raise InputError("module", type(module).__name__, OF_ITS_OWN)
    for right, later, put_in in zip(expected, other, found, strict=True):
        if bool(torch.isfinite(right).all()) and not (close(later, right) and close(put_in, right)):
            allowed = AS_THEY_STAND if close(later, right) else FORGETFUL
            raise InputError("module", type(module).__name__, allowed)


def close(found: Tensor, expected: Tensor) -> bool:
    """Whether outputs differ by no more than rounding."""
    near = max(1e-3, 4 * torch.finfo(expected.dtype).eps if expected.is_floating_point() else 0)
    return torch.allclose(found, expected, rtol=near, atol=near * float(expected.abs().max()))


class _Loop:
    """The loop that a user would write, on the module itself."""

    def __init__(self, module: nn.Module, layout: Layout, readers: Sequence[Reader]) -> None:
        self.module, self.layout, self.readers = module, layout, readers
        self.parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
        self.parts = [{**self.parameters, **buffers}[name] for name in layout.names]
        moving = {*layout.averaged, *counts_of_batches(module)}
        self.fixed = {name: (part, part.clone()) for name, part in buffers.items() if name not in moving}

    def write(self, model: Tensor) -> None:
        with torch.no_grad():
            for part, numbers in zip(self.parts, self.layout.named(model).values(), strict=True):
                part.data.copy_(numbers)  # a graph that its owner holds may still need the part

    def steps(self, start: Tensor, batches: Sequence[Batches], step_size: float) -> Tensor:
        """Where steps of gradient descent lead from a model (d,): (d,)."""
        module, parameters = self.module, list(self.parameters.values())
        self.write(start)
        for inputs, targets, masks in batches:
            given = inputs.clone()
            for parameter in parameters:
                parameter.grad = None
            watched = drawing_nothing(self.readers, module), unwritten(module, parameters, numbers=True)
            with torch.enable_grad(), watched[0], watched[1]:
                logits = module(given, masks=masks) if masks else module(given)
                cross_entropy(logits_of(module, logits), targets).backward()  # type: ignore[no-untyped-call]
            if given._version or not torch.equal(given, inputs):
                raise InputError("module", f"{type(module).__name__}, which writes to its input", INPUTS_STAY)
            with torch.no_grad():
                for parameter in parameters:
                    if parameter.grad is not None:
                        parameter.data.sub_(parameter.grad, alpha=step_size)
        self._require_same_parts()
        return torch.cat([part.detach().reshape(-1) for part in self.parts])

    def _require_same_parts(self) -> None:
        name, now = type(self.module).__name__, dict(self.module.named_parameters())
        if now.keys() != self.parameters.keys() or any(now[n] is not p for n, p in self.parameters.items()):
            raise InputError("module", name, SETTLED)
        if frozen := [n for n, p in now.items() if not p.requires_grad]:
            raise InputError("module", frozen, "one with parameters, all of them trained (requires_grad)")
        if hooked := [n for n, p in now.items() if p._backward_hooks or p._post_accumulate_grad_hooks]:
            raise InputError("module", hooked, "one without hooks on its parameters (hooks on its layers are kept)")
        if moved := [n for n, (part, before) in self.fixed.items() if not same(part, before)]:
            raise InputError("module", moved, "one whose buffers stay as they are, or are averaged")


def _in_either_order(
    one: Callable[[int], Tensor], back: Callable[[], None]
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Of the first and the second: where the first came first, and where the second did; the module begins anew."""
    back()
    expected = one(0), one(1)
    back()
    second = one(1)
    return expected, (one(0), second)


def _move_elsewhere(model: Tensor, layout: Layout) -> None:
    """Make of a model (d,), in place, one as large and unlike it; buffers are as they were."""
    generator, trained = torch.Generator().manual_seed(0), model[: layout.trained]
    noise = torch.randn(len(trained), generator=generator).to(trained)
    trained.mul_(noise.sign()).add_(noise.mul_(0.01))  # what is 0 has no sign


def _differing(layout: Layout, batch: int, start: Tensor, found: Tensor, expected: Tensor, engine: str) -> list[str]:
    """The parameters and buffers by which steps (d,) from a start differ by more than rounding; none if not finite."""
    if not bool(torch.isfinite(expected).all()):
        return []
    near, slight = APART.get(engine, OTHERS), SLIGHT * float(expected.norm())
    unit = 0 if engine == "sequential" else ROUNDED * batch**0.5 * torch.finfo(start.dtype).eps
    parts = zip(*(layout.named(model).values() for model in (start, found, expected)), strict=True)
    return [
        name
        for name, (s, f, e) in zip(layout.names, parts, strict=True)
        if not float((f - e).norm()) <= near * float(e.norm()) + slight + unit * float(s.norm())
    ]


def _as_found(engine: str, wrong: list[str]) -> str:
    plain = "plain parameters, used where they are registered, with no views or lists of them and no backward in a pass"
    plain += "" if engine == "sequential" else ', and products in their own precision; or engine = "sequential"'
    return f"one whose gradients the engine {engine!r} finds, by {wrong}, too ({plain})"
