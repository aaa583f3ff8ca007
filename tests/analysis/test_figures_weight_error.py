"""Our figures on FedAU's weights show what they say: the plotted data, recomputed here."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.exhibits import Given
from analysis.figures.fedau import weight_error
from analysis.figures.fedau.weight_error import figures
from fltheory.weights import best_cutoff, corollary4_cutoff, exact_weight_law, weight_error_bound

NOTHING = Given("laptop", {})


def test_weight_error_over_time() -> None:
    rows = figures["weight_error_over_time"].make(NOTHING).rows
    assert {r["what"] for r in rows} == {
        "exact, round t = T", "exact, average", "theorem3", "repaired", "improved", "Monte Carlo"
    }  # fmt: skip
    error = {p: exact_weight_law(p, 50, 10_001).error for p in (0.02, 0.1)}
    average = {p: np.cumsum(error[p]) / np.arange(1, 10_002) for p in error}
    for row in rows:
        p, T, value = float(row["p"]), int(row["T"]), float(row["value"])
        exact = average[p][T - 1]
        if row["what"] == "exact, round t = T":
            assert value == error[p][T]
        elif row["what"] == "exact, average":
            assert value == exact
        elif row["what"] in ("theorem3", "repaired", "improved"):
            assert value == weight_error_bound(p, 50, T, row["what"]) >= exact  # type: ignore[arg-type]
        elif row["what"] == "Monte Carlo":
            assert float(row["low"]) <= exact <= float(row["high"])


def test_the_picture_shows_the_rows_and_counts_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every curve at the T and the value of its rows; the number of runs is that of the estimate."""
    monkeypatch.setattr(weight_error, "REPLICATES", 100)
    picture = figures["weight_error_over_time"].make(NOTHING)
    rows = picture.rows
    names = {"exact, round $t = T$": "exact, round t = T", "exact, average over $t < T$": "exact, average"}
    names |= {f"bound: {label}": which for which, (_, _, label) in weight_error.BOUNDS.items()}
    for axes, p in zip(picture.figure.axes, (0.02, 0.1), strict=True):
        curves = {str(line.get_label()): line for line in axes.lines if not str(line.get_label()).startswith("_")}
        assert set(curves) == set(names)
        for label, line in curves.items():
            points = [(r["T"], r["value"]) for r in rows if (r["p"], r["what"]) == (p, names[label])]
            assert list(zip(*line.get_data(), strict=True)) == points
        assert axes.containers[0].get_label().startswith("Monte Carlo, 8,192 runs")


def test_bias_and_variance_over_cutoff() -> None:
    rows = figures["bias_and_variance_over_cutoff"].make(NOTHING).rows
    for p in (0.02, 0.1, 0.5):
        here = [r for r in rows if float(r["p"]) == p]
        marks = {r["what"]: int(r["K"]) for r in here if "value" not in r}
        assert marks == {"best K": best_cutoff(p, 1000), "K of Corollary 4": corollary4_cutoff(p, 1000), "K = 50": 50}
        series = {
            what: {int(r["K"]): float(r["value"]) for r in here if r["what"] == what}
            for what in ("squared bias", "variance", "weight error")
        }
        assert set(series["weight error"]) == set(series["squared bias"])
        for K in (2, 10, 100):
            near = min(series["variance"], key=lambda k: abs(k - K))
            total = series["squared bias"][near] + series["variance"][near]
            assert total == pytest.approx(exact_weight_law(p, near, 1000).error.mean(), rel=1e-12)
            assert series["weight error"][near] == total


@pytest.mark.parametrize(("p", "cutoff"), [(0.02, 2), (0.02, 3), (0.1, 2), (0.5, 2), (0.1, 50)])
def test_the_variance_has_ten_digits(p: float, cutoff: int) -> None:
    law = exact_weight_law(p, cutoff, 120)
    variance = weight_error._variance(law, p)
    for t in (2, 3, 30, 119):
        weight, chance = law.pmf(t)
        assert variance[t] == pytest.approx(p * p * chance @ (weight - chance @ weight) ** 2, rel=2e-10)


def test_bounds_over_cutoff() -> None:
    """Every bound holds, the improved one is nowhere above Theorem 3, and a ring is at the least point of a line."""
    picture = figures["bounds_over_cutoff"].make(NOTHING)
    value = {(r["p"], r["K"], r["what"]): float(r["value"]) for r in picture.rows}
    for (p, K, what), one in value.items():
        if what != "exact":
            assert one == weight_error_bound(p, K, 1000, what) >= value[p, K, "exact"] * (1 - 1e-12)
        else:
            assert value[p, K, "improved"] <= value[p, K, "theorem3"]
            assert K % 10 or one == exact_weight_law(p, K, 1000).error.mean()
    assert picture.figure.legends[0].get_texts()[-1].get_text() == "least value of a line"
    for axes, p in zip(picture.figure.axes, (0.02, 0.1, 0.5), strict=True):
        rings = [tuple(float(x[0]) for x in line.get_data()) for line in axes.lines if line.get_marker() == "o"]
        for what, ring in zip(("exact", *weight_error.BOUNDS), rings, strict=True):
            series = {K: one for (rate, K, name), one in value.items() if (rate, name) == (p, what)}
            least = min(series, key=series.__getitem__)
            assert ring == (least, series[least])
            assert [r["K"] for r in picture.rows if (r["p"], r["what"], r["least"]) == (p, what, True)] == [least]
