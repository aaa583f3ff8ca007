"""One experiment, one TOML file, one schema: read, checked, brought into a canonical form that hashes to its key.

    kind = "simulate"
    rounds = 1000
    replicates = 100

    [problem]                 # sims.problems
    name = "quadratic"
    curvature = [1, 2, 4]
    centre = [-1, "1/2", 2]

    [process]                 # fltheory.processes
    name = "bernoulli"
    p = [0.1, 0.5, 0.9]

    [[algorithm]]             # sims.algorithms; several of them see the same availability
    name = "fedavg"
    local_lr = 0.05
    local_steps = 5
    weighting = { name = "fedau", cutoff = 5 }

Training is an experiment of kind "train", whose problem is named "training" (`sims.training.problem`); a replicate is
then a seed with a partition, rates and first parameters of its own.

A training may begin with what another one ended with: start = { file = "other.toml" }, or { run = KEY }, where that
one has final_model = true in its [record].

A table [scale.NAME] holds what is different at another scale, such as rounds = 100; where the file has a list of
algorithms, a table [scale.NAME.algorithm] changes all of them. A table [sweep] is for `sims.training.sweep` alone.

What stands beside a name are the parameters of what is named; {low, high, n} makes n numbers in equal steps, and one p
of a process serves all clients. An algorithm's batch may be "all" samples of a client, and FedLaAvg's weights may be
"data_size", the clients' shares of the data; warm = true begins with a round of everybody (`sims.rounds.Setup`).
Defaults are filled in, so that the key changes when anything does.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from fltheory.errors import LARGEST, InputError, one_of
from sims import catalogue

Count = Annotated[int, Field(ge=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Part(_Table):
    """Something by its name, with its parameters; a name alone will do where it has none."""

    name: str
    parameters: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _beside_the_name(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"name": given}
        if not isinstance(given, Mapping):
            return given
        known = cls.model_fields.keys() - {"parameters"}
        rest = {key: catalogue.with_infinity(value) for key, value in given.items() if key not in known}
        return {**{key: value for key, value in given.items() if key in known}, "parameters": rest}

    def canonical(self) -> dict[str, Any]:
        """As it could stand in a file."""
        return {"name": self.name, **self.parameters}


class Contestant(Part):
    """An algorithm with its parameters, and what is not the same for all.

    label   names it in the results
    warm    whether a round of all clients fills what the server remembers of them first (`sims.rounds.Setup`)
    """

    label: str | None = None
    weighting: Part | None = None
    selection: Part | None = None
    roles: Part | None = None
    schedule: Part = Part(name="constant")
    warm: bool = False

    def canonical(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("weighting", "selection", "roles", "schedule")}
        warm = {"warm": True} if self.warm else {}  # keys of cold starts do not change
        return super().canonical() | {"label": self.label} | {n: p and p.canonical() for n, p in own.items()} | warm


class Recording(_Table):
    """What to record (`sims.recorder.METRICS`), in every how many rounds; by default a hundred times a run.

    final_model   of training, keep the models after the last round, for others to start from
    """

    what: Annotated[list[str], Field(min_length=1)] = ["squared_gradient"]
    every: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    final_model: bool = False


class Origin(_Table):
    """The run whose last models a training begins with, replicate by replicate: its key, and which of its algorithms.

    The label may be left out where the run has one algorithm. In a file, file = "other.toml" stands for the run of
    that experiment, at the same scale.
    """

    run: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    algorithm: str | None = None


class Experiment(_Table):
    """The schema. `weighting` and `selection` serve the algorithms that have none of their own.

    start     every parameter of the first model, or a list of all of them; or where to find it
    dropout   probability that a client that was asked fails to answer
    """

    kind: Literal["simulate", "train"]
    problem: Part
    process: Part
    algorithm: Annotated[list[Contestant], Field(min_length=1)]
    weighting: Part = Part(name="average_participating")
    selection: Part = Part(name="all_available")
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    start: float | list[float] | Origin = 0.0
    rounds: Count
    replicates: Count
    seed: Annotated[int, Field(ge=0)] = 0
    record: Recording = Recording()

    @field_validator("algorithm", mode="before")
    @classmethod
    def _one_or_several(cls, given: Any) -> Any:
        return [given] if isinstance(given, Mapping) else given

    @cached_property
    def canonical(self) -> str:
        """The experiment as sorted JSON, whole numbers as integers, with every default filled in."""
        return json.dumps(_plain(self._filled()), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical form, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def without_data(self) -> dict[str, Any]:
        """The canonical form but for the hash of the data, at which it does not look; it needs no torch."""
        known: dict[str, Any] = _plain(self._filled(look=False))
        known["problem"].pop("data_hash", None)
        return known

    def _filled(self, *, look: bool = True) -> dict[str, Any]:
        filled = self.model_dump(include={"kind", "dropout", "start", "rounds", "replicates", "seed"})
        contestants = [c.canonical() for c in self.algorithm]
        for contestant in contestants:
            contestant["selection"] = contestant["selection"] or self.selection.canonical()
            contestant["label"] = contestant["label"] or contestant["name"]
        record: dict[str, Any] = {"what": self.record.what, "every": self.record.every or max(1, self.rounds // 100)}
        if self.record.final_model:  # keys of the others do not change
            record["final_model"] = True
        everything = {"problem": self.problem.canonical(), "process": self.process.canonical()}
        whole = {**filled, **everything, "algorithm": contestants, "record": record}
        return catalogue.with_defaults(whole, self.weighting.canonical(), look=look)


KEYS = (*Experiment.model_fields, "scale", "sweep")  # of a file
START = (*Origin.model_fields, "file")  # of its table `start`
LONGEST_LABEL = 200
SWEEP = ("local_lr", "global_lr", "metric", "last")  # of its table `sweep`


def read(path: str | Path, scale: str | None = None, **changes: Any) -> Experiment:
    """The experiment of a TOML file, checked. Raises InputError, one sentence, for whatever is wrong with it.

    scale     one of the file's scales; None for the file as it is
    changes   parameters of its problem to change
    """
    content = content_of(path, scale, **changes)
    content.pop("sweep", None)
    return parse(content)


def read_without_data(path: str | Path, scale: str | None = None) -> dict[str, Any]:
    """The canonical form of a file's experiment but for the hash of its data, which need not be there.

    Where it begins with another run, the same of that run's experiment stands for its key.
    """
    content = _content(path, scale)
    content.pop("sweep", None)
    start = content.pop("start", 0.0)
    try:
        known = Experiment.model_validate(content).without_data()
    except ValidationError as error:
        raise _sentence(error) from None
    if isinstance(start, Mapping) and isinstance(start.get("file"), str):
        _require_no_ring(path, start["file"], scale)
        other = read_without_data(Path(path).parent / start["file"], scale)
        return {**known, "start": {"run": other, "algorithm": start.get("algorithm")}}
    return {**known, "start": _plain(start)}


def content_of(path: str | Path, scale: str | None = None, **changes: Any) -> dict[str, Any]:
    """What a file says at this scale, unchecked; the scale "paper" is the file as it is, unless it says otherwise."""
    content = _content(path, scale, **changes)
    start = content.get("start")
    if isinstance(start, Mapping) and isinstance(start.get("file"), str):
        if "run" in start:
            raise InputError("start", dict(start), "a table with run or file, and not both")
        _require_no_ring(path, start["file"], scale)
        other = read(Path(path).parent / start["file"], scale, **changes)
        content["start"] = {"run": other.key, **{key: value for key, value in start.items() if key != "file"}}
    return content


def _require_no_ring(path: str | Path, begins_with: str, scale: str | None) -> None:
    """Raise InputError if the run that an experiment begins with begins, in the end, with this one, or with itself."""
    here, name, followed = Path(path), begins_with, {Path(path).resolve()}
    while True:
        here = here.parent / name
        start = _content(here, scale).get("start")
        if here.resolve() in followed:
            raise InputError("start.file", begins_with, "one whose chain of starts comes to an end")
        followed.add(here.resolve())
        if not isinstance(start, Mapping) or not isinstance(start.get("file"), str):
            return
        name = start["file"]


def _content(path: str | Path, scale: str | None = None, **changes: Any) -> dict[str, Any]:
    """`content_of`, with the file of a run to begin with still named as it is."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("experiment", str(path), f"a text file that can be read ({error})") from None
    except (ValueError, RecursionError) as error:  # ValueError: also a number of too many digits
        raise InputError("experiment", str(path), f"a TOML file ({error})") from None
    for key in content:
        if key not in KEYS:
            raise InputError("key of the experiment", key, one_of(key, KEYS))
    if content.get("kind") == "train" and not isinstance(content.get("start", {}), Mapping):  # a scale may undo a table
        raise InputError("start", content["start"], "left out: a model has its own first parameters")
    if "sweep" in content:
        check_sweep(content["sweep"])
    scales = content.pop("scale", {})
    _check_scales(scales)
    if scale is not None and (scale != "paper" or "paper" in scales):
        if scale not in scales:
            without = f"left out, as {Path(path).name} has no table [scale.NAME]"
            raise InputError("scale", scale, one_of(scale, scales) if scales else without)
        content = _merged(content, scales[scale])
    if changes and content.get("kind") == "simulate":
        name, value = next(iter(changes.items()))
        raise InputError(name, value, "left out: nothing is trained here")
    if changes and isinstance(content.get("problem"), Mapping):
        content["problem"] = {**content["problem"], **changes}
    return content


