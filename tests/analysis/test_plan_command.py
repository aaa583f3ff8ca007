"""`fltheory plan`: the page's example, JSON, and plan files that are not allowed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

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
    assert plans["fedlaavg.thm4.repaired"]["why"].endswith("also needs gradient_bound, staleness.")
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
    "one rate without a list": ("target = 1\nrates = 0.5", "rates must be a list, also of one value; got 0.5"),
    "no rates in the list": ("target = 1\nrates = []", "rates must be a list of at least one value, or left out"),
    "no algorithms in the list": ("target = 1\nalgorithms = []", "algorithms must be a list of at least one value"),
    "a text as target": ('target = "small"', "target must be a number above 0; got 'small'"),
    "a target beyond floats": (f"target = 1{'0' * 400}", "target must be from 1e-300 to 1e+300"),
    "a target whose tenfold is none": ("target = 1e308", "target must be from 1e-300 to 1e+300"),
    "a target whose hundredth is none": ("target = 1e-323", "target must be from 1e-300 to 1e+300"),
    "nan as target": ("target = nan", "target must be a number above 0"),
    "unknown constant": ("target = 1\n[constants]\nsigma = 1", "name of a constant must be"),
    "a window that rates do not keep": (
        "target = 1\nrates = [0.01]\n[constants]\nn_clients = 100\nwindow = 3",
        "window must be at least 100, as a rate of 0.01 has clients away for 99 rounds in a row; got 3",
    ),
    "the norm of more than rates give": (
        "target = 1\nrates = [0.1]\n[constants]\nn_clients = 100\nparticipation_norm = 0.3",
        "participation_norm must be at least 0.316227766, as some rounds have at most 10 of the clients, if none is "
        "empty; got 0.3",
    ),
    "the variance of more than rates give": (
        "target = 1\nrates = [0.1]\n[constants]\nn_clients = 100\nweight_variance = 0.0008",
        "weight_variance must be at least 0.0009, as weights that sum to one vary that much where these rates are the "
        "chances of each round; got 0.0008",
    ),
    "a rate that is no number": ('target = 1\nrates = ["half"]', "rates must be a list of numbers; got 'half'"),
    "a constant that is no number": ('target = 1\n[constants]\nn_clients = "5"', "n_clients must be a number; got '5'"),
    "a process that is no table": ("target = 1\nprocess = 5", "process must be a table, or the name of a process"),
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


PROCESS = """
target = 0.2
algorithms = ["fedlaavg"]

[process]
name = "cyclic"
p = 0.25
period = 8

[constants]
n_clients = 100
cohort_size = 25
initial_gap = 1.0
smoothness = 1.0
noise_std = 0.5
gradient_bound = 0.6
heterogeneity = 0.3
objective_gradient_bound = 0.4
local_steps = 1
global_lr = 1
cutoff = 20
"""


def without_notes(found: dict[str, Any]) -> dict[str, Any]:
    """A process ends some notes: what is taken for granted with rates alone, it has or has not."""
    return found | {"plans": [plan | {"notes": None} for plan in found["plans"]]}


def test_a_theorem_on_coins_has_no_plan_for_turns(tmp_path: Path) -> None:
    said = run(tmp_path, PROCESS.replace('["fedlaavg"]', '["fedau"]'))
    assert "No statement promises it." in said
    assert "fedau.ass4 does not hold for this process" in said


def test_a_process_gives_rates_and_the_window_of_availability(tmp_path: Path) -> None:
    """On for 2 of 8 rounds: away for at most 6 in a row, so that any 7 rounds see everybody."""
    found = without_notes(json.loads(run(tmp_path, PROCESS, "--json")))
    text = PROCESS.replace("\n[process]", "\nrates = [0.25]\n[dropped]").replace("n_clients", "window = 7\nn_clients")
    text = re.sub(r"\[dropped\].*?\n\n", "\n", text, flags=re.DOTALL)
    assert found == without_notes(json.loads(run(tmp_path, text, "--json")))
    plans = {plan["claim"]: plan for plan in found["plans"]}
    assert all("why" not in plan for plan in plans.values())
    assert plans["fedlaavg.thm4.repaired"]["client_rounds"] == 25 * plans["fedlaavg.thm4.repaired"]["rounds"]


def assert_table_of_targets(text: str, found: dict[str, Any]) -> None:
    for name, rounds in found["rounds_at"]["algorithms"].items():
        shown = ["out of reach" if r is None else f"{r:,}" for r in rounds]
        assert re.search(rf"^{name} +" + " +".join(shown) + "$", text, re.MULTILINE)


def test_comparisons_say_the_same_in_text_and_json(tmp_path: Path) -> None:
    text, found = OUTPUT, json.loads(run(tmp_path, EXAMPLE, "--json"))
    (crossover,) = found["crossovers"]
    assert f"Below a target of {crossover['target']:.3g} {crossover['below']} needs fewer rounds than" in text
    assert_table_of_targets(text, found)
    for plan in found["plans"]:
        assert plan["sensitivities"]["target"] < 0 < plan["sensitivities"]["initial_gap"]
        assert f"target {plan['sensitivities']['target']:+.0%}" in text


def test_columns_are_kept_apart_at_many_rounds(tmp_path: Path) -> None:
    many = EXAMPLE.replace("initial_gap = 1.0", "initial_gap = 1e7")
    many = re.sub(r"\[(1, 20, 50|2, 10|0.5, 0.9)\]", lambda choices: f"[{choices[1].split()[-1]}]", many)
    text, found = run(tmp_path, many), json.loads(run(tmp_path, many, "--json"))
    assert max(r or 0 for rounds in found["rounds_at"]["algorithms"].values() for r in rounds) > 10**11
    assert_table_of_targets(text, found)
    for plan in found["plans"]:
        costs = [f"{plan[name]:,.0f}" for name in ("rounds", "client_rounds", "vectors")]
        assert re.search(f"{plan['claim']} .* " + " +".join(costs) + "$", text, re.MULTILINE)


BAD_PROCESS = {
    "a window that it does not keep": (("n_clients = 100", "window = 3\nn_clients = 100"), "window must be at least 7"),
    "rates twice": (("target", "rates = [0.5]\ntarget"), "rates must be left out beside [process]"),
    "unknown": (("cyclic", "cyclc"), "did you mean cyclic?"),
    "no clients": (("n_clients = 100", ""), "with n_clients, beside [process]"),
    "a parameter that it has not": (("period = 8", "periode = 8"), "did you mean period?"),
    "rates by labels": (("p = 0.25", 'p = {name = "fedau"}'), "numbers: these clients have no labels"),
    "other numbers of clients": (("p = 0.25", "p = [0.25, 0.5]"), "100"),
}


@pytest.mark.parametrize(("change", "said"), BAD_PROCESS.values(), ids=BAD_PROCESS)
def test_bad_processes_are_one_sentence(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(PROCESS.replace(*change, 1))
    with pytest.raises(InputError) as error:
        read_plan(file)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_recorded_process_names_the_clients_that_it_never_shows(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    events = 'name = "recorded.from_events"\nclients = [0, 2, 0]\nrounds = [0, 1, 2]\nn_rounds = 3\nend = "repeat"\n'
    file.write_text(f"target = 1.0\n[process]\n{events}[constants]\nn_clients = 4\n")
    said = "each of n_clients = 4 clients takes part, as no .*leave them out .*got '2 that never take part: 1, 3'"
    with pytest.raises(InputError, match=said):
        read_plan(file)
