"""docs/experiments.md names all that an experiment file can name, and nothing else; its example runs."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.simulate_command import simulate_file
from fltheory.errors import InputError
from sims import catalogue, experiment
from sims.algorithms import algorithms
from sims.problems import noises, problems
from sims.recorder import METRICS
from sims.schedules import SCHEDULES
from sims.training import models

PAGE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.split("```toml\n")[1].split("```")[0]


def rows(heading: str, table: int = 0) -> list[list[str]]:
    """The cells of a table of the section."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    tables = [part.split("\n") for part in section.strip().split("\n\n") if part.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in tables[table][2:]]


def shown(make: Callable[..., Any], implied: str) -> str:
    """Parameters as the page has them: `a`, `a = default`, or `[a]` where there is nothing to write for the default."""
    written = []
    for name, parameter in inspect.signature(make).parameters.items():
        default = parameter.default
        if name == implied:
            continue
        if default is parameter.empty:
            written.append(f"`{name}`")
        elif default is None:
            written.append(f"`[{name}]`")
        else:
            text = (
                f'"{default}"' if isinstance(default, str) else str(default).lower().replace("(", "[").replace(")", "]")
            )
            written.append(f"`{name} = {text}`")
    return ", ".join(written)


@pytest.mark.parametrize(
    ("heading", "table", "known", "implied"),
    [
        ("Problems", 0, problems, ""),
        ("Noise", 0, noises, "kind"),
        ("Processes", 0, catalogue._processes(), ""),
        ("Processes", 1, catalogue.RATES, "partition"),
        ("Algorithms", 0, {name: algorithm.hyper for name, algorithm in algorithms().items()}, ""),
        ("Weightings", 0, catalogue.RULES, ""),
        ("Roles", 0, catalogue.ROLES, ""),
        ("Selections", 0, catalogue.SELECTIONS, ""),
        ("Schedules", 0, SCHEDULES, ""),
    ],
)
def test_the_page_has_every_name_with_its_parameters(
    heading: str, table: int, known: dict[str, Any], implied: str
) -> None:
    on_page = {row[0]: row[1] for row in rows(heading, table)}
    assert on_page == {f"`{name}`": shown(make, implied) for name, make in known.items()}


def test_the_page_has_every_model_as_its_factory_describes_it() -> None:
    pytest.importorskip("torch", reason="needs the training extra")
    ours = {name: make for name, make in models.models().items() if make.__module__.startswith("sims.")}
    described = [[f"`{name}`", shown(make, ""), str(make.__doc__).split("\n")[0]] for name, make in ours.items()]
    assert rows("Models") == described


def test_the_page_has_every_key_of_a_sweep() -> None:
    assert {row[0].split("`")[1].split(" = ")[0] for row in rows("Step sizes to try")} == set(experiment.SWEEP)


def test_the_page_has_every_key_of_the_schema_with_its_default() -> None:
    on_page = [key for row in rows("Keys of a file") for key in re.findall(r"`([^`]+)`", row[0])]
    schema = experiment.Experiment.model_fields
    assert {key.split(" = ")[0] for key in on_page} == {*schema, "scale", "sweep"}
    for key, _, default in (key.partition(" = ") for key in on_page):
        if default:
            given = schema[key].default
            assert tomllib.loads(f"v = {default}")["v"] == getattr(given, "name", given)
        else:
            assert key not in schema or schema[key].is_required() or key == "record"
    for heading, beside in (("Algorithms", experiment.Contestant), ("What is recorded", experiment.Recording)):
        text = PAGE.split(f"## {heading}\n")[1].split("| `")[0]
        for key in beside.model_fields.keys() - {"name", "parameters"}:
            assert re.search(rf"`{key}( = [^`]+)?`", text), key


def test_n_clients_is_that_of_the_problem_where_a_process_has_it() -> None:
    assert catalogue.process({"name": "uniform-subset", "cohort_size": 2}, 3).n_clients == 3
    with pytest.raises(InputError, match=r"^number of clients of the process must be 3"):
        catalogue.process({"name": "uniform-subset", "cohort_size": 2, "n_clients": 2}, 3)
    with pytest.raises(InputError, match=r"^parameter of process markov must be one of .*; got 'n_clients'"):
        catalogue.process({"name": "markov", "p": 0.5, "n_clients": 3}, 3)


def test_the_page_says_what_algorithms_look_at_and_where_they_are_from() -> None:
    known = {name: [", ".join(f"`{what}`" for what in one.looks_at), one.source] for name, one in algorithms().items()}
    assert {row[0].strip("`"): row[2:] for row in rows("Algorithms")} == known


def test_the_page_has_every_metric() -> None:
    known = [[f"`{name}`{'*' if metric.trains else ''}", metric.about] for name, metric in METRICS.items()]
    assert [[name, meaning.replace("\\|", "|")] for name, meaning in rows("What is recorded")] == known


def test_the_example_runs(tmp_path: Path) -> None:
    assert [one["name"] for one in tomllib.loads(EXAMPLE)["algorithm"]] == ["fedavg", "scaffold"]
    file = tmp_path / "example.toml"
    file.write_text(EXAMPLE.replace("rounds = 1000", "rounds = 20").replace("replicates = 100", "replicates = 2"))
    assert experiment.read(file).rounds == 20
    assert "objective_gap" in simulate_file(file, store=tmp_path / "results")
