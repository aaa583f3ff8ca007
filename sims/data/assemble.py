"""From what several files held to the arrays of one labelled data set.

Parts are joined, labels are numbered, inputs become images, features or token ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fltheory.errors import LARGEST, InputError
from sims.data.arrays import Array, pack
from sims.data.words import rows, vocabulary, words

WHOLE = re.compile(r"\A(-?[0-9]+)\.0+\Z")
PLAIN_CHANNELS = 4  # red, green, blue and opacity


def joined(name: str, part: Mapping[str, list[Any]]) -> dict[str, Any]:
    """One array (or list of texts) of inputs, of labels and of groups of a part."""
    found: dict[str, Any] = {}
    if missing := {"inputs", "labels"} - set(part):
        raise InputError("files", f"no {' and no '.join(sorted(missing))}", f"complete for the {name} part")
    for role, given in part.items():
        # names before pieces of several types become one
        pieces = given if role == "inputs" else [_names(role, piece) for piece in given]
        if all(isinstance(piece, list) for piece in pieces):
            found[role] = [text for piece in pieces for text in piece]
            continue
        if any(isinstance(piece, list) or piece.shape[1:] != pieces[0].shape[1:] for piece in pieces):
            raise InputError("files", f"{role} of several shapes", f"of one shape for the {name} part")
        found[role] = np.concatenate(pieces)
    sizes = {role: len(values) for role, values in found.items()}
    if len(set(sizes.values())) != 1 or 0 in sizes.values():
        raise InputError("files", sizes, f"as many inputs as labels, at least one, in the {name} part")
    return found


def shortened(name: str) -> str:
    """3 for 3.0, as numpy and pandas write 3 beside a gap or a fraction; any other name as it is."""
    return WHOLE.sub(r"\1", name)


def _names(role: str, values: Array) -> Array:
    """Labels or groups as int64 or text, `shortened`. Raises InputError for anything else."""
    if values.dtype.kind == "U":
        return np.array([shortened(value) for value in values.ravel().tolist()], dtype=str).reshape(values.shape)
    if values.dtype.kind in "iu":
        fits = not values.size or int(values.max()) < 2**63
        return values.astype(np.int64 if fits else str)
    allowed = "whole numbers or names, one a sample"
    if values.dtype.kind != "f" or values.itemsize > 8:  # of longer ones a fraction would be lost
        raise InputError(role, f"type {values.dtype}", allowed)
    numbers = values.astype(np.float64)
    wrong = numbers[~((np.rint(numbers) == numbers) & (abs(numbers) < LARGEST))]
    if wrong.size:
        raise InputError(role, float(wrong[0]), allowed)
    return numbers.astype(np.int64)


def split(part: Mapping[str, Any], one_in: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A part without every one_in-th sample, and these."""
    held = np.arange(len(part["labels"])) % one_in == one_in - 1
    if not held.any():
        raise InputError("hold_out", one_in, f"at most {len(held)}, the number of samples")
    return tuple({role: _pick(values, where) for role, values in part.items()} for where in (~held, held))  # type: ignore[return-value]


def _pick(values: Any, where: Array) -> Any:
    return [values[i] for i in np.flatnonzero(where)] if isinstance(values, list) else values[where]


def _numbered(train: Array, test: Array) -> tuple[Array, Array, list[str]]:
    """Labels or groups as numbers from 0, in order, and what the numbers stand for."""
    both = np.concatenate([train.reshape(len(train)), test.reshape(len(test))])
    values, number = np.unique(both, return_inverse=True)
    number = number.astype(np.int64).reshape(-1)
    if empty := [name for name in values.tolist() if str(name).lower() in ("", "nan")]:
        raise ValueError(f"the name {empty[0]!r}")
    return number[: len(train)], number[len(train) :], [str(value) for value in values]


def labels(train: dict[str, Any], test: dict[str, Any]) -> dict[str, Array]:
    """Arrays train_labels, test_labels and classes."""
    try:
        train_labels, test_labels, classes = _numbered(np.asarray(train["labels"]), np.asarray(test["labels"]))
    except ValueError as error:
        raise InputError("labels", str(error), "whole numbers or names, one a sample") from None
    return {"train_labels": train_labels, "test_labels": test_labels, "classes": pack(classes)}


def groups(train: dict[str, Any], test: dict[str, Any]) -> dict[str, Array]:
    """Arrays groups, test_groups and group_names, if there are groups."""
    if "groups" not in train:
        return {}
    try:
        first, second, names = _numbered(np.asarray(train["groups"]), np.asarray(test["groups"]))
    except ValueError as error:
        raise InputError("groups", str(error), "whole numbers or names, one a sample") from None
    return {"groups": first, "test_groups": second, "group_names": pack(names)}


