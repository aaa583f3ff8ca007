"""The notebooks as they are committed: pairs agree, all cells were run, nothing of the machine is told."""

import re
from pathlib import Path
from typing import Any

import pytest

jupytext = pytest.importorskip("jupytext")

FOLDER = Path(__file__).parents[1] / "notebooks"
NAMES = sorted({path.stem for path in FOLDER.iterdir() if path.suffix in (".py", ".ipynb")})
OF_A_MACHINE = re.compile(r"/(?:home|root|tmp|work|Users|usr|opt)/")


def cells(name: str, suffix: str) -> list[Any]:
    found: list[Any] = jupytext.read(FOLDER / f"{name}{suffix}").cells
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_two_files_of_a_notebook_agree(name: str) -> None:
    script, notebook = ([(cell.cell_type, cell.source) for cell in cells(name, s)] for s in (".py", ".ipynb"))
    assert script == notebook


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_was_run_in_order_and_without_an_error(name: str) -> None:
    code = [cell for cell in cells(name, ".ipynb") if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert not [output for cell in code for output in cell.outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_with_a_question_and_ends_with_what_to_try(name: str) -> None:
    first, *_, last = cells(name, ".ipynb")
    assert first.source.startswith("# ")
    assert "?" in first.source
    assert last.source.startswith("## Try this")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_machine_is_told(name: str) -> None:
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    without_pictures = re.sub(r'"image/png": "[^"]*"', "", text)
    assert OF_A_MACHINE.search(without_pictures) is None
