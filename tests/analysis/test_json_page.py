"""docs/json.md names the keys that come out, all of them and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from analysis import verify as v
from analysis.cli import app
from analysis.evidence import Evidence
from analysis.json_text import json_text
from fltheory.ledger import ledger
from fltheory.participation import Markov
from fltheory.verdicts import recorded
from tests.analysis.runs import made_up

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text()


def named(heading: str) -> set[str]:
    """The keys in the first column of the table under a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key for row in rows for key in re.findall(r"`([^`]+)`", row)}


def keys(value: Any, names: set[str], path: str = "") -> Iterator[str]:
    """The paths of `value` in the form of the page, as deep as `names` go."""
    deeper = [name for name in names if name.startswith((f"{path}.", f"{path}[]"))] if path else names
    if not deeper:
        yield path
    elif isinstance(value, list) and deeper == [f"{path}[]"]:
        yield f"{path}[]"  # also of an empty list
    elif isinstance(value, list):
        yield from (found for element in value for found in keys(element, names, f"{path}[]"))
    elif isinstance(value, dict):
        dot = f"{path}." if path else ""
        any_name = any(name == f"{dot}*" or name.startswith(f"{dot}*.") for name in names)
        for key, inner in value.items():
            yield from keys(inner, names, f"{dot}{'*' if any_name else key}")
    elif value is not None:
        yield f"{path}: {value!r}"


def all_keys(values: Iterable[Any], names: set[str]) -> set[str]:
    return {found for value in values for found in keys(value, names)}


def printed(*arguments: str) -> Any:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return strictly(done.stdout)


def strictly(text: str) -> Any:
    """What a reader makes of it that knows no NaN and no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_commands_write_json_in_one_place() -> None:
    folder = Path(__file__).parents[2] / "analysis"
    files = [*folder.glob("cli/*.py"), *folder.glob("*_command.py"), folder / "verify.py"]
    assert [path.name for path in files if "json.dump" in path.read_text()] == []


def test_a_recorded_verdict() -> None:
    names = named("A recorded verdict")
    assert all_keys(recorded().values(), names) == names


def test_list() -> None:
    names = named("fltheory list --json")
    found = printed("list", "--json")
    assert all_keys([found], names) == names
    expected = {id_: entry | {"checks_changed": False} for id_, entry in recorded().items()}
    assert {id_: entry for id_, entry in found.items() if id_ in recorded()} == expected


def test_show() -> None:
    names = named("fltheory show ID --json")
    found = [printed("show", id_, "--json") for id_ in ("fedau.thm3", "fedau.E7", "fedau.ass1", "fast.thm1")]
    assert all_keys(found, names) == names
    assert found[0]["recorded"] == recorded()["fedau.thm3"]
    assert not any(one["claim_changed"] or one["checks_changed"] for one in found)


def test_verify() -> None:
    names = named("fltheory verify --json FILE")
    result = v.Result(ledger["fedau.eq1"], [Evidence("exact", "m", "s")])
    found = strictly(v.to_json([result]))
    assert all_keys([found], names) == names
    assert all_keys(found["claims"].values(), named("A recorded verdict")) <= named("A recorded verdict")


def test_weights(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("client,round\n1,0\n1,1\n2,1\n2,2\n")
    names = named("fltheory weights LOG --json")
    out = str(tmp_path / "weights.png")
    assert (
        all_keys([printed("weights", str(tmp_path / "log.csv"), "--cutoff", "2", "--out", out, "--json")], names)
        == names
    )


def test_trace(tmp_path: Path) -> None:
    on = Markov.from_stability([0.3, 0.5, 0.6], 0.5).sample(96, seed=0)
    rows = [f"{n},2024-01-{1 + t // 24:02}T{t % 24:02}:00,{int(on[t, n])}" for t in range(96) for n in range(3)]
    (tmp_path / "log.csv").write_text("\n".join(["client,timestamp,available", *rows]))
    (tmp_path / "labels.csv").write_text("client,label\n0,a\n1,b\n2,a\n")
    (tmp_path / "plan.toml").write_text("target = 1.0\n")
    given = [str(tmp_path / name) for name in ("log.csv", "labels.csv", "plan.toml")]
    names = named("fltheory trace LOG --json")
    found = printed("trace", given[0], "--round-length", "1h", "--labels", given[1], "--plan", given[2], "--json")
    assert all_keys([found], names) == names


def test_plan(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "planning.md").read_text()
    example = page.split("```toml\n")[1].split("```")[0]
    example = example.replace('"fast"]', '"fast", "fedamd"]').replace("n_clients", "cohort_size = 50\nn_clients")
    (tmp_path / "plan.toml").write_text(example)
    names = named("fltheory plan PLAN.toml --json")
    assert all_keys([printed("plan", str(tmp_path / "plan.toml"), "--json")], names) == names


@pytest.mark.torch
def test_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="needs the training extra")
    pytest.importorskip("sklearn", reason="needs the training extra")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.toml").write_text(SWEEP)
    names = named("fltheory sweep EXPERIMENT.toml --json")
    found = printed("sweep", "e.toml", "--json")
    assert all_keys([found], names) == names
    values = {point["local_lr"]: point["value"] for point in found["points"]}
    assert values[1e30] is None
    assert values[0.1] == found["best"]["fedavg"]["value"] > 0


SWEEP = """
kind = "train"
rounds = 2
replicates = 1
problem = { name = "training", data = "digits", model = "logistic", partition = { name = "iid", n_clients = 4 } }
process = { name = "bernoulli", p = 1 }
algorithm = { name = "fedavg" }
sweep = { local_lr = [0.1, 1e30] }
"""


def test_algorithms() -> None:
    names = named("fltheory algorithms --json")
    assert all_keys([printed("algorithms", "--json")], names) == names


@pytest.mark.parametrize("shown", [False, True])
def test_results(tmp_path: Path, shown: bool) -> None:
    made_up("experiments/fedau/cutoffs.toml", "smoke", tmp_path)
    names = named("fltheory results list --json")
    found = printed("results", "list", "--store", str(tmp_path), "--json")
    if shown:
        found = [printed("results", "show", found[0]["key"], "--store", str(tmp_path), "--json")]
    assert all_keys(found, names) == {name for name in names if shown or not re.match("last|remarks", name)}


@pytest.mark.parametrize("text", ["\x9b31m", "\u202e", "\u2028"])
def test_what_a_terminal_obeys_is_written_out(text: str) -> None:
    assert json_text(text, ensure_ascii=False) == json.dumps(text)
    assert json_text("é", ensure_ascii=False) == '"é"'
