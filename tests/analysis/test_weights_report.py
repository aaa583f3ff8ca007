"""The weights of a log against Algorithm 2 run round by round, and the error against enumeration in rationals."""

from __future__ import annotations

import itertools
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.figures.style import house_style, new_figure
from analysis.traces import Log, read_log
from analysis.weights_report import plot, weights_report
from analysis.weights_report.plot import _gaps, _independent, _weights
from fltheory.errors import InputError
from fltheory.estimate import Estimate
from fltheory.weights import FedAUWeights, fedau_weights


def algorithm_2(history: list[bool], cutoff: float) -> tuple[Fraction, int]:
    """FedAU's weight after the history, and the number of completed intervals, as the paper writes it."""
    weight, completed, open_interval = Fraction(1), 0, 0
    for on in history:
        open_interval += 1
        if on or open_interval == cutoff:
            weight = (completed * weight + open_interval) / (completed + 1) if completed else Fraction(open_interval)
            completed, open_interval = completed + 1, 0
    return weight, completed


def random_log(folder: Path, seed: int) -> tuple[Log, list[list[bool | None]]]:
    """A log, and what it says of each client in each round: on, off, or (None) nothing."""
    rng = random.Random(seed)
    n_clients, n_rounds = rng.randint(1, 8), rng.randint(1, 40)
    truth: list[list[bool | None]] = []
    for _ in range(n_clients):
        rate, hidden = rng.choice([0.0, 0.1, 0.5, 1.0]), rng.choice([0.0, 0.3, 1.0])
        truth.append([None if rng.random() < hidden else rng.random() < rate for _ in range(n_rounds)])
    truth[0][0] = True  # a log without a row is refused
    rows = [f"{c},{r},{int(on)}" for c, said in enumerate(truth) for r, on in enumerate(said) if on is not None]
    rng.shuffle(rows)
    path = folder / "log.csv"
    path.write_text("\n".join(["client,round,available", *rows]))
    return read_log(path, clients=n_clients, rounds=n_rounds), truth


def clients(*histories: str) -> Log:
    """One client a text: 1 on, 0 off, a blank unobserved."""
    events = [(c, r, on) for c, text in enumerate(histories) for r, on in enumerate(text) if on != " "]
    observed = np.array([(c, r) for c, r, _ in events], dtype=np.int64).reshape(-1, 2).T
    on = np.array([(c, r) for c, r, on in events if on == "1"], dtype=np.int64).reshape(-1, 2).T
    names = tuple(f"c{i}" for i in range(len(histories)))
    return Log(names, max(map(len, histories)), on[0], on[1], (observed[0], observed[1]))


@pytest.mark.parametrize("cutoff", [1, 2, 3, 7, 40, 41, 2**53, math.inf])
@pytest.mark.parametrize("seed", range(12))
def test_weights_intervals_and_gaps_are_those_of_the_observed_rounds(tmp_path: Path, seed: int, cutoff: float) -> None:
    log, truth = random_log(tmp_path, seed)
    report = weights_report(log, cutoff)
    all_gaps: list[int] = []
    for i, said in enumerate(truth):
        history = [on for on in said if on is not None]
        if not history:
            assert report.observed[i] == 0
            assert math.isnan(report.weight[i])
            assert math.isnan(report.rate[i])
            continue
        weight, completed = algorithm_2(history, cutoff)
        assert report.weight[i] == float(weight)
        assert report.intervals[i] == completed
        whole = np.array([*history, False])[:, None]
        assert report.weight[i] == fedau_weights(whole, cutoff)[-1, 0]
        streaming = FedAUWeights(1, cutoff)
        for on in history:
            streaming.update([on])
        assert report.weight[i] == streaming.weights[0]
        assert report.rate[i] == sum(history) / len(history)
        gaps = np.diff(np.flatnonzero(history)).tolist()
        all_gaps += gaps
        assert report.mean_gap[i] == pytest.approx(np.mean(gaps) if gaps else math.nan, rel=1e-15, nan_ok=True)
        assert report.longest_gap[i] == pytest.approx(max(gaps) if gaps else math.nan, rel=0, nan_ok=True)
    lengths, times = report.gaps
    assert np.repeat(lengths, times).tolist() == sorted(all_gaps)


def test_an_unobserved_stretch_pauses_the_interval() -> None:
    log = clients("1        1", "1000000001", "")
    weight = weights_report(log, 50).weight
    assert weight[:2].tolist() == [1.0, 5.0]  # the first would be 5 as well if unobserved rounds counted as off
    assert math.isnan(weight[2])


