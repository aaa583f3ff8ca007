"""What a figure says of the runs, seeds, curves and points that it is without."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis import exhibit_command
from analysis.exhibits import Given, chosen
from analysis.figures import amplified as amplified_figures
from analysis.figures import fast as fast_figures
from analysis.figures import fedamd as fedamd_figures
from analysis.figures import fedau as fedau_figures
from analysis.figures import fedlaavg as fedlaavg_figures
from analysis.stored_runs import runs_of
from analysis.tables import fast as fast_tables
from sims import store as stored
from tests.analysis.exhibits.made import cut
from tests.analysis.runs import made_up


def test_a_picture_of_runs_says_at_what_scale(books: object, tmp_path: Path) -> None:
    file = amplified_figures.INTERVAL
    for scale, words in (("smoke", "no result"), ("laptop", "no reproduction"), ("paper", "Paper scale")):
        given = Given(scale, {file: made_up(file, scale, tmp_path)})
        picture = amplified_figures.figures["fig2"].make(given)
        exhibit_command._caption(picture, given)
        (text,) = picture.figure.texts
        assert words in text.get_text().replace("\n", " ")
        assert given.runs[file].key[:12] in text.get_text()


def test_runs_that_are_alike_are_told_together(books: object, tmp_path: Path) -> None:
    exhibit = fedamd_figures.figures["fig1"]
    partial = {exhibit.experiments[1]: "interrupted"}
    given = Given(
        "smoke", {file: made_up(file, "smoke", tmp_path, partial=partial.get(file, "")) for file in exhibit.experiments}
    )
    picture = exhibit.make(given)
    exhibit_command._caption(picture, given)
    first, second, third = (run.key[:12] for run in given.runs.values())
    assert (
        picture.figure.texts[0]
        .get_text()
        .replace("\n", " ")
        .endswith(
            f"fashion-mnist, logistic, 4 rounds, 1 seed; runs {first}, {third}. "
            f"fashion-mnist, logistic, 4 rounds, 1 seed, PARTIAL (interrupted); run {second}."
        )
    )


def test_a_partial_run_is_shown_and_called_partial(books: object, tmp_path: Path) -> None:
    file = amplified_figures.INTERVAL
    made_up(file, "smoke", tmp_path, partial="interrupted")
    given = Given("smoke", runs_of([file], "smoke", tmp_path))
    picture = amplified_figures.figures["fig2"].make(given)
    exhibit_command._caption(picture, given)
    assert "PARTIAL (interrupted)" in picture.figure.texts[0].get_text()


def test_a_partial_run_counts_the_seeds_that_it_has(tmp_path: Path) -> None:
    """Of three the first is there, of the first algorithm also the second: beside each line, in data and caption."""
    exhibit = fedamd_figures.figures["fig8"]
    file = exhibit.experiments[1]
    run = made_up(file, "laptop", tmp_path)
    first = (pl.col("replicate") == 0) | ((pl.col("algorithm") == "FedAvg") & (pl.col("replicate") == 1))
    last = pl.col("algorithm") == "FedAMD, sequential"
    (tmp_path / run.key / "complete.json").unlink()
    stored.save(tmp_path, run.key, run.experiment, run.data().filter(first & ~last), partial="interrupted")
    given = Given("laptop", runs_of([file], "laptop", tmp_path))
    picture = exhibit.make(given)
    assert {(r["algorithm"], r["seeds"]) for r in picture.rows} == {
        ("FedAvg", 2), ("SCAFFOLD", 1), ("FedAMD, constant", 1)
    }  # fmt: skip
    assert picture.figure.axes[0].get_xlabel() == "round (band: one sd, n = 1 or 2 seeds)"
    (legend,) = picture.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "FedAvg, n = 2 seeds", "SCAFFOLD, n = 1 seed", "FedAMD, constant, n = 1 seed"
    ]  # fmt: skip
    exhibit_command._caption(picture, given)
    assert "0 or 1 or 2 of 3 seeds, PARTIAL" in picture.figure.texts[0].get_text().replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "scale", "lacks"),
    [
        ("fedamd.fig9", "laptop", ["BVR-L-SGD; FedPAGE"]),
        ("fedamd.fig9", "paper", []),
        ("fedamd.fig11", "paper", []),
        ("amplified.fig1", "laptop", ["wait, full"]),
        ("amplified.fig1", "paper", []),
        ("fedau.fig1", "laptop", ["K = 1; K = 10; K = 200 (p ≥ 0)"]),
        ("fast.fig3", "paper", []),
        ("fast.fig4", "laptop", []),
        ("fedlaavg.fig5", "paper", []),
    ],
)
def test_a_figure_says_which_curves_it_lacks(
    name: str, scale: str, lacks: list[str], books: object, tmp_path: Path
) -> None:
    (exhibit,) = chosen("figures", [name]).values()
    runs = {file: made_up(file, scale, tmp_path) for file in exhibit.experiments}
    picture = exhibit.make(Given(scale, runs))
    assert picture.lacks == lacks
    exhibit_command._caption(picture, Given(scale, runs))
    caption = picture.figure.texts[0].get_text().replace("\n", " ")
    assert caption.endswith(f"Not run to the end: {lacks[0]}." if lacks else ".")
    assert ("Not run" in caption) is bool(lacks)


def test_a_file_that_was_not_run_is_a_curve_that_a_panel_lacks(tmp_path: Path) -> None:
    exhibit = fedlaavg_figures.figures["fig5"]
    file = "experiments/fedlaavg/mnist-N200.toml"
    picture = exhibit.make(Given("laptop", {file: made_up(file, "laptop", tmp_path)}))
    assert picture.lacks == ["N = 600; N = 1000"]


@pytest.mark.parametrize(("name", "sizes"), [("fig2", "b = 80; b = 20"), ("fig3", "b = 80; b = 20")])
def test_a_size_of_batches_that_was_not_run_is_a_curve_that_a_panel_lacks(
    name: str, sizes: str, tmp_path: Path
) -> None:
    """With 20 participants all three were run, with 40 that of all samples, with 100 none: there is no such panel."""
    exhibit = fedamd_figures.figures[name]
    files = [file for number, file in enumerate(exhibit.experiments) if number in (0, 1, 3, 6)]
    picture = exhibit.make(Given("laptop", {file: made_up(file, "laptop", tmp_path) for file in files}))
    assert picture.lacks == [f"{sizes} (40 of 100 clients)"]


def test_panels_that_lack_something_stand_in_sentences_of_their_own(tmp_path: Path) -> None:
    """Of the adaptive runs of two laws; one lacks a line, the other has one of too few seeds."""
    exhibit = fast_figures.figures["fig4"]
    runs = {}
    for law, kept in (
        ("beta", pl.col("algorithm") != "lambda = 7"),
        ("gamma", (pl.col("algorithm") != "lambda = 1") | (pl.col("replicate") == 0)),
    ):
        file = fast_figures.training.STRENGTHS[law]
        runs[file] = cut(made_up(file, "laptop", tmp_path), tmp_path, kept)
    given = Given("laptop", runs)
    picture = exhibit.make(given)
    assert picture.lacks == ["lambda = 7 (Beta)", "lambda = 1, 1 of 3 seeds (Gamma)"]
    assert [axes.get_xlabel() for axes in picture.figure.axes[2:]] == ["q (n = 3 seeds)", "q (n = 1 or 3 seeds)"]
    exhibit_command._caption(picture, given)
    caption = picture.figure.texts[0].get_text().replace("\n", " ")
    assert caption.endswith("Not run to the end: lambda = 7 (Beta). lambda = 1, 1 of 3 seeds (Gamma).")


def test_bars_over_the_cutoff_count_the_seeds_that_they_are_of(tmp_path: Path) -> None:
    file = "experiments/fedau/cutoffs.toml"
    run = made_up(file, "laptop", tmp_path)
    labels = [one["label"] for one in run.experiment["algorithm"]]
    own = (pl.col("replicate") == 0) | (pl.col("algorithm") == labels[1])
    own |= (pl.col("algorithm") == labels[0]) & (pl.col("replicate") == 1)
    given = Given("laptop", {file: cut(run, tmp_path, own)})
    for name in ("fig1", "figD52"):
        picture = fedau_figures.figures[name].make(given)
        assert sorted(int(str(r["seeds"])) for r in picture.rows[:5]) == [1, 1, 1, 2, 3]
        assert picture.figure.axes[-1].get_xlabel() == "cutoff $K$ (bars: one sd, n = 1 or 2 or 3 seeds)"
        assert picture.lacks == [
            "K = 1, 2 of 3 seeds; K = 50, 1 of 3 seeds; K = 200, 1 of 3 seeds; K = inf, 1 of 3 seeds"
        ]


def test_points_over_q_say_of_how_few_seeds_they_are(tmp_path: Path) -> None:
    file = fast_tables.file_of("fmnist", "0.1", "beta")
    run = made_up(file, "laptop", tmp_path)
    label = run.experiment["algorithm"][1]["label"]
    one = cut(run, tmp_path, (pl.col("algorithm") != label) | (pl.col("replicate") == 2))
    picture = fast_figures.figures["fig3"].make(Given("laptop", {file: one}))
    assert picture.lacks == ["q = 0.2; q = 0.4; Ada.(1); Ada.(7)", "q = 0.1, 1 of 3 seeds"]


@pytest.mark.parametrize("early", [1, 3])
def test_clients_of_seeds_that_stopped_early_are_not_shown_and_that_is_said(early: int, tmp_path: Path) -> None:
    """All seeds of one algorithm, or of all four: the caption does not leave it at what was asked for."""
    (file,) = fedau_figures.figures["figD31"].experiments
    run = made_up(file, "laptop", tmp_path)
    kept = (pl.col("round") < run.experiment["rounds"]) & (pl.col("replicate") < early)
    stopped = run.data().filter(kept | (pl.col("replicate") >= early))
    given = Given("laptop", {file: stored.save(tmp_path, run.key, run.experiment, stopped, remark="diverged")})
    picture = fedau_figures.figures["figD31"].make(given)
    methods = [one["label"] for one in run.experiment["algorithm"]]
    assert picture.lacks == ["; ".join(f"{label}, {3 - early} of 3 seeds" for label in methods)]
    assert len({r["algorithm"] for r in picture.rows}) == (4 if early < 3 else 0)
    exhibit_command._caption(picture, given)
    caption = picture.figure.texts[0].get_text().replace("\n", " ")
    assert f", 3 seeds, {4 * early} of 12 trajectories stopped before the last round; run " in caption
