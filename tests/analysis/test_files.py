"""Files are written whole or not at all, and never over something else."""

from __future__ import annotations

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


@pytest.mark.parametrize("name", ["", ".", "folder", "/dev/null", "file/below"])
def test_what_is_no_file_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    target = Path(name) if name in ("", "/dev/null") else tmp_path / name
    with pytest.raises(InputError, match="output file"):
        files.require_writable(target)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert not Path("/dev/null").is_file()


def test_asking_whether_a_file_can_be_written_makes_no_folders(tmp_path: Path) -> None:
    files.require_writable(tmp_path / "a" / "b" / "c.txt")
    assert not list(tmp_path.iterdir())
    files.write_text(tmp_path / "a" / "b" / "c.txt", "text")
    with pytest.raises(InputError, match="output file"):
        files.require_writable(tmp_path / ("long" * 100))
