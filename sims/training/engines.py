"""Gradients of many clients' models at once: three engines that give the same numbers, at different speed.

Models are rows of a matrix (S, d): parameters flattened in the order of `module.named_parameters()`. Losses are
means over a client's batch. Randomness (dropout masks) comes with the batch, never from within. With `bf16` a module
runs under torch's autocast, in bfloat16 where that is safe; losses, gradients and models stay in float32.

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

    def descend(self, models: Tensor, batches: Sequence[Batch], step_size: float, weight_decay: float) -> None:
        """For each batch in turn models -= step_size * (gradients + weight_decay * models), in place."""


class Sequential:
    """One client after the other: a forward and a backward pass each."""

    name = "sequential"

    def __init__(self, module: nn.Module, bf16: bool = False) -> None:
        self.module, self.layout, self.bf16 = module, Layout(module), bf16

    def at_once(self, itemsize: int) -> int | None:
        return 1

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        result = torch.empty_like(models)
        for s in range(models.shape[0]):
            parts = self._slopes(self._parameters(models[s]), (inputs, targets, masks), s)
            torch.cat([part.reshape(-1) for part in parts], out=result[s])
        return result

    def descend(self, models: Tensor, batches: Sequence[Batch], step_size: float, weight_decay: float) -> None:
        for s in range(models.shape[0]):
            parameters = self._parameters(models[s])
            for batch in batches:
                slopes = self._slopes(parameters, batch, s)
                with torch.no_grad():
                    for parameter, slope in zip(parameters.values(), slopes, strict=True):
                        _step(parameter, slope, step_size, weight_decay)

    def _parameters(self, model: Tensor) -> dict[str, Tensor]:
        return {name: part.detach().requires_grad_() for name, part in self.layout.named(model).items()}

    def _slopes(self, parameters: dict[str, Tensor], batch: Batch, s: int) -> tuple[Tensor, ...]:
        inputs, targets, masks = batch
        own = tuple(mask[s] for mask in masks)
        loss = loss_of(self.module, parameters, inputs[s], targets[s], own, self.bf16)
        return torch.autograd.grad(loss, list(parameters.values()))


class Vmapped:
    """All clients in one program."""

    name = "vmap"

    def __init__(self, module: nn.Module, bf16: bool = False) -> None:
        layout = Layout(module)

        def loss(flat: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...]) -> Tensor:
            return loss_of(module, layout.named(flat), inputs, targets, masks, bf16)

        self._gradients: Callable[..., Tensor] = torch.func.vmap(torch.func.grad(loss))

    def at_once(self, itemsize: int) -> int | None:
        return None

    def gradients(self, models: Tensor, inputs: Tensor, targets: Tensor, masks: tuple[Tensor, ...] = ()) -> Tensor:
        return self._gradients(models, inputs, targets, masks)

    def descend(self, models: Tensor, batches: Sequence[Batch], step_size: float, weight_decay: float) -> None:
        for batch in batches:
            _step(models, self.gradients(models, *batch), step_size, weight_decay)


class Layered:
    """A chain of linear layers with ReLUs between them, its backward pass written out.

    `descend` adds the gradient where it is made, so that a parameter is read and written once a step.
    """

    name = "layered"

    def __init__(self, module: nn.Module, bf16: bool = False) -> None:
        if bf16:
            raise InputError("engine", self.name, "another one for bf16: this one writes its products out in float32")
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

    def descend(self, models: Tensor, batches: Sequence[Batch], step_size: float, weight_decay: float) -> None:
        kept = 1 - step_size * weight_decay
        layers = self._layers(models)
        for inputs, targets, _ in batches:
            for layer, inputs_of, error in self._backward(layers, inputs, targets):
                weight, bias = layers[layer]
                weight.baddbmm_(error.mT, inputs_of, beta=kept, alpha=-step_size)
                _step(bias, error.sum(1), step_size, weight_decay)

    def _layers(self, models: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Views of the weights (S, out, in) and biases (S, out) of each layer."""
        parts = torch.split(models, self.sizes, dim=1)
        weights = [part.view(-1, *shape) for part, shape in zip(parts[::2], self.shapes, strict=True)]
        return list(zip(weights, parts[1::2], strict=True))

    def _backward(self, layers: list[tuple[Tensor, Tensor]], inputs: Tensor, targets: Tensor) -> Any:
        """Yield (layer, its inputs, slope of the loss by its outputs), last layer first, before a layer is changed."""
        batch, last = targets.shape[1], len(layers) - 1
        seen = [inputs.reshape(*targets.shape, -1)]
        for layer, (weight, bias) in enumerate(layers):
            out = torch.baddbmm(bias[:, None], seen[-1], weight.mT)
            seen.append(out if layer == last else out.relu_())
        error = torch.softmax(seen.pop(), dim=-1)
        error.scatter_add_(-1, targets[..., None], torch.full_like(error[..., :1], -1))
        error /= batch
        for layer in range(last, -1, -1):
            below = torch.bmm(error, layers[layer][0]).mul_(seen[layer] > 0) if layer else None
            yield layer, seen[layer], error
            if below is not None:
                error = below


class Layout:
    """Where the parameters of a module stand in a flat vector."""

    def __init__(self, module: nn.Module) -> None:
        parameters = dict(module.named_parameters())
        self.names, self.shapes = list(parameters), [p.shape for p in parameters.values()]
        self.sizes = [p.numel() for p in parameters.values()]

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat vector (d,), by the names of the module."""
        parts = torch.split(flat, self.sizes)
        return {n: part.view(shape) for n, part, shape in zip(self.names, parts, self.shapes, strict=True)}


def loss_of(
    module: nn.Module,
    parameters: dict[str, Tensor],
    inputs: Tensor,
    targets: Tensor,
    masks: tuple[Tensor, ...] = (),
    bf16: bool = False,
) -> Tensor:
    """Mean cross-entropy of one model on one batch, the logits in bfloat16 if that is asked for."""
    more = {"masks": masks} if masks else {}
    with torch.autocast(inputs.device.type, torch.bfloat16) if bf16 else nullcontext():
        logits = torch.func.functional_call(module, parameters, (inputs,), more)
    return cross_entropy(logits.float() if bf16 else logits, targets)


def _step(parameters: Tensor, slope: Tensor, step_size: float, weight_decay: float) -> None:
    """One plain step, in place."""
    if weight_decay:
        parameters.mul_(1 - step_size * weight_decay)
    parameters.sub_(slope, alpha=step_size)


ENGINES: dict[str, Callable[[nn.Module, bool], Engine]] = {
    "layered": Layered,
    "sequential": Sequential,
    "vmap": Vmapped,
}


def make(name: str, module: nn.Module, device: torch.device, bf16: bool = False) -> Engine:
    """The engine of this name; "auto" is layered where the module allows it, else vmap on accelerators.

    Raises InputError for an unknown name, and for an engine that cannot run the module, or not in bf16.
    """
    if name == "auto":
        layered = layers_of(module) is not None and not bf16
        name = "layered" if layered else "sequential" if device.type == "cpu" else "vmap"
    if name not in ENGINES:
        raise InputError("engine", name, one_of(name, ["auto", *ENGINES]))
    return ENGINES[name](module, bf16)
