"""Figures and tables as commands: what is made, what is missing and what to type, and runs that are made on demand."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from analysis import cli, exhibit_command, exhibits, missing_runs
from analysis.exhibit_command import Setting
from analysis.exhibits import Exhibit, Given, chosen, enter
from analysis.figures import amplified as amplified_figures
from analysis.figures import fast as fast_figures
from analysis.figures import fedamd as fedamd_figures
from analysis.figures import fedau as fedau_figures
from analysis.figures import fedlaavg as fedlaavg_figures
from analysis.figures import ledger as ledger_figures
from analysis.figures.style import Picture, house_style, new_figure
from analysis.stored_runs import runs_of
from analysis.tables import amplified as amplified_tables
from analysis.tables import fast as fast_tables
from analysis.tables import fedamd as fedamd_tables
from analysis.tables import fedau as fedau_tables
from fltheory.errors import InputError
from sims import store as stored
from sims.experiment import read, read_without_data
from tests.analysis.runs import made_up

FIGURES = {
    "fedau": fedau_figures.figures,
    "amplified": amplified_figures.figures,
    "fedlaavg": fedlaavg_figures.figures,
    "fast": fast_figures.figures,
    "fedamd": fedamd_figures.figures,
    "ledger": ledger_figures.figures,
}
TABLES = {
    "fedau": fedau_tables.tables,
    "amplified": amplified_tables.tables,
    "fast": fast_tables.tables,
    "fedamd": fedamd_tables.tables,
}
PUBLISHED = {  # of these papers
    *(f"fedau.fig{n}" for n in ("1", "C61", "C62", "D21", "D22", "D23", "D24", "D41", "D42", "D51", "D52", "D61")),
    "amplified.fig1", "amplified.fig2",
    *(f"fedlaavg.fig{n}" for n in range(2, 12)),
    *(f"fast.fig{n}" for n in range(1, 5)),
    *(f"fedamd.fig{n}" for n in range(1, 12)),
}  # fmt: skip
DIGITS = """
kind = "train"
rounds = 30
replicates = 2
problem = { name = "training", data = "digits", model = "logistic", partition = { name = "iid", n_clients = 10 } }
process = { name = "bernoulli", p = 0.5 }
record = { what = ["train_loss", "test_accuracy"], every = 10 }
algorithm = { name = "fedavg", local_lr = 0.1 }
[scale.smoke]
rounds = 4
replicates = 1
record = { every = 2 }
"""


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, dict[str, Exhibit]]]:
    """The books behind the entry points, to which a test may add its own; whatever is installed."""
    known: dict[str, dict[str, dict[str, Exhibit]]] = {
        "fltheory.figures": dict(FIGURES),
        "fltheory.tables": dict(TABLES),
    }
    entries, load = exhibits.plugins.entries, exhibits.plugins.load
    monkeypatch.setattr(exhibits.plugins, "entries", lambda group: known.get(group) or entries(group))
    monkeypatch.setattr(
        exhibits.plugins, "load", lambda entry, *kind: entry if isinstance(entry, dict) else load(entry, *kind)
    )
    return known


def draw(names: list[str], out: Path, store: Path, *, scale: str = "smoke", run: bool = False, formats: str = "png"):
    told: list[str] = []
    paths = list(exhibit_command.figures(names, formats, out, Setting(scale, store, run, told.append)))
    return paths, told


def cut(run: stored.Run, store: Path, kept: pl.Expr) -> stored.Run:
    """The run, interrupted: of its rows those that are kept are there."""
    (run.folder / "complete.json").unlink()
    return stored.save(store, run.key, run.experiment, run.data().filter(kept), partial="interrupted")


def test_the_entry_points_name_the_books_of_these_papers() -> None:
    import tomllib

    entries = tomllib.loads(Path("pyproject.toml").read_text())["project"]["entry-points"]
    assert set(FIGURES) <= set(entries["fltheory.figures"])
    assert set(TABLES) <= set(entries["fltheory.tables"])


def test_every_published_figure_of_these_papers_is_there(books: object) -> None:
    known = chosen("figures", [])
    assert set(known) >= PUBLISHED
    for name, exhibit in known.items():
        assert exhibit.about.startswith(("Figure ", "Ours: ")), name
        assert all(Path(file).is_file() for file in exhibit.experiments), name


@pytest.mark.parametrize("name", [f"{paper}.{name}" for paper, book in FIGURES.items() for name in book])
def test_a_smoke_image_of_every_figure(name: str, books: object, tmp_path: Path) -> None:
    """Of made-up runs where it shows runs; those say that they are no result."""
    (exhibit,) = chosen("figures", [name]).values()
    for file in exhibit.experiments:
        made_up(file, "smoke", tmp_path / "store")
    (picture, data), told = draw([name], tmp_path / "new" / "folder", tmp_path / "store")
    assert not [sentence for sentence in told if not sentence.startswith(f"{name} lacks what was not run to the end: ")]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 15_000
    assert picture.stem == data.stem == name.replace(".", "_") + ("_smoke" if exhibit.experiments else "")
    assert len(list(csv.DictReader(data.read_text().splitlines()))) >= 7


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


def test_a_partial_run_is_offered_to_be_finished(books: object, tmp_path: Path) -> None:
    made_up(amplified_figures.INTERVAL, "smoke", tmp_path / "store", partial="interrupted")
    _, told = draw(["amplified.fig2"], tmp_path, tmp_path / "store")
    (offer,) = told
    assert offer.startswith("amplified.fig2 has runs that were interrupted: ")
    assert "type `fltheory figures amplified.fig2 --scale smoke --run`" in offer


def test_the_run_with_whose_models_another_begins_is_made_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(missing_runs, "run_training", lambda experiment, store: made.append(experiment.key))
    missing_runs.run_file(amplified_figures.INTERVAL, "smoke", tmp_path)
    assert made == [
        read(f"{amplified_figures.HERE}/{name}.toml", "smoke").key for name in ("fashion-warm-up", "interval")
    ]


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


@pytest.mark.parametrize("name", ["fedamd.fig5", "fedamd.fig1", "fedlaavg.fig4", "fedau.figD31", "fedau.fig1"])
def test_labels_of_axes_are_not_cut_off(name: str, books: object, tmp_path: Path) -> None:
    """In runs of which each algorithm has its own number of seeds, so that the labels are as long as they get."""
    (exhibit,) = chosen("figures", [name]).values()
    runs = {}
    for file in exhibit.experiments:
        run = made_up(file, "laptop", tmp_path)
        labels = [one["label"] for one in run.experiment["algorithm"]]
        kept = pl.col("replicate") <= pl.col("algorithm").replace_strict({a: k % 3 for k, a in enumerate(labels)})
        runs[file] = cut(run, tmp_path, kept)
    figure = exhibit.make(Given("laptop", runs)).figure
    figure.draw_without_rendering()
    labels = [axis.label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    assert all(0 <= box.x0 < box.x1 <= figure.bbox.width for box in boxes)
    assert all(0 <= box.y0 < box.y1 <= figure.bbox.height for box in boxes)
    assert not [1 for k, box in enumerate(boxes) for other in boxes[:k] if box.overlaps(other)]


def test_a_figure_without_runs_says_what_to_type_and_the_others_are_drawn(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 600.0)
    paths, told = draw(["fedau.fig1", "fedau.figC61"], tmp_path / "out", tmp_path / "store", scale="laptop")
    assert [path.name for path in paths] == ["fedau_figC61.png", "fedau_figC61.csv"]
    assert told == [
        f"fedau.fig1 is not drawn: {tmp_path / 'store'} has no whole run of experiments/fedau/cutoffs.toml and "
        "1 more file "
        "at laptop scale; "
        "type `fltheory figures fedau.fig1 --scale laptop --run`, which takes about 20 min on one core"
    ]


def test_a_figure_with_some_of_its_runs_is_drawn(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(file: str, scale: str) -> float:
        raise InputError("data set", "x", "fetched first (run: fltheory data fetch x)")

    monkeypatch.setattr(exhibit_command, "seconds", refused)
    made_up("experiments/fedau/cutoffs.toml", "smoke", tmp_path)
    paths, told = draw(["fedau.fig1"], tmp_path / "out", tmp_path)
    assert len(paths) == 2
    (sentence,) = told
    assert sentence.startswith("fedau.fig1 lacks runs: ")
    assert sentence.endswith("--run` after this: data set must be fetched first (run: fltheory data fetch x); got 'x'")


@pytest.mark.parametrize("fault", ["no data", "two runs"])
def test_a_damaged_run_keeps_only_its_own_figures_and_tables_from_being_made(
    fault: str, books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is missing, or another run is of the same experiment; that is told once for each, after all others."""
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 1.0)
    names = ["amplified.fig2", "fedamd.fig8", "fedau.figC61"]
    interval, table2 = amplified_figures.INTERVAL, "experiments/fedamd/table2-20.toml"
    for file in fedamd_figures.figures["fig8"].experiments:
        made_up(file, "laptop", tmp_path / "store")
    for file in (interval, table2):
        run = made_up(file, "laptop", tmp_path / "store")
        if fault == "no data":
            (run.folder / f"{run.sha256}.parquet").unlink()
        else:
            other = {**run.experiment, "problem": {**run.experiment["problem"], "data_hash": "1" * 64}}
            stored.save(tmp_path / "store", stored.files._hash(other), other, run.data())
    setting = Setting("laptop", tmp_path / "store", False, [].append)
    drawn = [path.name for path in exhibit_command.figures(names, "png", tmp_path / "out", setting)]
    assert drawn == [f"{name}.{kind}" for name in ("fedau_figC61", "fedamd_fig8_laptop") for kind in ("png", "csv")]
    (sentence,) = setting.broken
    assert sentence.startswith("amplified.fig2 is not made: ")
    assert ("is missing" if fault == "no data" else "a single run of") in sentence
    again = "type `fltheory figures amplified.fig2 --scale laptop --run`, which takes about 1 s on one core"
    assert (again in sentence) is (fault == "no data")  # of two runs none is damaged
    setting = Setting("laptop", tmp_path / "store", False, [].append)
    texts = list(exhibit_command.tables(["fedamd"], "text", setting))
    assert [text.partition(":")[0] for text in texts] == [f"FedAMD, Table {n}" for n in (1, 3, 4)]
    (sentence,) = setting.broken
    assert sentence.startswith("fedamd.tab2 is not made: ")


