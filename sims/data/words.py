"""Words of short texts as the GloVe vectors spell them, and texts as padded rows of word numbers."""

from __future__ import annotations

import hashlib
import html
import re
import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

PADDING, UNKNOWN = "<pad>", "<unk>"  # numbers 0 and 1 of every vocabulary
_LINK = re.compile(r"https?:\S*|www\.\S+")
_LETTER = "[a-zß-öø-ÿ]"  # named one by one: what counts as a letter elsewhere differs between versions of Python
_WORD = re.compile(rf"n't|'(?:s|m|re|ve|d|ll)(?!{_LETTER})|{_LETTER}+(?=n't)|{_LETTER}+|[0-9]+|[!-/:-@\[-^`{{-~]")


def words(text: str) -> list[str]:
    """Lower-case words, numbers and signs; contractions are cut as in the vectors (do n't, it 's), links left out.

    Letters are those of western Europe; others, and signs beyond ASCII, are left out.

    >>> words("@united I don't like it's 2 LATE!! http://t.co/x")
    ['@', 'united', 'i', 'do', "n't", 'like', 'it', "'s", '2', 'late', '!', '!']
    """
    found = _WORD.findall(_LINK.sub(" ", html.unescape(text).lower()))
    return [sys.intern(word) for word in found]  # one object a word, however many texts hold it


def vocabulary(texts: Sequence[list[str]], least: int = 2) -> list[str]:
    """Padding, unknown, then the words that occur at least `least` times, the most frequent first."""
    counts = Counter(word for text in texts for word in text)
    kept = sorted((word for word, n in counts.items() if n >= least), key=lambda word: (-counts[word], word))
    return [PADDING, UNKNOWN, *kept]


def rows(texts: Sequence[list[str]], known: Sequence[str], length: int) -> npt.NDArray[np.int32]:
    """Word numbers (n, length): the first `length` words of each text, padding (0) in front of a shorter one.

    Padding stands in front so that a recurrent model ends on the last word.
    """
    number = {word: i for i, word in enumerate(known)}
    found = np.zeros((len(texts), length), np.int32)
    for row, text in zip(found, texts, strict=True):
        ids = [number.get(word, 1) for word in text[:length]]
        row[length - len(ids) :] = ids
    return found


def is_for_testing(text: list[str], one_in: int = 10) -> bool:
    """Whether a text belongs to the test part: a pure function of its words, so that copies of it stay together."""
    return int.from_bytes(hashlib.sha256(" ".join(text).encode()).digest()[:8], "big") % one_in == 0
