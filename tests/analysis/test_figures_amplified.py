"""The figures of amplified FedAvg on made-up runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis.exhibits import Given
from analysis.figures.amplified import DATA, INTERVAL, figures
from analysis.stored_runs import runs_of
from sims.store import save
from tests.analysis.runs import made_up

FASHION = "experiments/amplified/fashion.toml"


def test_every_method_is_shown_with_its_best_step_size(tmp_path: Path) -> None:
    """The second of five plain step sizes, and of three amplified ones the first, as the others diverged."""
    loss = {0: 3.0, 1: 1.0, 2: 2.0, 3: 2.5, 4: 2.6, 5: 1.5, 6: float("inf"), 7: float("nan"), 8: 4.0}
    made_up(FASHION, "laptop", tmp_path, lambda k, seed, t: loss[k])
    picture = figures["fig1"].make(Given("laptop", runs_of(DATA, "laptop", tmp_path)))
    assert {r["algorithm"] for r in picture.rows} == {
        "plain, gamma = 0.001",
        "amplified, gamma = 0.0003",
        "wait, minibatch",
    }
    (legend,) = picture.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "amplified (least training loss of 3 γ)",
        "wait, minibatch (one γ)",
        "not amplified (least training loss of 5 γ)"
    ]  # fmt: skip
    assert len(picture.figure.axes) == 2
    edge = "Best at the edge of the γ that were run, so that others may be better: amplified, the largest, 0.0003"
    assert picture.notes == [f"{edge} (Fashion-MNIST)"]
    picture.figure.canvas.draw()
    assert legend.get_window_extent().x0 >= 0
    assert legend.get_window_extent().x1 <= picture.figure.bbox.x1


def test_both_data_sets_stand_beside_each_other(tmp_path: Path) -> None:
    for file in DATA:
        made_up(file, "smoke", tmp_path)
    picture = figures["fig1"].make(Given("smoke", runs_of(DATA, "smoke", tmp_path)))
    titles = [axes.get_title() for axes in picture.figure.axes]
    assert titles == [*DATA.values(), "", ""]
    (legend,) = picture.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "amplified (least training loss of 5 γ)",
        "wait, minibatch (one γ)", "wait, full (one γ)",
        "not amplified (least training loss of 5 γ)"
    ]  # fmt: skip


@pytest.mark.parametrize(("scale", "cycle", "shown"), [("paper", 500, "P = 900"), ("laptop", 20, "P = 36")])
def test_intervals(tmp_path: Path, scale: str, cycle: int, shown: str) -> None:
    made_up(INTERVAL, scale, tmp_path, lambda k, seed, t: 0.1 * k)
    picture = figures["fig2"].make(Given(scale, runs_of([INTERVAL], scale, tmp_path)))
    assert picture.figure.axes[0].get_title() == f"Fashion-MNIST, a cycle of {cycle} rounds"
    last = [r["mean"] for r in picture.rows if (r["algorithm"], r["metric"]) == (shown, "test accuracy, %")]
    assert last == pytest.approx([50] * len(last))


def test_only_step_sizes_that_an_interrupted_run_came_to_are_counted(tmp_path: Path) -> None:
    """Of three amplified step sizes one was run; of five plain ones one, which stopped before the end."""
    run = made_up(FASHION, "laptop", tmp_path)
    algorithm, round_ = pl.col("algorithm"), pl.col("round")
    kept = (algorithm == "amplified, gamma = 0.0003") | ((algorithm == "plain, gamma = 0.003") & (round_ < 100))
    (tmp_path / run.key / "complete.json").unlink()
    save(tmp_path, run.key, run.experiment, run.data().filter(kept), "interrupted")
    picture = figures["fig1"].make(Given("laptop", runs_of(DATA, "laptop", tmp_path)))
    (legend,) = picture.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["amplified (one γ)"]
    assert picture.lacks == [
        "Not run: wait, minibatch; wait, full (Fashion-MNIST)",
        "Not run: the panel CIFAR-10",
        "Without a step size of which all seeds came to the last round: not amplified (Fashion-MNIST)",
        "Step sizes γ of the paper or its file not run: amplified 0.1, 0.01, 0.001, 0.0001, 3e-05, 1e-05; "
        "not amplified 0.1, 0.01, 0.001, 0.0003, 0.0001, 3e-05, 1e-05 (Fashion-MNIST)",
    ]
