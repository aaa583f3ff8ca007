"""Every figure and table: that it is there, its picture, its forms, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from analysis import cli, exhibit_command
from analysis.exhibits import Exhibit, Given, chosen, enter
from analysis.figures.style import save
from fltheory.errors import InputError
from tests.analysis.exhibits.made import FIGURES, TABLES, cut, draw, tables_of
from tests.analysis.runs import made_up

PUBLISHED = {  # of these papers
    *(f"fedau.fig{n}" for n in ("1", "C61", "C62", "D21", "D22", "D23", "D24", "D31")),
    *(f"fedau.fig{n}" for n in ("D41", "D42", "D51", "D52", "D61")),
    "amplified.fig1", "amplified.fig2",
    *(f"fedlaavg.fig{n}" for n in range(2, 12)),
    *(f"fast.fig{n}" for n in range(1, 5)),
    *(f"fedamd.fig{n}" for n in range(1, 12)),
}  # fmt: skip


def test_the_entry_points_name_the_books_of_these_papers() -> None:
    import tomllib

    entries = tomllib.loads(Path("pyproject.toml").read_text())["project"]["entry-points"]
    assert set(FIGURES) <= set(entries["fltheory.figures"])
    assert set(TABLES) <= set(entries["fltheory.tables"])


def test_every_published_figure_and_table_of_these_papers_is_there(books: object) -> None:
    known = chosen("figures", [])
    assert set(known) >= PUBLISHED
    tables = {
        f"{paper}.tab{n}" for paper, last in (("amplified", 1), ("fast", 8), ("fedamd", 4)) for n in range(1, last + 1)
    }
    assert set(chosen("tables", [])) >= tables | {f"fedau.tab{n}" for n in ("1", "C41", "D11", "D31", "D61")}
    for name, exhibit in known.items():
        assert exhibit.about.startswith(("Figure ", "Ours: ")), name
        assert all(Path(file).is_file() for file in exhibit.experiments), name


def test_figures_stand_in_the_order_of_their_paper_and_ours_after_them(books: object) -> None:
    numbers = [f"fedamd.fig{n}" for n in range(1, 12)]
    assert list(chosen("figures", ["fedamd"])) == [*numbers, "fedamd.ratio_over_period"]
    assert list(chosen("figures", ["fedau.figD22", "fedau.figC61", "fedau.fig1"])) == [
        "fedau.fig1", "fedau.figC61", "fedau.figD22"
    ]  # fmt: skip


@pytest.mark.parametrize("name", [f"{paper}.{name}" for paper, book in FIGURES.items() for name in book])
def test_a_smoke_image_of_every_figure(
    name: str, books: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of made-up runs where it shows runs; those say that they are no result. No legend lies over what is drawn."""
    saved: list[Figure] = []
    monkeypatch.setattr(exhibit_command, "save", lambda figure, path: (saved.append(figure), save(figure, path))[1])
    (exhibit,) = chosen("figures", [name]).values()
    for file in exhibit.experiments:
        made_up(file, "smoke", tmp_path / "store")
    (picture, data), told = draw([name], tmp_path / "new" / "folder", tmp_path / "store")
    assert not [sentence for sentence in told if not sentence.startswith(f"{name} is not whole. ")]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 15_000
    assert picture.stem == data.stem == name.replace(".", "_") + ("_smoke" if exhibit.experiments else "")
    assert len(list(csv.DictReader(data.read_text().splitlines()))) >= 7
    (figure,) = saved
    figure.draw_without_rendering()
    for axes in figure.axes:
        if (legend := axes.get_legend()) is not None:
            box = legend.get_window_extent()
            paths = [(line, line.get_path()) for line in axes.lines]
            paths += [(area, path) for area in axes.collections for path in area.get_paths()]
            drawn = [artist.get_transform().transform_path(path) for artist, path in paths]
            assert not [1 for path in drawn if path.intersects_bbox(box, filled=False)], axes.get_title()


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


def test_a_name_is_entered_once() -> None:
    book: dict[str, Exhibit] = {}

    @enter(book, "a", "Ours: nothing")
    def draw(given: Given) -> None: ...

    assert book["a"] == Exhibit("Ours: nothing", draw, ())
    with pytest.raises(InputError, match="taken"):
        enter(book, "a", "Ours: nothing else")(draw)


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
