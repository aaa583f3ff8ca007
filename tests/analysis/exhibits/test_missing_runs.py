"""Runs that are missing, partial or damaged: what to type, and runs that are made on demand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import cli, exhibit_command, missing_runs
from analysis.exhibit_command import Setting
from analysis.exhibits import Exhibit, Given, chosen, enter
from analysis.figures import amplified as amplified_figures
from analysis.figures import fedamd as fedamd_figures
from analysis.figures.style import Picture, house_style, new_figure
from analysis.stored_runs import runs_of
from analysis.tables.runs import NOT_RECORDED
from fltheory.errors import InputError
from sims import store as stored
from sims.experiment import read, read_without_data
from tests.analysis.exhibits.made import DIGITS, TABLES, draw
from tests.analysis.runs import made_up


def test_a_partial_run_is_offered_to_be_finished(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 600.0)
    made_up(amplified_figures.INTERVAL, "smoke", tmp_path / "store", partial="interrupted")
    _, told = draw(["amplified.fig2"], tmp_path, tmp_path / "store")
    (offer,) = told
    assert offer.startswith("amplified.fig2 has runs that were interrupted: ")
    assert "`fltheory figures amplified.fig2 --scale smoke --run` makes it, in about" in offer


def test_the_run_with_whose_models_another_begins_is_made_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(missing_runs, "run_training", lambda experiment, store: made.append(experiment.key))
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(DIGITS.replace("record = { what", "record = { final_model = true, what"))
    second.write_text('start = { file = "first.toml" }' + DIGITS)
    missing_runs.run_file(str(second), "smoke", tmp_path)
    assert made == [read(file, "smoke").key for file in (first, second)]


def test_a_figure_without_runs_says_what_to_type_and_the_others_are_drawn(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 600.0)
    paths, told = draw(["fedau.fig1", "fedau.figC61"], tmp_path / "out", tmp_path / "store", scale="laptop")
    assert [path.name for path in paths] == ["fedau_figC61.png", "fedau_figC61.csv"]
    assert told == [
        f"fedau.fig1 is not drawn: {tmp_path / 'store'} has no finished run of experiments/fedau/cutoffs.toml and "
        "1 more file at laptop scale. "
        "`fltheory figures fedau.fig1 --scale laptop --run` makes them, in about 20 min on one core"
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
    first, sentence = told
    assert first == "fedau.fig1 is not whole. Not run: the line p ≥ 0"
    assert sentence.startswith("fedau.fig1 lacks runs: ")
    assert sentence.endswith("--run` cannot make it yet: data set x must be fetched first (run: fltheory data fetch x)")


def test_of_runs_some_of_which_cannot_be_made_yet_the_offer_says_how_many_can_and_what_the_others_need(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def takes(file: str, scale: str) -> float:
        if "cifar10" in file or "shakespeare" in file:
            name = "cifar-10" if "cifar10" in file else "shakespeare"
            raise InputError("data set", name, f"fetched first (run: fltheory data fetch {name})")
        return 60.0

    monkeypatch.setattr(exhibit_command, "seconds", takes)
    _, (offer,) = draw(["fast.fig3"], tmp_path / "out", tmp_path / "store", scale="laptop")
    assert offer == (
        f"fast.fig3 is not drawn: {tmp_path / 'store'} has no finished run of "
        "experiments/fast/fmnist-alpha-0.05-beta.toml and 11 more files at laptop scale. "
        "`fltheory figures fast.fig3 --scale laptop --run` makes 6 of these 12, in about 6 min on one core. "
        "It cannot make the others yet: data set cifar-10 must be fetched first (run: fltheory data fetch cifar-10); "
        "data set shakespeare must be fetched first (run: fltheory data fetch shakespeare)"
    )


def test_the_data_of_a_run_are_read_once_for_all_that_shows_them(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = (*fedamd_figures.training.files("probabilities"), *fedamd_figures.training.files("table2"))
    made = {made_up(file, "laptop", tmp_path / "store").key for file in files}
    read: list[str] = []
    data = stored.Run.data
    monkeypatch.setattr(stored.Run, "data", lambda run: read.append(run.key) or data(run))
    setting = Setting("laptop", tmp_path / "store", False, [].append)
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 1.0)
    names = [f"fedamd.fig{n}" for n in (1, 2, 3, 5, 9)]
    assert len(list(exhibit_command.figures(names, "png", tmp_path / "out", setting))) == 10
    assert sorted(read) == sorted(made)


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
            stored.save(tmp_path / "store", stored.key_of(other), other, run.data())
    setting = Setting("laptop", tmp_path / "store", False, [].append)
    drawn = [path.name for path in exhibit_command.figures(names, "png", tmp_path / "out", setting)]
    assert drawn == [f"{name}.{kind}" for name in ("fedau_figC61", "fedamd_fig8_laptop") for kind in ("png", "csv")]
    (sentence,) = setting.broken
    assert sentence.startswith("amplified.fig2 is not made: ")
    assert ("is missing" if fault == "no data" else "a single run of") in sentence
    again = "`fltheory figures amplified.fig2 --scale laptop --run` makes it, in about 1 s on one core"
    assert (again in sentence) is (fault == "no data")  # of two runs none is damaged
    setting = Setting("laptop", tmp_path / "store", False, [].append)
    texts = list(exhibit_command.tables(["fedamd"], "text", setting))
    assert [text.partition(":")[0] for text in texts] == [f"FedAMD, Table {n}" for n in (1, 2, 3, 4)]
    assert f"left out, as the file or its stored run is faulty: {table2}" in texts[1]
    (sentence,) = setting.broken
    assert sentence.startswith(f"fedamd.tab2 is made without {table2}: ")
    assert ("`fltheory tables fedamd.tab2" in sentence) is (fault == "no data")


@pytest.mark.parametrize("part", ["data", "manifest"])
def test_what_a_damaged_run_leaves_is_drawn_and_says_so(
    part: str, books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two floors, and one of fifteen runs: the rest stands, the damaged one is named with what mends it."""
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: 1.0)
    floor, cifar = "experiments/fedau/no-floor.toml", "experiments/fedau/table1-cifar10-bernoulli.toml"
    for file in ("experiments/fedau/cutoffs.toml", floor, cifar, "experiments/fedau/fashion-cyclic.toml"):
        run = made_up(file, "laptop", tmp_path, lambda k, seed, t: 0.5)
        if file in (floor, cifar):
            (run.folder / (f"{run.sha256}.parquet" if part == "data" else "complete.json")).write_bytes(b'{"broken')
    shown: list[Picture] = []
    kept = exhibit_command._captioned
    monkeypatch.setattr(exhibit_command, "_captioned", lambda *given: shown.append(kept(*given)) or shown[-1])
    setting = Setting("laptop", tmp_path, False, [].append)
    assert len(list(exhibit_command.figures(["fedau.fig1"], "png,png", tmp_path / "out", setting))) == 2
    (sentence,) = setting.broken
    assert sentence.startswith(f"fedau.fig1 is made without {floor}: run must be one whose {part} ")
    assert "`fltheory figures fedau.fig1 --scale laptop --run` makes it, in about" in sentence
    assert {row["floor"] for row in shown[0].rows} == {"p ≥ 0.02"}
    above = " ".join(shown[0].figure.texts[0].get_text().split())
    assert above.endswith(
        f"Not run or left out: the line p ≥ 0. Left out, as the file or its stored run is faulty: {floor}."
    )
    setting = Setting("laptop", tmp_path, False, [].append)
    (text,) = exhibit_command.tables(["fedau.tab1"], "text", setting)
    section = text.partition("CIFAR-10, Bernoulli participation\n")[2].partition("\n\n")[0]
    assert section.startswith(f"  left out, as the file or its stored run is faulty: {cifar}\n")
    assert section.count("faulty run") == 2 * 7
    assert "not run" not in section
    assert "50.0 ± 0.0" in text  # of the cyclic run
    assert [sentence.startswith(f"fedau.tab1 is made without {cifar}: ") for sentence in setting.broken] == [True]


