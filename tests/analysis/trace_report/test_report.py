"""The whole report: what is written of a log, as text, as JSON, by the command, and on bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from typer.testing import CliRunner, Result

from analysis import traces
from analysis.cli import app
from analysis.trace_report import TraceReport, divergence, read_labels, to_json, to_text, trace_report
from analysis.trace_report.advice import least_snapshot_rate
from analysis.trace_report.text import summary
from analysis.trace_report.text import tests as told_of_tests
from analysis.traces import Log
from analysis.weights_report import weights_report
from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.participation import Bernoulli, Markov, Periodic
from fltheory.weights import best_cutoff
from tests.analysis.trace_report.logs import dense, sampled


def test_in_blocks_and_in_small_numbers_all_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of clients and rounds do not fit in the small types, nor all events in a block."""
    on = Markov.from_stability(np.linspace(0.1, 0.9, 100), 0.5).sample(120, seed=0)
    observed = np.random.default_rng(0).random(on.shape) < 0.9
    for log in (dense(on), dense(on, observed)):
        whole = to_json(trace_report(log, day=24))
        small = replace(log, client=log.client.astype(np.int8), round=log.round.astype(np.int8))
        if log.observed is not None:
            small = replace(small, observed=tuple(part.astype(np.int8) for part in log.observed))
        with monkeypatch.context() as patch:
            for module in (traces.log, divergence):
                patch.setattr(module, "AT_ONCE", 500)
            assert len(list(small.blocks())) > 10
            np.testing.assert_equal(_rounded(to_json(trace_report(small, day=24))), _rounded(whole))


def _rounded(told: Any) -> Any:
    """Sums over clients may end in another digit if blocks are summed first."""
    return json.loads(json.dumps(told), parse_float=lambda number: float(f"{float(number):.11g}"))


def test_what_was_mended_in_the_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("client,round,timestamp,available\nb,1,9,1\na,1,9,0\na,0,8,1\na,0,8,0\na,1,9,0\na,1,9,0\n")
    report = trace_report(traces.read_log(path))
    told = "\n".join(summary(report))
    assert (
        "of 6 rows, rows out of order: 2 (sorted); duplicate rows: 3 (merged); "
        "rounds given as both available and not: 1 (taken as available)" in told
    )
    assert "time: column round (column timestamp is not used)" in told
    found = to_json(report)["summary"]
    assert (found["rows"], found["unsorted"], found["duplicates"], found["contradictions"]) == (6, 2, 3, 1)
    path.write_text("client,round,available\na,0,1\na,1,0\nb,1,1\n")
    assert "rows" not in "\n".join(summary(trace_report(traces.read_log(path))))


def test_what_follows_is_what_the_parts_say(report: TraceReport) -> None:
    log, cut = report.log, report.cutoff
    assert cut.rate == np.median(log.participations()[:3] / log.observed_rounds()[:3])
    assert cut.independent == best_cutoff(cut.rate, cut.rounds)
    assert cut.chain == cut.advised
    np.testing.assert_array_equal(report.weight, weights_report(log, cut.advised).weight)
    least, _ = report.absences.window
    assert report.staleness(2) == (2 * least - 1, np.inf)  # one client may have come in rounds that nobody saw
    assert report.best_fit.family == "Markov, a rate each, one stability"
    assert report.theorems["fedlaavg.thm3"].ruling.word in ("fails", "cannot be told")
    assert report.theorems["fedau.thm3"].ruling.word == "fails"
    assert [one.interval for one in report.divergences if one.interval in (24, 168)] == [24, 168]


def test_ages_of_updates_are_those_of_lemma_1() -> None:
    found = trace_report(dense([[1, 1], [0, 1], [1, 0], [1, 1]]))
    assert found.absences.window == (2, 2)
    assert found.staleness(1) == (3, 3)  # ceil(2 / 1) 2 - 1
    assert found.cohort == 1
    assert found.snapshots.complete == (0.5, 0.5)
    assert found.snapshots.possible is False


