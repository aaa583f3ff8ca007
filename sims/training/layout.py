"""Models as flat vectors: where a module's parameters stand in one, and how a module is given those of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from fltheory.errors import InputError
from sims.training.buffers import averaged

SETTLED = "one that has all its parameters from the first call on, and replaces none"


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
        first = {id(part): name for name, part in (*parameters.items(), *rest.items(), *self._fixed.items())}
        self._names = {  # all of a part that layers share, the first among them; once for a layer that is used twice
            f"{layer}.{name}".lstrip("."): first[id(part)]
            for layer, owner in module.named_modules()
            for name, part in (*owner._parameters.items(), *owner._buffers.items())
            if id(part) in first
        }

    def named(self, *flat: Tensor) -> dict[str, Tensor]:
        """Views of a flat vector (d,), by the names of the module; it may come as the trained part and the rest."""
        first = len(self.parameters)
        sizes = [self.sizes] if len(flat) == 1 else [self.sizes[:first], self.sizes[first:]]
        parts = [part for piece, of in zip(flat, sizes, strict=True) for part in torch.split(piece, of)]
        return {n: part.view(shape) for n, part, shape in zip(self.names, parts, self.shapes, strict=True)}

    def of(self, module: nn.Module) -> Tensor:
        """The model (d,) that a module has: a copy of its parameters, by name, and averaged buffers."""
        own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        return torch.cat([own[name].detach().reshape(-1) for name in self.names])

    @contextmanager
    def held(self, module: nn.Module, model: Tensor) -> Iterator[list[nn.Parameter]]:
        """Within it the module's own parameters (yielded, in order) and buffers are a model (d,), in its memory.

        They have no `grad` within it, and afterwards that which they had. Raises InputError where the module has other
        parameters than at first.

        Whoever holds a parameter sees the model's numbers, whenever he looks: a layer in a closure that is called
        again by the backward pass, a list beside the registered parameters. What is written into them is in the model.
        """
        parameters = dict(module.named_parameters())
        if parameters.keys() != set(self.parameters):
            raise InputError("module", type(module).__name__, SETTLED)
        own = {**parameters, **dict(module.named_buffers())}
        parts = self.with_fixed(self.named(model.detach()))
        before = [(own[name], own[name].data, own[name].grad) for name in parts]
        try:
            for name, part in parts.items():
                own[name].data, own[name].grad = part, None
            yield [cast("nn.Parameter", own[name]) for name in self.parameters]
        finally:
            for part, data, grad in before:
                part.data, part.grad = data, grad

    def everywhere(self, parts: dict[str, Tensor]) -> dict[str, Tensor]:
        """Parts by every name that they have in the module, for `torch.func.functional_call` with tie_weights=False.

        What that finds of ties by itself it does not take out again of a layer that a module has under two names.
        """
        return {name: parts[first] for name, first in self._names.items()}

    def with_fixed(self, parts: dict[str, Tensor]) -> dict[str, Tensor]:
        """With copies of the buffers that are not averaged, so that a pass that counts does not change the module."""
        return {**parts, **{name: buffer.clone() for name, buffer in self._fixed.items()}} if self._fixed else parts
