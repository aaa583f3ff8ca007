"""Files that are written whole or not at all."""

import os
import resource
import signal

import pytest

from sims.whole import whole


def test_what_was_written_is_there_under_its_name_alone(tmp_path):
    with whole(tmp_path / "a") as unfinished:
        unfinished.write_text("new")
        assert unfinished.parent == tmp_path
        assert not (tmp_path / "a").exists()
    assert os.listdir(tmp_path) == ["a"]


def write(path, text, stop=None):
    with whole(path) as unfinished:
        unfinished.write_text(text)
        if stop:
            raise stop


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_what_stops_leaves_the_old_file(stop, tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(stop):
        write(tmp_path / "a", "ne", stop)
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_full_disk_names_the_file_and_is_left_as_it_was(tmp_path):
    (tmp_path / "a").write_text("old")
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
        with pytest.raises(OSError, match="File too large") as caught:
            write(tmp_path / "a", "new" * 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.filename == str(tmp_path / "a")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"