@pytest.mark.parametrize("cutoff", [1, 3, 4, math.inf])
@pytest.mark.parametrize(("text", "p"), [("10 010 0", Fraction(1, 3)), ("1111", Fraction(1)), ("0001", Fraction(1, 4))])
def test_exact_error_is_that_of_the_weight_after_the_log(text: str, p: Fraction, cutoff: float) -> None:
    rounds = len(text.replace(" ", ""))
    error = Fraction(0)
    for history in itertools.product([False, True], repeat=rounds):
        on = sum(history)
        error += p**on * (1 - p) ** (rounds - on) * (p * algorithm_2(list(history), cutoff)[0] - 1) ** 2
    report = weights_report(clients(text), cutoff)
    assert report.exact_error[0] == pytest.approx(float(error), rel=1e-12, abs=1e-300)
    limit = 1 - (1 - p) ** cutoff if cutoff < math.inf else 1
    assert report.long_run_scale[0] == pytest.approx(float(limit), rel=1e-12)


def test_a_client_never_on_has_rate_0_and_one_never_seen_has_none() -> None:
    report = weights_report(clients("0000000", "", "1"), 3)
    assert report.rate[0] == 0
    assert report.weight[0] == 3  # two intervals of 3
    assert (report.exact_error[0], report.long_run_scale[0]) == (1, 0)
    for name in ("rate", "rate_low", "rate_high", "weight", "exact_error", "long_run_scale", "mean_gap"):
        assert math.isnan(getattr(report, name)[1])
    assert report.summary()["never_seen"] == 1
    assert report.summary()["unobserved_share"] == pytest.approx(6 / 14)


def test_rate_estimate() -> None:
    estimate = weights_report(clients("1000010010"), 5).rate_estimate(0)
    reference = stats.binomtest(3, 10).proportion_ci(0.95, "exact")
    assert isinstance(estimate, Estimate)
    assert (estimate.value, estimate.n, estimate.level) == (0.3, 10, 0.95)
    assert (estimate.low, estimate.high) == pytest.approx((reference.low, reference.high), rel=1e-9)
    assert math.isnan(weights_report(clients("", "1"), 5).rate_estimate(0).value)


