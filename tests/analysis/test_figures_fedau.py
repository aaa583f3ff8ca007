"""FedAU's figures show what they say: the plotted data against independent computation and made-up runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.exhibits import Given
from analysis.figures.fedau import figures, participation, weights
from analysis.figures.fedau.spread import FILE, PANELS
from analysis.figures.fedau.training import HERE, TABLE1
from analysis.stored_runs import runs_of
from fltheory.participation import Bernoulli, Cyclic, Markov
from fltheory.weights import FedAUWeights
from sims import store as stored
from tests.analysis.runs import made_up

NOTHING = Given("laptop", {})


def test_patterns_are_traces_of_the_processes() -> None:
    picture = figures["figC61"].make(NOTHING)
    processes = {"Bernoulli": Bernoulli(0.527), "Markovian": Markov(0.527), "cyclic": Cyclic(0.527)}
    for axes, (name, process) in zip(picture.figure.axes, processes.items(), strict=True):
        on = [r["participates"] for r in picture.rows if r["pattern"] == name]
        assert on == process.sample(400, participation.SEED)[:, 0].astype(int).tolist()
        assert axes.get_title() == f"{name}: takes part in {sum(on)} of 400 rounds"  # type: ignore[arg-type]


def test_rates_follow_from_the_printed_q() -> None:
    """(C.6.1) with lambda = 1/(C mu) = 1 and the floor; class 6 has 78 % of q."""
    q = [0.02, 0.05, 0.12, 0, 0, 0.78, 0, 0, 0.02, 0]
    picture = figures["figC62"].make(NOTHING)
    assert len(picture.rows) == 20
    for row, bar in zip(picture.rows, picture.figure.axes[1].patches, strict=True):
        mix = [row[f"class {k}"] for k in range(1, 11)]
        assert sum(mix) == pytest.approx(1)  # type: ignore[arg-type]
        assert row["rate"] == pytest.approx(max(0.02, min(1, np.dot(mix, q))), rel=1e-12)  # type: ignore[arg-type]
        assert bar.get_height() == row["rate"]  # type: ignore[attr-defined]


def test_a_floor_cuts_the_distribution_of_rates_and_changes_nothing_above() -> None:
    picture = figures["figD51"].make(NOTHING)
    share = {
        name: {r["rate"]: r["share"] for r in picture.rows if r["case"] == name}
        for name in ("floor 0", "floor 0.001", "floor 0.01", "floor 0.02")
    }
    for floor in (0.001, 0.01, 0.02):
        own = share[f"floor {floor:g}"]
        assert all(value == 0 for rate, value in own.items() if rate < floor)  # type: ignore[operator]
        above = {rate: value for rate, value in own.items() if rate >= floor}  # type: ignore[operator]
        assert above == {rate: share["floor 0"][rate] for rate in above}
        assert min(above.values()) > 0  # type: ignore[type-var]
    curves = {line.get_label(): line for line in picture.figure.axes[0].lines}
    assert list(curves["floor 0.02"].get_ydata()) == list(share["floor 0.02"].values())


def test_a_smaller_mean_moves_the_distribution_of_rates() -> None:
    """Without cap a rate is proportional to the mean: its distribution is the same, a factor of ten to the left."""
    picture = figures["figD61"].make(NOTHING)
    share = {name: [r["share"] for r in picture.rows if r["case"] == name] for name in ("mean 0.01", "mean 0.001")}
    a_decade = 40  # of 241 points over six decades
    assert share["mean 0.001"][:-a_decade] == pytest.approx(share["mean 0.01"][a_decade:], abs=1e-4)  # ties in rounding


@pytest.mark.parametrize(("name", "process"), [("figD41", Bernoulli), ("figD42", Cyclic)])
def test_weights_along_a_trace_beside_their_law(name: str, process: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "ROUNDS", 400)
    picture = figures[name].make(NOTHING)
    by_panel = {axes.get_title(): axes for axes in picture.figure.axes}
    assert len(by_panel) == 5
    for title, axes in by_panel.items():
        rows = [r for r in picture.rows if r["panel"] == title]
        assert list(axes.lines[0].get_ydata()) == [r["weight"] for r in rows]
        assert axes.lines[1].get_ydata()[0] == rows[0]["known"]  # type: ignore[index]
    # Panel (c) again with the streaming estimator, on the same trace.
    mixes = participation.label_mixes(250, participation.SEED)
    made = participation.label_correlated_rates(mixes, 0.1, 0.1, 0.02, participation.SEED)
    trace = process(np.concatenate([made.rates, [0.527, 0.02, 0.02, 0.02]])).sample(400, participation.SEED)
    streaming, seen = FedAUWeights(1, np.inf), []
    for on in trace[:, 251:252]:
        seen.append(float(streaming.weights[0]))
        streaming.update(on)
    rows = [r for r in picture.rows if str(r["panel"]).startswith("(c)")]
    assert [r["weight"] for r in rows] == seen[::10]
    assert rows[0]["known"] == pytest.approx(50)
    if process is Bernoulli:  # E[w_t] = q^t + (1 - q^t)/p - t q^t for K = inf
        t, miss = np.arange(0, 400, 10), 0.98 ** np.arange(0, 400, 10)
        exact = miss + (1 - miss) / 0.02 - t * miss
        assert [r["exact mean"] for r in rows] == pytest.approx(exact.tolist(), rel=1e-9)


def test_curves_are_means_over_seeds_and_the_window(tmp_path: Path) -> None:
    """At the scale of the paper a record every 10 of 10,000 rounds, so 31 records of 5 seeds are in a window of 3 %."""
    file = f"{HERE}/table1-cifar10-bernoulli.toml"
    made_up(file, "paper", tmp_path, lambda k, seed, t: 0.01 * k + 0.001 * seed + 1e-5 * t)
    picture = figures["figD22"].make(Given("paper", runs_of([file], "paper", tmp_path)))
    row = next(
        r
        for r in picture.rows
        if (r["algorithm"], r["metric"], r["round"]) == ("average all", "test accuracy, %", 5000)
    )
    samples = [100 * (0.03 + 0.001 * s + 1e-5 * t) for s in range(5) for t in range(4850, 5151, 10)]
    assert row["mean"] == pytest.approx(np.mean(samples), rel=1e-12)
    assert row["sd"] == pytest.approx(np.std(samples, ddof=1), rel=1e-12)
    assert row["seeds"] == 5
    shown = {str(line.get_label()) for line in picture.figure.axes[0].lines}
    assert shown == set(TABLE1)
    first = picture.figure.axes[0]
    assert first.get_ylabel() == "training loss"
    curve = next(line for line in first.lines if line.get_label() == "MIFA")
    wanted = [r["mean"] for r in picture.rows if (r["algorithm"], r["metric"]) == ("MIFA", "training loss")]
    assert list(curve.get_ydata()) == wanted


def test_the_distribution_over_clients_is_that_of_the_last_round_of_all_seeds(tmp_path: Path) -> None:
    experiment = made_up(FILE, "smoke", tmp_path).experiment | {"replicates": 2}
    rng, drawn, rows = np.random.default_rng(3), {}, []
    for label in labels_of(experiment):
        for seed in range(2):
            for t in (0, 4):
                numbers = {f"{metric}_{n}": float(rng.random()) for metric in PANELS for n in range(20)}
                rows.append({"algorithm": label, "replicate": seed, "round": t} | numbers)
                drawn[label, seed, t] = numbers
    key = hashlib.sha256(json.dumps(experiment, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    run = stored.save(tmp_path, key, experiment, pl.DataFrame(rows))
    picture = figures["figD31"].make(Given("smoke", {FILE: run}))
    for axes, (metric, (words, unit)) in zip(picture.figure.axes, PANELS.items(), strict=True):
        assert axes.get_xlabel() == words
        for line in axes.lines:
            label = str(line.get_label())
            wanted = sorted(unit * drawn[label, seed, 4][f"{metric}_{n}"] for seed in range(2) for n in range(20))
            assert np.unique(line.get_xdata()).tolist() == pytest.approx(wanted)
            own = [r for r in picture.rows if (r["algorithm"], r["metric"]) == (label, words)]
            assert [r["value"] for r in own] == pytest.approx(wanted)
            assert [r["share of clients"] for r in own] == pytest.approx(np.arange(1, 41) / 40)
        assert len(axes.lines) == 4


def labels_of(experiment: dict[str, Any]) -> list[str]:
    return [str(contestant["label"]) for contestant in experiment["algorithm"]]


def test_accuracy_over_cutoffs_with_and_without_a_floor(tmp_path: Path) -> None:
    """Numbers of the last fifth of the rounds; K = inf at the right, in the order of K whatever that of the file."""
    files = [f"{HERE}/cutoffs.toml", f"{HERE}/no-floor.toml"]
    for file in files:
        made_up(file, "laptop", tmp_path, lambda k, seed, t: 0.1 * k + (0.01 * seed if t > 800 else 5))
    given = Given("laptop", runs_of(files, "laptop", tmp_path))
    for name, panels in (("fig1", 1), ("figD52", 3)):
        picture = figures[name].make(given)
        assert len(picture.figure.axes) == panels
    rows = [r for r in picture.rows if r["metric"] == "test accuracy, %"]
    with_floor = [r for r in rows if r["floor"] == "p ≥ 0.02"]
    assert [r["K"] for r in with_floor] == [1, 10, 50, 200, np.inf]
    assert [r["mean"] for r in with_floor] == pytest.approx([1, 11, 21, 31, 41])
    assert all(r["sd"] == pytest.approx(1) and r["seeds"] == 3 for r in rows)
    labels = [tick.get_text() for tick in picture.figure.axes[-1].get_xticklabels()]
    assert labels == ["1", "10", "50", "200", r"$\infty$"]
    without = [r for r in rows if r["floor"] == "p ≥ 0"]
    assert [r["K"] for r in without] == [50, np.inf]
    line = picture.figure.axes[-1].containers[1].lines[0]  # type: ignore[attr-defined]
    assert [np.isnan(y) for y in line.get_ydata()] == [True, True, False, True, False]  # 50 and inf, with a gap at 200
