"""FedAMD's figures: made-up runs are drawn where they belong, and the failing theorem by independent means."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from analysis.exhibits import Given
from analysis.figures.curves import FIRST, OUTSIDE
from analysis.figures.fedamd import figures, period
from analysis.figures.fedamd.training import METHODS, PROBABILITIES, files
from analysis.figures.style import Picture
from analysis.stored_runs import runs_of
from sims.experiment import read_without_data
from tests.analysis.runs import Value, made_up


def drawn(name: str, scale: str, store: Path, value: Value | None = None) -> Picture:
    exhibit = figures[name]
    for file in exhibit.experiments:
        made_up(file, scale, store, value)
    return exhibit.make(Given(scale, runs_of(exhibit.experiments, scale, store)))


def lines_of(picture: Picture) -> dict[str, int]:
    """Title of a panel at the top -> how many lines it has."""
    return {axes.get_title(): len(axes.lines) for axes in picture.figure.axes if axes.get_title()}


@pytest.mark.parametrize(("name", "panels"), [("fig1", 3), ("fig5", 6)])
def test_probabilities_with_each_number_of_participants(name: str, panels: int, tmp_path: Path) -> None:
    picture = drawn(name, "laptop", tmp_path, lambda k, seed, t: 0.1 * k + 0.01 * seed)
    assert len(picture.figure.axes) == panels
    assert lines_of(picture) == {f"{a} of 100 clients": 4 for a in (20, 40, 100)}
    rows = [r for r in picture.rows if (r["data"], r["metric"]) == ("40 of 100 clients", "test accuracy, %")]
    found = {r["algorithm"]: (r["mean"], r["sd"], r["seeds"]) for r in rows}
    for k, label in enumerate(PROBABILITIES):
        assert found[label] == (pytest.approx(10 * k + 1), pytest.approx(1), 3)


def test_methods_over_rounds_and_gradients(tmp_path: Path) -> None:
    """Samples and everything else are 1000 t (k + 1), so that a loss is its samples."""
    picture = drawn("fig9", "paper", tmp_path, lambda k, seed, t: 1000.0 * t * (k + 1))
    assert lines_of(picture) == {f"{a} of 100 clients": 6 for a in (20, 40, 100)}
    above, below = picture.figure.axes[0], picture.figure.axes[3]
    assert (above.get_xlabel(), below.get_xlabel()) == (
        "round (band: one sd,\nn = 3 seeds)", "gradients, $10^5$ samples\n(band: one sd, n = 3 seeds)"
    )  # fmt: skip
    assert {str(line.get_label()) for line in below.lines} == set(METHODS)
    for line in below.lines:
        assert list(line.get_xdata()) == pytest.approx([y / 1e5 for y in line.get_ydata()])  # type: ignore[union-attr]
    loss = [r for r in picture.rows if r["metric"] == "training loss"]
    assert all(r["gradient_samples"] == pytest.approx(r["mean"]) for r in loss)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "steps"), [("fig1", 10), ("fig5", 10), ("fig6", 20), ("fig7", 5), ("fig8", 5), ("fig9", 10), ("fig10", 20)]
)
def test_local_steps_and_participants_are_those_of_the_caption(name: str, steps: int) -> None:
    found = [read_without_data(file, "paper") for file in figures[name].experiments]
    assert [one["process"]["cohort_size"] for one in found] == [20, 40, 100]
    assert {contestant["local_steps"] for one in found for contestant in one["algorithm"]} == {steps}


@pytest.mark.parametrize(
    ("name", "label", "scale", "sizes"),
    [
        ("fig2", "FedAMD, p = 0.9", "laptop", {"b = 200", "b = 80", "b = 20"}),
        ("fig3", "FedAMD, constant", "smoke", {"b: all of a client's samples", "b = 20", "b = 5"}),
        ("fig4", "FedAMD, sequential", "paper", {"b: all of a client's samples", "b = 256", "b = 64"}),
    ],
)
def test_large_batches_are_called_by_the_samples_that_are_drawn(
    name: str, label: str, scale: str, sizes: set[str], tmp_path: Path
) -> None:
    picture = drawn(name, scale, tmp_path)
    assert list(lines_of(picture).values()) == [3, 3, 3]
    assert {r["line"] for r in picture.rows} == sizes
    assert {r["algorithm"] for r in picture.rows} == {label}
    own = "b = 200 stands for all of a client's samples; " if scale == "laptop" else ""
    small = {"laptop": ("80", "20"), "smoke": ("20", "5"), "paper": ()}[scale]
    stand = own + "; ".join(f"b = {b} stands for {n}" for b, n in zip(small, ("256", "64"), strict=False))
    assert picture.notes[0].startswith("FedAMD with ")
    assert list(picture.notes[1:2]) == ([f"Sizes of the paper, in smaller data: {stand}"] if stand else [])


@pytest.mark.parametrize("start", [0.5, 50.0])
def test_bands_lie_in_the_frame_but_for_a_steep_beginning_which_is_said(start: float, tmp_path: Path) -> None:
    """Means stay at 1 and 0.5, bands are as wide as that."""
    picture = drawn("fig2", "laptop", tmp_path, lambda k, seed, t: 0.5 * seed if t else start)
    for axes in picture.figure.axes:
        bottom, top = axes.get_ylim()
        for x, y in (xy for bands in axes.collections for path in bands.get_paths() for xy in path.vertices):
            assert x < 5 or bottom < y < top
    assert (OUTSIDE in picture.notes) is (start > 1)


def test_what_lies_outside_of_the_frame_is_a_twentieth_of_a_line_of_three_points_too(tmp_path: Path) -> None:
    picture = drawn("fig4", "smoke", tmp_path, lambda k, seed, t: 0.0 if t else 50.0)
    assert OUTSIDE in picture.notes
    for axes in picture.figure.axes:
        for line in axes.lines:
            x, y = (np.asarray(own, dtype=float) for own in line.get_data())
            bottom, top = axes.get_ylim()
            assert bottom < np.interp(FIRST * x[-1], x, y) < top < y[0]


@pytest.mark.parametrize("scale", ["paper", "laptop", "smoke"])
@pytest.mark.parametrize(
    ("name", "label"), [("fig2", "FedAMD, p = 0.9"), ("fig3", "FedAMD, constant"), ("fig4", "FedAMD, sequential")]
)
def test_the_lines_of_a_panel_differ_in_their_large_batch_alone(name: str, label: str, scale: str) -> None:
    for participants in range(3):
        settings = [
            {key: value for key, value in one.items() if key != "batch"}
            for file in figures[name].experiments[participants::3]
            for one in read_without_data(file, scale)["algorithm"]
            if one["label"] == label
        ]
        assert len(settings) == 3
        assert settings[0] == settings[1] == settings[2]


def test_emnist_has_eight_lines_of_which_two_are_in_both_columns(tmp_path: Path) -> None:
    picture = drawn("fig11", "paper", tmp_path)
    (legend,) = picture.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [*PROBABILITIES, "FedAvg", "SCAFFOLD", "BVR-L-SGD", "FedPAGE"]
    assert sorted(lines_of(picture).values()) == [4, 6]


def test_the_files_of_the_paper_are_there() -> None:
    assert files("table2") == tuple(f"experiments/fedamd/table2-{a}.toml" for a in (20, 40, 100))
    for name in ("probabilities", "probabilities-K20", "probabilities-K5", "local-steps-5", "local-steps-20"):
        assert files(name) == tuple(f"experiments/fedamd/{name}{end}.toml" for end in ("", "-40", "-100"))


def test_theorem_44_fails_from_a_period_of_65_on() -> None:
    """The stationary second moment of a cycle of F = x^2/2, and (47), by hand."""
    picture = figures["ratio_over_period"].make(Given("laptop", {}))
    ratio = {(r["claim"], r["tau"]): r["ratio"] for r in picture.rows if "ratio" in r}
    assert ratio["fedamd.thm44.proof", 64] < 1 < ratio["fedamd.thm44.proof", 65]  # type: ignore[operator]
    assert ratio["fedamd.thm44", 64] < ratio["fedamd.thm44", 65] < 1 < ratio["fedamd.thm44", 66]  # type: ignore[operator]
    repaired = [value for (claim, _), value in ratio.items() if claim == "fedamd.thm44.repaired"]
    assert len(repaired) == len(period.PERIODS)
    assert max(repaired) < 0.35  # type: ignore[type-var]
    for tau in (2, 65, 3000):
        eta = 0.068 / tau  # eta_s eta_l
        start = (tau - 1) * eta / (2 - (tau - 1) * eta)
        # x_j = (1 - j eta) x_0 - j eta noise after j moves, j = 0 twice: in the anchor round and in the next one
        squares = [(1 - j * eta) ** 2 * start + (j * eta) ** 2 for j in (0, *range(tau - 1))]
        bound = 4 * start / 2 / (eta * tau * period.CYCLES) + 16 * 1e-3 * (2 * eta / 1e-3 + 3e-3)
        assert ratio["fedamd.thm44.proof", tau] == pytest.approx(sum(squares) / tau / bound, rel=1e-9)
        assert ratio["fedamd.thm44", tau] == pytest.approx(min(squares) / bound, rel=1e-9)
    by_engine = {r["tau"]: r["left by the engine"] for r in picture.rows if "left by the engine" in r}
    assert set(by_engine) == set(period.BY_ENGINE)
    for tau, value in by_engine.items():
        assert math.isclose(value, period.full.quadratics_with_cycles_on_average.evaluate(  # type: ignore[arg-type]
            period.fedamd.thm44_proof, period.point(tau)).left, rel_tol=1e-9)  # type: ignore[arg-type]  # fmt: skip