def _check_scales(scales: Any) -> None:
    """Refuse tables of scales that no scale could be read from; the values are checked where their scale is."""
    known = [key for key in KEYS if key != "scale"]
    for name, table in scales.items() if isinstance(scales, Mapping) else [("NAME", scales)]:
        if not isinstance(table, Mapping):
            raise InputError(f"scale.{name}", table, "a table of what is different at that scale")
        for key in table:
            if key not in known:
                raise InputError(f"key of scale.{name}", key, one_of(key, known))
        if "sweep" in table:
            check_sweep(table["sweep"], f"scale.{name}.sweep")


def check_sweep(table: Any, name: str = "sweep") -> None:
    """Refuse what is no table of a sweep; its values are checked where it is made (`sims.training.sweep`)."""
    if not isinstance(table, Mapping):
        raise InputError(name, table, "a table with local_lr, global_lr and metric")
    for key in table:
        if key not in SWEEP:
            raise InputError(f"key of {name}", key, one_of(key, SWEEP))


def _merged(content: Any, changes: Mapping[str, Any]) -> Any:
    """The content with changes in it: tables key by key, a table for each of a list of tables, all else replaced."""
    if isinstance(content, list):
        return [_merged(one, changes) for one in content]
    if not isinstance(content, Mapping):
        return changes
    merged = dict(content)
    for key, value in changes.items():
        merged[key] = _merged(merged[key], value) if isinstance(value, Mapping) and key in merged else value
    return merged


