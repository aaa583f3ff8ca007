"""FedAMD's tables: every published number where it belongs, and measured ones of made-up runs beside them."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest

from analysis.checks.published import published
from analysis.exhibits import Given
from analysis.measured import when_first
from analysis.stored_runs import runs_of
from analysis.tables.fedamd import FILES, METHODS, PARAMETERS, tables
from analysis.tables.layout import Table
from fltheory.verdicts import recorded
from sims import store as stored
from tests.analysis.runs import made_up

NOTHING = Given("paper", {})


def lines(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.to_csv())))


def test_orders_stand_beside_recorded_verdicts() -> None:
    rows = lines(tables["tab1"].make(NOTHING))
    assert [row["published"] for row in rows] == [row["rounds"] for row in published("fedamd_tab1")]
    judged = [row["verdict"].partition(": ") for row in rows if row["verdict"] != "of another paper"]
    assert [id_ for id_, _, _ in judged] == ["fedamd.cor47", "fedamd.cor49", "fedamd.cor412"]
    assert all(verdict == recorded()[id_]["verdict"] for id_, _, verdict in judged)
    assert {row["row"] for row in rows if row["verdict"] != "of another paper"} == {
        "FedAMD (sequential), partial participation", "FedAMD (constant), partial participation"
    }  # fmt: skip


def test_orders_are_plain_text_in_markdown() -> None:
    """Stars would set letters in italics."""
    text = tables["tab1"].make(NOTHING).to_markdown()
    assert r"| 1/(M\*K\*eps^2) + 1/eps |" in text
    assert text.count("*") == text.count(r"\*") > 20


def test_every_published_cost_is_shown_and_nothing_is_measured_without_runs() -> None:
    rows = lines(tables["tab2"].make(NOTHING))
    shown = {(r["section"], r["row"], r["column"]): float(r["published"]) for r in rows}
    assert shown == {
        (f"{r['participants']} of 100 clients", METHODS[r["method"]], column): float(r[column])
        for r in published("fedamd_tab2")
        for column in ("samples", "communication", "rounds", "accuracy")
    }
    assert len(rows) == len(shown) == 72
    assert {r["measured"] for r in rows} == {"not run"}


def test_costs_are_those_at_the_first_record_with_the_goal(tmp_path: Path) -> None:
    """Algorithm k reaches 75 % at round 10 (k + seed + 1), and everything is t/500 there."""
    made_up(FILES[20], "laptop", tmp_path, lambda k, seed, t: 0.8 if t >= 10 * (k + seed + 1) else t / 500)
    rows = lines(tables["tab2"].make(Given("laptop", runs_of([FILES[20]], "laptop", tmp_path))))
    here = {(r["row"], r["column"]): r for r in rows if r["section"] == "20 of 100 clients"}
    for k, label in enumerate(("FedAvg", "SCAFFOLD", "FedAMD, constant", "FedAMD, sequential")):
        row = here[label, "rounds"]
        assert (float(row["measured"]), float(row["measured sd"])) == pytest.approx((10 * (k + 2), 10))
        assert (row["measured seeds"], row["clients"], row["model"]) == ("3", "20 of 100", "logistic")
        assert float(here[label, "samples"]["measured"]) == pytest.approx(0.8e-5)
        assert float(here[label, "communication"]["measured"]) == pytest.approx(0.8e-6 * 7850)
        assert float(here[label, "accuracy"]["measured"]) == pytest.approx(80)
    assert here["FedPAGE", "rounds"]["measured"] == "not run"


def test_accuracy_is_that_of_the_last_record(tmp_path: Path) -> None:
    made_up(FILES[40], "paper", tmp_path, lambda k, seed, t: 0.9 if t == 400 else 0.1)
    rows = lines(tables["tab2"].make(Given("paper", runs_of([FILES[40]], "paper", tmp_path))))
    here = [r for r in rows if r["section"] == "40 of 100 clients"]
    assert [float(r["measured"]) for r in here if r["column"] == "accuracy"] == pytest.approx([90] * 6)
    assert {float(r["measured"]) for r in here if r["column"] == "rounds"} == {400}


def test_seeds_that_do_not_reach_the_goal_are_told(tmp_path: Path) -> None:
    run = made_up(FILES[20], "laptop", tmp_path, lambda k, seed, t: 0.8 if t > 50 and seed < k else 0.1)
    found = [when_first(run, label, ("test_accuracy", 0.75), "round") for label in ("FedAvg", "SCAFFOLD")]
    assert found == ["reached by 0 of 3 seeds", "reached by 1 of 3 seeds"]
    assert str(when_first(run, "FedAMD, sequential", ("test_accuracy", 0.75), "round")) == "51.0 ± 0.0"
    assert when_first(run, "FedPAGE", ("test_accuracy", 0.75), "round") is None
    assert when_first(run, "FedAvg", ("weight_error", 0.75), "round") is None
    shuffled = run.data().reverse()
    stored.save(tmp_path, run.key, run.experiment, shuffled)
    (run,) = runs_of([FILES[20]], "laptop", tmp_path).values()
    assert str(when_first(run, "FedAMD, sequential", ("test_accuracy", 0.75), "round")) == "51.0 ± 0.0"


@pytest.mark.torch
@pytest.mark.parametrize(("name", "total"), [("tab3", 44_426), ("tab4", 79_510)])
def test_the_models_are_the_printed_ones(name: str, total: int) -> None:
    pytest.importorskip("torch", reason="needs the training extra")
    rows = lines(tables[name].make(NOTHING))
    assert len(rows) == 2 * len(published(f"fedamd_{name}"))
    assert all(row["published"] == row["here"] for row in rows)
    assert sum(int(row["here"]) for row in rows if row["column"] == "parameters") == total


def test_without_torch_the_models_are_printed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    rows = lines(tables["tab4"].make(NOTHING))
    assert {row["here"] for row in rows} == {"needs torch"}
    assert [row["published"] for row in rows][:2] == ["1x28x28", "0"]


@pytest.mark.torch
def test_vectors_have_the_parameters_of_the_models() -> None:
    pytest.importorskip("torch", reason="needs the training extra")
    from sims.training.models import fedamd, plain

    for name, model in (("fedamd-lenet5", fedamd.lenet5()), ("logistic", plain.logistic(784, 10))):
        assert PARAMETERS[name] == sum(p.numel() for p in model.parameters())
