"""Gradients of many clients' models at once: three engines that give the same numbers, at different speed.

Models are rows of a matrix (S, d): parameters flattened in the order of `module.named_parameters()`, behind them the
buffers that are averaged (`sims.training.buffers`), whose gradients are 0 and which a step renews. Losses are means
over a client's batch. Randomness (dropout masks) comes with the batch, never from within. With `bf16` a module runs
under torch's autocast, in bfloat16 where that is safe; losses, gradients and models stay in float32.

sequential   client after client through autograd, the usual loop; for any module, and what the others are tested by
layered      chains of linear layers and ReLUs, with the products of all clients written as one (`bmm`)
vmap         any module of torch.func, all clients in one program: for accelerators
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fltheory.errors import InputError, one_of
from sims.training.buffers import averaged
from sims.training.layout import Layout
from sims.training.models.layers import layers_of, linear_layers
from sims.training.watch import unwritten

# Of K steps: inputs (S, K, B, ...), classes (S, K, B), dropout masks (S, K, B, ...)
Batches = tuple[Tensor, Tensor, tuple[Tensor, ...]]

NO_GRAD = "one that leaves grad alone (no backward in a pass)"
TRAINED = "one without hooks on its parameters, all of which are trained (requires_grad), to the end"
threshold_backward = torch.ops.aten.threshold_backward  # the slope of a ReLU, as autograd takes it
CACHE = 2**23  # bytes of models that a processor keeps close: clients that step together on a CPU


class Engine(Protocol):
    """name, and how many clients of a model of d parameters compute together (None for all)."""

    name: str

    def at_once(self, itemsize: int) -> int | None:
        """Clients that should step together."""

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        """Gradients (S, d) of the mean losses of models (S, d) on inputs (S, B, ...) with classes (S, B)."""

    def descend(
        self,
        result: Tensor,
        start: Tensor,
        pieces: Iterable[Batches],
        step_size: float,
        weight_decay: float,
        scales: Tensor | None = None,
    ) -> None:
        """Write to `result` (S, d) how far the steps of all pieces in turn lead from models `start` (S, d).

        A step is y -= step_size * (scales * gradients + weight_decay * y). Rows of `start` may be one in memory.
        scales   (S,), of the clients' losses; without them 1
        """


class _InPlace:
    """An engine that steps in place."""

    def descend(
        self,
        result: Tensor,
        start: Tensor,
        pieces: Iterable[Batches],
        step_size: float,
        weight_decay: float,
        scales: Tensor | None = None,
    ) -> None:
        result.copy_(start)
        for piece in pieces:
            self._steps(result, piece, step_size, weight_decay, scales)
        result.sub_(start)

    def _steps(
        self, models: Tensor, batches: Batches, step_size: float, weight_decay: float, scales: Tensor | None
    ) -> None:
        raise NotImplementedError


class Sequential(_InPlace):
    """One client after the other: a forward and a backward pass each."""

    name = "sequential"

    def __init__(self, module: nn.Module, bf16: bool = False, buffers: str = "refuse") -> None:
        self.module, self.layout, self.bf16 = module, Layout(module, buffers), bf16

    def at_once(self, itemsize: int) -> int | None:
        return 1

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        result = torch.zeros_like(models)
        for s in range(models.shape[0]):
            with self.layout.held(self.module, models[s]) as trained, unwritten(self.module, trained):
                slopes = self._slopes(trained, (inputs, targets, masks), s)
            torch.cat([slope.reshape(-1) for slope in slopes], out=result[s, : self.layout.trained])
        return result

    def _steps(
        self, models: Tensor, batches: Batches, step_size: float, weight_decay: float, scales: Tensor | None
    ) -> None:
        steps = batches[1].shape[1]
        writes = steps * (2 if weight_decay else 1)  # of `_step`
        for s in range(models.shape[0]):
            scale = None if scales is None else scales[s]
            with self.layout.held(self.module, models[s]) as trained, unwritten(self.module, trained, but=writes):
                for k in range(steps):
                    slopes = self._slopes(trained, step_of(batches, k), s)
                    with torch.no_grad():
                        for parameter, slope in zip(trained, slopes, strict=True):
                            _step(parameter, slope, step_size, weight_decay, scale)

    def _slopes(self, trained: list[nn.Parameter], batch: Batches, s: int) -> tuple[Tensor, ...]:
        inputs, targets, masks = batch
        loss = loss_of(self.module, None, inputs[s], targets[s], tuple(mask[s] for mask in masks), self.bf16)
        if any(parameter.grad is not None for parameter in trained):
            raise InputError("module", type(self.module).__name__, NO_GRAD)
        if any(not p.requires_grad or p._backward_hooks or p._post_accumulate_grad_hooks for p in trained):
            raise InputError("module", type(self.module).__name__, TRAINED)
        slopes = _backward(loss, trained)
        if all(slope is None for slope in slopes):  # the gradient of the logits is by tensors of no parameter
            raise _detached(self.module)
        if any(slope is not None and slope.is_sparse for slope in slopes):  # models are rows, which are dense
            raise InputError("module", type(self.module).__name__, "one with dense gradients (no sparse=True)")
        return tuple(torch.zeros_like(p) if slope is None else slope for p, slope in zip(trained, slopes, strict=True))


class Vmapped(_InPlace):
    """All clients in one program."""

    name = "vmap"

    def __init__(self, module: nn.Module, bf16: bool = False, buffers: str = "refuse") -> None:
        self.module, self.layout, self.bf16 = module, Layout(module, buffers), bf16

    def _loss(
        self, trained: Tensor, rest: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor]:
        """The loss of one client, and the buffers (`rest`) as the pass leaves them."""
        parts = self.layout.with_fixed(self.layout.named(trained, rest))
        # clones, each by itself: under vmap what batch normalisation writes into a view of a matrix is lost
        own = {name: parts[name].clone() for name in self.layout.averaged}
        everywhere = self.layout.everywhere({**parts, **own})
        value = loss_of(self.module, everywhere, inputs, targets, masks, self.bf16)
        return value, torch.cat([part.reshape(-1) for part in own.values()]) if own else rest

    def _pass(
        self, trained: Tensor, rest: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor]:
        """Gradients (S, d) of all clients, and their buffers as the pass leaves them."""
        all_clients = torch.func.vmap(torch.func.grad(self._loss, has_aux=True))
        with unwritten(self.module, (trained,)):
            slopes, renewed = all_clients(trained, rest, inputs, targets, masks)
        if slopes.requires_grad:  # by a tensor that stands in for no client's
            allowed = 'one whose tensors with gradients are its parameters, not in lists; or engine = "sequential"'
            raise InputError("module", type(self.module).__name__, allowed)
        return slopes, renewed

    def at_once(self, itemsize: int) -> int | None:
        return None

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        trained, rest = self._split(models)
        slopes, _ = self._pass(trained, rest, inputs, targets, masks)
        return torch.cat([slopes, torch.zeros_like(rest)], dim=1) if rest.shape[1] else slopes

    def _steps(
        self, models: Tensor, batches: Batches, step_size: float, weight_decay: float, scales: Tensor | None
    ) -> None:
        trained, rest = self._split(models)
        scale = None if scales is None else scales[:, None]
        for k in range(batches[1].shape[1]):
            slopes, renewed = self._pass(trained, rest, *step_of(batches, k))
            _step(trained, slopes, step_size, weight_decay, scale)
            rest.copy_(renewed)

    def _split(self, models: Tensor) -> tuple[Tensor, Tensor]:
        return models[:, : self.layout.trained], models[:, self.layout.trained :]


class Layered(_InPlace):
    """A chain of linear layers with ReLUs between them, its backward pass written out.

    `descend` adds the gradient where it is made, so that a parameter is read and written once a step; the first layer's
    once in all, where that layer has at least as many outputs as the steps have samples. What layers see and make is
    (S, width, B), the samples last: a weight (S, out, in) is then multiplied as it lies.
    """

    name = "layered"

    def __init__(self, module: nn.Module, bf16: bool = False, buffers: str = "refuse") -> None:
        if bf16:
            raise InputError("engine", self.name, "another one for bf16: this one writes its products out in float32")
        if averaged(module, buffers):
            raise InputError("engine", self.name, "another one for averaged buffers, which it does not know")
        widths = layers_of(module)
        if widths is None:
            raise InputError("engine", self.name, "another one: this model is no chain of linear layers and ReLUs")
        self.shapes, layout = list(zip(widths[1:], widths, strict=False)), Layout(module)
        self.sizes = layout.sizes
        self.places = [  # of the weight and the bias of each layer among the parameters, which have any order
            tuple(layout.names.index(f"{name}.{part}".lstrip(".")) for part in ("weight", "bias"))
            for name in linear_layers(module)
        ]

    def at_once(self, itemsize: int) -> int | None:
        return max(1, CACHE // (itemsize * sum(self.sizes)))

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        result = torch.empty_like(models)
        layers, slopes = self._layers(models), self._layers(result)
        for layer, inputs_of, error in self._backward(layers, inputs, targets):
            weight, bias = slopes[layer]
            torch.bmm(error, inputs_of.mT, out=weight)
            torch.sum(error, 2, out=bias)
        return result

    def _steps(
        self, models: Tensor, batches: Batches, step_size: float, weight_decay: float, scales: Tensor | None
    ) -> None:
        layers = self._layers(models)
        for k in range(batches[1].shape[1]):
            inputs, targets, _ = step_of(batches, k)
            for layer, seen, error in self._backward(layers, inputs, targets, scales):
                _layer_step(layers[layer], seen, error, step_size, weight_decay)

    def descend(
        self,
        result: Tensor,
        start: Tensor,
        pieces: Iterable[Batches],
        step_size: float,
        weight_decay: float,
        scales: Tensor | None = None,
    ) -> None:
        pieces = iter(pieces)
        first = next(pieces)
        growing = abs(1 - step_size * weight_decay) > 1  # powers of it may be no numbers of the model
        if first[1][0].numel() > self.shapes[0][0] or growing:
            super().descend(result, start, chain([first], pieces), step_size, weight_decay, scales)
            return
        self._few_steps(result, start, first, step_size, weight_decay, scales)
        for piece in pieces:
            self._steps(result.add_(start), piece, step_size, weight_decay, scales)
            result.sub_(start)

    def _few_steps(
        self,
        result: Tensor,
        start: Tensor,
        batches: Batches,
        step_size: float,
        weight_decay: float,
        scales: Tensor | None,
    ) -> None:
        """`descend` of one piece that reads the first layer's weight W once, and writes once how far it moves.

        After t steps W has become kept^t W - step_size sum_(s<t) kept^(t-1-s) e_s x_s', for the inputs x_s and the
        slopes e_s of the loss by the layer's outputs. So all that the steps need of W are its outputs for all samples,
        at once, and products x_s' x_t of samples, of which there are few.
        """
        inputs, targets, _ = batches
        samples = inputs.reshape(len(inputs), targets[0].numel(), -1)
        kept, (steps, size) = 1 - step_size * weight_decay, targets.shape[1:]
        (weight, bias), *before = self._layers(start)
        (weight_move, bias_move), *moves = self._layers(result)
        others = [(other.clone(), shift.clone()) for other, shift in before]
        layers = [(weight, bias), *others]
        outputs = torch.bmm(weight, samples.mT).add_(bias[..., None])
        errors = torch.empty_like(outputs)
        for t in range(steps):
            own, earlier = slice(t * size, (t + 1) * size), slice(t * size)
            out = outputs[..., own]
            if t:
                products = torch.bmm(samples[:, earlier], samples[:, own].mT).add_(1)  # the bias sees 1
                out = torch.baddbmm(out, errors[..., earlier], products, beta=kept**t, alpha=-step_size)
                if weight_decay:
                    errors[..., earlier] *= kept
            for layer, seen, error in self._backward(layers, inputs[:, t], targets[:, t], scales, out):
                if layer:
                    _layer_step(layers[layer], seen, error, step_size, weight_decay)
                else:
                    errors[..., own] = error
        decayed = kept**steps - 1
        if weight_decay:
            weight_move.copy_(weight)
        weight_move.baddbmm_(errors, samples, beta=decayed, alpha=-step_size)  # with beta = 0 it is not read
        torch.add(decayed * bias, errors.sum(2), alpha=-step_size, out=bias_move)
        for move, now, then in zip(moves, others, before, strict=True):
            torch.sub(now[0], then[0], out=move[0])
            torch.sub(now[1], then[1], out=move[1])

    def _layers(self, models: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of the weights (S, out, in) and biases (S, out) of each layer."""
        parts = torch.split(models, self.sizes, dim=1)
        of_layers = zip(self.places, self.shapes, strict=True)
        return [(parts[weight].view(-1, *shape), parts[bias]) for (weight, bias), shape in of_layers]

    def _backward(
        self,
        layers: list[tuple[Tensor, Tensor]],
        inputs: Tensor,
        targets: Tensor,
        scales: Tensor | None = None,
        first: Tensor | None = None,
    ) -> Any:
        """Yield (layer, its inputs, slope of the loss by its outputs), last layer first, before a layer is changed.

        first   outputs of the first layer, if they are known
        """
        batch, last = targets.shape[1], len(layers) - 1
        seen = [inputs.reshape(*targets.shape, -1).mT]
        for layer, (weight, bias) in enumerate(layers):
            out = torch.baddbmm(bias[..., None], weight, seen[-1]) if layer or first is None else first
            seen.append(out if layer == last else out.relu_())
        error = torch.softmax(seen.pop(), dim=1)
        error.scatter_add_(1, targets[:, None], torch.full_like(error[:, :1], -1))
        error /= batch
        if scales is not None:
            error *= scales[:, None, None]
        for layer in range(last, -1, -1):
            below = torch.bmm(layers[layer][0].mT, error) if layer else None
            yield layer, seen[layer], error
            if below is not None:
                error = threshold_backward(below, seen[layer], 0)