def test_who_was_not_observed_may_have_been_there_for_snapshots() -> None:
    on = np.array([[1, 1], [1, 1], [0, 0], [1, 0]])
    found = trace_report(dense(on, [[1, 1], [1, 1], [0, 0], [1, 0]]))
    assert found.snapshots.complete == (0.5, 1)
    assert found.snapshots.possible is None
    assert "all clients were on in 50.00% to 100.00% of the rounds (not all clients were observed)" in " ".join(
        to_text(found).split()
    )
    assert to_json(found)["participants"] == [2, 2, None, 1]
    known = trace_report(dense(on, [[1, 1], [1, 1], [0, 0], [1, 1]]))
    assert known.snapshots.complete == (0.5, 0.75)
    assert known.snapshots.possible is False
    never = trace_report(Log(("a", "b"), 3, np.zeros(3, dtype=np.int64), np.arange(3)))  # b has no row
    assert never.snapshots.complete == (0, 1)
    assert "where who was not observed counts as off" in " ".join(to_text(never).split())


def test_snapshots_in_every_round_are_enough() -> None:
    assert trace_report(dense(np.ones((6, 2)))).snapshots.possible
    least = least_snapshot_rate()
    q = ledger["fast.thm2.app"].conditions["snapshots"]
    free = {s.name: s for s in q.free_symbols}
    names = ("local_lr", "snapshot_rate", "smoothness", "strong_convexity", "local_steps")
    admits = sympy.lambdify([free[name] for name in names], q)
    steps = np.linspace(0.001, 0.1, 200)
    assert admits(steps, least + 1e-5, 1, 1, 1).any()
    assert not admits(steps, least - 1e-5, 1, 1, 1).any()


def test_the_text_says_the_most_important_first(report: TraceReport) -> None:
    text = to_text(report)
    titles = ["The log", "Assumptions of theorems", "What follows", "Tests", "Fits by", "Interval divergence"]
    assert [line for line in text.splitlines() if line and not line.startswith(" ")] == [
        next(line for line in text.splitlines() if line.startswith(title)) for title in titles
    ]
    flat = " ".join(text.split())
    for part in (
        "clients 4 (never seen 0, seen but never on 1); rounds 600",
        "fedau.ass4 fails. Rejected: independent rounds",
        f"mean rate by label: a {report.labelled.rates[0]:.3g} (2 clients), b",
        f"FedAU: K = {report.cutoff.independent} has the least mean error",
        "(Lemma 1), if all available clients are taken where they are fewer than the clients a round, with",
        f"4 clients a round: {report.staleness(4)[0]:.0f} to unknown",
        "P = 168 has the least interval divergence of the intervals listed below",
        "Theorem 2 in the version of the appendix (fast.thm2.app) needs snapshots",
        "Level 0.01, Holm over clients",
        "stability 0.",
    ):
        assert part in flat
    assert max(map(len, text.splitlines())) <= 120


def test_clients_watched_throughout_need_no_list_of_observations() -> None:
    """A log that says so in a word and one that lists every round: the same report, also of one that is never on."""
    on = Markov.from_stability([0.2, 0.4, 0.6, 0.5], 0.5).sample(300, seed=1)
    on[:, 3] = False
    listed = dense(on, np.ones_like(on))
    said = replace(listed, observed=None, seen=np.ones(4, dtype=np.bool_))
    one, other = trace_report(said, day=24), trace_report(listed, day=24)
    assert to_text(one) == to_text(other)
    np.testing.assert_allclose(one.memory.correlation, other.memory.correlation, rtol=0, atol=1e-14)
    assert to_json(one) | {"memory": None} == to_json(other) | {"memory": None}


