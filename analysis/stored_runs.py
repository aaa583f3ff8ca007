"""The run that a store holds of an experiment file, found without its data and without torch.

The data of a run stand in its manifest by their hash. A file names them only, so a run of another edition of the
same data counts as one of the file; what was run is always told beside its numbers.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from fltheory.errors import InputError
from sims import store as stored
from sims.experiment import read, read_without_data
from sims.store import Run

SCALES = ("smoke", "laptop", "paper")


def runs_of(
    files: Iterable[str], scale: str, store: Path, faults: dict[str, InputError] | None = None
) -> dict[str, Run]:
    """File of an experiment -> its run at this scale; files without one are left out.

    A complete run is taken before a partial one, and a partial one only if it has rows. Raises InputError for a file
    that is no experiment or does not have the scale, and where two complete runs are of one file.

    faults   if it is given, it gets what would be raised, by the file that it is about
    """
    known = stored.runs(store) if store.is_dir() else []
    experiments = {run.key: run.experiment for run in known}
    found = {}
    for file in files:
        try:
            wanted = asked(file, scale)
            own = [run for run in known if run.rows and _without_data(run.experiment, experiments) == wanted]
            complete = [run for run in own if run.status == "complete"]
            if len(complete) > 1:
                keys = " and ".join(run.key[:12] for run in complete)
                raise InputError("store", str(store), f"one with a single run of {file} at {scale} scale, not {keys}")
        except InputError as error:
            if faults is None:
                raise
            faults[file] = error
            continue
        if own:
            found[file] = (complete or own)[0]
    return found


def lost(files: Iterable[str], scale: str, store: Path) -> dict[str, InputError]:
    """File of an experiment -> what is wrong with the manifest of its run, of those whose manifest is damaged.

    What was run is told by the key alone then. It depends on the data, of which those that other runs of the store
    had are tried, then those that are here.
    """
    manifests = stored.damaged(store) if store.is_dir() else {}
    if not manifests:
        return {}
    known = stored.runs(store, tell=False)
    found = {}
    for file in files:
        key = next((key for key in _keys(file, scale, known) if key in manifests), None)
        if key is not None:
            allowed = f"one whose manifest is not damaged or of another version ({manifests[key]} is)"
            found[file] = InputError("run", key[:12], allowed)
    return found


def _keys(file: str, scale: str, known: Iterable[Run]) -> Iterator[str]:
    """The keys that a run of this file may have; none for a file that cannot be read."""
    with suppress(InputError):
        wanted, experiments = asked(file, scale), {run.key: run.experiment for run in known}
        starts = [wanted["start"]]
        if isinstance(wanted["start"], Mapping):
            bare = {key: _without_data(one, experiments) for key, one in experiments.items()}
            starts = [{**wanted["start"], "run": key} for key, one in bare.items() if one == wanted["start"]["run"]]
        for start in starts:
            for data in {one["problem"].get("data_hash") for one in experiments.values()} | {None}:
                problem = {**wanted["problem"], **({"data_hash": data} if data else {})}
                yield stored.key_of({**wanted, "problem": problem, "start": start})
        yield read(file, scale).key


def damage(run: Run) -> InputError | None:
    """What keeps its data from being read; those that can be are kept for what is made of them."""
    try:
        _ = run.frame
    except InputError as error:
        return error
    return None


def trains(file: str, scale: str, labels: Container[str]) -> bool:
    """Whether a file has one of these algorithms at this scale; a file that is not here, or says nothing, may."""
    try:
        return any(label in labels for label in asked_labels(file, scale))
    except InputError:
        return True


def asked_labels(file: str, scale: str) -> list[str]:
    """The algorithms of a file at this scale, in its order."""
    return [str(contestant["label"]) for contestant in asked(file, scale)["algorithm"]]


def _without_data(experiment: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The canonical form as `sims.experiment.read_without_data` gives it; the runs that others began with are known."""
    problem = {key: value for key, value in experiment["problem"].items() if key != "data_hash"}
    start = experiment["start"]
    if isinstance(start, Mapping):
        origin = known.get(start["run"])
        start = {**start, "run": origin and _without_data(origin, known)}
    return {**experiment, "problem": problem, "start": start}


@lru_cache(maxsize=256)
def asked(file: str, scale: str) -> Mapping[str, Any]:
    """What a file asks for at this scale, whatever was run of it (`sims.experiment.read_without_data`)."""
    return read_without_data(file, scale)