def step_of(batches: Batches, k: int) -> Batches:
    """The batches of one step."""
    inputs, targets, masks = batches
    return inputs[:, k], targets[:, k], tuple(mask[:, k] for mask in masks)


def loss_of(
    module: nn.Module,
    parameters: dict[str, Tensor] | None,
    inputs: Tensor,
    targets: Tensor,
    masks: tuple[Tensor, ...] = (),
    bf16: bool = False,
) -> Tensor:
    """Mean cross-entropy of one model on one batch, the logits in bfloat16 if that is asked for.

    The model are these parameters (and buffers) by name, shared ones by each (`Layout.everywhere`); None for those
    that the module has.
    Raises InputError for logits without a gradient: `torch.func` would take it for 0, autograd would refuse.
    """
    more = {"masks": masks} if masks else {}
    with torch.autocast(inputs.device.type, torch.bfloat16) if bf16 else nullcontext():
        if parameters is None:
            logits = module(inputs, **more)
        else:
            logits = torch.func.functional_call(module, parameters, (inputs,), more, tie_weights=False)
    if not logits_of(module, logits).requires_grad:
        raise _detached(module)
    loss = cross_entropy(logits.float() if bf16 else logits, targets)
    if not loss.requires_grad:  # after a pass that turns gradients off
        raise _detached(module)
    return loss


