"""Files that the user names: IDX, `.npz`, CSV and LEAF's JSON, read into the arrays of a labelled data set.

Training and test part are told by the files' names: one with test, t10k, valid or eval in it is for testing. An
`.npz` may hold both (x_train, y_train, x_test, y_test). Several files of a part are put together in the order given.
"""

from __future__ import annotations

import csv
import json
import lzma
import re
import tokenize
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fltheory.errors import InputError, count
from sims.data.arrays import Array
from sims.data.assemble import groups, inputs, joined, labels, shortened, split
from sims.data.formats import read_idx

# part -> inputs, labels or groups -> one entry a file; "untyped": which entries of labels are texts of a CSV file
Parts = dict[str, dict[str, list[Any]]]

NUMBER = re.compile("-?0{0,99}[0-9]{1,19}")
TEST_NAME = re.compile("(?<![a-z])(test|t10k|valid|eval)", re.IGNORECASE)
_ROLES = {
    "inputs": ("inputs", "x", "images", "data", "features", "text"),
    "labels": ("labels", "y", "label", "targets"),
    "groups": ("groups", "users", "group", "user"),
}
TWEET_OF_SIX = 4  # LEAF's Sentiment140 keeps id, date, query, user, text for a tweet


def read_files(
    files: Sequence[str | Path],
    *,
    shape: Sequence[int] | None = None,
    transposed: bool = False,
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
    hold_out: int | None = None,
    length: int = 40,
    assumed: Collection[str] = (),
) -> dict[str, Array]:
    """The arrays of a labelled data set.

    shape        of one image (height, width, channels) where the files hold flat rows; without it these are features
    transposed   whether height and width are exchanged, as in EMNIST's IDX files
    columns      names of a CSV file's columns, if its first line does not give them: label, and text or numbers,
                 and group where there are natural clients; with text, other columns are not looked at
    hold_out     every hold_out-th training sample is for testing, where no file is
    assumed      of these arguments, those that are not for all files: what a file says itself goes before them
    length       words of a text; characters if all texts are of one length and all labels are single characters

    An argument that is for none of the files is refused, and so is a CSV file with a row without label or group.
    Whole numbers from 0 to 255 of images stay; numbers from 0 to 1 become 0 to 255; others are refused. Labels are
    numbered from 0 in order. Raises InputError for a file that cannot be read or does not fit the others.
    """
    if not files:
        raise InputError("files", list(files), "at least one file")
    if columns is not None and "columns" not in assumed:
        _check_columns(columns, files)
    parts: Parts = {"train": defaultdict(list), "test": defaultdict(list)}
    for file in map(Path, files):
        _read(file, parts, columns, encoding)
    _type_labels(parts)
    train = joined("train", parts["train"])
    if parts["test"]:
        if hold_out is not None:
            raise InputError("hold_out", hold_out, "left out: the files have a test part")
        test = joined("test", parts["test"])
    elif hold_out is not None:
        train, test = split(train, count("hold_out", hold_out, least=2))
    else:
        allowed = "with one whose name says test, t10k, valid or eval, or hold_out given"
        raise InputError("files", [Path(file).name for file in files], allowed)
    if set(train) != set(test):
        raise InputError("files", sorted(set(train) ^ set(test)), "in the training and in the test part, or in neither")
    try:
        return {
            **labels(train, test),
            **groups(train, test),
            **inputs(train, test, shape, transposed, length, "shape" in assumed),
        }
    except UnicodeEncodeError as error:  # of JSON that names half of a character
        raise InputError("files", error.object[error.start : error.end], "of whole characters") from None


def _type_labels(parts: Parts) -> None:
    """Make arrays of the labels of CSV files, which have no types: numbers, so that 01 is 1, if all are, else text."""
    untyped = [(part["labels"], place) for part in parts.values() for place in part.pop("untyped", [])]
    every = {label for entries, place in untyped for label in entries[place]}
    numbers = all(NUMBER.fullmatch(label) and -(2**63) <= int(label) < 2**63 for label in every)
    for entries, place in untyped:
        entries[place] = np.array(entries[place], np.int64 if numbers else str)


def _check_columns(columns: Sequence[str], files: Sequence[str | Path]) -> None:
    if not any(Path(file).suffix.lower() == ".csv" for file in files):
        raise InputError("columns", list(columns), "left out: no file is a CSV")