def test_what_is_made_in_part_is_printed_and_exits_with_1(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 1.0)
    run = made_up(amplified_figures.INTERVAL, "laptop", tmp_path / "store")
    (run.folder / f"{run.sha256}.parquet").unlink()
    options = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["fltheory", "figures", "amplified.fig2", "fedau.figC61", *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert [Path(line).name for line in said.out.splitlines()] == ["fedau_figC61.png", "fedau_figC61.csv"]
    (sentence,) = said.err.splitlines()
    assert sentence.startswith("amplified.fig2 is not made: ")


def test_the_command_that_is_offered_has_the_options_that_were_typed(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 600.0)
    store, out = str(tmp_path / "my runs"), str(tmp_path / "out")
    command = ["fltheory", "figures", "fedau.fig1", "--store", store, "--out", out]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    typed = f"type `fltheory figures fedau.fig1 --scale laptop --out {out} --store '{store}' --run`, which takes"
    assert typed in capsys.readouterr().err


def test_outside_a_checkout_what_needs_no_run_is_there(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths, told = draw(["fedau.figD22", "fedau.figC62"], Path("out"), Path("results"))
    assert len(paths) == 2
    assert told[0].endswith(
        "experiments/fedau/table1-cifar10-bernoulli.toml is not here; run this in the folder that has it "
        "(what comes with fltheory: its checkout)"
    )


def test_formats(books: object, tmp_path: Path) -> None:
    paths, _ = draw(["fedau.figC61"], tmp_path, tmp_path, formats="svg,pdf")
    assert [path.suffix for path in paths] == [".svg", ".pdf", ".csv"]
    again, _ = draw(["fedau.figC61"], tmp_path / "again", tmp_path, formats="svg")
    assert paths[0].read_bytes() == again[0].read_bytes()
    assert b"Bernoulli: takes part" in paths[0].read_bytes()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"names": ["fedau.figD2"]}, "did you mean fedau.fig"),
        ({"names": ["fedua"]}, "did you mean fedau"),
        ({"formats": "gif"}, "--format must be one of pdf, png, svg"),
        ({"formats": ""}, "--format must be one of"),
        ({"out": "file/x"}, "can be made"),
    ],
)
def test_bad_input(books: object, tmp_path: Path, change: dict[str, object], part: str) -> None:
    (tmp_path / "file").write_text("")
    given = {"names": ["fedau.figC61"], "formats": "png", "out": "out", **change}
    with pytest.raises(InputError, match=part):
        draw(given["names"], tmp_path / str(given["out"]), tmp_path, formats=str(given["formats"]))  # type: ignore[arg-type]