def test_rounds_left_out_of_the_divergence_are_told_by_kind() -> None:
    on = np.tile([[1, 0], [0, 1]], (4, 1))
    on[[2, 3, 5]] = 0
    observed = np.ones_like(on)
    observed[3, 0] = observed[5] = 0
    found = trace_report(dense(on, observed))
    wanted = (
        "Left out of delta~^2(P): 1 of the 8 rounds, in which nobody took part; 1 of the 8 rounds, in which nobody was "
        "seen on, but not all clients were observed; 1 of the 8 rounds, in which nobody was observed. The theorem "
        "(amplified.thm31.average) wants somebody in every round."
    )
    told = " ".join(to_text(found).split())
    assert told.count(wanted) == 2
    assert "somebody in every round fails. Nobody took part in 1 of 8 rounds, first in round 2. Rest on it" in told
    assert {one["left_out"] for one in to_json(found)["interval_divergence"]} == {3}
    assert to_json(found)["theorems"]["amplified.thm31.average"]["somebody"] == "fails"
    assert "Left out" not in to_text(trace_report(dense(on[:2])))


def test_intervals_of_rates_say_what_they_presume(report: TraceReport) -> None:
    coins = " ".join(to_text(trace_report(sampled(Bernoulli([0.3] * 4), 100, 0))).split())
    assert "intervals of each client, which presume independent rounds: --json" in coins
    chains = " ".join(to_text(report).split())
    assert "which presume independent rounds (rejected below, so they may cover far fewer rates): --json" in chains


def test_when_round_0_begins_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for times, said in {
        ("2024-05-01T13:07:12", "2024-05-01T15:00:00"): "2024-05-01T13:07:12",
        ("2024-05-01T13:07:12.5Z", "2024-05-01T15:00:00Z"): "2024-05-01T13:07:12.500000 UTC",
        ("100.5", "7300"): "100.5 s",
    }.items():
        path.write_text("client,timestamp\n" + "".join(f"a,{time}\n" for time in times))
        found = trace_report(traces.read_log(path, round_length="1h"))
        assert to_json(found)["summary"]["begins"] == said
        told = "\n".join(summary(found))
        assert f"round 0 begins at {said}: rounds are counted from there, not from full hours" in told
    assert "round 0 begins" not in "\n".join(summary(trace_report(dense([[1]]))))
    assert to_json(trace_report(dense([[1]])))["summary"]["begins"] is None


def test_the_halves_are_told_beside_tests_that_look_at_single_clients() -> None:
    """All clients come five times as often in the second half."""
    draw = np.random.default_rng(0)
    log = dense(draw.random((200, 100)) < np.repeat([0.05, 0.25], 100)[:, None])
    early, late = np.mean(log.round < 100), np.mean(log.round >= 100)
    early, late = (share * log.round.size / 10_000 for share in (early, late))
    said = f"of the observed clients {early:.3g} in the first half, {late:.3g} in the second"
    assert said in "\n".join(summary(trace_report(log)))


def test_tests_of_rates_say_what_they_presume_and_whom_they_leave_out() -> None:
    weak = "\n".join(told_of_tests(trace_report(sampled(Bernoulli([0.3] * 100), 100, 0))))
    assert "it presumes a correlation at lag 1 below 0.0071 (estimated: " in weak
    on = Markov.from_stability([0.3] * 40, 0.3).sample(600, seed=0)
    on[:, :2] = np.arange(600)[:, None] // 150 % 2 == 0
    told = trace_report(dense(on))
    assert (
        "Left out, as the log is too short for how seldom they, or days, change: 2 clients; of their rates"
        in "\n".join(told_of_tests(told))
    )
    assert {one["name"]: one["left_out"] for one in to_json(told)["tests"]}["equal rates, first and last third"] == 2
    together = told_of_tests(trace_report(sampled(Periodic.diurnal(40, 5, 5), 200, 0), day=10))
    assert together[-1].endswith("It presumes that clients are independent of each other, which is rejected.")
    slow = told_of_tests(trace_report(sampled(Markov.from_stability([0.3] * 20, 0.99), 500, 0), day=200))
    assert "last third: too few clients to tell, of those that a third of the log is long enough for" in "\n".join(slow)


