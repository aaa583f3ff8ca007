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
from analysis.figures.style import Picture, caption_of
from analysis.stored_runs import runs_of
from analysis.tables import fast as fast_tables
from fltheory.errors import InputError
from sims import store as stored
from tests.analysis.exhibits.made import cut, draw
from tests.analysis.runs import made_up


def said(picture: Picture) -> str:
    """What stands above a picture, without its line breaks."""
    return " ".join(picture.figure.texts[0].get_text().split())


def test_a_picture_without_runs_says_what_its_reader_must_know(tmp_path: Path, books: object) -> None:
    (picture, _), _ = draw(["fast.fig2"], tmp_path, tmp_path)
    above = " ".join(caption_of(picture).split())
    assert above == "Client n has the n-th of 100 bins of the law, which is one reading of the paper."


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
    assert said(picture).endswith(
        f"fashion-mnist, logistic, 4 rounds, 1 seed; runs {first}, {third}. "
        f"fashion-mnist, logistic, 4 rounds, 1 seed, PARTIAL (interrupted); run {second}. "
        "K = 2 local steps (paper: 10)."
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
    assert "0 or 1 or 2 of 3 seeds, PARTIAL" in said(picture)


@pytest.mark.parametrize(
    ("name", "scale", "lacks"),
    [
        (
            "fedamd.fig9",
            "laptop",
            ["Not in the file at laptop scale, only at smoke or paper scale: BVR-L-SGD; FedPAGE"],
        ),
        ("fedamd.fig9", "paper", []),
        ("fedamd.fig11", "paper", []),
        (
            "amplified.fig1",
            "laptop",
            [
                "Not run: wait, full",
                "Step sizes γ of the paper or its file not run: amplified 0.1, 0.01, 0.001, 1e-05; "
                "wait, minibatch 0.1; not amplified 0.1, 0.01, 1e-05 (Fashion-MNIST)",
                "Step sizes γ of the paper or its file not run: amplified 0.05, 0.005, 0.0005, 5e-05, 5e-06; "
                "wait, minibatch 0.05; not amplified 0.05, 0.005, 0.0005, 5e-05, 5e-06 (CIFAR-10)",
            ],
        ),
        ("amplified.fig1", "paper", []),
        (
            "fedau.fig1",
            "laptop",
            ["Not in the file at any scale: K = 1; K = 10; K = 200 (p ≥ 0)"],
        ),
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
    caption = said(picture)
    assert caption.endswith("".join(f" {words}." for words in (*lacks, *picture.notes)) or ".")
    assert ("Not " in caption or " not run" in caption) is bool(lacks)


def test_a_file_that_was_not_run_is_a_curve_that_a_panel_lacks(tmp_path: Path) -> None:
    exhibit = fedlaavg_figures.figures["fig5"]
    file = "experiments/fedlaavg/mnist-N200.toml"
    picture = exhibit.make(Given("laptop", {file: made_up(file, "laptop", tmp_path)}))
    assert picture.lacks == [
        "Not run: N = 600; N = 1000 (number of clients)",
        "Not run: the panel share of them selected",
    ]


@pytest.mark.parametrize(
    ("name", "run", "lacks"),
    [
        ("fedamd.fig1", [0], ["Not run: the panels 40 of 100 clients; 100 of 100 clients"]),
        ("fedamd.fig8", [1], ["Not run: the panels 20 of 100 clients; 100 of 100 clients",
                              "Not in the file at laptop scale, only at smoke or paper scale: BVR-L-SGD; FedPAGE"]),
        ("fedamd.fig11", [1], ["Not run: the panel EMNIST digits, 20 of 100 clients: probabilities of an anchor"]),
        ("fedlaavg.fig4", [0, 1], ["Not run: sequential SGD (E = 50, D = 1; E = 100, D = 1)",
                                   "Not run: the panels E = 200, D = 1; E = 100, D = 3; E = 100, D = 5"]),
        ("fedlaavg.fig6", [0, 1, 2],
         ["Not run, as no experiment file has them: sequential SGD and drift of labels (α > 0)"]),
        ("fast.fig4", [0], ["Not run: the panels Gamma; Weibull"]),
        ("fedau.fig1", [0], ["Not run: the line p ≥ 0"]),
    ],
)  # fmt: skip
def test_a_picture_names_the_panels_of_the_published_figure_that_were_not_run(
    name: str, run: list[int], lacks: list[str], books: object, tmp_path: Path
) -> None:
    """Of the files in order, these were run: a PNG by itself says what of the figure it is not."""
    (exhibit,) = chosen("figures", [name]).values()
    files = [exhibit.experiments[k] for k in run]
    given = Given("laptop", {file: made_up(file, "laptop", tmp_path) for file in files})
    picture = exhibit.make(given)
    assert picture.lacks[: len(lacks)] == lacks
    exhibit_command._caption(picture, given)
    assert all(f" {words}." in said(picture) for words in lacks)
    picture.figure.draw_without_rendering()
    (title,) = picture.figure.texts
    box = title.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= picture.figure.bbox.width
    assert not [1 for axes in picture.figure.axes if axes.get_tightbbox().overlaps(box)]


def test_what_no_file_has_is_not_run_whatever_else_is_left_out(tmp_path: Path) -> None:
    exhibit = fedlaavg_figures.figures["fig6"]
    first, second, third = exhibit.experiments
    left = {second: InputError("run", "a", "one whose data can be read")}
    picture = exhibit.make(Given("laptop", {first: made_up(first, "laptop", tmp_path)}, left))
    titles = [fedlaavg_figures.training.TWEETS[file] for file in (second, third)]
    assert picture.lacks == [f"Not run or left out: the panels {'; '.join(titles)}", fedlaavg_figures.training.NO_FILES]


def test_laws_without_a_run_are_named_beside_the_panels_that_are_empty(tmp_path: Path) -> None:
    file = fast_tables.file_of("fmnist", "0.1", "beta")
    picture = fast_figures.figures["fig3"].make(Given("laptop", {file: made_up(file, "laptop", tmp_path)}))
    assert picture.lacks[:2] == [
        "Not run: Gamma; Weibull (Fashion-MNIST, α = 0.1)",
        "Not run: the panels Fashion-MNIST, α = 0.05; CIFAR-10, α = 0.1; Shakespeare",
    ]


def test_seeds_that_stopped_early_are_named_with_their_last_round(tmp_path: Path) -> None:
    """Two seeds of one cutoff diverged: its point is not there, and the picture says which and when."""
    file, other = fedau_figures.figures["fig1"].experiments
    run = made_up(file, "laptop", tmp_path)
    label, rounds = run.experiment["algorithm"][1]["label"], run.experiment["rounds"]
    every = run.experiment["record"]["every"]
    gone = (
        (pl.col("algorithm") == label)
        & (pl.col("round") > every * (1 + pl.col("replicate")))
        & (pl.col("replicate") < 2)
    )
    run = stored.save(tmp_path, run.key, run.experiment, run.data().filter(~gone), remark="diverged")
    given = Given("laptop", {file: run, other: made_up(other, "laptop", tmp_path)})
    picture = fedau_figures.figures["fig1"].make(given)
    assert "Not drawn, as a seed stopped early or diverged: K = 10 (p ≥ 0.02)" in picture.lacks
    exhibit_command._caption(picture, given)
    stops = f"{label} (seed 0 at round {every:,}, seed 1 at round {2 * every:,})"
    assert f"{rounds:,} rounds, 3 seeds, of them stopped before the last round: {stops}; run " in said(picture)


@pytest.mark.parametrize(("name", "sizes"), [("fig2", "b = 80; b = 20"), ("fig3", "b = 80; b = 20")])
def test_a_size_of_batches_that_was_not_run_is_a_curve_that_a_panel_lacks(
    name: str, sizes: str, tmp_path: Path
) -> None:
    """With 20 participants all three were run, with 40 that of all samples, with 100 none."""
    exhibit = fedamd_figures.figures[name]
    files = [file for number, file in enumerate(exhibit.experiments) if number in (0, 1, 3, 6)]
    picture = exhibit.make(Given("laptop", {file: made_up(file, "laptop", tmp_path) for file in files}))
    assert picture.lacks == [f"Not run: {sizes} (40 of 100 clients)", "Not run: the panel 100 of 100 clients"]


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
    lacks = ["lambda = 7 (Beta)", "the panel Weibull", "lambda = 1, 1 of 3 seeds (Gamma)"]
    lacks = [f"Not run: {lacks[0]}", f"Not run: {lacks[1]}", f"Of fewer seeds than asked for: {lacks[2]}"]
    assert picture.lacks == lacks
    assert [axes.get_xlabel() for axes in picture.figure.axes[2:]] == ["q (n = 3 seeds)", "q (n = 1 or 3 seeds)"]
    exhibit_command._caption(picture, given)
    caption = said(picture)
    assert caption.endswith("".join(f" {words}." for words in lacks))


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
            "Not run: the line p ≥ 0",
            "Of fewer seeds than asked for: "
            "K = 1, 2 of 3 seeds; K = 50, 1 of 3 seeds; K = 200, 1 of 3 seeds; K = inf, 1 of 3 seeds",
        ]


def test_points_over_q_say_of_how_few_seeds_they_are(tmp_path: Path) -> None:
    file = fast_tables.file_of("fmnist", "0.1", "beta")
    run = made_up(file, "laptop", tmp_path)
    label = run.experiment["algorithm"][1]["label"]
    one = cut(run, tmp_path, (pl.col("algorithm") != label) | (pl.col("replicate") == 2))
    picture = fast_figures.figures["fig3"].make(Given("laptop", {file: one}))
    assert picture.lacks[2:] == [
        "Not run: q = 0.2; q = 0.4; Ada.(1); Ada.(7)",
        "Of fewer seeds than asked for: q = 0.1, 1 of 3 seeds",
    ]


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
    fewer = "; ".join(f"{label}, {3 - early} of 3 seeds" for label in methods)
    assert picture.lacks == [f"Of fewer seeds than asked for: {fewer}"]
    assert len({r["algorithm"] for r in picture.rows}) == (4 if early < 3 else 0)
    exhibit_command._caption(picture, given)
    caption = said(picture)
    last, seeds = run.data()["round"].unique().sort()[-2], "seed 0" if early == 1 else "seeds 0, 1 and 2"
    stops = ", ".join(f"{label} ({seeds} at round {last:,})" for label in methods)
    assert f", 3 seeds, of them stopped before the last round: {stops}; run " in caption
