"""Figures show what they say: the plotted data, recomputed here, and a picture."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from analysis.figures import fedau
from analysis.figures.fedau import figures
from fltheory.errors import InputError
from fltheory.weights import best_cutoff, corollary4_cutoff, exact_weight_law, weight_error_bound


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, str]]]:
    out = tmp_path_factory.mktemp("figures")
    rows = {}
    for name, draw in figures.items():
        picture, data = draw(out)
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 20_000
        rows[name] = list(csv.DictReader(data.read_text().splitlines()))
    return rows


def test_weight_error_over_time(drawn: dict[str, list[dict[str, str]]]) -> None:
    rows = drawn["weight_error_over_time"]
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


def test_the_picture_shows_the_rows_and_counts_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every curve at the T and the value of its rows; the number of runs is that of the estimate."""
    shown: list[Figure] = []
    monkeypatch.setattr(fedau, "REPLICATES", 100)

    def keep(figure: Figure, path: Path) -> Path:
        shown.append(figure)
        return path

    monkeypatch.setattr(fedau, "save", keep)
    _, data = figures["weight_error_over_time"](tmp_path)
    rows = list(csv.DictReader(data.read_text().splitlines()))
    names = {"exact, round $t = T$": "exact, round t = T", "exact, average over $t < T$": "exact, average"}
    names |= {f"bound: {label}": which for which, (_, label) in fedau.BOUNDS.items()}
    for axes, p in zip(shown[0].axes, ("0.02", "0.1"), strict=True):
        curves = {str(line.get_label()): line for line in axes.lines if not str(line.get_label()).startswith("_")}
        assert set(curves) == set(names)
        for label, line in curves.items():
            points = [(int(r["T"]), float(r["value"])) for r in rows if (r["p"], r["what"]) == (p, names[label])]
            assert list(zip(*line.get_data(), strict=True)) == points
        assert axes.containers[0].get_label().startswith("Monte Carlo, 8,192 runs")


def test_bias_and_variance_over_cutoff(drawn: dict[str, list[dict[str, str]]]) -> None:
    rows = drawn["bias_and_variance_over_cutoff"]
    for p in (0.02, 0.1, 0.5):
        here = [r for r in rows if float(r["p"]) == p]
        marks = {r["what"]: int(r["K"]) for r in here if not r["value"]}
        assert marks == {"best K": best_cutoff(p, 1000), "K of Corollary 4": corollary4_cutoff(p, 1000), "K = 50": 50}
        series = {
            what: {int(r["K"]): float(r["value"]) for r in here if r["what"] == what}
            for what in ("squared bias", "variance")
        }
        for K in (2, 10, 100):
            near = min(series["variance"], key=lambda k: abs(k - K))
            total = series["squared bias"][near] + series["variance"][near]
            assert total == pytest.approx(exact_weight_law(p, near, 1000).error.mean(), rel=1e-12)


@pytest.mark.parametrize(("p", "cutoff"), [(0.02, 2), (0.02, 3), (0.1, 2), (0.5, 2), (0.1, 50)])
def test_the_variance_has_ten_digits(p: float, cutoff: int) -> None:
    law = exact_weight_law(p, cutoff, 120)
    variance = fedau._variance(law, p)
    for t in (2, 3, 30, 119):
        weight, chance = law.pmf(t)
        assert variance[t] == pytest.approx(p * p * chance @ (weight - chance @ weight) ** 2, rel=2e-10)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="output file"):
        figures["bias_and_variance_over_cutoff"](tmp_path / "file" / "x")