def logits_of(module: nn.Module, found: Any) -> Tensor:
    """What a module gives; InputError if that is no tensor."""
    if not isinstance(found, Tensor):
        raise InputError("module", type(module).__name__, f"one that gives logits, not a {type(found).__name__}")
    return found


def _backward(loss: Tensor, parameters: Sequence[nn.Parameter]) -> list[Tensor | None]:
    """Gradients of a loss, None by parameters that it does not depend on, which have no `grad` before and afterwards.

    By `backward`, as in the usual loop: reentrant checkpoints would be passed by in silence by `torch.autograd.grad`.
    """
    loss.backward()  # type: ignore[no-untyped-call]
    slopes = [parameter.grad for parameter in parameters]
    for parameter in parameters:
        parameter.grad = None
    return slopes


def _detached(module: nn.Module) -> InputError:
    allowed = "one whose logits have gradients by its parameters (they are detached, or depend on none)"
    return InputError("module", type(module).__name__, allowed)


def _step(
    parameters: Tensor, slope: Tensor, step_size: float, weight_decay: float, scale: Tensor | None = None
) -> None:
    """One plain step, in place."""
    if weight_decay:
        parameters.mul_(1 - step_size * weight_decay)
    parameters.sub_(slope if scale is None else scale * slope, alpha=step_size)


