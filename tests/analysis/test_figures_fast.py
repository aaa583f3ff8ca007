"""FAST's figures: the plotted data against the processes, the published table, made-up runs and the exact engine."""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

from analysis.checks.published import published
from analysis.exhibits import Given
from analysis.figures.fast import figures, floor, participation
from analysis.figures.fast.training import ORDER, STRENGTHS
from analysis.stored_runs import runs_of
from analysis.tables.fast import file_of
from fltheory.participation import WeightedDraws
from sims import store as stored
from sims.algorithms import fedavg
from sims.exact import Engine, Setting
from sims.problems.quadratic import plus_minus_one
from sims.scenarios import average_participating, schedule, snapshots, uniform_subsets, weighted
from tests.analysis.runs import made_up

NOTHING = Given("laptop", {})
BETA = file_of("fmnist", "0.1", "beta")


def test_label_mixes_share_out_all_samples() -> None:
    """2,000 of 60,000 samples each; alpha = 0.05 leaves a client with few classes, as the paper says."""
    picture = figures["fig1"].make(NOTHING)
    counts = {
        alpha: np.array([r["samples"] for r in picture.rows if r["alpha"] == alpha]).reshape(30, 10)
        for alpha in (0.05, 1.0)
    }
    for axes, (alpha, own) in zip(picture.figure.axes, counts.items(), strict=True):
        assert (own.sum(axis=1) == 2000).all()
        assert (own.sum(axis=0) == 6000).all()
        (dots,) = axes.collections
        assert dots.get_sizes() == pytest.approx((70 * own / 2000).ravel())
        assert str(alpha) in axes.get_title()
    held = {alpha: np.median((own > 100).sum(axis=1)) for alpha, own in counts.items()}
    assert 1 <= held[0.05] <= 4 < held[1.0]


def test_cohorts_are_traces_of_the_three_laws() -> None:
    picture = figures["fig2"].make(NOTHING)
    for axes, (law, title) in zip(picture.figure.axes, participation.LAWS.items(), strict=True):
        own = [r for r in picture.rows if r["law"] == title]
        process = WeightedDraws(law, n_clients=100, cohort_size=10)
        turns = process.sample(1000, participation.SEED).sum(axis=0)
        assert [r["rounds"] for r in own] == turns.tolist() == [bar.get_height() for bar in axes.patches]
        assert sum(int(str(r["rounds"])) for r in own) == 10 * 1000
        assert [r["expected"] for r in own] == pytest.approx((1000 * process.rate).tolist())
        # 5 standard deviations of counts that are binomial, given the rates
        spread = np.sqrt(1000 * process.rate * (1 - process.rate))
        assert (np.abs(turns - 1000 * process.rate) <= 5 * spread + 1).all()


def test_accuracy_over_q_shows_table_3_and_the_runs(tmp_path: Path) -> None:
    """At laptop scale the five q of the file, numbers of the last five records."""
    made_up(BETA, "laptop", tmp_path, lambda k, seed, t: 0.1 * k + 0.01 * seed if t > 300 else 9)
    picture = figures["fig3"].make(Given("laptop", runs_of([BETA], "laptop", tmp_path)))
    theirs = {
        (r["law"], r["q"]): r
        for r in picture.rows
        if (r["source"], r["data"]) == ("published", "CIFAR-10, alpha = 0.1")
    }
    cells = [r for r in published("fast_tab3") if r["dataset"] == "cifar10"]
    for cell in cells:
        for law in (
            ("Beta", "Gamma", "Weibull") if cell["participation"] == "uniform" else [cell["participation"].title()]
        ):
            shown = theirs.pop((law, cell["q"]))
            assert (shown["accuracy"], shown["sd"]) == (float(cell["accuracy"]), float(cell["sd"]))
    assert theirs == {}
    ours = [r for r in picture.rows if r["source"] != "published"]
    assert [(r["data"], r["law"], r["q"]) for r in ours] == [
        ("Fashion-MNIST, alpha = 0.1", "Beta", q) for q in ("0", "0.1", "0.3", "0.5", "1")
    ]
    assert [r["accuracy"] for r in ours] == pytest.approx([1, 11, 21, 31, 41])
    assert all(r["sd"] == pytest.approx(1) and r["seeds"] == 3 for r in ours)
    axes = picture.figure.axes[5]
    line = axes.containers[0].lines[0]  # type: ignore[attr-defined]
    drawn = dict(zip(ORDER, np.asarray(line.get_ydata()).tolist(), strict=True))
    gaps = {q for q, value in drawn.items() if np.isnan(value)}  # the line ends at them
    assert gaps == {"0.2", "0.4", "adaptive 1", "adaptive 7"}
    assert [value for q, value in drawn.items() if q not in gaps] == [r["accuracy"] for r in ours]
    empty = [axes.texts[0].get_text() for axes in picture.figure.axes if axes.texts]
    assert empty == ["not run"] * 3


