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
from analysis.trace_report import TraceReport, divergence, planned, read_labels, to_json, to_text, trace_report
from analysis.trace_report.advice import least_snapshot_rate
from analysis.weights_report import weights_report
from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.participation import Bernoulli, Markov
from fltheory.weights import best_cutoff
from tests.analysis.trace_report.logs import dense, sampled


@pytest.fixture(scope="module")
def report() -> TraceReport:
    """Twenty-five days of hours of four clients, of which the last never comes."""
    on = Markov.from_stability([0.2, 0.4, 0.6, 0.5], 0.5).sample(600, seed=0)
    on[:, 3] = False
    observed = np.random.default_rng(0).random(on.shape) < 0.9
    return trace_report(dense(on, observed), day=24, labels=("a", "a", "b", "b"))


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
    assert found.snapshots.complete == 0.5
    assert not found.snapshots.possible


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


def test_a_theorem_that_fails_on_the_log_has_no_plan(tmp_path: Path, report: TraceReport) -> None:
    file = tmp_path / "plan.toml"
    constants = "initial_gap = 1\nsmoothness = 1\nnoise_std = 0\nheterogeneity = 0.1\nlocal_steps = 1\nglobal_lr = 1\n"
    constants += "cutoff = 20\nobjective_gradient_bound = 0.1\nn_clients = 3\n"
    content = f'target = 1.0\nrates = [0.5]\nalgorithms = ["fedau"]\n[constants]\n{constants}'
    file.write_text(content)
    regular = trace_report(dense(np.ones((6, 2))))
    (outcome,) = planned(regular, file)[1]  # a log whose rounds look independent does not show that they are
    assert outcome.rounds is None
    assert "mean_weight_error follows where participation is independent over rounds" in outcome.why
    file.write_text(content + "mean_weight_error = 0\n")
    assert planned(regular, file)[1][0].rounds
    (outcome,) = planned(report, file)[1]
    assert outcome.rounds is None
    assert outcome.why.startswith("It fails on this log: fedau.ass4: Rejected: independent rounds")


def test_a_plan_takes_what_the_log_knows(tmp_path: Path, report: TraceReport) -> None:
    file = tmp_path / "plan.toml"
    content = 'target = 1.0\nrates = [0.9]\nalgorithms = ["fedlaavg"]\n[constants]\nn_clients = 77\n'
    file.write_text(content)
    task, outcomes = planned(report, file)
    np.testing.assert_array_equal(task.rates, report.rate[:3])
    assert (task.constants["n_clients"], task.constants["window"]) == (3, report.absences.most[:3].max() + 1)
    assert {one.statement.algorithm for one in outcomes} == {"fedlaavg"}
    file.write_text(content + "window = 500\n")  # the future may be worse than the log
    assert planned(report, file)[0].constants["window"] == 500


AMPLIFIED = """
target = 0.1
algorithms = ["amplified"]
[constants]
n_clients = 2
initial_gap = 1.0
smoothness = 1.0
noise_std = 0.0
heterogeneity = 1.0
local_steps = 1
participation_norm = 1.0
weight_variance = 0.25
interval = 64
amplification = 1.0
"""


def test_no_law_is_derived_from_equal_rates_of_a_log(tmp_path: Path) -> None:
    """Turns of 64 rounds: every interval of 64 has one client, so that its gradient is that of the client."""
    file = tmp_path / "plan.toml"
    file.write_text(AMPLIFIED)
    turns = np.repeat(np.eye(2), 64, axis=0)
    seen = trace_report(dense(np.tile(turns, (4, 1))))
    assert len(set(seen.rate.tolist())) == 1
    (outcome,) = planned(seen, file)[1]
    assert outcome.rounds is None
    assert outcome.why.startswith("amplified.thm31.average also needs interval_divergence. interval_divergence follows")
    assert "a log does not show that. Tests on this log reject independent rounds (p = " in outcome.why
    file.write_text(AMPLIFIED + "interval_divergence = 0.1\n")
    (outcome,) = planned(seen, file)[1]
    assert outcome.rounds
    assert "Taken for granted: the given interval_divergence, participation_norm." in outcome.verdict_notes


