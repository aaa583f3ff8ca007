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

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fltheory.errors import InputError, one_of
from sims.training.buffers import averaged
from sims.training.models.layers import layers_of

Batch = tuple[Tensor, Tensor, tuple[Tensor, ...]]  # inputs (S, B, ...), classes (S, B), dropout masks (S, B, ...)

CACHE = 2**21  # bytes of models that a core keeps close: clients that step together on a CPU


class Engine(Protocol):
    """name, and how many clients of a model of d parameters compute together (None for all)."""

    name: str

    def at_once(self, itemsize: int) -> int | None:
        """Clients that should step together."""

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        """Gradients (S, d) of the mean losses of models (S, d) on inputs (S, B, ...) with classes (S, B)."""

    def descend(
        self,
        models: Tensor,
        batches: Sequence[Batch],
        step_size: float,
        weight_decay: float,
        scales: Tensor | None = None,
    ) -> None:
        """For each batch in turn models -= step_size * (scales * gradients + weight_decay * models), in place.

        scales   (S,), of the clients' losses; without them 1
        """


class Sequential:
    """One client after the other: a forward and a backward pass each."""

    name = "sequential"

    def __init__(self, module: nn.Module, bf16: bool = False, buffers: str = "refuse") -> None:
        self.module, self.layout, self.bf16 = module, Layout(module, buffers), bf16

    def at_once(self, itemsize: int) -> int | None:
        return 1

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        result = torch.zeros_like(models)
        for s in range(models.shape[0]):
            parts = self._slopes(self._parts(models[s]), (inputs, targets, masks), s)
            torch.cat([part.reshape(-1) for part in parts], out=result[s, : self.layout.trained])
        return result

    def descend(
        self,
        models: Tensor,
        batches: Sequence[Batch],
        step_size: float,
        weight_decay: float,
        scales: Tensor | None = None,
    ) -> None:
        for s in range(models.shape[0]):
            parts, scale = self._parts(models[s]), None if scales is None else scales[s]
            for batch in batches:
                slopes = self._slopes(parts, batch, s)
                with torch.no_grad():
                    for parameter, slope in zip(self._trained(parts), slopes, strict=True):
                        _step(parameter, slope, step_size, weight_decay, scale)

    def _parts(self, model: Tensor) -> dict[str, Tensor]:
        """Views of the model by name; a pass renews those of buffers in place."""
        parts = {name: part.detach() for name, part in self.layout.named(model).items()}
        for parameter in self._trained(parts):
            parameter.requires_grad_()
        return parts

    def _trained(self, parts: dict[str, Tensor]) -> list[Tensor]:
        return [parts[name] for name in self.layout.parameters]

    def _slopes(self, parts: dict[str, Tensor], batch: Batch, s: int) -> tuple[Tensor, ...]:
        inputs, targets, masks = batch
        own = tuple(mask[s] for mask in masks)
        loss = loss_of(self.module, self.layout.with_fixed(parts), inputs[s], targets[s], own, self.bf16)
        trained = self._trained(parts)
        slopes = torch.autograd.grad(loss, trained, allow_unused=True)
        if all(slope is None for slope in slopes):  # the gradient of the logits is by tensors of no parameter
            raise _detached(self.module)
        if any(slope is not None and slope.is_sparse for slope in slopes):  # models are rows, which are dense
            raise InputError("module", type(self.module).__name__, "one with dense gradients (no sparse=True)")
        return tuple(torch.zeros_like(p) if slope is None else slope for p, slope in zip(trained, slopes, strict=True))


class Vmapped:
    """All clients in one program."""

    name = "vmap"

    def __init__(self, module: nn.Module, bf16: bool = False, buffers: str = "refuse") -> None:
        layout = Layout(module, buffers)
        self.trained = layout.trained

        def loss(
            trained: Tensor, rest: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...]
        ) -> tuple[Tensor, Tensor]:
            """The loss, and the buffers (`rest`) as the pass leaves them."""
            parts = layout.with_fixed(layout.named(trained, rest))
            # clones, each by itself: under vmap what batch normalisation writes into a view of a matrix is lost
            own = {name: parts[name].clone() for name in layout.averaged}
            value = loss_of(module, {**parts, **own}, inputs, targets, masks, bf16)
            return value, torch.cat([part.reshape(-1) for part in own.values()]) if own else rest

        self._pass: Callable[..., tuple[Tensor, Tensor]] = torch.func.vmap(torch.func.grad(loss, has_aux=True))

    def at_once(self, itemsize: int) -> int | None:
        return None

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        trained, rest = self._split(models)
        slopes, _ = self._pass(trained, rest, inputs, targets, masks)
        return torch.cat([slopes, torch.zeros_like(rest)], dim=1) if rest.shape[1] else slopes

    def descend(
        self,
        models: Tensor,
        batches: Sequence[Batch],
        step_size: float,
        weight_decay: float,
        scales: Tensor | None = None,
    ) -> None:
        trained, rest = self._split(models)
        scale = None if scales is None else scales[:, None]
        for batch in batches:
            slopes, renewed = self._pass(trained, rest, *batch)
            _step(trained, slopes, step_size, weight_decay, scale)
            rest.copy_(renewed)

    def _split(self, models: Tensor) -> tuple[Tensor, Tensor]:
        return models[:, : self.trained], models[:, self.trained :]