def test_json_is_all_numbers(report: TraceReport) -> None:
    def no_constant(name: str) -> None:
        raise AssertionError(name)

    found = json.loads(json.dumps(to_json(report)), parse_constant=no_constant)
    assert found["clients"]["longest_absence"][3] == 600
    assert found["advice"]["staleness"][0]["most"] is None
    assert set(found["theorems"]) == set(report.theorems)


def test_a_log_of_one_participation_has_a_report() -> None:
    for log in (dense([[1]]), dense([[0, 0], [1, 0]], [[0, 0], [1, 1]]), sampled(Bernoulli([1.0]), 3, 0)):
        found = trace_report(log)
        assert to_text(found)
        json.dumps(to_json(found), allow_nan=False)


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["trace", *(str(folder / a) if "." in a else a for a in arguments)])


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("client,round\na,0\na,2\nb,1\na,5\nb,3\n")
    text = run(tmp_path, "log.csv", "--rounds", "9")
    assert text.exit_code == 0
    assert text.stdout.startswith("The log\n  clients 2")
    found: dict[str, Any] = json.loads(run(tmp_path, "--json", "log.csv", "--rounds", "9").stdout)
    assert found["summary"]["window"] == {"least": 6, "most": 6}
    assert found["plan"] is None
    assert run(tmp_path, "--help").exit_code == 0


BAD = {
    "no such column": ("client,group\na,1\n", "a CSV file with the columns client and label"),
    "twice": ("client,label\na,1\na,2\nb,1\n", "client in --labels must be there once; got 'a'"),
    "one missing": ("client,label\na,1\n", "a label for every client of the log, such as b"),
    "empty": ("", "a CSV file with the columns client and label"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_labels_are_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    content, said = BAD[name]
    (tmp_path / "labels.csv").write_text(content)
    log = dense([[1, 1]])
    with pytest.raises(InputError, match=said.replace("'", ".")):
        read_labels(tmp_path / "labels.csv", type(log)(("a", "b"), 1, log.client, log.round))


def test_bad_input_is_refused_in_a_sentence(tmp_path: Path) -> None:
    log = dense([[1, 1]])
    with pytest.raises(InputError, match="a file that can be read"):
        read_labels(tmp_path / "none.csv", log)
    with pytest.raises(InputError, match="as many as clients, 2"):
        trace_report(log, labels=("a",))
    with pytest.raises(InputError, match="day must be a whole number of at least 2"):
        trace_report(log, day=1)
    with pytest.raises(InputError, match="one with at least one participation"):
        trace_report(dense([[0]], [[1]]))


def test_a_log_of_more_rounds_than_memory_holds_is_refused() -> None:
    huge = replace(dense(np.ones((2, 2), dtype=bool)), n_rounds=10**13)
    with pytest.raises(InputError, match="rounds of the log must be few enough"):
        trace_report(huge)


def test_rounds_that_nobody_observed_are_not_counted_and_their_lags_are_unknown(
    tmp_path: Path,
) -> None:
    on = np.random.default_rng(0).random((300, 30)) < 0.4
    rows = [row for mine in on for row in (",".join("01"[int(x)] for x in mine), "," * 29)]
    log = tmp_path / "log.csv"
    log.write_text(
        "\n".join([",".join(["round", *(f"c{i}" for i in range(30))]), *(f"{t},{row}" for t, row in enumerate(rows))])
    )
    each = on.sum(axis=1)
    said = " ".join(summary(trace_report(traces.read_log(log))))
    wanted = f"{each.min()} to {each.max()}, median {int(np.median(each))} (of the 300 rounds in which anybody"
    assert f"clients seen on in a round: {wanted}" in said
    assert "autocorrelation: unknown at lag 1; whether it stays below 0.1 cannot be told, as 150 lags" in said
    assert "nan" not in said