def _layer_step(
    layer: tuple[Tensor, Tensor], seen: Tensor, error: Tensor, step_size: float, weight_decay: float
) -> None:
    """One plain step of a layer that saw this, in place; `error` is the slope of the loss by its outputs."""
    weight, bias = layer
    weight.baddbmm_(error, seen.mT, beta=1 - step_size * weight_decay, alpha=-step_size)
    _step(bias, error.sum(2), step_size, weight_decay)


ENGINES: dict[str, Callable[[nn.Module, bool, str], Engine]] = {
    "layered": Layered,
    "sequential": Sequential,
    "vmap": Vmapped,
}


def make(name: str, module: nn.Module, device: torch.device, bf16: bool = False, buffers: str = "refuse") -> Engine:
    """The engine of this name; "auto" is layered where the module allows it, else vmap on accelerators.

    A module in half precision is trained by `sequential`: there rounding alone takes another one far from the loop.
    Raises InputError for an unknown name, and for an engine that cannot run the module, or not in bf16, or not with
    averaged buffers.
    """
    halves = {part.dtype for _, part in module.named_parameters() if part.is_floating_point() and part.itemsize < 4}
    if name == "auto" and halves:
        name = "sequential"
    elif name == "auto":
        layered = layers_of(module) is not None and not bf16 and not averaged(module, buffers)
        name = "layered" if layered else "sequential" if device.type == "cpu" else "vmap"
    if name not in ENGINES:
        raise InputError("engine", name, one_of(name, ["auto", *ENGINES]))
    if halves and name != "sequential":
        kind = str(halves.pop()).removeprefix("torch.")
        raise InputError(
            "engine", name, f'"sequential" for a module in {kind}: rounding takes others far from the loop'
        )
    return ENGINES[name](module, bf16, buffers)
