"""Faults that users of federated-learning software report, one test a kind: they cannot happen here.

Each test is named after the symptom. Where a kind has tests of its own elsewhere, this is the shortest of them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import sympy

from fltheory.distributions import KCutoffGeometric
from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.participation import Bernoulli, Markov, Recorded
from fltheory.testing.tolerance import FALSE_ALARM
from fltheory.weights import exact_weight_law, fedau_weights
from sims import selection
from sims.algorithms import algorithms, implicit_weights
from sims.algorithms.fedavg import Hyper, fedavg
from sims.algorithms.mifa import mifa
from sims.algorithms.scaffold import scaffold
from sims.checkpoints import restore, save
from sims.montecarlo.weight_error import weight_error
from sims.recorder import METRICS
from sims.store.compare import differences
from sims.testing.algorithms import CHECKS, case_for, some_hyper, states
from sims.training import partition
from tests.analysis.simulate_command.made import FILE, quietly
from tests.sims.round_cases import Rests, plain, run, same

ROOT = Path(__file__).parents[1]
LABELS = np.repeat(np.arange(10), [3, 400, 1, 0, 80, 200, 50, 7, 90, 169])


# ---- what happened depends on something that nobody set ------------------------------------------------------


def test_seeds_set_everywhere_and_results_differ() -> None:
    one, other = (run(plain(selection=selection.uniform(2)), 30) for _ in range(2))
    same(one.record.arrays(), other.record.arrays())


def test_the_order_in_which_clients_run_moves_the_aggregate() -> None:
    cases = [case_for(seed) for seed in range(3)]
    for algorithm in algorithms().values():
        if algorithm.name != "sequential_sgd":  # one client a round
            assert CHECKS["padding"](algorithm, some_hyper(algorithm), cases) is None


def test_a_partition_ignores_its_seed() -> None:
    made = [partition.dirichlet(LABELS, 20, alpha=0.1, seed=seed).hash for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_results_depend_on_which_experiment_ran_before() -> None:
    first = run(plain(), 20).record.arrays()
    run(plain(lr=0.1), 20)
    np.random.seed(3)  # noqa: NPY002
    same(first, run(plain(), 20).record.arrays())


def test_the_same_file_run_twice_gives_two_tables(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(FILE)
    one, other = (quietly(file, tmp_path / store) for store in ("one", "other"))
    assert differences(one, other) == []


def test_another_client_moves_the_traces_of_the_others() -> None:
    alone = Markov([0.3, 0.1]).sample(50, seed=4)
    assert (Markov([0.3, 0.1, 0.8]).sample(50, seed=4)[:, :2] == alone).all()


def test_a_checkpoint_without_the_state_of_the_generator(tmp_path: Path) -> None:
    whole, first, second = run(plain(), 20), run(plain(), 20, until=7), run(plain(), 20, until=0)
    save(first, tmp_path / "checkpoint.npz")
    restore(second, tmp_path / "checkpoint.npz")
    second.advance()
    same(whole.state_dict(), second.state_dict())  # model, memories, intervals, streams, round
    same(whole.record.arrays(), second.record.arrays())


def test_a_resumed_estimate_differs_from_an_unbroken_one(tmp_path: Path) -> None:
    process = Bernoulli(0.2)
    chunk = 8192
    whole = weight_error(process, 10, 40, 2 * chunk, seed=1, store=tmp_path / "one")
    weight_error(process, 10, 40, chunk, seed=1, store=tmp_path / "two")
    resumed = weight_error(process, 10, 40, 2 * chunk, seed=1, store=tmp_path / "two")
    assert str(whole) == str(resumed)


# ---- partitions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["as_in_paper", "as_in_code"])
@pytest.mark.parametrize("alpha", [1e-300, 1e-6, 0.1])
def test_a_small_alpha_never_ends_or_a_class_runs_out(alpha: float, preset: str) -> None:
    made = partition.dirichlet(LABELS, 300, alpha=alpha, seed=0, preset=preset)  # type: ignore[arg-type]
    assert (np.sort(np.concatenate(made.clients)) == np.arange(LABELS.size)).all()  # disjoint and covering
    assert made.sizes.min() >= 1
    assert np.isfinite(made.label_mix).all()


# ---- algorithms and weights --------------------------------------------------------------------------------------


def test_weights_are_divided_by_all_clients_and_nobody_says_so() -> None:
    rates = [Fraction(1, 10), Fraction(9, 10)]
    assert implicit_weights("average_all", rates).tolist() == rates  # half the clients away is half the step
    assert implicit_weights("known_rates", rates).tolist() == [1, 1]


def test_scaffold_begins_with_random_variates_or_divides_by_participants() -> None:
    first = scaffold.init(some_hyper(scaffold), np.zeros(2), 3)
    assert not any(first.linear[name].any() for name in ("variate", "variates"))
    for state in states(scaffold, some_hyper(scaffold), case_for(1)):
        assert (state.linear["variate"] == state.linear["variates"].sum(axis=-2) / 4).all()


def test_no_place_for_what_a_client_remembers() -> None:
    state = mifa.init(some_hyper(mifa), np.zeros(3), 5)
    assert state.linear["latest"].shape == (5, 3)


def test_local_work_comes_in_whole_epochs_only() -> None:
    assert Hyper(0.1, local_steps=7).local_steps == 7
    with pytest.raises(InputError, match="local_steps must be a whole number"):
        Hyper(0.1, local_steps=0)
    assert all("step" in (a.hyper.__doc__ or "").lower() for a in algorithms().values())  # steps, never epochs


# ---- the clock ---------------------------------------------------------------------------------------------------


def test_a_client_knows_the_future() -> None:
    past = np.random.default_rng(0).random((12, 4)) < 0.4
    for t in range(12):
        future = past.copy()
        future[t:] = ~future[t:]
        assert (fedau_weights(past, 5)[: t + 1] == fedau_weights(future, 5)[: t + 1]).all()


def test_reactive_availability_sees_rounds_to_come() -> None:
    seen: list[int] = []

    class Counts(Rests):
        def step(self, history, rng):  # type: ignore[no-untyped-def]
            seen.append(len(history))
            return super().step(history, rng)

    run(plain(Counts(3)), 9)
    assert seen == list(range(9))


def test_a_client_that_failed_once_never_returns() -> None:
    sizes = run(plain(Bernoulli(np.ones(3)), dropout=0.5), 200, what=("cohort_size",)).record.arrays()["cohort_size"]
    assert sizes[:, 100:200].max() == 3


def test_participation_from_a_log_needs_a_training_framework() -> None:
    events = Recorded.from_events([0, 1, 0], [0, 1, 3], n_clients=2, n_rounds=4)
    matrix = Recorded.from_matrix(events.sample(4, seed=0))
    assert (matrix.sample(4, seed=1) == [[1, 0], [0, 1], [0, 0], [1, 0]]).all()


# ---- numbers and symbols -----------------------------------------------------------------------------------------


def test_a_geometric_law_loses_its_digits_for_small_p() -> None:
    law = KCutoffGeometric(1e-300, math.inf)
    assert law.cdf(5) == pytest.approx(5e-300, rel=1e-12)
    assert KCutoffGeometric(1.0, math.inf).logpmf(1) == 0
    assert KCutoffGeometric(0.3, 1).pmf(1) == 1


def test_a_geometric_density_is_not_zero_between_whole_numbers() -> None:
    assert (KCutoffGeometric(0.5, 10).pmf(np.array([0, 0.5, 1.5, 11])) == 0).all()


def test_a_symbolic_inequality_is_silently_true_or_false() -> None:
    conditions = [(claim.id, c) for claim in ledger.values() for c in claim.conditions.values()]
    assert conditions
    for name, condition in conditions:
        assert condition not in (True, False, sympy.true, sympy.false), name
        with pytest.raises(TypeError):
            bool(condition)


def test_the_interval_that_is_still_open_biases_the_mean() -> None:
    """Known exactly, and beside it an estimate that takes the open interval for what it is."""
    law = exact_weight_law(0.1, cutoff=50, rounds=30)
    assert 0.1 * law.mean[20] < 0.9
    fitted = KCutoffGeometric.fit([12, 8, 20, 20], 20)  # two of the intervals were cut off at 20
    assert fitted.value == pytest.approx(2 / (12 + 8 + 19 + 19))


def test_a_statistical_test_fails_now_and_then() -> None:
    """Tolerances are computed from a false-alarm rate and n, so that all comparisons together stay below 1e-3."""
    assert FALSE_ALARM * 10_000 <= 1e-3


# ---- what is told ------------------------------------------------------------------------------------------------


def test_a_metric_does_not_say_of_whom_it_is_the_mean() -> None:
    for name in ("train_loss", "train_accuracy", "client_loss", "client_accuracy", "test_loss", "test_accuracy"):
        assert any(
            word in METRICS[name].about for word in ("all training samples", "mean over clients", "test samples")
        )


def test_published_numbers_stand_without_their_source() -> None:
    files = sorted((ROOT / "fltheory" / "data").glob("*.csv"))
    assert files
    for file in files:
        table = pl.read_csv(file, infer_schema_length=None)
        assert table["source"].str.len_chars().min() > 0, file.name


def test_notebooks_are_compared_by_their_outputs_and_fail_on_timings() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nnotebooks:")[1].split("\n\n")[0]
    assert "--nbmake" in recipe  # runs the cells, whose assertions decide
    assert "nbval" not in recipe


def test_nobody_can_tell_what_costs_the_memory_before_a_run() -> None:
    server = {name: a.server_vectors(100) + 100 * a.client_vectors for name, a in algorithms().items()}
    assert server["fedavg"] == 1
    assert server["mifa"] == 101
    assert fedavg.down == fedavg.up == 1
