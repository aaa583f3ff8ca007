"""`fltheory plan`: the page's example, JSON, and plan files that are not allowed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis.cli import app
from analysis.plan_command import read_plan
from fltheory.errors import InputError

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
EXAMPLE, OUTPUT = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("toml", "text"))


def run(tmp_path: Path, text: str, *options: str) -> str:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    done = CliRunner().invoke(app, ["plan", str(file), *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_example_of_the_page(tmp_path: Path) -> None:
    assert run(tmp_path, EXAMPLE) == OUTPUT


def test_json_has_the_costs_of_the_table(tmp_path: Path) -> None:
    text = EXAMPLE.replace('algorithms = ["amplified", "fast"]', 'algorithms = ["fast", "fedamd", "fedlaavg"]')
    text += "\ncohort_size = [10]\nanchor_probability = [0.5]\nglobal_lr = [1]\nnoise_smoothness = [1.0]"
    text += "\nbatch_size = [5]\nanchor_batch = [20]\nsubsampled = [1]\n"
    plans = {plan["claim"]: plan for plan in json.loads(run(tmp_path, text, "--json"))["plans"]}
    assert list(plans) == [
        "fedlaavg.thm4.repaired", "fedlaavg.thm3.improved", "fast.thm1.repaired-A", "fast.thm1.repaired-B",
        "fedamd.thm46", "fedamd.thm48",
    ]  # fmt: skip
    assert plans["fedlaavg.thm4.repaired"]["why"].endswith("also needs gradient_bound, selected_share, staleness.")
    fedamd = plans["fedamd.thm48"]
    assert fedamd["client_rounds"] == 10 * fedamd["rounds"]
    assert fedamd["vectors"] == 3 * fedamd["client_rounds"]  # the model and the cache down, one update up
    assert fedamd["local_steps"] == 5 * fedamd["client_rounds"]
    assert fedamd["binding"] == "product of steps"
    assert sum(fedamd["terms"].values()) == pytest.approx(fedamd["bound"])
    assert plans["fast.thm1.repaired-B"]["verdict"] == "proved"
    assert "repaired twin" in plans["fast.thm1.repaired-B"]["notes"][0]


BAD = {
    "no TOML": ("target = ", "PLAN.toml must be a TOML file"),
    "no target": ("", "a file with a target"),
    "unknown key": ("target = 1\nrate = [1.0]", "did you mean rates?"),
    "unknown algorithm": ('target = 1\nalgorithms = ["fedua"]', "did you mean fedau?"),
    "an algorithm that is no text": ("target = 1\nalgorithms = [[1]]", "algorithms must be one of"),
    "constants that are no table": ("target = 1\nconstants = 3", "constants must be a table; got 3"),
    "one rate without a list": ("target = 1\nrates = 0.5", "rates must be a list; got 0.5"),
    "a text as target": ('target = "small"', "target must be a number above 0; got 'small'"),
    "nan as target": ("target = nan", "target must be a number above 0"),
    "unknown constant": ("target = 1\n[constants]\nsigma = 1", "name of a constant must be"),
    "a rate that is no number": ('target = 1\nrates = ["half"]', "rates must be a number or array of numbers"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_bad_files_are_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_plan(file)
    assert said in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file that can be read"):
        read_plan(tmp_path / "none.toml")