def from_canonical(text: str) -> Experiment:
    """The experiment of a canonical form, which was checked when it was made."""
    return Experiment.model_validate(json.loads(text))


def parse(content: Mapping[str, Any]) -> Experiment:
    """The experiment of a nested mapping, checked like a file, in its canonical form."""
    _check_start(content)
    try:
        given = Experiment.model_validate(content)
        for number in [] if isinstance(given.start, Origin) else np.ravel(given.start).tolist():
            if not math.isfinite(number):  # before it is a text in the canonical form
                raise InputError("start", number, "a finite number, or a list of them")
        experiment = from_canonical(given.canonical)
    except ValidationError as error:
        raise _sentence(error) from None
    trains = experiment.problem.name == catalogue.TRAINING
    if trains != (experiment.kind == "train"):
        raise InputError("kind", experiment.kind, f'"{"train" if trains else "simulate"}" for this problem')
    if experiment.record.final_model and not trains:
        raise InputError("record.final_model", True, 'left out where nothing is trained (record.what = ["model"])')
    labels = [contestant.label for contestant in experiment.algorithm]
    if len(set(labels)) < len(labels):
        raise InputError("algorithm.label", labels, "a different one for each algorithm")
    for label in filter(None, labels):
        if not label.isprintable() or len(label) > LONGEST_LABEL:
            allowed = f"one line of at most {LONGEST_LABEL} letters and signs that can be printed"
            raise InputError("algorithm.label", label, allowed)
    return experiment


def _check_start(content: Mapping[str, Any]) -> None:
    """Refuse a table that names no run, and one where nothing is trained: it would be told to be a number."""
    start = content.get("start")
    if not isinstance(start, Mapping):
        return
    if content.get("kind") == "simulate":
        raise InputError("start", dict(start), "a number or a list of them: models of runs are for training")
    for key in start:
        if key not in START:
            raise InputError("key of start", key, one_of(key, START))
    if "file" in start:  # it was not looked up
        raise InputError("start.file", start["file"], "the name of another file, in the file of an experiment")
    try:
        Origin.model_validate(start)
    except ValidationError:
        allowed = "a table with run, a key of 64 digits, or file, and perhaps algorithm, a label"
        raise InputError("start", dict(start), allowed) from None


def _plain(value: Any) -> Any:
    """A value of the canonical form: one spelling for one number."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return str(value)
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def _sentence(error: ValidationError) -> InputError:
    """The first thing that is wrong, in one sentence."""
    first = error.errors(include_url=False)[0]
    where = [str(step) for step in first["loc"] if step not in ("float", "list[float]")]  # forms of `start`
    name, place = ".".join(where), ".".join(where[:-1])
    if first["type"] == "extra_forbidden":
        fields = Recording.model_fields if place == "record" else Experiment.model_fields
        return InputError(f"key of {place or 'the experiment'}", where[-1], one_of(where[-1], fields))
    if first["type"] == "missing":
        return InputError(name, None, "given")
    if first["type"] == "too_short":
        return InputError(name, first["input"], "a list of at least one")
    if first["type"] == "model_type":
        named = first["ctx"]["class_name"] != Recording.__name__
        return InputError(name, first["input"], "a name, or a table with a name and parameters" if named else "a table")
    message = first["msg"].removeprefix("Input should be ")
    return InputError(name, first["input"], message)
