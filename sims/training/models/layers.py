"""What the models are made of: chains of layers, dropout whose masks come from outside, an LSTM that can be batched.

A mask is a tensor already scaled: 0 where a unit is dropped, 1 / (1 - rate) where it is kept. An engine draws uniform
numbers of `model.mask_shapes(batch)`, with as many leading axes as it likes, and `masks_from` makes masks of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from fltheory.errors import InputError, count

Masks = Sequence[Tensor] | None


class Dropout(nn.Module):
    """Multiplies features of `shape` (without the batch) by a mask that is passed in; without one, the identity."""

    def __init__(self, rate: float, *shape: int) -> None:
        super().__init__()
        if not (isinstance(rate, int | float) and 0 <= rate < 1):
            raise InputError("dropout", rate, "a number in [0, 1)")
        self.rate, self.shape = float(rate), shape

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x if mask is None else x * mask

    def extra_repr(self) -> str:
        return f"{self.rate}, shape={self.shape}"


class Model(nn.Module):
    """A module that says which dropout masks it takes."""

    @property
    def dropouts(self) -> list[Dropout]:
        """The dropout layers in the order in which their masks are passed."""
        return [layer for layer in self.modules() if isinstance(layer, Dropout)]

    @property
    def drop_rates(self) -> tuple[float, ...]:
        """The probability that a unit is dropped, one number a mask."""
        return tuple(layer.rate for layer in self.dropouts)

    def mask_shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """The shapes of the masks of a batch of this size, one a dropout layer; () where there is no dropout."""
        return tuple((batch, *layer.shape) for layer in self.dropouts)

    def _masks(self, masks: Masks) -> Sequence[Tensor | None]:
        if masks is None:
            return [None] * len(self.dropouts)
        if len(masks) != len(self.dropouts):
            raise InputError("masks", f"{len(masks)} of them", f"{len(self.dropouts)} tensors, one a dropout layer")
        return masks


class Chain(nn.Sequential, Model):
    """Layers one after the other, as in `torch.nn.Sequential`; the masks go to the dropout layers in turn."""

    def forward(self, x: Tensor, masks: Masks = None) -> Tensor:
        turn = iter(self._masks(masks))
        for layer in self:
            x = layer(x, next(turn)) if isinstance(layer, Dropout) else layer(x)
        return x


def masks_from(model: Any, uniforms: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Scaled masks from uniform numbers in [0, 1), one tensor for each of `model.mask_shapes`, leading axes free."""
    rates = model.drop_rates
    if len(uniforms) != len(rates):
        raise InputError("uniforms", f"{len(uniforms)} of them", f"{len(rates)} tensors, one a dropout layer")
    return tuple((u >= rate).to(u.dtype) / (1 - rate) for u, rate in zip(uniforms, rates, strict=True))


def dense(widths: Sequence[int], dropout: float = 0.0) -> list[nn.Module]:
    """Linear layers of these widths with ReLU between them; with `dropout`, one dropout layer before each of them."""
    layers: list[nn.Module] = []
    for into, out in pairwise(widths):
        if dropout:
            layers.append(Dropout(dropout, into))
        layers += [nn.Linear(into, out), nn.ReLU()]
    return layers[:-1]


def cnn(
    channels: int,
    size: int,
    filters: Sequence[int],
    kernel: int,
    hidden: Sequence[int],
    classes: int,
    *,
    padding: int | None = None,
    dropout: float = 0.0,
) -> Chain:
    """Convolution, ReLU and 2x2 max-pooling for each number of filters; then linear layers with ReLU between them.

    Images are (B, channels, size, size). `padding` is kernel // 2 unless given, which keeps the size before pooling.
    Raises InputError if nothing is left of an image after the last pooling.
    """
    into, side = count("channels", channels), count("size", size)
    around = kernel // 2 if padding is None else padding
    layers: list[nn.Module] = []
    for out in filters:
        layers += [nn.Conv2d(into, out, kernel, padding=around), nn.ReLU(), nn.MaxPool2d(2)]
        into, side = out, (side + 2 * around - kernel + 1) // 2
        if side < 1:
            raise InputError("size", size, f"large enough for {len(filters)} convolutions and poolings")
    widths = [into * side * side, *hidden, count("classes", classes, least=2)]
    return Chain(*layers, nn.Flatten(), *dense(widths, dropout))


def kaiming(chain: Chain) -> Chain:
    """Kaiming normal weights and zero biases in all but the last layer, which keeps torch's default."""
    for layer in [layer for layer in chain if isinstance(layer, nn.Linear | nn.Conv2d)][:-1]:
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return chain


