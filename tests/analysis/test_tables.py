"""Tables: published and measured side by side, in three forms; a cell that was not run says so."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from analysis.checks.published import published
from analysis.exhibits import Given
from analysis.measured import Number
from analysis.stored_runs import runs_of
from analysis.tables import amplified, fedau
from analysis.tables.layout import Cell, Section, Table, printed
from analysis.tables.runs import _end
from fltheory.verdicts import recorded
from sims import store as stored
from tests.analysis.runs import made_up

CIFAR = fedau.TABLE1["bernoulli", "cifar10"]


def lines(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.to_csv())))


def test_a_table_in_text_markdown_and_csv() -> None:
    rows = {"ours": {"loss": Cell(printed("0.030"), Number(1.25, 0.5, 3))}, "theirs": {"loss": Cell()}}
    table = Table("T", "paper, Table 9", [Section("data", "measured: one run", rows, {"scale": "smoke"})], ["Note."])
    assert table.to_text() == (
        "T\nPublished: paper, Table 9\n\ndata\n  measured: one run\n"
        "        loss, published  loss, measured\n"
        "ours    0.030            1.2 ± 0.5\n"
        "theirs  -                not run\n\nNote."
    )
    assert table.to_markdown().splitlines()[8:12] == [
        "|  | loss, published | loss, measured |",
        "|---|---:|---:|",
        "| ours | 0.030 | 1.2 ± 0.5 |",
        "| theirs | - | not run |",
    ]
    first, second = lines(table)
    assert (first["published"], first["measured"], first["measured sd"], first["measured seeds"]) == (
        "0.03", "1.25", "0.5", "3"
    )  # fmt: skip
    assert (second["published"], second["measured"], second["scale"]) == ("-", "not run", "smoke")
    assert (first["source"], second["source"]) == ("paper, Table 9", "")


@pytest.mark.parametrize(
    ("name", "data"), [("tab1", "fedau_tab1"), ("tabD11", "fedau_tabD11"), ("tabD61", "fedau_tabD61")]
)
def test_every_published_number_is_shown_and_nothing_is_measured_without_runs(name: str, data: str) -> None:
    table = fedau.tables[name].make(Given("paper", {}))
    rows = lines(table)
    assert {row["measured"] for row in rows} == {"not run"}
    shown = sorted((float(row["published"]), float(row["published sd"])) for row in rows)
    assert shown == sorted((float(row["mean"]), float(row["sd"])) for row in published(data))
    assert "ICLR 2024" in rows[0]["source"]


def test_measured_numbers_stand_at_their_method_and_column(tmp_path: Path) -> None:
    """At laptop scale of the last fifth of the rounds; training accuracy is 0.1 k + 0.01 s, as is everything."""
    made_up(CIFAR, "laptop", tmp_path, lambda k, seed, t: 0.1 * k + 0.01 * seed if t > 800 else 9)
    given = Given("laptop", runs_of([CIFAR], "laptop", tmp_path))
    rows = [r for r in lines(fedau.tables["tab1"].make(given)) if r["section"] == "CIFAR-10, Bernoulli participation"]
    assert len(rows) == 14
    for k, label in enumerate(fedau.METHODS.values()):
        own = {r["column"]: r for r in rows if r["row"] == label}
        assert set(own) == {"train", "test"}
        for r in own.values():
            assert float(r["measured"]) == pytest.approx(10 * k + 1)
            assert float(r["measured sd"]) == pytest.approx(1)
            assert (r["measured seeds"], r["scale"], r["data"], r["rounds"]) == ("3", "laptop", "cifar-10", "1000")
    text = fedau.tables["tab1"].make(given).to_text()
    assert "measured at laptop scale: cifar-10, logistic, 1,000 rounds, 3 seeds; run " in text


def test_the_spread_over_clients_stands_beside_the_published_one(tmp_path: Path) -> None:
    file = fedau.SINGLE
    made_up(file, "laptop", tmp_path, lambda k, seed, t: 0.1 * k + 0.01 * seed if t > 800 else 9)
    rows = lines(fedau.tables["tabD31"].make(Given("laptop", runs_of([file], "laptop", tmp_path))))
    own = {r["column"]: r for r in rows if r["row"] == "average all"}
    assert [own[c]["published"] for c in ("loss", "train accuracy", "test accuracy")] == ["0.03", "13.3", "12.2"]
    assert [float(r["measured"]) for r in own.values()] == pytest.approx([0.31, 31, 31])


def test_a_loss_has_the_decimals_of_the_published_ones(tmp_path: Path) -> None:
    """Table D.3.1 prints 0.017; accuracies in % have one decimal in both."""
    file = fedau.SINGLE
    made_up(file, "laptop", tmp_path, lambda k, seed, t: 0.224 + 0.032 * (seed - 1))
    text = fedau.tables["tabD31"].make(Given("laptop", runs_of([file], "laptop", tmp_path))).to_text()
    row = next(line for line in text.splitlines() if line.startswith("FedAU, K = inf"))
    assert " ".join(row.split()) == "FedAU, K = inf 0.017 0.224 ± 0.032 9.9 22.4 ± 3.2 11.7 22.4 ± 3.2"


def test_the_paper_averages_over_200_rounds(tmp_path: Path) -> None:
    made_up(CIFAR, "paper", tmp_path, lambda k, seed, t: 0.5 if t > 9800 else 0.1)
    given = Given("paper", runs_of([CIFAR], "paper", tmp_path))
    text = fedau.tables["tabD11"].make(given).to_text()
    row = next(line for line in text.splitlines() if line.startswith("FedAU, K = inf") and "85.4" in line)
    assert row.split("  ")[-1].strip() == "50.0 ± 0.0"
    assert row.count("50.0 ± 0.0") == 2
    assert "mean over the last 200 rounds" in text


def test_short_runs_say_of_how_many_records_their_numbers_are() -> None:
    def end(scale: str, rounds: int, every: int, records: dict[str, int] | None = None) -> str:
        return _end(scale, SimpleNamespace(experiment={"rounds": rounds, "record": {"every": every}}), records)

    assert end("laptop", 1000, 25) == "mean over the last 200 rounds"
    assert end("laptop", 1000, 1000) == end("smoke", 4, 2) == "at the end"
    five = {"accuracy": 5, "cost": 1}
    assert end("laptop", 1000, 20, five) == "accuracy: mean of the last 5 records, cost: at the end"
    assert end("laptop", 400, 20, five) == "accuracy: mean of the last 4 records, cost: at the end"
    assert end("laptop", 50, 10, five) == end("smoke", 4, 2, five) == "accuracy: at the end, cost: at the end"


def test_a_seed_that_stopped_early_has_diverged(tmp_path: Path) -> None:
    run = made_up(CIFAR, "laptop", tmp_path)
    data = run.data()
    stops = (data["algorithm"] == "MIFA") & (data["replicate"] == 1) & (data["round"] > 500)
    stored.save(tmp_path, run.key, run.experiment, data.filter(~stops))
    rows = lines(fedau.tables["tab1"].make(Given("laptop", runs_of([CIFAR], "laptop", tmp_path))))
    here = [r for r in rows if r["section"] == "CIFAR-10, Bernoulli participation"]
    assert {r["row"] for r in here if r["measured"] == "nan"} == {"MIFA"}


def test_step_sizes_at_the_scale_of_the_paper_are_the_published_ones() -> None:
    rows = lines(fedau.tables["tabC41"].make(Given("paper", {})))
    assert len(rows) == 56
    assert all(float(row["published"]) == float(row["asked for"]) for row in rows)
    laptop = lines(fedau.tables["tabC41"].make(Given("laptop", {})))
    assert {row["asked for"] for row in laptop if row["column"] == "gamma"} == {"0.003"}


def test_orders_stand_beside_recorded_verdicts() -> None:
    rows = lines(amplified.tables["tab1"].make(Given("laptop", {})))
    assert len(rows) == len(published("amplified_tab1")) == 8
    verdicts = recorded()
    ours = [row for row in rows if row["verdict"] != "of another paper"]
    assert len(ours) == 6
    for row in ours:
        for judged in row["verdict"].split("; "):
            claim, _, verdict = judged.partition(": ")
            assert verdict == verdicts[claim]["verdict"]