def test_a_plan_says_whom_it_leaves_out(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(AMPLIFIED + "interval_divergence = 0.1\n")
    (outcome,) = planned(trace_report(dense([[1, 0, 0], [0, 1, 0]] * 4)), file)[1]
    assert outcome.verdict_notes[-1] == "f is the mean over the clients that took part; 1 never did."
    (outcome,) = planned(trace_report(dense([[1, 0], [0, 1], [0, 0]] * 4)), file)[1]
    assert outcome.why == "It fails on this log: nobody took part in 4 of 12 rounds, first in round 2."


def test_rounds_that_were_observed_whole_are_known(tmp_path: Path) -> None:
    """Round 2 has nobody for sure, in round 5 the second client was not observed; round 1 has one participant."""
    on = np.array([[1, 1], [1, 0], [0, 0], [1, 1], [1, 1], [0, 0]] * 2)
    observed = np.array([[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 0]] * 2)
    file = tmp_path / "plan.toml"
    file.write_text(AMPLIFIED + "interval_divergence = 0.1\n")
    (outcome,) = planned(trace_report(dense(on, observed)), file)[1]
    assert outcome.why == "It fails on this log: nobody took part in 2 of 12 rounds, first in round 2."
    observed[2::6, 0] = False
    assert planned(trace_report(dense(on, observed)), file)[1][0].rounds
    file.write_text(AMPLIFIED.replace("participation_norm = 1.0", "participation_norm = 0.8"))
    with pytest.raises(InputError, match="participation_norm must be at least 1, as some rounds have at most 1 of"):
        planned(trace_report(dense(on, observed)), file)


def test_rounds_have_no_more_than_are_seen_or_were_not_looked_at(tmp_path: Path) -> None:
    """In round 0 one of four clients is seen, and another was not looked at: these are two at most."""
    on = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]])
    log = trace_report(dense(on, on | np.array([[1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]])))
    file = tmp_path / "plan.toml"
    file.write_text(f"{AMPLIFIED}interval_divergence = 0.1\n".replace("norm = 1.0", "norm = 0.7"))
    with pytest.raises(InputError, match=r"norm must be at least 0\.7071067812, as some rounds have at most 2 of"):
        planned(log, file)
    file.write_text(f"{AMPLIFIED}interval_divergence = 0.1\n".replace("norm = 1.0", "norm = 0.71"))
    assert planned(log, file)[1][0].rounds


def test_observed_rates_below_one_participant_leave_rounds_empty(tmp_path: Path) -> None:
    """In each round one of two clients was looked at, and was on in one of four."""
    file, observed = tmp_path / "plan.toml", np.tile(np.eye(2), (8, 1))
    file.write_text(AMPLIFIED + "interval_divergence = 0.1\n")
    on = observed * (np.arange(16) % 8 < 2)[:, None]
    (outcome,) = planned(trace_report(dense(on, observed)), file)[1]
    assert outcome.why.endswith("wants somebody in every round, and the log leaves rounds empty.")


def test_what_gives_way_to_the_log_is_not_looked_at(tmp_path: Path) -> None:
    file, log = tmp_path / "plan.toml", trace_report(dense(np.ones((6, 2))))
    text = AMPLIFIED.replace("target", "rates = [0.001, 7]\ntarget").replace("n_clients = 2", "n_clients = 1.5")
    file.write_text(text.replace("participation_norm = 1.0", "participation_norm = 0.75") + "interval_divergence = 0.1")
    process = '\n[process]\nname = "cyclic"\np = 0.001\n'
    wanted = planned(log, file)[1][0].rounds
    assert wanted
    file.write_text(file.read_text() + process)
    assert planned(log, file)[1][0].rounds == wanted
    for wrong, said in {
        text.replace("[0.001, 7]", "0.5"): r"rates must be a list; got 0\.5",
        text.replace("[0.001, 7]", '["often"]'): "rates must be a list of numbers; got 'often'",
        text.replace("n_clients = 1.5", 'n_clients = "few"'): "n_clients must be a number; got 'few'",
        f"process = 5\n{text}": "process must be a table, or the name of a process; got 5",
    }.items():
        file.write_text(wrong)
        with pytest.raises(InputError, match=said):
            planned(log, file)


