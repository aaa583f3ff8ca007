"""One object for every labelled data set, whatever it was made from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from fltheory.streams import stream
from sims.data import cache, glove, shakespeare
from sims.data.arrays import Array, content_hash, map_arrays, pack, unpack
from sims.refusals import loading


@dataclass(frozen=True, eq=False)
class LabelledData:
    """Inputs and labels for training and testing.

    train_inputs   images uint8 (n, height, width, channels), 0 to 255; text token ids, whole numbers (n, length);
                   or features float32 (n, features). Arrays are read-only and may be mapped from a file.
    train_labels   int64 (n,), from 0 to n_classes - 1
    test_inputs, test_labels   likewise
    name, source, licence      what was loaded, where it came from, and its terms
    hash           SHA-256 of the arrays and of the options they were made with, not of what classes are called
    classes        what the labels mean
    vocabulary     what the token ids mean; None if the inputs are no text. Of words, 0 is padding and 1 unknown.
    groups         int64 (n,): which natural client a training sample belongs to; None if there are none
    test_groups    likewise of the test samples
    group_names    what the groups are called
    """

    train_inputs: Array
    train_labels: npt.NDArray[np.int64]
    test_inputs: Array
    test_labels: npt.NDArray[np.int64]
    name: str
    source: str
    licence: str
    hash: str
    classes: tuple[str, ...]
    vocabulary: tuple[str, ...] | None = None
    groups: npt.NDArray[np.int64] | None = None
    test_groups: npt.NDArray[np.int64] | None = None
    group_names: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def provenance(self) -> dict[str, str]:
        """What a result says of the data that it was made with."""
        return {"name": self.name, "source": self.source, "licence": self.licence, "hash": self.hash}

    def only_groups(self, n_groups: int, *, seed: int, least: int = 1) -> LabelledData:
        """The same with `n_groups` of the groups, drawn without replacement, and the test samples of these.

        least   training samples that a group must have to be drawn

        LEAF and the experiments built on it take such a share of the users. Raises InputError if there are no
        groups or not enough of them.
        """
        if self.groups is None or self.test_groups is None:
            raise InputError("data set", self.name, "one with natural groups")
        sizes = np.bincount(self.groups, minlength=len(self.group_names))
        able = np.flatnonzero(sizes >= count("least", least))
        if not able.size:
            raise InputError("least", least, f"at most {sizes.max()}, the training samples of the largest group")
        if count("n_groups", n_groups) > able.size:
            raise InputError("n_groups", n_groups, f"at most {able.size}, the groups with {least} samples or more")
        chosen = np.sort(stream(seed, "data.groups").choice(able, n_groups, replace=False))
        number = np.full(len(self.group_names), -1)
        number[chosen] = np.arange(n_groups)
        train, test = number[self.groups] >= 0, number[self.test_groups] >= 0
        how = f"{n_groups} groups with seed {seed}, of {least} samples or more"
        return replace(
            self,
            train_inputs=self.train_inputs[train],
            train_labels=self.train_labels[train],
            test_inputs=self.test_inputs[test],
            test_labels=self.test_labels[test],
            hash=hashlib.sha256(f"{self.hash} {how}".encode()).hexdigest(),
            groups=number[self.groups[train]],
            test_groups=number[self.test_groups[test]],
            group_names=tuple(self.group_names[i] for i in chosen),
            source=f"{self.source} ({how})",
        )


def load(name: str, **options: Any) -> LabelledData:
    """The labelled data set `name` from the cache, or "digits", which comes with scikit-learn.

    options   shakespeare: length=80, stride=8 of its windows (`sims.data.shakespeare.windows`)

    Nothing is fetched and no other data set is taken instead. Raises InputError for a data set that is unknown, not
    fetched, or without labels, and for unknown options.
    """
    if name == cache.DIGITS:
        _no_options(name, options)
        return _digits()
    arrays = _arrays(name)
    described = cache.manifest(name)
    about: dict[str, Any] = {"name": name, "source": described["source"], "licence": described["licence"]}
    content = str(described.get("content") or content_hash(arrays))
    if {"text", "starts", "roles", "symbols"} <= set(arrays):
        return _characters(arrays, about, content, options)
    _no_options(name, options)
    if not {"train_inputs", "train_labels", "test_inputs", "test_labels", "classes"} <= set(arrays):
        raise InputError("data set", name, "one with labels")
    vocabulary = unpack(arrays["vocabulary"]) if "vocabulary" in arrays else None
    return LabelledData(
        arrays["train_inputs"],
        arrays["train_labels"],
        arrays["test_inputs"],
        arrays["test_labels"],
        **about,
        hash=content,
        classes=unpack(arrays["classes"]),
        vocabulary=vocabulary,
        groups=arrays.get("groups"),
        test_groups=arrays.get("test_groups"),
        group_names=unpack(arrays["group_names"]) if "group_names" in arrays else (),
    )


def word_vectors(words: tuple[str, ...] | list[str]) -> tuple[npt.NDArray[np.float32], int]:
    """GloVe vectors, float32 (len(words), 50), of a vocabulary, and how many of its words have one (zeros: none)."""
    return glove.rows_for(_arrays("glove"), words)


def _arrays(name: str) -> dict[str, Array]:
    if (file := cache.path(name)).suffix != ".npz":
        raise InputError("data set", name, "one with labels")
    return map_arrays(file)


def _no_options(name: str, options: dict[str, Any]) -> None:
    if options:
        raise InputError("options", options, f"none for {name}")


def _characters(arrays: dict[str, Array], about: dict[str, Any], content: str, options: dict[str, Any]) -> LabelledData:
    if unknown := set(options) - {"length", "stride"}:
        raise InputError("options", sorted(unknown), "length or stride")
    chosen = {"length": 80, "stride": 8, **options}
    (inputs, labels, role), (test_inputs, test_labels, test_role) = shakespeare.windows(arrays, **chosen)
    symbols = unpack(arrays["symbols"])
    how = f"{content} length {int(chosen['length'])} stride {int(chosen['stride'])}"
    return LabelledData(
        inputs,
        labels,
        test_inputs,
        test_labels,
        **about,
        hash=hashlib.sha256(how.encode()).hexdigest(),
        classes=symbols,
        vocabulary=symbols,
        groups=role,
        test_groups=test_role,
        group_names=unpack(arrays["roles"]),
    )


def _digits() -> LabelledData:
    """1,797 grey images 8 x 8; every fifth is for testing. Its 17 grey levels are spread over 0 to 255."""
    with loading("sklearn", "data set", "digits"):
        from sklearn.datasets import load_digits  # type: ignore[import-untyped, unused-ignore]
    found = load_digits()
    inputs = np.rint(found.images * (255 / 16)).astype(np.uint8)[..., None]
    labels = found.target.astype(np.int64)
    test = np.arange(len(labels)) % 5 == 4
    arrays = {
        "train_inputs": inputs[~test],
        "train_labels": labels[~test],
        "test_inputs": inputs[test],
        "test_labels": labels[test],
    }
    classes = tuple("0123456789")
    licence = "BSD-3 (scikit-learn); the data are the UCI repository's."
    digest = content_hash({**arrays, "classes": pack(classes)})
    return LabelledData(**arrays, name="digits", source="scikit-learn", licence=licence, hash=digest, classes=classes)