def _read(file: Path, parts: Parts, columns: Sequence[str] | None, encoding: str) -> None:
    part = "test" if TEST_NAME.search(file.name) else "train"
    try:
        with file.open("rb") as stream:
            head = stream.read(2)
        if head == b"PK":
            _read_npz(file, part, parts)
        elif head in (b"\0\0", b"\x1f\x8b"):
            array = read_idx(file.read_bytes(), str(file))
            parts[part]["labels" if array.ndim == 1 else "inputs"].append(array)
        elif file.suffix.lower() == ".json":
            _read_leaf(json.loads(file.read_text(encoding="utf-8-sig")), parts[part])
        elif file.suffix.lower() == ".csv":
            _read_csv(file, parts[part], columns, encoding)
        else:
            raise InputError("file", str(file), "IDX, .npz, .csv or LEAF's .json")
    except InputError:
        raise
    except OSError as error:
        raise InputError("file", str(file), f"one that can be read ({error.strerror or error})") from None
    except (
        ValueError,
        KeyError,
        TypeError,
        LookupError,
        OverflowError,
        MemoryError,
        RuntimeError,  # of an encrypted member, or one packed in a way that is not known
        csv.Error,
        lzma.LZMAError,
        tokenize.TokenError,  # of a header in an .npz
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise InputError("file", str(file), f"a well-formed one of its format ({reason})") from None


def _read_npz(file: Path, part: str, parts: Parts) -> None:
    with np.load(file, allow_pickle=False) as archive:
        for key in archive.files:
            plain = key.lower()
            for split in ("train", "test"):
                if plain.startswith(f"{split}_") or plain.endswith(f"_{split}"):
                    part_of_key, plain = split, plain.removeprefix(f"{split}_").removesuffix(f"_{split}")
                    break
            else:
                part_of_key = part
            role = next((role for role, known in _ROLES.items() if plain in known), None)
            if role is None:
                raise InputError(f"array in {file.name}", key, "x, y or groups, or with _train or _test behind")
            array = archive[key]
            if not isinstance(array, np.ndarray) or not array.ndim:
                raise ValueError(f"{key} is no array with an entry for each sample")
            parts[part_of_key][role].append(array)


def _read_leaf(content: Any, part: dict[str, list[Any]]) -> None:
    """LEAF: {"users": [...], "num_samples": [...], "user_data": {user: {"x": [...], "y": [...]}}}."""
    found: dict[str, list[Any]] = {"inputs": [], "labels": [], "groups": []}
    users = content["users"]
    sizes = content.get("num_samples")
    if "num_samples" in content and not isinstance(sizes, list):
        raise ValueError("num_samples is no list of numbers")
    if sizes is not None and len(sizes) != len(users):
        raise ValueError(f"num_samples of {len(sizes)} users, and {len(users)} users")
    if (repeated := _repeated([shortened(str(user)) for user in users])) is not None:
        raise ValueError(f"user {repeated!r} twice")
    for place, user in enumerate(users):
        x, y = content["user_data"][user]["x"], content["user_data"][user]["y"]
        if len(x) != len(y):
            raise ValueError(f"user {user} has {len(x)} inputs and {len(y)} labels")
        if sizes is not None and sizes[place] != len(y):
            raise ValueError(f"user {user} has {len(y)} samples, and num_samples says {sizes[place]}")
        found["inputs"] += map(_tweet_or_all, x)
        found["labels"] += y
        found["groups"] += [str(user)] * len(y)
    texts = sum(isinstance(row, str) for row in found["inputs"])
    if 0 < texts < len(found["inputs"]):
        raise ValueError(f"{texts} of {len(found['inputs'])} inputs are texts, and the others are not")
    part["inputs"].append(found["inputs"] if texts else np.array(found["inputs"]))
    part["labels"].append(np.array(found["labels"]))
    part["groups"].append(np.array(found["groups"]))


def _tweet_or_all(row: Any) -> Any:
    """The text of a tweet in LEAF's form; anything else as it is."""
    if not isinstance(row, list) or not row or not isinstance(row[0], str):
        return row
    if len(row) <= TWEET_OF_SIX:
        raise ValueError(f"an input of {len(row)} texts: one is a text, or a tweet with its text in place 5 of 6")
    return row[TWEET_OF_SIX]


def _read_csv(file: Path, part: dict[str, list[Any]], columns: Sequence[str] | None, encoding: str) -> None:
    plain = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    with file.open(newline="", encoding="utf-8-sig" if plain else encoding) as stream:  # Excel marks its files
        reader = csv.reader(stream, strict=True)  # else a quote that is never closed takes in all rows behind it
        header = [column.strip() for column in (columns if columns is not None else next(reader, []))]
        table, lines = [], []
        for row in reader:
            if row:
                table.append(row)
                lines.append(reader.line_num)
    if (repeated := _repeated([column.lower() for column in header if column])) is not None:
        raise ValueError(f"two columns called {repeated}")
    names = {role: [i for i, column in enumerate(header) if column.lower() in known] for role, known in _ROLES.items()}
    label, group = sorted(names["labels"], key=lambda i: header[i].lower() != "label")[:1], names["groups"][:1]
    text = [i for i, column in enumerate(header) if column.lower() == "text"]
    if not label:
        raise ValueError(f"no column called label in {header[:8]}")
    wrong = next((i for i, row in enumerate(table) if len(row) != len(header)), None)
    if wrong is not None:
        raise ValueError(f"{len(table[wrong])} fields in row {wrong + 1}, {len(header)} columns")
    answers = [row[label[0]] if text else row[label[0]].strip() for row in table]  # a space may be the next character
    users = [row[group[0]].strip() for row in table] if group else []
    answers = [shortened(answer) for answer in answers]
    for what, values in (("label", answers), ("group", users)):
        if (wrong := next((i for i, value in enumerate(values) if value.lower() in ("", "nan")), None)) is not None:
            raise ValueError(f"no {what} in row {wrong + 1}, line {lines[wrong]} of the file")
    part["untyped"].append(len(part["labels"]))
    part["labels"].append(answers)
    if group:
        part["groups"].append(np.array(users))
    if text:
        part["inputs"].append([row[text[0]] for row in table])
    else:
        others = [i for i in range(len(header)) if i not in label + group]
        if not header[0]:
            raise ValueError("the first column has no name, as pandas' row numbers have none (index=False)")
        part["inputs"].append(np.array([[row[i] for i in others] for row in table], np.float64))


def _repeated(names: Sequence[Any]) -> Any:
    """The first name that was there before; None if there is none."""
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
