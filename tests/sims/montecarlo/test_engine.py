"""The engine: same bits for any number of workers, after a kill, and whatever has happened to the store."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Cyclic, Permutation, Recorded
from sims.montecarlo import engine, run, weight_error

computed: list[int] = []


@dataclass(frozen=True)
class Draws:
    size: int

    def __call__(self, chunk, rng):
        computed.append(chunk)
        return {"draws": rng.random(self.size), "chunk": chunk, "table": np.arange(6.0).reshape(2, 3).T}


@dataclass(frozen=True)
class Objects:
    def __call__(self, chunk, rng):
        return {"values": np.array([1, "a", None], dtype=object)}


@dataclass(frozen=True)
class Killed:
    by_whom: int  # process that the system spares

    def __call__(self, chunk, rng):
        if chunk == 2 and os.getpid() != self.by_whom:
            time.sleep(0.5)  # the others are finished first
            os.kill(os.getpid(), signal.SIGKILL)
        return {"chunk": chunk}


def results(task=Draws(3), chunks=4, *, purpose="test", seed=7, **options):
    computed.clear()
    return list(run(task, chunks, purpose=purpose, seed=seed, **options))


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a.keys() == b.keys()
        for name in a:
            assert a[name].dtype == b[name].dtype
            assert np.array_equal(a[name], b[name])


def test_chunks_come_in_order_from_their_own_streams():
    found = results()
    assert [int(result["chunk"]) for result in found] == [0, 1, 2, 3]
    assert len({result["draws"].tobytes() for result in found}) == 4
    same(found, results())
    for other in (results(seed=8), results(purpose="another")):
        assert not {result["draws"].tobytes() for result in found} & {result["draws"].tobytes() for result in other}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cyclic(0.1, 100),
        lambda: Permutation(1, 1),
        lambda: Recorded.from_events([0], [1], n_clients=1, n_rounds=3, end="hold"),
    ],
)
def test_what_a_process_was_asked_before_does_not_move_its_store(make, tmp_path):
    fresh, read = make(), make()
    read.max_gap  # noqa: B018
    for process in (fresh, read):
        weight_error(process, 5, 10, 256, store=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def test_any_number_of_workers(tmp_path):
    same(results(), results(workers=2))
    same(results(), results(workers=2, store=tmp_path))
    same(results(), results(store=tmp_path))
    assert computed == []


def test_more_chunks_reuse_those_that_are_there(tmp_path):
    results(chunks=2, store=tmp_path)
    same(results(chunks=5, store=tmp_path), results(chunks=5))
    results(chunks=5, store=tmp_path)
    assert computed == []
    results(chunks=6, store=tmp_path)
    assert computed == [5]


def test_nothing_is_taken_from_another_task_seed_or_purpose(tmp_path):
    others = [{"task": Draws(4)}, {"seed": 8}, {"purpose": "another"}]
    for other in others:
        results(**other, store=tmp_path)
        assert len(computed) == 4
    same(results(store=tmp_path), results())
    for other in others:
        same(results(**other, store=tmp_path), results(**other))


def test_a_store_is_a_folder():
    with pytest.raises(InputError, match=r"^store must be the path of a folder; got 3$"):
        results(store=3)


def chunk_files(store):
    return sorted(Path(store).glob("*/*.npz"))


def test_a_misplaced_file_is_not_trusted(tmp_path):
    results(store=tmp_path / "a")
    results(seed=8, store=tmp_path / "b")
    here, there = chunk_files(tmp_path / "a"), chunk_files(tmp_path / "b")
    shutil.copy(here[1], here[2])
    shutil.copy(there[3], here[3])
    same(results(store=tmp_path / "a"), results())
    results(store=tmp_path / "a")
    assert computed == []  # the files were put right


def test_every_damage_is_noticed(tmp_path):
    """Each byte of a file changed in turn, and the file cut at each length: recomputed, or unharmed."""
    (whole,) = results(Draws(1), 1, store=tmp_path)
    (file,) = chunk_files(tmp_path)
    content = file.read_bytes()
    noticed = 0
    for at in range(0, len(content), 5):
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at % 8)
        for damaged in (bytes(flipped), content[:at]):
            file.write_bytes(damaged)
            found = engine._load(file.parent, 0)
            noticed += found is None
            if found is not None:
                same([found], [whole])
    assert noticed > len(content) / 5  # every cut, and the flips that touch something
    for damaged in (b"", b"not an archive", content[: len(content) // 2]):
        file.write_bytes(damaged)
        same(results(Draws(1), 1, store=tmp_path), [whole])
        assert file.read_bytes() == content


def test_a_sound_archive_with_other_numbers_is_not_trusted(tmp_path):
    results(store=tmp_path)
    file = chunk_files(tmp_path)[1]
    with np.load(file) as stored:
        arrays = dict(stored)
    arrays["draws"] = arrays["draws"] + 1
    np.savez(file, **arrays)
    same(results(store=tmp_path), results())


def test_an_interrupted_write_leaves_nothing_that_is_read(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            results(store=tmp_path)
    assert chunk_files(tmp_path) == []
    same(results(store=tmp_path), results())


def test_progress_goes_to_stderr(capsys):
    same(results(progress=True), results())
    out, err = capsys.readouterr()
    assert out == ""
    assert "100%" in err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"chunks": 0}, "chunks must be a whole number of at least 1; got 0"),
        ({"workers": 0}, "workers must be a whole number of at least 1; got 0"),
        ({"workers": 1.5}, "workers must be a whole number of at least 1; got 1.5"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"task": Objects()}, "result 'values' of the task must be an array of numbers; got .*"),
    ],
)
def test_bad_input(options, sentence):
    with pytest.raises(InputError, match=f"^{sentence}$"):
        results(**options)


def test_a_store_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"^store must be a folder that can be written \(.*\); got .*file'$"):
        results(store=tmp_path / "file")


def test_a_process_that_the_system_kills_is_told_and_what_is_finished_is_kept(tmp_path):
    with pytest.raises(InputError, match=r"^workers must be fewer: one of the processes was killed, .*; got 2$"):
        results(Killed(os.getpid()), workers=2, store=tmp_path)
    assert {file.stem for file in chunk_files(tmp_path)} >= {"0", "1"}
    assert [result["chunk"] for result in results(Killed(os.getpid()), store=tmp_path)] == [0, 1, 2, 3]


RUN = """
import sys
from sims.montecarlo import weight_error
weight_error(0.1, 50, 100, 150 * 8192, seed=11, store=sys.argv[1], workers=int(sys.argv[2]))
"""


def kill_after(seconds: float, store: Path, workers: int) -> int:
    """Start a run, kill -9 it so long after its first new file, and return how many chunks are there."""
    before = set(store.glob("*/*"))
    with subprocess.Popen([sys.executable, "-c", RUN, str(store), str(workers)]) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and set(store.glob("*/*")) == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(seconds)
        process.kill()
    assert process.returncode == -signal.SIGKILL, "the run ended before it could be killed"
    return len(chunk_files(store))


def test_killed_and_resumed_is_as_unbroken(tmp_path):
    """kill -9 again and again, in the end with two workers; each run goes on from what the one before has left."""
    left = [kill_after(seconds, tmp_path, workers=1) for seconds in (0, 0.01, 0.04, 0.1)]
    left.append(kill_after(0.02, tmp_path, workers=2))
    assert left == sorted(left)
    assert 0 < left[-1] < 150
    untouched = {file: file.stat().st_mtime_ns for file in chunk_files(tmp_path)}
    resumed = weight_error(0.1, 50, 100, 150 * 8192, seed=11, store=tmp_path)
    unbroken = weight_error(0.1, 50, 100, 150 * 8192, seed=11)
    assert resumed.average == unbroken.average
    for name in ("error", "standard_error", "mean_weight"):
        assert np.array_equal(getattr(resumed, name), getattr(unbroken, name))
    assert len(chunk_files(tmp_path)) == 150
    assert {file: file.stat().st_mtime_ns for file in untouched} == untouched


def test_a_chunk_that_cannot_be_stored_is_one_sentence(tmp_path):
    results(chunks=1, store=tmp_path)
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    (folder / "1.npz").mkdir()
    with pytest.raises(InputError, match="store must be a folder that can be written"):
        results(chunks=2, store=tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["0.npz", "1.npz"]
