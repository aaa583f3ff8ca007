"""Augmentation of batches where they live, as pure functions of images and integer draws.

A kind names what is done to a batch; `draw` takes the integers from a numpy generator and `apply` uses them, so that
nothing random happens on the device. Draws are (..., D, width(kind)) for images (..., B, C, H, W), the last axis of
the draws being one set of integers and the axis before it

- D = B, one set an image: `per image`, what the papers describe;
- D = 1, one set a mini-batch: `per batch`, what FedAU's authors' code does, where crop offset, flip and colours are
  decided once a mini-batch.

Kinds (FedAU, Appendix C.2; numbers from the authors' code, where the paper is silent):

- `crop`: a window of the image's size out of the image with 4 zero pixels around it (SVHN);
- `flip`: left and right change places with probability 1/2;
- `crop-flip`: both (CIFAR-10, CINIC-10);
- `fedau-cifar100`: sharpness factor 2, brightness factor in (0.95, 1.05) and hue shift in (-0.05, 0.05) turns,
  2-bit posterisation, equalisation, then crop and flip. Sharpness, posterisation, equalisation and flip happen with
  probability 1/2 each; brightness and hue always, in either order. Colours work on the 256 levels of a pixel, each
  step rounding down to a level; the crop's border is zero after normalisation, which is the mean colour;
- `none`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fltheory.errors import InputError, one_of

__all__ = ["apply", "draw", "kinds", "width"]

PADDING = 4
GRID = 1 << 16  # brightness and hue are drawn on this many equally spaced values
_CROP = (2 * PADDING + 1, 2 * PADDING + 1)  # first row, first column
_FLIP = (2,)
_COLOURS = (2, 2, GRID, GRID, 2, 2)  # sharpen, hue first, brightness, hue, posterise, equalise

_RANGES: dict[str, tuple[int, ...]] = {
    "none": (),
    "crop": _CROP,
    "flip": _FLIP,
    "crop-flip": _CROP + _FLIP,
    "fedau-cifar100": _COLOURS + _CROP + _FLIP,
}


def kinds() -> list[str]:
    """The names of the kinds."""
    return list(_RANGES)


def _ranges(kind: str) -> tuple[int, ...]:
    if kind not in _RANGES:
        raise InputError("augmentation", kind, one_of(str(kind), _RANGES))
    return _RANGES[kind]


def width(kind: str) -> int:
    """How many integers one image (or one mini-batch) takes. Raises InputError for an unknown kind."""
    return len(_ranges(kind))


def draw(kind: str, rng: np.random.Generator, shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Integers (*shape, width(kind)): `shape` is (..., B) for draws per image, (..., 1) for draws per batch."""
    ranges = np.array(_ranges(kind), dtype=np.int64)
    return rng.integers(0, ranges, size=(*shape, ranges.size), dtype=np.int64)