def test_a_plan_with_a_server_that_draws_says_how_often_all_were_there(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    drawn = "snapshot_clients = 1\narbitrary_clients = 1\nsnapshot_rate = 1.0\n"
    file.write_text(AMPLIFIED.replace('["amplified"]', '["fast"]').replace("target = 0.1", "target = 10") + drawn)
    outcomes = planned(trace_report(dense([[1, 0], [1, 1], [0, 1], [0, 1]])), file)[1]
    assert {one.verdict_notes[-1] for one in outcomes} == {"All clients were on in 25.0% of the rounds of the log."}


AGAINST = {
    "window = 3\n": "window must be at least 5, as the log has clients away for 4 rounds in a row; got 3",
    "staleness = 3\n": "staleness must be at least 4, as the log has clients away for 4 rounds in a row; got 3",
    "participation_norm = 0.8\n": "participation_norm must be at least 1, as some rounds have at most 1 of the clients",
}


@pytest.mark.parametrize("given", AGAINST)
def test_constants_that_a_log_contradicts_are_refused(tmp_path: Path, given: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(f"target = 1.0\n[constants]\nn_clients = 3\n{given}")
    seen = trace_report(dense([[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 1, 0]]))
    with pytest.raises(InputError, match=AGAINST[given]):
        planned(seen, file)


FEDLAAVG = """
target = 0.5
algorithms = ["fedlaavg"]
[constants]
smoothness = 1.0
initial_gap = 1.0
noise_std = 0.1
gradient_bound = 0.5
local_steps = 1
cohort_size = 1
"""


def test_a_client_that_never_came_does_not_end_a_plan(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(f"{FEDLAAVG}window = 50\n")
    assert all(one.rounds for one in planned(trace_report(dense([[1, 0], [1, 0], [0, 0]], np.ones((3, 2)))), file)[1])


def test_a_plan_says_in_how_many_rounds_its_window_was_seen(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(FEDLAAVG)
    seen = trace_report(dense([[1, 1], [0, 1], [0, 1], [1, 1]]))
    said = "Taken for granted: E = 3 in all rounds; it is what the 4 rounds of the log show."
    found = planned(seen, file)[1]
    assert found
    assert all(one.rounds and one.rounds > 4 and said in one.verdict_notes for one in found)
    file.write_text(f"{FEDLAAVG}window = 3\n")
    assert not any(said in one.verdict_notes for one in planned(seen, file)[1])


def test_no_more_clients_are_asked_than_a_log_has_on_together(tmp_path: Path) -> None:
    """Of two clients one is on in round 2; where it was not observed, the other may have been on too."""
    file, on = tmp_path / "plan.toml", np.array([[1, 1], [1, 1], [1, 0], [1, 1]])
    drawn = "snapshot_clients = 2\narbitrary_clients = 1\nsnapshot_rate = 0.999\n"
    file.write_text(AMPLIFIED.replace('["amplified"]', '["fast"]').replace("target = 0.1", "target = 10") + drawn)
    said = "needs snapshot_clients = 2 clients in a round, and some rounds have at most 1."
    assert all(one.why.endswith(said) for one in planned(trace_report(dense(on, np.ones((4, 2)))), file)[1])
    assert all(one.rounds for one in planned(trace_report(dense(on, on)), file)[1])


def test_the_window_of_a_process_gives_way_to_the_log(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    turns = '[process]\nname = "cyclic"\np = 0.5\nperiod = 2\n'
    file.write_text(f"target = 1.0\n{turns}[constants]\nn_clients = 2\n")
    assert planned(trace_report(dense([[1, 1], [0, 1], [0, 1], [1, 1]])), file)[0].constants["window"] == 3


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