def inputs(
    train: dict[str, Any],
    test: dict[str, Any],
    shape: Sequence[int] | None,
    transposed: bool,
    length: int,
    assumed: bool,
) -> dict[str, Array]:
    """Arrays train_inputs and test_inputs: images, features, or token ids with their vocabulary.

    assumed   whether the shape is not for what has one; otherwise it is refused there
    """
    if isinstance(train["inputs"], list) != isinstance(test["inputs"], list):
        raise InputError("files", "texts and numbers", "of one kind in both parts")
    if isinstance(train["inputs"], list):
        if shape is not None and not assumed:
            raise InputError("shape", tuple(shape), "left out: the files hold texts")
        return _texts(train, test, length)
    found = {}
    for part, values in (("train", train["inputs"]), ("test", test["inputs"])):
        if shape is not None and values.ndim > 2 and not assumed:
            raise InputError("shape", tuple(shape), f"left out: the files hold images of shape {values.shape[1:]}")
        found[f"{part}_inputs"] = _images(values, shape if values.ndim <= 2 else None, transposed)
    if found["train_inputs"].shape[1:] != found["test_inputs"].shape[1:]:
        raise InputError("test inputs", found["test_inputs"].shape[1:], f"of shape {found['train_inputs'].shape[1:]}")
    return found


def _images(values: Array, shape: Sequence[int] | None, transposed: bool) -> Array:
    if values.dtype.kind not in "iuf":
        raise InputError("inputs", str(values.dtype), "finite numbers")
    if not values.size:
        raise InputError("inputs", values.shape, "of at least one number a sample")
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            wrong = np.argwhere(~np.isfinite(values.astype(np.float32)))
        if wrong.size:
            raise InputError(f"inputs[{wrong[0, 0]}]", float(values[tuple(wrong[0])]), "of finite numbers of 32 bits")
    if shape is not None:
        if len(shape) != 3 or int(np.prod(shape)) * len(values) != values.size:
            allowed = f"(height, width, channels) of {values.size // len(values)} numbers"
            raise InputError("shape", tuple(shape), allowed)
        values = values.reshape(len(values), *shape)
    if values.ndim == 2:
        return values.astype(np.float32)
    if values.ndim not in (3, 4):
        raise InputError("inputs", values.shape, "of shape (n, height, width[, channels]) or (n, features)")
    if shape is None and values.ndim == 4 and values.shape[1] <= PLAIN_CHANNELS < values.shape[3]:
        raise InputError("inputs", values.shape, "of shape (n, height, width, channels): channels come last")
    values = values if values.ndim == 4 else values[..., None]
    low, high = values.min(), values.max()
    if values.dtype.kind == "f" and low >= 0 and high <= 1:
        values = np.rint(values * 255)
    elif not (low >= 0 and high <= 255 and (values.dtype.kind != "f" or (values == np.rint(values)).all())):
        raise InputError("inputs", f"{low} to {high}", "whole numbers from 0 to 255, or numbers from 0 to 1")
    return np.ascontiguousarray(values.swapaxes(1, 2) if transposed else values).astype(np.uint8)


def _texts(train: dict[str, Any], test: dict[str, Any], length: int) -> dict[str, Array]:
    texts = {part: source["inputs"] for part, source in (("train", train), ("test", test))}
    answers = np.concatenate([train["labels"], test["labels"]])
    both = texts["train"] + texts["test"]
    if answers.dtype.kind == "U" and answers.dtype.itemsize == 4 and len({len(text) for text in both}) == 1:
        return _next_characters(texts, answers)
    spoken = {part: [words(text) for text in found] for part, found in texts.items()}
    known = vocabulary(spoken["train"])
    arrays: dict[str, Array] = {f"{part}_inputs": rows(found, known, length) for part, found in spoken.items()}
    return {**arrays, "vocabulary": pack(known)}


def _next_characters(texts: dict[str, list[str]], answers: Array) -> dict[str, Array]:
    """LEAF's Shakespeare: windows of characters and the next one, over one list of symbols."""
    points = {part: np.frombuffer("".join(found).encode("utf-32-le"), "<u4") for part, found in texts.items()}
    symbols, number = np.unique(np.concatenate([*points.values(), answers.view(np.uint32)]), return_inverse=True)
    if len(symbols) > 256:
        raise InputError("texts", f"{len(symbols)} symbols", "of at most 256 different characters")
    ids = number.astype(np.uint8)
    first, second = points["train"].size, points["test"].size
    n = len(texts["train"])
    names = [chr(symbol) for symbol in symbols]
    return {
        "train_inputs": ids[:first].reshape(n, -1),
        "test_inputs": ids[first : first + second].reshape(len(texts["test"]), -1),
        "train_labels": ids[first + second :][:n].astype(np.int64),
        "test_labels": ids[first + second :][n:].astype(np.int64),
        "classes": pack(names),
        "vocabulary": pack(names),
    }
