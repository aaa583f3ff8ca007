"""Writing and finding runs.

A store is a folder. In STORE/KEY stand the manifest, `complete.json` or `partial.json`, and the data, a Parquet file
named by the hash of its content. Everything is written under another name and renamed, the manifest last; a
complete manifest counts whatever else is there. So two processes that write the same key at the same time leave one
whole run, and a run that was killed is partial and says so. What a save replaces is removed after it.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import logging
import os
import platform
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from polars.exceptions import PanicException

import fltheory
from fltheory.errors import InputError, one_of
from sims.panics import panics_untold
from sims.whole import whole

log = logging.getLogger(__name__)

COMPLETE, PARTIAL = "complete", "partial"
KILLED, INTERRUPTED = "not finished", "interrupted"  # reasons of partial runs that only want to be gone on with
INDEX = ("algorithm", "replicate", "round")  # first columns of the data: no two rows have the same; then metrics


@dataclass(frozen=True)
class Run:
    """What the store holds of an experiment.

    folder       STORE/KEY
    status       "complete" or "partial"
    reason       why it is partial, or what else a reader must know; "" for nothing
    experiment   in canonical form
    versions     of fltheory and what the numbers depend on
    rows         number of rows of the data
    sha256       of the data, None if there is none
    models       hash of the models that it ended with (`sims.store.models`), None if they were not kept
    start        of a run that began with models of another one, the hash that those had
    """

    folder: Path
    key: str
    status: str
    reason: str
    experiment: dict[str, Any]
    versions: dict[str, str]
    rows: int
    sha256: str | None
    models: str | None = None
    start: str | None = None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """`data`, read once and kept with this object, for who looks at them many times."""
        return self.data()

    @property
    def at_a_glance(self) -> str:
        """What is wrong with the file of the data as far as its two ends tell; "" for nothing. `data` reads it all."""
        if self.sha256 is None:
            return ""
        try:
            with (self.folder / f"{self.sha256}.parquet").open("rb") as file:
                ends = file.read(4)
                file.seek(-4, os.SEEK_END)
                ends += file.read(4)
        except FileNotFoundError:
            return "its data are missing"
        except OSError:  # too short, among others
            ends = b""
        return "" if ends == b"PAR1PAR1" else "its data are damaged"

    def data(self) -> pl.DataFrame:
        """One row for each algorithm, replicate and recorded round, one column a metric; empty if there is none.

        Of a partial run that another process went on with meanwhile, they are what stands there now.
        Raises InputError if the file is missing or is not what the manifest says.
        """
        if self.sha256 is None:
            return pl.DataFrame()
        file = self.folder / f"{self.sha256}.parquet"
        try:
            with panics_untold():
                frame = pl.read_parquet(file)
        except (Exception, PanicException) as error:  # whatever a damaged file makes of the reader
            now = _read(self.folder)
            if self.status == PARTIAL and not file.exists() and now is not None and now.sha256 != self.sha256:
                return now.data()
            reason = "is missing" if isinstance(error, FileNotFoundError) else f"is damaged: {_first_sentence(error)}"
            raise InputError("run", self.key[:12], f"one whose data can be read ({file.name} {reason})") from None
        if fault := _fault(frame):
            raise InputError("run", self.key[:12], f"one whose data have the form of this version ({fault})")
        if content_hash(frame) != self.sha256 or frame.height != self.rows:
            raise InputError("run", self.key[:12], f"one whose data are what its manifest says ({file.name} differs)")
        return frame


def begin(store: str | os.PathLike[str], key: str, experiment: Mapping[str, Any]) -> Path:
    """Note that a run was begun, and give its folder; what is known of the key already stays.

    Raises InputError if it cannot be written, or if a folder has a name that a file of a run has: that would be told
    at its end only.
    """
    folder = _folder(store) / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("store", str(store), f"a folder that can be written ({error.strerror})") from None
    for where, inner, _ in os.walk(folder):
        for name in inner:
            if Path(name).suffix in (".json", ".parquet", ".npz"):
                allowed = f"one in which {Path(where, name)} is a file that can be replaced, and no folder"
                raise InputError("store", str(store), allowed)
    if _read(folder) is None:
        _write_manifest(folder, key, experiment, PARTIAL, KILLED, None, 0)
    return folder


def save(
    store: str | os.PathLike[str],
    key: str,
    experiment: Mapping[str, Any],
    data: pl.DataFrame,
    partial: str = "",
    remark: str = "",
    models: str | None = None,
    start: str | None = None,
) -> Run:
    """Keep the data of a run; `partial` says why they are not all of it, `remark` what else a reader must know.

    models, start   hashes, as in `Run`
    """
    folder = begin(store, key, experiment)
    before = _partial_data(folder)
    digest = content_hash(data) if data.width else None
    if digest is not None:  # also over a file of that name, which may be damaged
        with whole(folder / f"{digest}.parquet") as unfinished:
            content = io.BytesIO()
            data.write_parquet(content)  # to a disk that is full polars raises what is no OSError
            unfinished.write_bytes(content.getvalue())
    status = PARTIAL if partial else COMPLETE
    hashes = {name: value for name, value in (("models", models), ("start", start)) if value is not None}
    _write_manifest(folder, key, experiment, status, partial or remark, digest, data.height, hashes)
    run = _read(folder)
    assert run is not None
    replaced = {before} if run.status == PARTIAL else {before, digest, _partial_data(folder)}
    for name in replaced - {None, run.sha256}:
        (folder / f"{name}.parquet").unlink(missing_ok=True)
    if run.status == COMPLETE:
        (folder / f"{PARTIAL}.json").unlink(missing_ok=True)
    return run


def _partial_data(folder: Path) -> str | None:
    """The hash of the data that a partial run of this folder has, beside a complete one or alone."""
    run = _read(folder, (PARTIAL,))
    return None if run is None else run.sha256


def discard(run: Run) -> None:
    """A complete run whose data are damaged counts no longer as one."""
    for name in (f"{COMPLETE}.json", f"{run.sha256}.parquet"):
        (run.folder / name).unlink(missing_ok=True)


def parts(run: Run) -> int:
    """How many pieces are kept apart from its data of a run that was killed or interrupted, for going on with it."""
    return sum(1 for _ in run.folder.glob("*/**/*.npz")) if run.reason in (KILLED, INTERRUPTED) else 0


def complete(store: str | os.PathLike[str], key: str) -> Run | None:
    """The complete run of this key, if there is one."""
    run = _read(_folder(store) / key, tell=True)
    return run if run is not None and run.status == COMPLETE else None


def runs(store: str | os.PathLike[str], where: Mapping[str, str] | None = None, *, tell: bool = True) -> list[Run]:
    """All runs of a store, by key.

    where   only those whose experiment has these values: dotted places such as "process.name" or "rounds" to text,
            numbers in any spelling; a place in "algorithm" counts if any of the algorithms has it, and "status" is that
            of the run
    tell    whether manifests that are damaged are logged

    Raises InputError if there is no such folder, or a place that no run has.
    """
    folder = _folder(store)
    if not folder.is_dir():
        raise InputError("store", str(store), "a folder with results")
    found = [run for path in sorted(folder.iterdir()) if path.is_dir() and (run := _read(path, tell=tell))]
    for place, value in (where or {}).items():
        if found and not any(_values(run, place) for run in found):
            raise InputError("where", place, "a place in the experiment, such as process.name")
        found = [run for run in found if any(_means(value, one) for one in _values(run, place))]
    return found


def damaged(store: str | os.PathLike[str]) -> dict[str, Path]:
    """Name of a folder, which is the key of its run -> its manifest, of those that have none that can be read."""
    found = {}
    for path in sorted(_folder(store).iterdir()):
        manifests = (path / f"{status}.json" for status in (COMPLETE, PARTIAL))
        first = next((file for file in manifests if file.exists()), None)
        if first is not None and _read(path) is None:
            found[path.name] = first
    return found


def find(reference: str | os.PathLike[str], store: str | os.PathLike[str]) -> Run:
    """The run of this folder, or of this key in the store, or of the beginning of a key.

    Raises InputError if that is not one run; it names the manifest if that is damaged.
    """
    name = str(reference)
    if not name.strip():
        raise InputError("run", name, "a folder, or the beginning of a key")
    if os.path.isdir(reference):  # of a key in a store of this name, too
        own = _read(Path(reference), tell=True)
        if own is not None:
            return own
        _require_undamaged(Path(reference), name)
    if os.path.dirname(name):
        raise InputError("run", name, "the folder of a run, with its manifest, or the beginning of a key")
    known = runs(store)
    matching = [run for run in known if run.key.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        for folder in sorted(Path(store).glob(f"{glob.escape(name)}*")):
            _require_undamaged(folder, name)
    keys = [run.key[:12] for run in matching or known]
    allowed = "the beginning of one key only: " if matching else ""
    raise InputError("run", name, allowed + one_of(name, keys) if keys else "in a store that has runs")


def _folder(store: str | os.PathLike[str]) -> Path:
    """The folder of a store; an empty name, of a variable that is not set, is not the current one."""
    if not str(store).strip():
        raise InputError("store", str(store), "a folder for results")
    return Path(store)


def _require_undamaged(folder: Path, reference: str) -> None:
    """Raise InputError if the folder, which has no manifest that can be read, has one."""
    for status in (COMPLETE, PARTIAL):
        file = folder / f"{status}.json"
        if os.path.exists(file):
            raise InputError("run", reference, f"one whose manifest is not damaged or of another version ({file} is)")


def _first_sentence(error: BaseException) -> str:
    """What a library says, without its line breaks and its advice in brackets."""
    return " ".join(str(error).split()).partition(" (")[0][:160]


def _in_words(error: Exception) -> str:
    """What is wrong with a manifest, without the words of Python."""
    match error:
        case OSError():
            return f"it cannot be read: {error.strerror}"
        case UnicodeDecodeError() | json.JSONDecodeError():
            return "it is no JSON text"
        case KeyError():
            return f"it has no {error.args[0]}"
        case RecursionError():
            return "it is nested too deeply"
        case TypeError():
            return "its fields are not those of a manifest"
    return str(error)


def _fault(frame: pl.DataFrame) -> str:
    """How data differ from what is written here; "" if they do not."""
    if tuple(frame.columns[:3]) != INDEX:
        return f"the first columns are not {', '.join(INDEX)}"
    for name, kind in frame.schema.items():
        if not (
            kind == pl.String if name == "algorithm" else kind.is_integer() or (name not in INDEX and kind.is_float())
        ):
            return f"{name} is of type {kind}"
    index = frame.select(INDEX)
    if sum(index.null_count().row(0)) or index.is_duplicated().any():
        return f"not one row for each of {', '.join(INDEX)}"
    return ""


def content_hash(frame: pl.DataFrame) -> str:
    """SHA-256 of names, types and values, whatever file they stand in."""
    digest = hashlib.sha256()
    for column in frame.iter_columns():
        digest.update(f"\n{column.name} {column.dtype} {len(column)}\n".encode())
        text = column.dtype == pl.String
        values = "\0".join(column.to_list()).encode() if text else np.ascontiguousarray(column.to_numpy()).tobytes()
        digest.update(values)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Versions of what the numbers of a run depend on."""
    return {"fltheory": fltheory.__version__, "numpy": np.__version__, "python": platform.python_version()}


