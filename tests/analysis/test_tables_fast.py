"""FAST's tables: every published number once where it belongs, and measured ones of made-up runs beside them."""

from __future__ import annotations

import csv
import io
import itertools
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.checks.published import published
from analysis.exhibits import Given
from analysis.measured import late_mean, late_records, window
from analysis.stored_runs import runs_of
from analysis.tables.fast import LAWS, SETTINGS, file_of, tables
from analysis.tables.layout import Table
from fltheory.verdicts import recorded
from tests.analysis.runs import made_up

BETA, GAMMA = file_of("fmnist", "0.1", "beta"), file_of("fmnist", "0.1", "gamma")


def lines(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.to_csv())))


def given(scale: str, store: Path, *files: str) -> Given:
    return Given(scale, runs_of(files, scale, store))


@pytest.mark.parametrize("number", [2, 4])
def test_accuracy_by_law_is_all_of_the_published_table(number: int) -> None:
    rows = lines(tables[f"tab{number}"].make(Given("paper", {})))
    names = {"Fashion-MNIST": "fmnist", "CIFAR-10": "cifar10"}
    shown = {}
    for row in rows:
        data, _, alpha = row["section"].partition(", alpha = ")
        shown[row["row"].lower(), names[data], float(alpha)] = (float(row["published"]), float(row["published sd"]))
        assert row["measured"] == "not run"
    cells = published(f"fast_tab{number}")
    assert shown == {
        (r["participation"], r["dataset"], float(r["alpha"])): (float(r["accuracy"]), float(r["sd"])) for r in cells
    }
    assert len(rows) == len(cells) == 32


@pytest.mark.parametrize("number", [3, 6, 7])
def test_snapshots_are_all_of_the_published_table(number: int) -> None:
    """The uniform row, which is one for three laws, stands with each of them."""
    rows = lines(tables[f"tab{number}"].make(Given("paper", {})))
    titles = {
        ("fmnist", "0.05"): "Fashion-MNIST, alpha = 0.05",
        ("fmnist", "0.1"): "Fashion-MNIST, alpha = 0.1",
        ("cifar10", "0.1"): "CIFAR-10, alpha = 0.1",
        ("shakespeare", ""): "Shakespeare, by speaking roles",
    }
    shown = {(r["section"], r["row"], r["column"]): r["published"] for r in rows}
    wanted = {}
    for r in published(f"fast_tab{number}"):
        for law in LAWS.values() if r["participation"] == "uniform" else [LAWS[r["participation"]]]:
            section = f"{titles[r['dataset'], r['alpha']]}, {law} participation"
            wanted[section, SETTINGS[r["q"]][0], "accuracy"] = str(float(r["accuracy"]))
            wanted[section, SETTINGS[r["q"]][0], "ratio"] = str(float(r["arbitrary_share"]))
    assert shown == wanted
    assert len(rows) == 2 * 9 * 12


@pytest.mark.parametrize("number", [5, 8])
def test_the_sweep_over_lambda_is_all_of_the_published_table(number: int) -> None:
    rows = lines(tables[f"tab{number}"].make(Given("paper", {})))
    shown = {(r["section"], r["row"], r["column"]): float(r["published"]) for r in rows}
    wanted = {}
    for r in published(f"fast_tab{number}"):
        where = f"{LAWS[r['participation']]} participation", f"lambda = {r['strength']}"
        wanted[*where, "accuracy"], wanted[*where, "ratio"] = float(r["accuracy"]), float(r["arbitrary_share"])
    assert shown == wanted
    assert len(rows) == 54


def test_numbers_are_printed_as_in_the_paper() -> None:
    text = tables["tab2"].make(Given("paper", {})).to_text()
    assert "Weibull  73.15 ± 5.1          not run" in text


def test_measured_are_the_last_five_records_and_the_ratio_at_the_end(tmp_path: Path) -> None:
    """At the paper's scale a record every 10 of 1,000 rounds: rounds 960 to 1,000."""
    made_up(BETA, "paper", tmp_path, lambda k, seed, t: 0.01 * k + 0.001 * seed + (t == 1000) if t > 950 else 7)
    rows = lines(tables["tab6"].make(given("paper", tmp_path, BETA)))
    here = [r for r in rows if r["section"] == "Fashion-MNIST, alpha = 0.1, Beta participation"]
    order = ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "1", "adaptive 1", "adaptive 7"]  # of FedProx in the file, from 9
    for k, q in enumerate(order, start=9):
        own = {r["column"]: r for r in here if r["row"] == SETTINGS[q][0]}
        assert float(own["accuracy"]["measured"]) == pytest.approx(100 * (0.01 * k + 0.001 + 1 / 5))
        assert float(own["ratio"]["measured"]) == pytest.approx(100 * (0.01 * k + 0.001 + 1))
        assert float(own["accuracy"]["measured sd"]) == pytest.approx(0.1)
        assert (own["accuracy"]["measured seeds"], own["accuracy"]["scale"]) == ("3", "paper")
    assert {r["measured"] for r in rows if r not in here} == {"not run"}