@pytest.mark.parametrize("run", [False, True])
def test_runs_that_fill_no_cell_are_neither_offered_nor_made(
    run: bool, books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At laptop scale FAST's files train FedAvg alone."""
    monkeypatch.setattr(exhibit_command, "seconds", lambda file, scale: pytest.fail("nothing is to be run"))
    monkeypatch.setattr(exhibit_command, "run_file", lambda *_: pytest.fail("nothing is to be run"))
    made_up("experiments/fast/fmnist-alpha-0.1-beta.toml", "laptop", tmp_path)
    for name in ("fast.tab4", "fast.tab6", "fast.tab7"):
        told: list[str] = []
        (text,) = exhibit_command.tables([name], "text", Setting("laptop", tmp_path, run, told.append))
        assert "measured at" not in text
        assert "no run at laptop scale fills this; runs at " in text
        (sentence,) = told
        assert sentence.startswith(f"At laptop scale nothing is trained that {name} shows; at other scales it is: ")
        assert sentence.endswith(f"`fltheory tables {name} --scale paper`")


@pytest.mark.parametrize("name", [f"{paper}.{name}" for paper, book in TABLES.items() for name in book])
@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_a_run_is_offered_if_and_only_if_it_fills_a_cell(name: str, scale: str, books: object, tmp_path: Path) -> None:
    (exhibit,) = chosen("tables", [name]).values()
    filling = exhibit.filled_by(scale)
    for file in exhibit.experiments:
        table = exhibit.make(Given(scale, {file: made_up(file, scale, tmp_path, lambda k, seed, t: 0.5)}))
        cells = [cell for part in table.sections for row in part.rows.values() for cell in row.values()]
        measured = any(cell.measured not in (None, NOT_RECORDED) for cell in cells)
        assert measured is (file in filling), file
        assert measured is any(part.measured.startswith("measured at") for part in table.sections), file


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
    typed = f"`fltheory figures fedau.fig1 --scale laptop --out {out} --store '{store}' --run` makes them, in"
    assert typed in capsys.readouterr().err


def test_outside_a_checkout_what_needs_no_run_is_there(
    books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths, told = draw(["fedau.figD22", "fedau.figC62"], Path("out"), Path("results"))
    assert len(paths) == 2
    assert told[0].endswith(
        "experiments/fedau/table1-cifar10-bernoulli.toml is not in this folder; "
        "type the same in the one that has it (of this project: its checkout)"
    )


def test_two_runs_of_one_file_are_refused(tmp_path: Path) -> None:
    """They can differ in their data alone."""
    file = amplified_figures.INTERVAL
    run = made_up(file, "smoke", tmp_path)
    other = {**run.experiment, "problem": {**run.experiment["problem"], "data_hash": "1" * 64}}
    stored.save(tmp_path, stored.key_of(other), other, run.data())
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
    assert "makes it, in about" in told[0]
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
    assert "`fltheory figures mine.read --scale smoke --run` makes it, in about" in sentence
    assert len(draw(["mine.read"], Path("out"), Path("s"), run=True)[0]) == 2
    assert run.data().height == run.rows
    del book["read"]

    make("svhn.toml")
    told = []
    setting = Setting("smoke", Path("s"), True, told.append)
    made = exhibit_command.figures([], "png", Path("out"), setting)
    assert list(made) == [Path("out/mine_e_smoke.png"), Path("out/mine_e_smoke.csv")]
    assert told == [
        "svhn.toml cannot be run: data set must be fetched first (run: fltheory data fetch svhn); got 'svhn'"
    ]
    assert setting.broken == [
        "mine.svhn is not drawn, as some of it cannot be run here: data set must be fetched first "
        "(run: fltheory data fetch svhn); got 'svhn'"
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
