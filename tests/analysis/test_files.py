"""Files are written whole or not at all, and never over something else."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from analysis import files
from fltheory.errors import InputError


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.json"
    files.write_text(target, "old")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        files.write_text(target, "new")
    assert target.read_text() == "old"


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.json"
    files.write_text(target, "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InputError, match=r"output file must be a path that can be written \(No space left on device\)"):
        files.write_text(target, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert target.read_text() == "old"


@pytest.mark.parametrize("name", ["", ".", "folder", "/dev/null", "file/below"])
def test_what_is_no_file_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    target = Path(name) if name in ("", "/dev/null") else tmp_path / name
    with pytest.raises(InputError, match="output file"):
        files.require_writable(target)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert not Path("/dev/null").is_file()


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    for ask in (files.require_writable, lambda path: files.write_text(path, "text")):
        with pytest.raises(InputError, match="output file must be a path in a folder that is there; got"):
            ask(tmp_path / "a" / "b.txt")
    files.require_writable(tmp_path / "b.txt")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="output file"):
        files.require_writable(tmp_path / ("long" * 100))


def test_a_folder_for_output_is_made_with_those_around_it(tmp_path: Path) -> None:
    for _ in range(2):
        files.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="output folder must be a folder that can be made"):
        files.make_folder(tmp_path / "file")