def test_two_runs_of_one_file_are_refused(tmp_path: Path) -> None:
    """They can differ in their data alone."""
    file = amplified_figures.INTERVAL
    run = made_up(file, "smoke", tmp_path)
    other = {**run.experiment, "problem": {**run.experiment["problem"], "data_hash": "1" * 64}}
    stored.save(tmp_path, stored.files._hash(other), other, run.data())
    with pytest.raises(InputError, match=f"a single run of {file} at smoke scale"):
        runs_of([file], "smoke", tmp_path)


def test_the_runs_that_come_with_the_project_are_found_without_their_data() -> None:
    """Each by the file that the page on runs names."""
    page = Path("docs/runs.md").read_text()
    names = ("fedau/fashion-bernoulli", "fedau/fashion-markov", "fedau/fashion-cyclic", "amplified/fashion")
    names += ("fedlaavg/mnist-N200-E50-D1", "fast/fmnist-alpha-0.1-beta")
    files = [f"experiments/{name}.toml" for name in names]
    found = runs_of(files, "laptop", Path("results"))
    assert list(found) == files
    for file, run in found.items():
        table = page.partition(f"<!-- table {file}:")[2].partition("<!-- end -->")[0]
        assert f"run `{run.key[:12]}`" in table
    assert runs_of(files, "smoke", Path("results")) == {}