def _write_manifest(
    folder: Path,
    key: str,
    experiment: Mapping[str, Any],
    status: str,
    reason: str,
    digest: str | None,
    rows: int,
    hashes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    manifest = {
        "key": key,
        "status": status,
        "reason": reason,
        "experiment": experiment,
        "seed": experiment["seed"],
        "versions": versions(),
        "rows": rows,
        "sha256": digest,
        **hashes,
    }
    with whole(folder / f"{status}.json") as unfinished:
        unfinished.write_text(json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")


def _read(folder: Path, kinds: tuple[str, ...] = (COMPLETE, PARTIAL), *, tell: bool = False) -> Run | None:
    """The run of a folder, None if it has no manifest that can be read; with `tell`, damaged ones are logged."""
    for status in kinds:
        file = folder / f"{status}.json"
        try:
            manifest = json.loads(file.read_text(encoding="utf-8"))
            _require_manifest(manifest, os.path.basename(os.path.abspath(folder)), status)
            fields = ("key", "status", "reason", "experiment", "versions", "rows", "sha256")
            hashes = {name: manifest.get(name) for name in ("models", "start")}
            return Run(folder, *(manifest[name] for name in fields), **hashes)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            if tell:
                says = "warning: %s is damaged or of another version, run its experiment again (%s)"
                log.warning(says, str(file), _in_words(error))
    return None


def _require_manifest(manifest: Any, key: str, status: str) -> None:
    """Raise ValueError for a manifest of another folder or status, or with fields of the wrong kind."""
    rows, digest, versions = manifest["rows"], manifest["sha256"], manifest["versions"]
    has_data = isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) is not None
    good = (
        manifest["key"] == key == key_of(manifest["experiment"])
        and manifest["status"] == status
        and isinstance(manifest["experiment"], dict)
        and type(manifest["seed"]) is int
        and manifest["seed"] == manifest["experiment"].get("seed")
        and isinstance(manifest["reason"], str)
        and isinstance(versions, dict)
        and all(isinstance(version, str) for version in versions.values())
        and type(rows) is int
        and rows >= 0
        and (has_data or (status == PARTIAL and digest is None and rows == 0))
        and all(isinstance(manifest.get(name), str | None) for name in ("models", "start"))
    )
    if not good:
        raise ValueError("fields that do not belong to this run")
    _require_form(manifest["experiment"])


def _require_form(experiment: Mapping[str, Any]) -> None:
    """Raise ValueError unless the experiment has what every canonical form has, and what readers of a run rely on."""
    contestants = experiment.get("algorithm")
    named = [experiment.get("problem"), experiment.get("process")]
    if not (
        all(type(experiment.get(number)) is int for number in ("rounds", "replicates", "seed"))
        and all(isinstance(part, dict) and isinstance(part.get("name"), str) for part in named)
        and isinstance(contestants, list)
        and contestants
        and all(isinstance(one, dict) and isinstance(one.get("label"), str) for one in contestants)
    ):
        raise ValueError("an experiment of another form")


def key_of(experiment: Any) -> str:
    """The key that an experiment has (`sims.experiment.Experiment.key`)."""
    return hashlib.sha256(json.dumps(experiment, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _values(run: Run, place: str) -> list[Any]:
    """The values at a dotted place of the experiment."""
    if place == "status":
        return [run.status]
    found: list[Any] = [run.experiment]
    for step in place.split("."):
        found = [inner for outer in found for inner in (outer if isinstance(outer, list) else [outer])]
        found = [outer[step] for outer in found if isinstance(outer, Mapping) and step in outer]
    return found


def _means(text: str, value: Any) -> bool:
    """Whether a text stands for this value of an experiment: as the manifest writes it, or as a TOML file may."""
    if text == (value if isinstance(value, str) else json.dumps(value)):
        return True
    try:
        meant = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return False
    return bool(meant == value) and isinstance(meant, bool) == isinstance(value, bool)  # 1 is 1.0, but not true
