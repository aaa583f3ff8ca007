"""Worst availability: FedLaAvg's Lemma 1 by exhaustive search, and the search itself."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fltheory.errors import InputError
from sims.adversary import first_by_number, least_recently_used, local_search, repaired, staleness, worst_staleness
from sims.algorithms import fedlaavg
from sims.exact import Setting, run
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import schedule, selected
from sims.selection import least_recently_used as selection

# (clients, cohort size, window) -> the largest t - T_i
TRIPLES = {
    **{(1, 1, 1): 0, (1, 1, 3): 2, (2, 1, 1): 1, (2, 1, 2): 3, (2, 1, 3): 5, (2, 1, 4): 7, (2, 2, 1): 0, (2, 2, 3): 2},
    **{(3, 1, 1): 2, (3, 1, 2): 5, (3, 1, 3): 8, (3, 2, 1): 1, (3, 2, 2): 3, (3, 2, 3): 5, (3, 3, 2): 1, (4, 1, 1): 3},
    **{(4, 1, 2): 7, (4, 2, 2): 3, (4, 2, 3): 5, (4, 3, 2): 3, (4, 3, 3): 5, (4, 4, 2): 1, (5, 2, 1): 2, (5, 2, 2): 5},
    **{(5, 3, 2): 3, (5, 4, 2): 3},
}
SMALL = [triple for triple in TRIPLES if triple[0] < 5]


def allowed(pattern, window):
    """Whether everybody is available in every window, by looking at all of them."""
    rounds = len(pattern)
    return all(pattern[t : t + window].any(axis=0).all() for t in range(rounds - window + 1))


@pytest.mark.parametrize("triple", TRIPLES, ids=str)
def test_lemma_1_is_exact_for_every_way_of_breaking_ties(triple):
    """No availability and no ties give more; and one availability gives as much however ties are broken."""
    clients, size, window = triple
    bound = math.ceil(clients / size) * window - 1
    worst = worst_staleness(*triple)
    assert worst.staleness == bound == TRIPLES[triple]
    assert allowed(worst.available, window)
    assert staleness(worst.available, size)[1] == bound
    rarely = np.tile((np.arange(bound + 1) + 1)[:, None] % window == 0, clients)  # everybody, every `window` rounds
    assert allowed(rarely, window)
    assert staleness(rarely[:bound], size) == (bound, bound)


@pytest.mark.parametrize("triple", TRIPLES, ids=str)
def test_sharper_bound_if_enough_are_always_available(triple):
    clients, size, window = triple
    worst = worst_staleness(*triple, least=size)
    assert worst.staleness == (math.ceil(clients / size) - 1) * window
    assert (worst.available.sum(axis=1) >= size).all()
    assert (worst.participates.sum(axis=1) == size).all()


@pytest.mark.parametrize("triple", [(2, 1, 3), (3, 1, 2), (3, 2, 2), (4, 2, 2), (4, 3, 2)], ids=str)
def test_symmetry_only_saves_states(triple):
    expected = TRIPLES[triple]
    assert worst_staleness(*triple, symmetric=False).staleness == expected
    assert worst_staleness(*triple, rule=first_by_number, symmetric=False).staleness == expected


@pytest.mark.parametrize("triple", SMALL, ids=str)
def test_no_pattern_of_a_short_run_is_worse(triple):
    """Against a plain loop over all availability patterns of up to 12 entries."""
    clients, size, window = triple
    rounds = 12 // clients
    most = 0
    for entries in itertools.product((False, True), repeat=clients * rounds):
        pattern = np.reshape(entries, (rounds, clients))
        if allowed(pattern, window):
            most = max(most, _by_hand(pattern, size))
    assert most <= TRIPLES[triple]
    assert most == min(TRIPLES[triple], rounds)


def _by_hand(pattern, size):
    last, most = [0] * pattern.shape[1], 0
    for t, row in enumerate(pattern, start=1):
        for client in sorted(np.flatnonzero(row), key=lambda n: (last[n], n))[:size]:
            last[client] = t
        most = max(most, t - min(last))
    return most


def test_witness_takes_effect_in_the_algorithm():
    """FedLaAvg run on the worst pattern, with the selection of the simulations: its ages reach the bound."""
    worst = worst_staleness(3, 1, 2, rule=first_by_number, symmetric=False)
    setting = Setting(fedlaavg.fedlaavg, DiagonalQuadratic([1, 1, 1], [1, 2, 3]), fedlaavg.as_in_paper(1), [0])
    states = run(setting, selected(schedule(worst.available), selection(1)), len(worst.available))
    assert max(int(state.discrete["age"].max()) for state in states) == 5
    taken = [np.flatnonzero(state.discrete["age"] == 0).tolist() for state in states[1:]]
    assert taken == [np.flatnonzero(row).tolist() for row in worst.participates]


@pytest.mark.parametrize(("triple", "least"), [((4, 2, 2), 0), ((4, 2, 3), 2), ((4, 1, 2), 1), ((5, 2, 2), 2)])
def test_replay_of_a_witness(triple, least):
    clients, size, window = triple
    worst = worst_staleness(*triple, least=least)
    assert allowed(worst.available, window)
    ages = np.zeros(clients, dtype=int)
    for available, chosen in zip(worst.available, worst.participates, strict=True):
        sets = least_recently_used(ages.tolist(), tuple(np.flatnonzero(available).tolist()), size)
        assert tuple(np.flatnonzero(chosen).tolist()) in list(sets)
        ages = np.where(chosen, 0, ages + 1)
    assert ages.max() == worst.staleness


def test_staleness_over_all_ways_of_breaking_ties():
    """Against going through them one by one, on random patterns."""
    rng, differ = np.random.default_rng(0), 0
    for _ in range(60):
        pattern = rng.random((6, 4)) < 0.4
        for size in (1, 2):
            every = list(_by_each_choice(pattern, size))
            assert staleness(pattern, size) == (min(every), max(every))
            differ += min(every) < max(every)
    assert differ > 10


def _by_each_choice(pattern, size):
    """The largest age for each way of breaking ties."""
    pending = [(0, (0,) * pattern.shape[1], 0)]
    while pending:
        t, ages, most = pending.pop()
        if t == len(pattern):
            yield most
            continue
        for chosen in least_recently_used(ages, tuple(np.flatnonzero(pattern[t]).tolist()), size):
            after = tuple(0 if n in chosen else age + 1 for n, age in enumerate(ages))
            pending.append((t + 1, after, max(most, *after)))


def skipping(ages, available, size):
    """Nobody, if fewer than `size` are available."""
    return least_recently_used(ages, available, size) if len(available) >= size else [()]


def most_recently_used(ages, available, size):
    return least_recently_used([-age for age in ages], available, size)


def anybody(ages, available, size):
    return itertools.combinations(available, min(size, len(available)))


@pytest.mark.parametrize("rule", [skipping, most_recently_used, anybody])
def test_other_rules_have_no_bound(rule):
    worst = worst_staleness(3, 2, 2, rule=rule, limit=20)
    assert worst.staleness == math.inf
    assert len(worst.available) == 21
    assert allowed(worst.available, 2)


@pytest.mark.parametrize("triple", [(8, 2, 3), (12, 4, 3), (9, 2, 2)], ids=str)
def test_local_search_reaches_the_bound_beyond(triple):
    clients, size, window = triple
    bound = math.ceil(clients / size) * window - 1

    def objective(pattern):
        return staleness(pattern, size, first_by_number)[1]

    value, pattern = local_search(objective, clients, window, bound + 1, seed=0, steps=1500)
    start, _ = local_search(objective, clients, window, bound + 1, seed=0, steps=1)
    assert start < value == objective(pattern) == bound
    assert allowed(pattern, window)
    again, same = local_search(objective, clients, window, bound + 1, seed=0, steps=1500)
    assert (again, same.tolist()) == (value, pattern.tolist())


def test_local_search_of_another_objective():
    """As many absences as possible: everybody once in every window, at its end."""
    value, pattern = local_search(lambda p: -p.sum(), 3, 4, 12, seed=1, steps=3000)
    assert value == -9
    assert allowed(pattern, 4)


def test_repair_is_needed_and_late():
    pattern = np.zeros((7, 2), dtype=bool)
    pattern[1, 1] = True
    assert not allowed(pattern, 3)
    assert np.argwhere(repaired(pattern, 3)).tolist() == [[1, 1], [2, 0], [4, 1], [5, 0]]
    fine = repaired(pattern, 3)
    assert (repaired(fine, 3) == fine).all()


def test_bad_input():
    for arguments, name in (((0, 1, 1), "n_clients"), ((2, 0, 1), "cohort_size"), ((2, 1, 1.5), "window")):
        with pytest.raises(InputError, match=name):
            worst_staleness(*arguments)
    with pytest.raises(InputError, match="steps"):
        local_search(len, 2, 2, 4, seed=0, steps=0)
    for pattern in ([], [1, 0], [[]], [[[True]]], [[1], [1, 0]]):
        with pytest.raises(InputError, match="available must be of shape"):
            staleness(pattern, 1)
    with pytest.raises(InputError, match="cohort_size must be a whole number"):
        staleness([[True]], 0)


@pytest.mark.parametrize("bad", [lambda pattern: math.nan, lambda pattern: math.nan if pattern.all() else 0.0])
def test_local_search_refuses_an_objective_that_is_no_number(bad):
    with pytest.raises(InputError, match="objective must be a number for every pattern; got nan"):
        local_search(bad, 2, 2, 4, seed=0, steps=500)