def test_q_along_adaptive_runs(tmp_path: Path) -> None:
    """lambda = 1 and 7 of nine, the first seed above, all seeds below; the last round has no q."""
    file = STRENGTHS["gamma"]
    run = made_up(file, "laptop", tmp_path, lambda k, seed, t: 0.1 * k + 0.01 * seed + t / 10_000)
    data = run.data()
    last = data["round"] == 400
    stored.save(
        tmp_path,
        run.key,
        run.experiment,
        data.with_columns(snapshot_probability=data["snapshot_probability"].set(last, None)),
    )
    picture = figures["fig4"].make(Given("laptop", runs_of([file], "laptop", tmp_path)))
    above, below = picture.figure.axes
    assert above.get_title() == "Gamma participation"
    for strength, curve, share in zip((1, 7), above.lines, below.lines, strict=True):
        own = [r for r in picture.rows if r["lambda"] == strength]
        assert len(own) == 3 * 20
        assert [r["q"] for r in own] == pytest.approx(
            [0.1 * (strength - 1) + 0.01 * seed + t / 10_000 for seed in range(3) for t in range(0, 400, 20)]
        )
        assert list(curve.get_ydata()) == [r["q"] for r in own if r["seed"] == 0]
        assert list(share.get_xdata())[1:] == sorted(r["q"] for r in own)  # type: ignore[type-var]
        assert list(share.get_ydata()) == pytest.approx([k / 60 for k in range(61)])


def test_the_floor_is_that_of_the_library_and_refutes_the_printed_bound() -> None:
    """Rounds by rounds of the exact engine; marked points are those above the bound with all conditions fulfilled."""
    picture = figures["thm1"].make(NOTHING)
    assert "Left, I = 2: x₀ = -0.43, η = 0.03; I = 5: x₀ = -0.442, η = 0.0405; I = 10: x₀ = -0.472, η = 0.043" in (
        picture.notes
    )
    assert any("exact: the smaller of two averages" in note for note in picture.notes)
    assert "condition on q is not checked" in picture.notes[-1]
    rows = [r for r in picture.rows if r["panel"] == "rounds"]
    for interval, (start, lr) in floor.RUNS.items():
        own = {int(str(r["R"])): r for r in rows if r["interval"] == interval}
        turns = [[True, True], *[[True, False]] * (interval - 1)]
        setting = Setting(fedavg.fedavg, plus_minus_one(), fedavg.Hyper(lr), [start])
        engine = Engine(setting, weighted(schedule(turns), average_participating))
        squares = [float(moments.second[0, 0]) for moments in engine.moments(100)]
        for R in [R for R in own if R <= 100]:
            assert own[R]["exact"] == pytest.approx(min(np.mean(squares[:R]), np.mean(squares[1 : R + 1])), rel=1e-9)
            bound = 2 * start**2 / (R * lr) + (120 - 60 / interval) * lr**2
            assert own[R]["Theorem 1"] == pytest.approx(bound, rel=1e-12)
        refuted = {R for R, r in own.items() if r["conditions"] and r["exact"] > r["Theorem 1"]}  # type: ignore[operator]
        assert max(own) in refuted
        marks = next(m for m in picture.figure.axes[0].lines if m.get_label() == f"refuted, $I = {interval}$")
        assert set(marks.get_xdata()) == refuted
    coins = [r for r in picture.rows if r["panel"] == "coins"]
    assert len(coins) == 60
    for r in coins[::20]:
        assert r == {"panel": "coins", "1 - q": r["1 - q"], **floor.settled(1 - float(str(r["1 - q"])))}
    drawn = {str(line.get_label()): line.get_ydata() for line in picture.figure.axes[1].lines}
    for what, label in floor.LABELS.items():
        assert list(drawn[label]) == [r[what] for r in coins]


@pytest.mark.parametrize("share", [F(1, 100), F(1, 2)])
def test_with_coins_the_exact_line_is_what_the_library_settles_at(share: F) -> None:
    setting = Setting(fedavg.fedavg, plus_minus_one(), fedavg.Hyper(F(1, 100)), [0])
    coins = snapshots(schedule([[True, True]]), schedule([[True, False]]), probability=1 - share)
    second = Engine(setting, weighted(coins, average_participating)).stationary().second[0, 0]
    found = floor.settled(float(1 - share))
    assert found["exact"] == pytest.approx(float(second), rel=1e-9)
    assert found["Theorem 1"] == pytest.approx((60 + 60 * float(share)) * 1e-4, rel=1e-9)
    assert found["exact"] <= found["corrected"]
    assert (found["exact"] > found["Theorem 1"]) is (share == F(1, 2))


def test_only_snapshots_have_the_rate_and_not_for_more_local_steps() -> None:
    """Few rounds from the exact engine, many by their limits: the floor (1-q)^2 times sqrt(R), and K/2."""
    picture = figures["cor2"].make(NOTHING)
    values = {(r["q"], r["K"], r["R"]): float(str(r["scaled average"])) for r in picture.rows}
    coins = snapshots(uniform_subsets(2, 1), schedule([[True, False]]), probability=F(9, 10))
    setting = Setting(fedavg.fedavg, plus_minus_one(), fedavg.Hyper(0.1), [0.0])
    _, average = Engine(setting, weighted(coins, average_participating)).after(100)
    assert values[0.9, 1, 100] == pytest.approx(10 * float(average.second[0, 0]), rel=1e-9)
    assert values[0.5, 1, 10**10] == pytest.approx(0.25 * 10**5, rel=1e-3)
    for steps in (1, 4, 16, 64):
        assert values[1.0, steps, 10**10] == pytest.approx(steps / 2, rel=1e-3)
        assert min(t for _, k, t in values if k == steps) >= max(steps**3, 64 * steps)  # type: ignore[type-var]
    lines = [line for axes in picture.figure.axes for line in axes.lines]
    assert sorted(y for line in lines for y in np.asarray(line.get_ydata()).tolist()) == sorted(
        float(str(r["scaled average"])) for r in picture.rows
    )
