"""Augmentation against a slow loop over images, with Pillow and colorsys for the colours."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

from fltheory.errors import InputError

torch = pytest.importorskip("torch")
from sims.training import augment  # noqa: E402

pytestmark = pytest.mark.torch

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
FACTOR = (np.arange(augment.GRID) + 0.5) / augment.GRID * 0.1 - 0.05


def _moved(image, top, left, flip):
    padded = np.pad(image, ((0, 0), (4, 4), (4, 4)))
    window = padded[:, top : top + image.shape[1], left : left + image.shape[2]]
    return window[:, :, ::-1] if flip else window


def _turned(levels, shift):
    out = np.empty_like(levels)
    for y, x in np.ndindex(levels.shape[:2]):
        hue, saturation, value = colorsys.rgb_to_hsv(*(levels[y, x] / 255))
        rgb = colorsys.hsv_to_rgb((hue + shift) % 1, saturation, value)
        out[y, x] = [min(255, int(c * 255.999)) for c in rgb]
    return out


def _coloured(levels, sharpen, hue_first, brightness, hue, posterise, equalise):
    """One image (H, W, 3) of levels, as the documentation orders the steps."""
    image_module = pytest.importorskip("PIL.Image")
    from PIL import ImageEnhance, ImageOps

    image = image_module.fromarray(levels)
    if sharpen:
        image = ImageEnhance.Sharpness(image).enhance(2)
    levels = np.asarray(image)
    for step in ("hue", "brightness") if hue_first else ("brightness", "hue"):
        if step == "hue":
            levels = _turned(levels, FACTOR[hue])
        else:
            levels = np.floor(np.clip(levels * (1 + FACTOR[brightness]), 0, 255)).astype(np.uint8)
    image = image_module.fromarray(levels)
    image = ImageOps.posterize(image, 2) if posterise else image
    return np.asarray(ImageOps.equalize(image) if equalise else image)


def _reference(kind, image, drawn, levels):
    drawn = [int(d) for d in drawn]
    if kind == "none":
        return image
    if kind == "flip":
        return _moved(image, 4, 4, drawn[0])
    if kind == "fedau-cifar100":
        coloured = _coloured(levels.transpose(1, 2, 0), *drawn[:6]).transpose(2, 0, 1)
        image = (coloured / 255 - np.array(MEAN)[:, None, None]) / np.array(STD)[:, None, None]
        drawn = drawn[6:]
    return _moved(image, drawn[0], drawn[1], drawn[2] if len(drawn) > 2 else 0)


def _batch(lead, height=12, wide=9):
    rng = np.random.default_rng(7)
    smooth = rng.integers(0, 256, (*lead, 3, height // 3, wide // 3)).repeat(3, -1).repeat(3, -2)
    levels = np.clip(smooth + rng.integers(-9, 10, (*lead, 3, height, wide)), 0, 255).astype(np.uint8)
    images = (levels / 255 - np.array(MEAN)[:, None, None]) / np.array(STD)[:, None, None]
    return levels, images


@pytest.mark.parametrize("per", ["image", "batch"])
@pytest.mark.parametrize("kind", augment.kinds())
def test_equals_a_loop_over_images(kind, per):
    levels, images = _batch((2, 3, 8))
    draws = augment.draw(kind, np.random.default_rng(3), (2, 3, 8 if per == "image" else 1))
    found = augment.apply(kind, torch.tensor(images), draws, mean=MEAN, std=STD).numpy()
    for place in np.ndindex(2, 3, 8):
        drawn = draws[place] if per == "image" else draws[(*place[:2], 0)]
        np.testing.assert_allclose(found[place], _reference(kind, images[place], drawn, levels[place]), atol=1e-12)


def test_single_precision_finds_the_same_levels():
    levels, images = _batch((16,))
    draws = augment.draw("fedau-cifar100", np.random.default_rng(4), (16,))
    draws[:, 1:4], draws[:, 6:] = [0, augment.GRID // 2, augment.GRID // 2], [4, 4, 0]
    found = augment.apply("fedau-cifar100", torch.tensor(images, dtype=torch.float32), draws, mean=MEAN, std=STD)
    assert found.dtype == torch.float32
    for i in range(16):
        np.testing.assert_allclose(found[i], _reference("fedau-cifar100", images[i], draws[i], levels[i]), atol=1e-5)


def test_grey_and_single_level_images_keep_their_hue_and_pass_equalisation():
    images = (torch.full((1, 3, 6, 6), 77 / 255) - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
    draws = np.array([[1, 1, augment.GRID // 2, 0, 0, 1, 4, 4, 0]])
    found = augment.apply("fedau-cifar100", images, draws, mean=MEAN, std=STD)
    np.testing.assert_allclose(found, images, atol=1e-6)


def test_a_small_image_is_not_sharpened():
    images = torch.rand((2, 3, 2, 2), dtype=torch.float64)
    draws = np.array([[1, 0, 0, 0, 0, 0, 4, 4, 0], [0, 0, 0, 0, 0, 0, 4, 4, 0]])
    both = [augment.apply("fedau-cifar100", images, d[None], mean=[0] * 3, std=[1] * 3) for d in draws]
    assert torch.equal(*both)


@pytest.mark.parametrize("kind", augment.kinds())
def test_the_given_images_stay_as_they_are_and_draws_are_in_range(kind):
    _, images = _batch((5,))
    given = torch.tensor(images)
    draws = augment.draw(kind, np.random.default_rng(5), (2000,))
    assert draws.shape == (2000, augment.width(kind))
    assert draws.dtype == np.int64
    augment.apply(kind, given, torch.tensor(draws[:5]), mean=MEAN, std=STD)
    assert torch.equal(given, torch.tensor(images))
    if kind.startswith("crop"):
        assert draws[:, 0].min() == draws[:, 1].min() == 0
        assert draws[:, 0].max() == draws[:, 1].max() == 8
    if kind.endswith("flip"):
        assert set(draws[:, -1].tolist()) == {0, 1}


def test_bad_input_is_named():
    images = torch.zeros(4, 3, 8, 8)
    draws = np.zeros((4, 3), dtype=np.int64)
    with pytest.raises(InputError, match=r"augmentation must be one of .*did you mean crop-flip"):
        augment.width("cropflip")
    with pytest.raises(InputError, match="draws must be"):
        augment.apply("crop", images, draws)
    with pytest.raises(InputError, match="draws must be of axes that fit"):
        augment.apply("crop-flip", images, draws[:3])
    colours = np.zeros((4, 9), dtype=np.int64)
    with pytest.raises(InputError, match="mean must be three numbers"):
        augment.apply("fedau-cifar100", images, colours)
    with pytest.raises(InputError, match="std must be three numbers"):
        augment.apply("fedau-cifar100", images, colours, mean=MEAN, std=(1, 0, 1))
    with pytest.raises(InputError, match="images must be"):
        augment.apply("fedau-cifar100", images[:, :1], colours, mean=MEAN, std=STD)