def test_a_name_is_entered_once() -> None:
    book: dict[str, Exhibit] = {}

    @enter(book, "a", "Ours: nothing")
    def draw(given: Given) -> None: ...

    assert book["a"] == Exhibit("Ours: nothing", draw, ())
    with pytest.raises(InputError, match="taken"):
        enter(book, "a", "Ours: nothing else")(draw)


def tables_of(names: list[str], store: Path, form: str = "text") -> tuple[list[str], list[str]]:
    told: list[str] = []
    return list(exhibit_command.tables(names, form, Setting("smoke", store, False, told.append))), told


def test_every_table_in_every_form(books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 1.0)
    for form, begins in (("text", "Amplified FedAvg, Table 1"), ("markdown", "## Amplified"), ("csv", "section,row,")):
        texts, told = tables_of(["amplified", "fedau"], tmp_path, form)
        assert len(texts) == 6
        assert any(text.startswith(begins) for text in texts)
        assert [sentence.partition(" ")[0] for sentence in told] == [
            f"fedau.tab{n}" for n in ("1", "D11", "D31", "D61")
        ]
    with pytest.raises(InputError, match="--format must be one of csv, markdown, text"):
        tables_of([], tmp_path, "html")


@pytest.mark.torch
def test_missing_runs_are_made_on_demand(
    books: dict[str, dict[str, dict[str, Exhibit]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="needs the training extra")
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.chdir(tmp_path)
    Path("e.toml").write_text(DIGITS)
    Path("svhn.toml").write_text(DIGITS.replace("digits", "svhn"))
    monkeypatch.setenv("FLTHEORY_DATA", str(tmp_path / "cache"))
    book: dict[str, Exhibit] = {}
    books["fltheory.figures"] = {"mine": book}
    drawn: list[Given] = []

    def make(*files: str) -> Callable[[Given], Picture]:
        @enter(book, files[0].partition(".")[0], "Ours: nothing", *files)
        def one(given: Given) -> Picture:
            drawn.append(given)
            with house_style():
                figure = new_figure(1)
            return Picture(figure, [{"a": 1}])

        return one

    @enter(book, "read", "Ours: nothing, of data that are read", "e.toml")
    def read_it(given: Given) -> Picture:
        with house_style():
            return Picture(new_figure(1), given.runs["e.toml"].data().to_dicts())

    make("e.toml")
    _, told = draw(["mine.e"], Path("out"), Path("s"))
    assert "which takes about" in told[0]
    assert drawn == []
    paths, told = draw(["mine.e"], Path("out"), Path("s"), run=True)
    assert len(paths) == 2
    assert told[0].startswith("e.toml at smoke scale: about ")
    (run,) = drawn[0].runs.values()
    assert (run.status, run.experiment["rounds"]) == ("complete", 4)
    assert draw(["mine.e"], Path("out"), Path("s"), run=True)[1] == []  # nothing is run twice

    (run.folder / f"{run.sha256}.parquet").write_bytes(b"damaged")
    setting = Setting("smoke", Path("s"), False, [].append)
    assert list(exhibit_command.figures(["mine.read"], "png", Path("out"), setting)) == []
    (sentence,) = setting.broken
    assert "type `fltheory figures mine.read --scale smoke --run`, which takes about" in sentence
    assert len(draw(["mine.read"], Path("out"), Path("s"), run=True)[0]) == 2
    assert run.data().height == run.rows
    del book["read"]

    make("svhn.toml")
    told = []
    made = exhibit_command.figures([], "png", Path("out"), Setting("smoke", Path("s"), True, told.append))
    assert [next(made), next(made)] == [Path("out/mine_e_smoke.png"), Path("out/mine_e_smoke.csv")]
    with pytest.raises(InputError, match="1 cannot"):
        next(made)
    assert told == [
        "svhn.toml cannot be run: data set must be fetched first (run: fltheory data fetch svhn); got 'svhn'"
    ]


def test_without_torch_runs_are_offered_but_not_made(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the data are there: what keeps them from being run is told."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.chdir(tmp_path)
    Path("e.toml").write_text(DIGITS)
    with pytest.raises(InputError, match="torch installed"):
        missing_runs.seconds("e.toml", "smoke")


@pytest.mark.parametrize("file", sorted(Path("experiments").glob("*/*.toml")), ids=str)
def test_an_experiment_without_its_data_is_its_canonical_form(file: Path) -> None:
    """Of simulations all of it; of training what is asked for stands there, and nothing is loaded."""
    known = read_without_data(file)
    if known["kind"] == "simulate":
        assert known == json.loads(read(file).canonical)
    else:
        assert "data_hash" not in known["problem"]
        assert known["problem"]["name"] == "training"
        assert all(one["label"] and one["selection"] for one in known["algorithm"])


@pytest.mark.parametrize("option", ["--out", "--store"])
@pytest.mark.parametrize("value", ["", "file", "dangling"])
def test_folders_that_are_none_are_refused(
    option: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    done = CliRunner().invoke(cli.app, ["figures", "fedau.figC61", option, value])
    assert done.exit_code != 0
    assert f"{option} must be a folder" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file"]