class Layered:
    """A chain of linear layers with ReLUs between them, its backward pass written out.

    `descend` adds the gradient where it is made, so that a parameter is read and written once a step.
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
        self.shapes, self.sizes = list(zip(widths[1:], widths, strict=False)), []
        for out, into in self.shapes:
            self.sizes += [out * into, out]

    def at_once(self, itemsize: int) -> int | None:
        return max(1, CACHE // (itemsize * sum(self.sizes)))

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        result = torch.empty_like(models)
        layers, slopes = self._layers(models), self._layers(result)
        for layer, inputs_of, error in self._backward(layers, inputs, targets):
            weight, bias = slopes[layer]
            torch.bmm(error.mT, inputs_of, out=weight)
            torch.sum(error, 1, out=bias)
        return result

    def descend(
        self,
        models: Tensor,
        batches: Sequence[Batch],
        step_size: float,
        weight_decay: float,
        scales: Tensor | None = None,
    ) -> None:
        kept = 1 - step_size * weight_decay
        views = self._layers(models)
        layers = [(weight.contiguous(), bias) for weight, bias in views]  # for products of all clients in one call
        for inputs, targets, _ in batches:
            for layer, inputs_of, error in self._backward(layers, inputs, targets, scales):
                weight, bias = layers[layer]
                weight.baddbmm_(error.mT, inputs_of, beta=kept, alpha=-step_size)
                _step(bias, error.sum(1), step_size, weight_decay)
        for (view, _), (weight, _) in zip(views, layers, strict=True):
            view.copy_(weight)

    def _layers(self, models: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of the weights (S, out, in) and biases (S, out) of each layer."""
        parts = torch.split(models, self.sizes, dim=1)
        weights = [part.view(-1, *shape) for part, shape in zip(parts[::2], self.shapes, strict=True)]
        return list(zip(weights, parts[1::2], strict=True))

    def _backward(
        self, layers: list[tuple[Tensor, Tensor]], inputs: Tensor, targets: Tensor, scales: Tensor | None = None
    ) -> Any:
        """Yield (layer, its inputs, slope of the loss by its outputs), last layer first, before a layer is changed."""
        batch, last = targets.shape[1], len(layers) - 1
        seen = [inputs.reshape(*targets.shape, -1)]
        for layer, (weight, bias) in enumerate(layers):
            out = torch.baddbmm(bias[:, None], seen[-1], weight.mT)
            seen.append(out if layer == last else out.relu_())
        error = torch.softmax(seen.pop(), dim=-1)
        error.scatter_add_(-1, targets[..., None], torch.full_like(error[..., :1], -1))
        error /= batch
        if scales is not None:
            error *= scales[:, None, None]
        for layer in range(last, -1, -1):
            below = torch.bmm(error, layers[layer][0]).mul_(seen[layer] > 0) if layer else None
            yield layer, seen[layer], error
            if below is not None:
                error = below


class Layout:
    """Where parameters of a module, and behind them its averaged buffers, stand in a flat vector (d,).

    The first `trained` numbers are those of parameters.
    """

    def __init__(self, module: nn.Module, buffers: str = "refuse") -> None:
        parameters, rest = dict(module.named_parameters()), averaged(module, buffers)
        self.parameters, self.averaged = list(parameters), list(rest)
        self.names = [*parameters, *rest]
        self.shapes = [part.shape for part in (*parameters.values(), *rest.values())]
        self.sizes = [part.numel() for part in (*parameters.values(), *rest.values())]
        self.trained = sum(part.numel() for part in parameters.values())
        own = dict(module.named_buffers()) if buffers == "average" else {}
        self._fixed = {name: buffer for name, buffer in own.items() if name not in rest}

    def named(self, *flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat vector (d,), by the names of the module; it may come as the trained part and the rest."""
        first = len(self.parameters)
        sizes = [self.sizes] if len(flat) == 1 else [self.sizes[:first], self.sizes[first:]]
        parts = [part for piece, of in zip(flat, sizes, strict=True) for part in torch.split(piece, of)]
        return {n: part.view(shape) for n, part, shape in zip(self.names, parts, self.shapes, strict=True)}

    def with_fixed(self, parts: dict[str, Tensor]) -> dict[str, Tensor]:
        """With copies of the buffers that are not averaged, so that a pass that counts does not change the module."""
        return {**parts, **{name: buffer.clone() for name, buffer in self._fixed.items()}} if self._fixed else parts


def loss_of(
    module: nn.Module,
    parameters: dict[str, Tensor],
    inputs: Tensor,
    targets: Tensor,
    masks: tuple[Tensor, ...] = (),
    bf16: bool = False,
) -> Tensor:
    """Mean cross-entropy of one model on one batch, the logits in bfloat16 if that is asked for.

    Raises InputError for logits without a gradient: `torch.func` would take it for 0, autograd would refuse.
    """
    more = {"masks": masks} if masks else {}
    with torch.autocast(inputs.device.type, torch.bfloat16) if bf16 else nullcontext():
        logits = torch.func.functional_call(module, parameters, (inputs,), more)
    if not logits.requires_grad:
        raise _detached(module)
    return cross_entropy(logits.float() if bf16 else logits, targets)


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


ENGINES: dict[str, Callable[[nn.Module, bool, str], Engine]] = {
    "layered": Layered,
    "sequential": Sequential,
    "vmap": Vmapped,
}


def make(name: str, module: nn.Module, device: torch.device, bf16: bool = False, buffers: str = "refuse") -> Engine:
    """The engine of this name; "auto" is layered where the module allows it, else vmap on accelerators.

    Raises InputError for an unknown name, and for an engine that cannot run the module, or not in bf16, or not with
    averaged buffers.
    """
    if name == "auto":
        layered = layers_of(module) is not None and not bf16 and not averaged(module, buffers)
        name = "layered" if layered else "sequential" if device.type == "cpu" else "vmap"
    if name not in ENGINES:
        raise InputError("engine", name, one_of(name, ["auto", *ENGINES]))
    return ENGINES[name](module, bf16, buffers)