def test_a_large_log_is_shown_at_quantiles_of_the_rate() -> None:
    ons = [*range(101), *[None] * 10]
    rng = random.Random(1)
    rng.shuffle(ons)
    report = weights_report(clients(*("" if n is None else "1" * n + "0" * (100 - n) for n in ons)), 20)
    assert report.rate[report.shown].tolist() == [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
    assert np.isfinite(report.exact_error).sum() == 7
    assert np.isfinite(report.weight).sum() == 101
    text = report.to_text()
    assert "at the quantiles 0, 0.1, 0.25, 0.5, 0.75, 0.9, 1 of the rate" in " ".join(text.split())
    assert len(text.splitlines()) < 40


def test_no_exact_error_for_a_very_long_log() -> None:
    log = Log(("a",), 10**12, np.array([0, 0]), np.array([5, 10**11]))
    report = weights_report(log, 50)
    assert math.isnan(report.exact_error[0])
    assert report.weight[0] == pytest.approx(50, rel=1e-9)
    text = " ".join(report.to_text().split())
    assert "No exact error (-) is computed beyond 20000 observed rounds, where it takes seconds or more" in text


def test_a_log_without_observations_says_that_other_rounds_count_as_off(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("client,round\na,0\na,3\n")
    report = weights_report(read_log(tmp_path / "log.csv"), 50)
    text = " ".join(report.summary_text().split())
    assert "unobserved: not recorded (no column `available`): each row is a participation, and all other" in text
    assert "0.0%" not in text
    assert report.summary()["unobserved_share"] is None
    assert report.rate[0] == 0.5


@pytest.mark.parametrize(("length", "used", "ignored"), [(None, "round", "timestamp"), ("5s", "timestamp", "round")])
def test_a_log_with_rounds_and_timestamps_says_which_are_used(
    tmp_path: Path, length: str | None, used: str, ignored: str
) -> None:
    (tmp_path / "log.csv").write_text("client,round,timestamp\na,0,0\na,9,10\n")
    report = weights_report(read_log(tmp_path / "log.csv", round_length=length), 50)
    assert f"time: column {used} (column {ignored} is not used" in report.summary_text()
    assert (report.summary()["time_column"], report.summary()["ignored_column"]) == (used, ignored)
    assert report.log.n_rounds == (10 if length is None else 3)
    (tmp_path / "log.csv").write_text(f"client,{used}\na,0\n")
    report = weights_report(read_log(tmp_path / "log.csv", round_length=length), 50)
    assert "time: " not in report.summary_text()
    assert report.summary()["ignored_column"] is None


def test_text_says_what_was_mended_and_who_was_never_seen(tmp_path: Path) -> None:
    (tmp_path / "clients.txt").write_text("[red]x\nsilent\n")
    (tmp_path / "log.csv").write_text("client,round,available\n[red]x,4,1\n[red]x,0,1\n[red]x,0,0\n[red]x,0,0\n")
    report = weights_report(read_log(tmp_path / "log.csv", clients=tmp_path / "clients.txt"), 50)
    text = report.to_text()
    assert text.startswith(report.summary_text())
    assert "clients: 2; rounds: 5; rows: 4" in text
    assert "rows out of order: 3 (sorted); duplicate rows: 2 (merged)" in text
    assert "both available and not: 1 (taken as available)" in text
    assert "clients never seen: 1" in text
    assert "unobserved: 60.0%" in text
    rows = {line.split()[0]: line for line in text.splitlines() if line}
    assert "[red]x" in rows
    assert "never seen" in rows["silent"]


def test_json_holds_every_client_and_no_nan(tmp_path: Path) -> None:
    log, truth = random_log(tmp_path, seed=3)
    report = weights_report(log, math.inf)
    loaded = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert loaded["cutoff"] is None
    assert loaded["summary"] == report.summary()
    assert all(len(column) == len(truth) for column in loaded["clients"].values())
    assert [w is None for w in loaded["clients"]["weight"]] == loaded["clients"]["never_seen"]
    assert weights_report(log, 7).to_json()["cutoff"] == 7


@pytest.mark.parametrize("bad", [0, -1, 2.5, math.nan, True, "50"])
def test_bad_cutoff(bad: object) -> None:
    with pytest.raises(InputError, match="cutoff must be a whole number of at least 1, or infinity"):
        weights_report(clients("1"), bad)  # type: ignore[arg-type]


def test_gaps_of_independent_rounds_by_enumeration() -> None:
    """Over all ways to be on in n of T rounds, which independent rounds make equally likely, the two curves agree."""
    histories = ["".join(h) for T in (5, 8) for h in itertools.product("01", repeat=T) if h.count("1") in (2, 3, T)]
    report = weights_report(clients(*histories), 4)
    lengths, times = report.gaps
    at_least = np.cumsum(times[::-1])[::-1] / times.sum()
    assert lengths.tolist() == list(range(1, 8))
    assert _independent(report, lengths) == pytest.approx(at_least, rel=1e-12)


@pytest.mark.parametrize(
    ("cutoff", "histories"),
    [
        (2, ("1",)),
        (2, ("000", "0")),
        (math.inf, ("111",)),
        (math.inf, ("101", "", "0")),
        (5, ("1" + "0" * 99, "1" * 100, "10" * 50)),
    ],
)
def test_every_log_has_a_picture(tmp_path: Path, histories: tuple[str, ...], cutoff: float) -> None:
    path = tmp_path / "weights.png"
    path.write_text("an old picture")
    plot(weights_report(clients(*histories), cutoff), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in tmp_path.iterdir()] == ["weights.png"]


def test_picture_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match="output file must be a path that can be written"):
        plot(weights_report(clients("101"), 5), tmp_path / "file" / "weights.png")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("histories", [("0100100000", "1011000001"), ("000101000100",), ("10001000100010",) * 2])
@pytest.mark.parametrize("panel", [_weights, _gaps])
def test_the_legend_covers_nothing_of_a_small_log(panel: Callable[..., None], histories: tuple[str, ...]) -> None:
    with house_style():
        figure = new_figure(2.9)
        axes = figure.subplots(1, 2)[0]
        panel(axes, weights_report(clients(*histories), 5))
        figure.canvas.draw()
        covered = axes.get_legend().get_window_extent()
        for line in axes.get_lines():
            path = line.get_transform().transform_path(line.get_path())
            assert not path.intersects_bbox(covered, filled=False), line.get_label()
        assert covered.y0 >= axes.bbox.y1  # points have no extent as a path: only above the axes there are none


@pytest.mark.parametrize("histories", [("110", "011"), ("1010", "0101"), ("1000000001",)])
def test_labels_of_gaps_are_whole_numbers_apart(histories: tuple[str, ...]) -> None:
    with house_style():
        figure = new_figure(2.9)
        axes = figure.subplots(1, 2)[1]
        _gaps(axes, weights_report(clients(*histories), 2))
        figure.canvas.draw()
        labels = [label for label in axes.get_xticklabels(which="both") if label.get_text()]
        low, high = axes.get_xlim()
        boxes = [label.get_window_extent() for label in labels if low <= label.get_position()[0] <= high]
    assert [label.get_text() for label in labels][:2] == ["1", "2"]
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))


@pytest.mark.parametrize(("n", "words"), [(1, "1 observed client that"), (2, "2 observed clients that")])
def test_clients_left_out_are_counted(n: int, words: str) -> None:
    axes = new_figure(2.9).subplots()
    _weights(axes, weights_report(clients("101", *["000"] * n), 5))
    assert axes.get_title() == f"not shown: {words} never took part"


def test_drawing_leaves_pyplot_alone() -> None:
    code = "import sys, analysis.weights_report; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_a_million_clients_take_seconds() -> None:
    n = 1_000_000
    rng = np.random.default_rng(0)
    key = np.unique(rng.integers(0, n * 1000, 2 * n))
    report = weights_report(Log(tuple(map(str, range(n))), 1000, key // 1000, key % 1000), 50)
    seen = report.participations > 0
    assert np.isfinite(report.weight).sum() == seen.sum()
    some = rng.choice(np.flatnonzero(seen), 200, replace=False)
    history = np.concatenate([report.log.history(some)[0], np.zeros((1, 200), dtype=bool)])
    assert np.array_equal(report.weight[some], fedau_weights(history, 50)[-1])