def layers_of(module: nn.Module) -> tuple[int, ...] | None:
    """The widths of a chain [Flatten,] Linear, ReLU, Linear, ..., Linear; None if `module` is anything else.

    Such a chain is fully described by its widths: each layer has a weight (out, in) and a bias (out,), in any order,
    and all are trained. An engine may then run it with matrix products of its own.
    """
    if any(map(_does_more, module.modules())):
        return None
    layers: list[Any] = list(module) if type(module) in (nn.Sequential, Chain) else [module]  # type: ignore[call-overload]
    if layers and type(layers[0]) is nn.Flatten and (layers[0].start_dim, layers[0].end_dim) == (1, -1):
        layers = layers[1:]
    linear, between = layers[::2], layers[1::2]
    plain = all(type(layer) is nn.Linear for layer in linear) and all(type(layer) is nn.ReLU for layer in between)
    if not (plain and len(linear) == len(between) + 1 == len(set(map(id, linear)))):
        return None
    own = [dict(layer.named_parameters()) for layer in linear]
    if any(parts.keys() != {"weight", "bias"} for parts in own):
        return None
    # of the parameters as they are: numbers that a layer was made with stay what they were when others are put in
    shapes, parameters = [parts["weight"].shape for parts in own], list(module.parameters())
    matrices = all(len(shape) == 2 for shape in shapes) and len(parameters) == 2 * len(linear)
    if not matrices or any(parts["bias"].shape != parts["weight"].shape[:1] for parts in own):
        return None
    fits = all(a[0] == b[1] for a, b in pairwise(shapes))
    trained = all(type(parameter) is nn.Parameter and parameter.requires_grad for parameter in parameters)
    return (shapes[0][1], *(out for out, _ in shapes)) if fits and trained else None


def linear_layers(module: nn.Module) -> list[str]:
    """The names of the linear layers of such a chain, in order; "" for the module itself."""
    return [name for name, part in module.named_modules() if type(part) is nn.Linear]


def _does_more(part: nn.Module) -> bool:
    """Whether a pass through it, or back, is not that of its class: hooks of any kind, a method of its own."""
    kinds = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")
    hooks = [getattr(part, f"_{kind}") or getattr(nn.modules.module, f"_global_{kind}") for kind in kinds]
    return any(hooks) or any(callable(getattr(type(part), name, None)) for name in vars(part))


class Lstm(nn.Module):
    """What `torch.nn.LSTM(inputs, hidden, layers, batch_first=True)` computes, in matrix products that can be vmapped.

    Maps (B, length, inputs) to the outputs (B, length, hidden) of the last layer, from a zero state. Parameters have
    the names, shapes, order and initial law of torch's, so that a state dict of one loads into the other.
    """

    def __init__(self, inputs: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.hidden, self.layers = count("hidden", hidden), count("layers", layers)
        bound = hidden**-0.5
        for layer in range(layers):
            into = inputs if layer == 0 else hidden
            for name, shape in (
                ("weight_ih", (4 * hidden, into)),
                ("weight_hh", (4 * hidden, hidden)),
                ("bias_ih", (4 * hidden,)),
                ("bias_hh", (4 * hidden,)),
            ):
                self.register_parameter(f"{name}_l{layer}", nn.Parameter(torch.empty(shape).uniform_(-bound, bound)))

    def forward(self, x: Tensor) -> Tensor:
        for layer in range(self.layers):
            into, back, bias_in, bias_back = (
                getattr(self, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            h = c = x.new_zeros(x.shape[0], self.hidden)
            outputs = []
            for driven in (x @ into.T + (bias_in + bias_back)).unbind(1):
                i, f, g, o = (driven + h @ back.T).chunk(4, -1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                outputs.append(h)
            x = torch.stack(outputs, 1)
        return x


class FrozenVectors(nn.Module):
    """Token ids (B, length) -> their vectors (B, length, d), from a table (tokens, d) that is data and never trained.

    The table is neither parameter nor buffer; it follows the module to a device and a floating dtype.
    """

    def __init__(self, vectors: Any) -> None:
        super().__init__()
        try:
            table = torch.as_tensor(vectors)
            table = table.detach().clone() if table.is_floating_point() else table.to(torch.get_default_dtype())
        except (TypeError, ValueError, RuntimeError):
            raise InputError("vectors", type(vectors).__name__, "an array (tokens, d) of numbers") from None
        finite = table.is_meta or bool(torch.isfinite(table).all())
        if table.ndim != 2 or 0 in table.shape or not finite:
            raise InputError("vectors", tuple(table.shape), "an array (tokens, d) of finite numbers")
        self.table = table.to(torch.get_default_dtype())

    def _apply(self, fn: Any, recurse: bool = True) -> FrozenVectors:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.table = fn(self.table)
        return self

    def forward(self, tokens: Tensor) -> Tensor:
        return self.table[tokens]

    def extra_repr(self) -> str:
        return "{}, {}".format(*self.table.shape)
