"""Logs that are made and written: what is read back is what was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from polars.exceptions import ComputeError

from analysis.cli import main
from analysis.traces import Log, read_log, write_log
from analysis.traces.made import day_shifted, from_process
from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Markov, UniformSubset
from sims import data

BoolArray = npt.NDArray[np.bool_]
KINDS = ("csv", "parquet", "jsonl")


def random_log(seed: int, n: int = 6, rounds: int = 20, blank: float = 0.3) -> tuple[Log, BoolArray, BoolArray]:
    """A log, and what each client did and was seen to do, (rounds, n); client 1 never seen, client 2 never on."""
    rng = np.random.default_rng(seed)
    seen = rng.random((rounds, n)) >= blank
    seen[:, 1] = False
    on = seen & (rng.random((rounds, n)) < rng.random(n))
    on[:, 2] = False
    pairs = [tuple(np.nonzero(cells.T)) for cells in (on, seen)]
    full = bool((seen.all(axis=0) | ~seen.any(axis=0)).all())
    names = ("a,b", "9", '"', "10", "x y", "ü")
    return Log(names[:n], rounds, *pairs[0], None if full else pairs[1], seen.any(axis=0) if full else None), on, seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_a_log_that_was_written_is_read_again(tmp_path: Path, kind: str, seed: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("analysis.traces.write.WRITTEN", [1, 20, 40, 10**6][seed % 4])  # of some 14 to 20 a client
    log, on, seen = random_log(seed, blank=0.3 * (seed % 2))
    path = tmp_path / f"log.{kind}"
    write_log(log, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    (tmp_path / "clients.txt").write_text("\n".join(log.clients), encoding="utf-8")
    again = read_log(path, clients=tmp_path / "clients.txt", rounds=log.n_rounds)
    assert (again.clients, again.n_rounds) == (log.clients, log.n_rounds)
    assert np.array_equal(again.history(range(log.n_clients)), (on, seen))
    assert (again.n_unsorted, again.n_duplicates, again.n_contradictions) == (0, 0, 0)
    assert (again.observed is None) == (log.observed is None)
    alone = read_log(path)  # without a word on clients and rounds: but for who was never seen, the same
    assert set(alone.clients) == set(log.clients) - {"9"}
    if kind == "parquet":
        rows = pl.read_parquet(path)
        assert rows["client"].unique(maintain_order=True).to_list() == [name for name in log.clients if name != "9"]
    order = [log.clients.index(name) for name in alone.clients]
    last = np.flatnonzero(seen.any(axis=1)).max() + 1
    assert np.array_equal(alone.history(range(len(order))), (on[:last, order], seen[:last, order]))


def test_a_log_that_tells_nothing_of_observation_says_what_was_taken_for_it(tmp_path: Path) -> None:
    log = Log(("a", "b"), 5, np.array([0, 0]), np.array([0, 3]))
    write_log(log, tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_text() == "client,start,end,available\na,0,1,1\na,1,3,0\na,3,4,1\na,4,5,0\n"
    again = read_log(tmp_path / "log.csv", clients=None)
    assert (again.observed_rounds().tolist(), again.n_rounds) == ([5], 5)


@pytest.mark.parametrize(
    ("table", "process"),
    [
        ('name = "markov"\np = 0.2\nmax_enter = 0.1', Markov(np.full(7, 0.2), max_enter=0.1)),
        ('name = "bernoulli"\np = { low = 0.001, high = 1.0, n = 7 }', Bernoulli(np.linspace(0.001, 1, 7))),
        ('name = "uniform-subset"\ncohort_size = 2', UniformSubset(7, 2)),
    ],
)
def test_a_process_of_an_experiment_file(tmp_path: Path, table: str, process: Any, capsys: Any) -> None:
    (tmp_path / "it.toml").write_text(f"rounds = 40\nseed = 3\n[process]\n{table}\n")
    for kind, options, rounds, seed in (
        ("csv", [], 40, 3),
        ("parquet", ["--rounds", "25", "--seed", "8"], 25, 8),
        ("jsonl", [], 40, 3),
    ):
        out = tmp_path / f"log.{kind}"
        assert run("simulate", str(tmp_path / "it.toml"), "--clients", "7", "--out", str(out), *options) == 0
        log = read_log(out)
        on, seen = log.history(range(7))
        assert np.array_equal(on, process.sample(rounds, seed))
        assert seen.all()
        assert capsys.readouterr().err == f"log: {out} (7 clients, {rounds} rounds)\n"


def run(*arguments: str) -> int:
    """The exit code of `fltheory trace` with these arguments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["fltheory", "trace", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
    return int(end.value.code or 0)


class AfterARest:
    """Client n is available unless it took part in the round before."""

    n_clients = 3

    def step(self, history: BoolArray, rng: np.random.Generator) -> BoolArray:
        last = history[-1] if len(history) else np.zeros(history.shape[1:], dtype=np.bool_)
        return ~last & (rng.random(last.shape) < 0.7)


def test_a_reactive_process_sees_everybody_take_part() -> None:
    log = from_process(AfterARest(), 200, seed=1)
    on, seen = log.history([0, 1, 2])
    assert seen.all()
    assert not (on[1:] & on[:-1]).any()
    rested = on[1:][~on[:-1]]
    assert abs(rested.mean() - 0.7) < 5 * np.sqrt(0.7 * 0.3 / rested.size)
    assert np.array_equal(on[:50], from_process(AfterARest(), 50, seed=1).history([0, 1, 2])[0])


@pytest.mark.parametrize("day", [1, 3, 4, 20])
@pytest.mark.parametrize("blank", [0, 0.3])
def test_each_drawn_client_is_one_of_the_log_moved_by_days(day: int, blank: float) -> None:
    log, on, seen = random_log(4, blank=blank)
    drawn = day_shifted(log, 60, day, seed=2)
    rounds = 20 // day * day
    assert (drawn.n_rounds, drawn.clients[-1]) == (rounds, "59")
    new_on, new_seen = drawn.history(range(60))
    sources = set()
    for j in range(60):
        same = {
            (n, k)
            for n in range(6)
            for k in range(rounds // day)
            if n != 1  # never seen
            and np.array_equal(np.roll(on[:rounds, n], k * day), new_on[:, j])
            and np.array_equal(np.roll(seen[:rounds, n], k * day), new_seen[:, j])
        }
        assert same
        sources |= same
    assert {n for n, _ in sources} == {0, 2, 3, 4, 5}
    assert {k for _, k in sources} == set(range(rounds // day))
    more = day_shifted(log, 61, day, seed=2)  # another client changes nobody else's days
    assert np.array_equal(more.history(range(60)), (new_on, new_seen))
    if day < 20:
        assert not np.array_equal(day_shifted(log, 60, day, seed=3).history(range(60))[0], new_on)


def test_drawn_clients_have_the_daily_profile_and_the_rates_of_the_log() -> None:
    rng = np.random.default_rng(0)
    hour = np.arange(24 * 40) % 24
    on = rng.random((hour.size, 30)) < (0.1 + 0.8 * (hour < 8))[:, None] * rng.random(30)
    log = Log(tuple(map(str, range(30))), hour.size, *np.nonzero(on.T))
    drawn = day_shifted(log, 2000, 24, seed=0)
    profile = np.bincount(drawn.round % 24, minlength=24) / (2000 * 40)
    # Of a client the profile is kept exactly; which clients are drawn is chance, so within 5 standard errors.
    by_client = np.stack([on[hour == h].mean(axis=0) for h in range(24)])
    assert (np.abs(profile - by_client.mean(axis=1)) < 5 * by_client.std(axis=1) / np.sqrt(2000)).all()
    assert set(drawn.participations()) <= set(log.participations())


def test_rounds_after_the_last_whole_day_are_left_out() -> None:
    log = Log(("late", "early"), 11, np.array([0, 1]), np.array([10, 0]), (np.array([0, 1]), np.array([10, 0])))
    drawn = day_shifted(log, 20, 5, seed=0)
    assert drawn.n_rounds == 10
    assert drawn.participations().tolist() == [1] * 20  # the late one is not seen in whole days
    with pytest.raises(InputError, match="one in which a client was seen"):
        day_shifted(Log(("late",), 11, *2 * (np.array([0]),), (np.array([0]), np.array([10]))), 20, 5, seed=0)


@pytest.mark.skipif(not data.is_fetched("phone-activity"), reason="phone-activity is not in the cache")
def test_the_phone_log_is_drawn_from_and_read_again(tmp_path: Path) -> None:
    log = read_log(data.path("phone-activity"), round_length="1h")
    out = tmp_path / "more.parquet"
    options = ("--clients", "300", "--seed", "1", "--round-length", "1h")
    assert run("simulate", "--from", str(data.path("phone-activity")), *options, "--out", str(out)) == 0
    drawn = day_shifted(log, 300, 24, seed=1)
    again = read_log(out, clients=300, rounds=66 * 24)
    assert np.array_equal([again.client, again.round], [drawn.client, drawn.round])
    assert again.observed is not None
    assert drawn.observed is not None
    assert np.array_equal(again.observed, drawn.observed)
    assert not again.never_seen().any()


FILE = "rounds = 5\n[process]\nname = 'bernoulli'\np = 0.5\n"
BAD: dict[str, tuple[str, list[str], str]] = {
    "neither": (FILE, [], "EXPERIMENT.toml and --from must be one of the two"),
    "both": (FILE, ["it.toml", "--from", "log.csv"], "EXPERIMENT.toml and --from must be one of the two"),
    "no file": (FILE, ["other.toml"], "experiment must be a text file that can be read"),
    "no process": ("rounds = 5\n", ["it.toml"], "EXPERIMENT.toml must be a file with a table"),
    "unknown process": ("rounds = 5\n[process]\nname = 'markow'\n", ["it.toml"], "did you mean markov"),
    "no rounds": ("process = 'permutation'\n", ["it.toml"], "--rounds must be given"),
    "rounds of text": ("rounds = 'x'\n" + FILE[11:], ["it.toml"], "rounds must be a whole number"),
    "other clients": (FILE.replace("0.5", "[0.5, 0.5]"), ["it.toml"], "number of clients of the process must be 3"),
    "too large": (FILE, ["it.toml", "--rounds", "1000000000000"], "rounds must be so few"),
    "day of a process": (FILE, ["it.toml", "--day", "3"], "--from must be given with --day"),
    "no day": (FILE, ["--from", "log.csv"], "--from must be given with --round-length, or .* --day"),
    "short log": (FILE, ["--from", "log.csv", "--day", "9"], "day must be at most the 4 rounds of the log"),
    "odd rounds": (FILE, ["--from", "times.csv", "--round-length", "5h"], "--round-length must be such that a day"),
    "no log": (FILE, ["--from", "nowhere.csv", "--day", "2"], "log must be a file that exists"),
    "other suffix": (FILE, ["it.toml", "--out", "log.txt"], "output file must be a name that ends in .csv, .parquet"),
    "over the log": (FILE, ["--from", "log.csv", "--day", "2", "--out", "log.csv"], "--out must be another file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_no_file(tmp_path: Path, name: str, capsys: Any, monkeypatch: Any) -> None:
    content, arguments, sentence = BAD[name]
    monkeypatch.chdir(tmp_path)
    Path("it.toml").write_text(content)
    Path("log.csv").write_text("client,round\na,3\n")
    Path("times.csv").write_text("client,timestamp\na,0\na,400000\n")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    out = [] if "--out" in arguments else ["--out", "new.csv"]
    assert run("simulate", *arguments, "--clients", "3", *out) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    with pytest.raises(ValueError, match=sentence):
        raise ValueError(said.err)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), ComputeError("No space left on device\nx")])
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: Any, fault: Exception) -> None:
    log, path = random_log(0)[0], tmp_path / "log.csv"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise fault

    monkeypatch.setitem(write_log.__globals__["WRITERS"], ".csv", full)
    with pytest.raises(InputError, match=r"a path that can be written .*No space left"):
        write_log(log, path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]
