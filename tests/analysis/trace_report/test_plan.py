"""Plans from a log: what it knows of who takes part, and what it contradicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.trace_report import TraceReport, planned, trace_report
from fltheory.errors import InputError
from tests.analysis.trace_report.logs import dense


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
    assert "wants somebody in every round, and the log leaves rounds empty. Some rounds are empty at" in outcome.why


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
        text.replace("[0.001, 7]", "0.5"): r"rates must be a list, also of one value; got 0\.5",
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
    assert {one.verdict_notes[-1] for one in outcomes} == {"All clients were on in 25.00% of the rounds of the log."}


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


def test_clients_that_never_came_do_not_count_in_a_norm_that_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("target = 1.0\n[constants]\nparticipation_norm = 0.8\n")
    seen = trace_report(dense([[1, 0, 1], [1, 0, 0], [1, 0, 0]], np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])))
    with pytest.raises(
        InputError, match=r"at most 1 of the clients that took part \(not counted, as never seen on: 1\); got"
    ):
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


def test_a_round_in_which_nobody_was_seen_on_has_no_more_clients_than_were_not_observed(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    constants = "initial_gap = 1.0\nsmoothness = 1.0\nnoise_std = 0.5\nheterogeneity = 0.3\nlocal_steps = 5\n"
    constants += "snapshot_clients = 3\narbitrary_clients = 3\nsnapshot_rate = 0.9\n"
    file.write_text(f'target = 0.1\nalgorithms = ["fast"]\n[constants]\n{constants}')
    on = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1]])
    for observed in ([1, 0, 0], [1, 1, 0], [1, 1, 1]):
        outcomes = planned(trace_report(dense(on, [[1, 1, 1], observed, [1, 1, 1]])), file)[1]
        have = f"at most {3 - sum(observed)}" if sum(observed) < 3 else "none"
        assert all(one.rounds is None for one in outcomes)
        assert any(
            f"needs arbitrary_clients = 3 clients in a round, and some rounds have {have}" in one.why
            for one in outcomes
        )
    unwatched = planned(trace_report(dense(on, [[1, 1, 1], [0, 0, 0], [1, 1, 1]])), file)[1]
    assert any(one.rounds for one in unwatched)


def _amplified(tmp_path: Path, on: list[list[int]], observed: list[list[int]], norm: float) -> str:
    file = tmp_path / "plan.toml"
    changed = AMPLIFIED.replace("participation_norm = 1.0", f"participation_norm = {norm}")
    file.write_text(changed + "interval_divergence = 0.05\n")
    (outcome,) = planned(trace_report(dense(on, observed)), file)[1]
    return outcome.why


def test_a_norm_that_no_round_of_so_few_has(tmp_path: Path) -> None:
    """Round 1 is empty, or has one client whose weight is 1."""
    why = _amplified(tmp_path, [[1, 1], [0, 0], [1, 1]], [[1, 1], [1, 0], [1, 1]], 0.8)
    assert "at most 1 took part in round 1, for which participation_norm = 0.8 is too small (at least 1)" in why
    assert not _amplified(tmp_path, [[1, 1], [0, 0], [1, 1]], [[1, 1], [1, 0], [1, 1]], 1)


def test_who_never_took_part_does_not_count_and_that_is_said(tmp_path: Path) -> None:
    on, observed = [[1, 0], [0, 0], [1, 0]], [[1, 1], [1, 0], [1, 0]]
    why = _amplified(tmp_path, on, observed, 1)
    assert "first in round 1. Clients that were never seen on (1) do not count. With them it cannot be told" in why
    why = trace_report(dense(on, observed)).theorems["amplified.thm31.average"].ruling.why
    assert "Nobody took part in 1 of 3 rounds, first in round 1, unless one of the clients that were never seen" in why


def test_a_window_below_what_the_log_admits_is_told(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    constants = (
        "initial_gap = 1\nsmoothness = 1\nnoise_std = 0.5\ngradient_bound = 2\nlocal_steps = 1\ncohort_size = 1\n"
    )
    seen = trace_report(dense([[1, 1], [0, 0], [0, 1], [1, 1]], [[1, 1], [1, 1], [0, 1], [1, 1]]))
    notes = {}
    for window in (2, 3, None):
        given = "" if window is None else f"window = {window}\n"
        file.write_text(f'target = 0.5\nalgorithms = ["fedlaavg"]\n[constants]\n{constants}{given}')
        notes[window] = " ".join(planned(seen, file)[1][0].verdict_notes)
    assert "E = 2 is given; the log admits 3, if clients were off unobserved." in notes[2]
    assert "E = " not in notes[3]
    assert "E = 3 in all rounds; the 4 rounds of the log show at least 2, and this if clients" in notes[None]


def test_the_clients_that_are_said_to_be_there_are_those_of_the_plan(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    constants = (
        "initial_gap = 1\nsmoothness = 1\nnoise_std = 0.5\ngradient_bound = 2\nlocal_steps = 1\ncohort_size = 1\n"
    )
    file.write_text(f'target = 0.5\nalgorithms = ["fedlaavg"]\n[constants]\n{constants}')
    on = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0]])
    notes = " ".join(planned(trace_report(dense(on)), file)[1][0].verdict_notes)
    assert "All 2 clients that took part were on in 66.67% of the rounds of the log." in notes
    on[1, 1] = 1
    assert "were on in" not in " ".join(planned(trace_report(dense(on)), file)[1][0].verdict_notes)