def test_smaller_scales_have_fedavg_alone_without_its_name(tmp_path: Path) -> None:
    """What was not recorded says so, and FedAvg's runs do not pass for FedProx's."""
    made_up(BETA, "laptop", tmp_path, lambda k, seed, t: 0.1 * k)
    of_fedavg = tables["tab3"].make(given("laptop", tmp_path, BETA))
    text = of_fedavg.to_text()
    assert "q = 0.5               82.83 ± 2.0          30.0 ± 0.0          50.2              not recorded" in text
    assert "q = 0.4               84.07 ± 2.2          not run             60.7              not run" in text
    assert "accuracy: mean of the last 4 records, ratio: at the end" in text  # a fifth of 400 rounds
    assert {r["measured"] for r in lines(tables["tab6"].make(given("laptop", tmp_path, BETA)))} == {"not run"}


def test_a_late_mean_is_of_the_last_fifth_at_most(tmp_path: Path) -> None:
    """Five records of 50 rounds with one every 10 are the whole run; where all end alike, this tells nothing."""
    file = file_of("shakespeare", "", "beta")
    made_up(file, "laptop", tmp_path, lambda k, seed, t: 0.165 if t == 50 else 0.01 * k)
    table = tables["tab3"].make(given("laptop", tmp_path, file))
    (section,) = (s for s in table.sections if s.measured.startswith("measured"))
    shown = [cells["accuracy"].measured for cells in section.rows.values() if cells["accuracy"].measured]
    assert [str(one) for one in shown] == ["16.5 ± 0.0"] * 3
    assert "accuracy: at the end, ratio: at the end" in section.measured
    same = "all end at the same test accuracy, 16.5 %: this tells nothing of a difference between q = 0, q = 0.5 and"
    assert same in section.measured
    made_up(file, "laptop", store := tmp_path / "other", lambda k, seed, t: 0.165 + 0.001 * (k == seed == 1))
    assert "all end at" not in tables["tab3"].make(given("laptop", store, file)).to_text()


def test_late_records_are_counted_in_whole_rounds() -> None:
    """As exact fractions count them; in floats (1 - 15 / 76) 76 is 60.99999999999999, and round 61 were late too."""
    for rounds, every, records in itertools.product(range(1, 120), range(1, 8), (1, 5, 15)):
        run: Any = SimpleNamespace(experiment={"rounds": rounds, "record": {"every": every}})
        share = min(Fraction(1, 5), Fraction(records * every, rounds))
        at = [*range(0, rounds, every), rounds]
        late = [t for t in at if t > (1 - share) * rounds]
        assert late_records("paper", run, records) == len(late)
        own = pl.DataFrame({"round": at, "x": at})
        assert late_mean(own, "x", window("paper", run, records)) == np.mean(late)


def test_uniform_participation_is_taken_from_whichever_law_was_run(tmp_path: Path) -> None:
    made_up(GAMMA, "laptop", tmp_path, lambda k, seed, t: 0.2 + 0.01 * (seed - 1))
    both = given("laptop", tmp_path, GAMMA)
    measured = {
        r["row"]: r["measured"]
        for r in lines(tables["tab2"].make(both))
        if r["section"] == "Fashion-MNIST, alpha = 0.1"
    }
    assert measured == {
        "Uniform": measured["Gamma"],
        "Beta": "not run",
        "Gamma": measured["Gamma"],
        "Weibull": "not run",
    }
    assert float(measured["Gamma"]) == pytest.approx(20)
    made_up(BETA, "laptop", tmp_path, lambda k, seed, t: 0.3 + 0.01 * (seed - 1))
    table = tables["tab2"].make(given("laptop", tmp_path, BETA, GAMMA))
    (section,) = (s for s in table.sections if s.title == "Fashion-MNIST, alpha = 0.1")
    assert str(section.rows["Uniform"]["accuracy"].measured) == "30.0 ± 1.0"
    runs = [run.key[:12] for run in given("laptop", tmp_path, BETA, GAMMA).runs.values()]
    assert section.about["run"] == "; ".join(runs)
    assert f"fashion-mnist, mlp, 400 rounds, 3 seeds; runs {', '.join(runs)}; " in section.measured


def test_rates_stand_beside_the_verdict_on_that_of_fast() -> None:
    rows = lines(tables["tab1"].make(Given("laptop", {})))
    assert [row["published"] for row in rows] == ["O(1/sqrt(m*K*R))"] * 6 + ["Omega(1)"]
    (own,) = (row for row in rows if row["verdict"] != "of another paper")
    assert own["row"].startswith("FAST")
    assert own["verdict"] == f"fast.cor2: {recorded()['fast.cor2']['verdict']}"


def test_the_two_tables_that_print_one_run_differently_say_so() -> None:
    """3.4 in Table 4, 3.9 in Table 6."""
    spread = {
        number: {
            r["sd"] for r in published(f"fast_tab{number}") if (r["participation"], r["alpha"]) == ("uniform", "0.05")
        }
        for number in (4, 6)
    }
    assert spread == {4: {"3.4"}, 6: {"3.9"}}
    for number in range(2, 9):
        notes = " ".join(tables[f"tab{number}"].make(Given("paper", {})).notes)
        assert ("`fltheory show fast.table4`" in notes) is (number in spread)
    assert "fast.table4" in recorded()