def apply(
    kind: str,
    images: Tensor,
    draws: Tensor | npt.NDArray[np.int64],
    *,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Tensor:
    """Augmented copies of float images (..., B, C, H, W), from draws (..., B or 1, width(kind)).

    `mean` and `std`, a number a channel, say how the images were normalised, (level / 255 - mean) / std; only colours
    need them. Raises InputError for an unknown kind, shapes that do not fit, and missing or unfit normalisation.
    """
    needed = width(kind)
    chosen = torch.as_tensor(draws, device=images.device)
    if images.ndim < 4 or chosen.ndim != images.ndim - 2 or chosen.shape[-1] != needed:
        raise InputError("draws", tuple(chosen.shape), f"(..., B or 1, {needed}) for images {tuple(images.shape)}")
    if not needed:
        return images
    try:
        chosen = chosen.broadcast_to((*images.shape[:-3], needed))
    except RuntimeError:
        raise InputError("draws", tuple(chosen.shape), f"of axes that fit images {tuple(images.shape)}") from None
    columns = list(chosen.unbind(-1))
    if kind == "fedau-cifar100":
        images = _colours(images, columns[: len(_COLOURS)], mean, std)
        columns = columns[len(_COLOURS) :]
    if kind == "flip":
        return _moved(images, None, None, columns[0])
    return _moved(images, columns[0], columns[1], columns[2] if len(columns) > 2 else None)


def _moved(images: Tensor, top: Tensor | None, left: Tensor | None, flip: Tensor | None) -> Tensor:
    """Crop and flip in one gather: each pixel says where it comes from; from outside the image comes zero."""
    *lead, channels, height, wide = images.shape
    rows = torch.arange(height, device=images.device).expand(*lead, height)
    places = torch.arange(wide, device=images.device).expand(*lead, wide)
    if flip is not None:  # of the window, after it was cut
        places = torch.where(flip[..., None] == 1, wide - 1 - places, places)
    if top is None or left is None:
        return torch.gather(images, -1, places[..., None, None, :].expand(images.shape))
    rows, places = rows + top[..., None] - PADDING, places + left[..., None] - PADDING
    inside = ((rows >= 0) & (rows < height))[..., :, None] & ((places >= 0) & (places < wide))[..., None, :]
    source = rows.clamp(0, height - 1)[..., :, None] * wide + places.clamp(0, wide - 1)[..., None, :]
    flat = source.reshape(*lead, 1, height * wide).expand(*lead, channels, -1)
    moved = torch.gather(images.reshape(*lead, channels, height * wide), -1, flat).reshape(images.shape)
    return torch.where(inside[..., None, :, :], moved, 0)


def _colours(images: Tensor, columns: list[Tensor], mean: Any, std: Any) -> Tensor:
    if images.shape[-3] != 3:
        raise InputError("images", tuple(images.shape), "(..., B, 3, H, W) for colours")
    centre, scale = (_per_channel(name, value, images) for name, value in (("mean", mean), ("std", std)))
    sharpen, hue_first, brightness, hue, posterise, equalise = (column[..., None, None, None] for column in columns)
    levels = ((images * scale + centre) * 255).round().clamp(0, 255)
    levels = torch.where(sharpen == 1, _sharpened(levels), levels)
    shift = _spread(hue, levels)
    bright = 1 + _spread(brightness, levels)
    first = torch.where(hue_first == 1, _turned(levels, shift), _brightened(levels, bright))
    levels = torch.where(hue_first == 1, _brightened(first, bright), _turned(first, shift))
    levels = torch.where(posterise == 1, (levels / 64).floor() * 64, levels)
    levels = torch.where(equalise == 1, _equalised(levels), levels)
    return (levels / 255 - centre) / scale


def _per_channel(name: str, value: Any, images: Tensor) -> Tensor:
    try:
        numbers = torch.as_tensor(value, dtype=images.dtype, device=images.device)
    except (TypeError, ValueError, RuntimeError):
        numbers = torch.empty(0)
    bad = name == "std" and numbers.device.type == "cpu" and not bool((numbers > 0).all())
    if numbers.shape != (3,) or bad:
        raise InputError(name, value, "three numbers, with which the images were normalised, for colours")
    return numbers[:, None, None]


def _spread(drawn: Tensor, like: Tensor) -> Tensor:
    """The middle of cell `drawn` of GRID equal cells of (-0.05, 0.05)."""
    return ((drawn.to(like.dtype) + 0.5) / GRID - 0.5) * 0.1


def _level(values: Tensor) -> Tensor:
    """Down to a level of 0, ..., 255, as a conversion to 8 bits does."""
    return values.clamp(0, 255).floor()


def _brightened(levels: Tensor, factor: Tensor) -> Tensor:
    return _level(levels * factor)


def _sharpened(levels: Tensor) -> Tensor:
    """Twice as sharp: 2 x - blur(x), where the blur (3x3 ones, 5 in the middle, over 13) leaves the border as it is."""
    if min(levels.shape[-2:]) < 3:
        return levels
    height, wide = levels.shape[-2:]
    blurred = levels.clone()
    around = sum(levels[..., i : height - 2 + i, j : wide - 2 + j] for i in range(3) for j in range(3))
    blurred[..., 1:-1, 1:-1] = ((around + 4 * levels[..., 1:-1, 1:-1]) / 13).round()
    return _level(2 * levels - blurred)


def _turned(levels: Tensor, shift: Tensor) -> Tensor:
    """The hue moved by `shift` turns; value and saturation stay."""
    rgb = levels / 255
    red, green, blue = rgb.unbind(-3)
    value, low = rgb.amax(-3), rgb.amin(-3)
    chroma = value - low
    safe = torch.where(chroma == 0, 1, chroma)
    sextant = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    turned = sextant + 6 * shift[..., 0, :, :]
    # channel n has value - chroma * clip(min(k, 4 - k), 0, 1) with k = n + sextant mod 6, n = 5, 3, 1
    k = (turned[..., None, :, :] + torch.arange(5, 0, -2, device=levels.device)[:, None, None]) % 6
    away = torch.minimum(k, 4 - k).clamp(0, 1)
    return _level((value[..., None, :, :] - chroma[..., None, :, :] * away) * 255.999)


def _equalised(levels: Tensor) -> Tensor:
    """Each channel's levels spread so that each is about as frequent as the others; a channel of one level stays."""
    whole = levels.long()
    flat = whole.flatten(-2)
    counts = torch.zeros(*flat.shape[:-1], 256, dtype=torch.long, device=levels.device)
    counts = counts.scatter_add(-1, flat, torch.ones_like(flat))
    most = flat.amax(-1, keepdim=True)
    step = (flat.shape[-1] - counts.gather(-1, most)) // 255  # pixels below the highest level, a 255th of them
    safe = step.clamp(min=1)
    table = ((counts.cumsum(-1) - counts + safe // 2) // safe).clamp(max=255)
    spread = table.gather(-1, flat).reshape(levels.shape).to(levels.dtype)
    return torch.where((step == 0)[..., None], levels, spread)
