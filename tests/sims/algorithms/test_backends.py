"""Every algorithm of the package: the same run on floats, rationals and torch, and what holds for all of them.

A new module is found by itself, so that none can be left out.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import sims.algorithms
from fltheory.errors import InputError
from sims.algorithms import costs
from sims.algorithms.protocol import Algorithm, State
from sims.arrays import require_exact
from tests.sims.algorithms.scenario import Convert, Scenario, exact, floats, numbers, play, scenario, tensors


def found() -> dict[str, Algorithm]:
    """Name -> every Algorithm that a module of the package holds."""
    modules = [
        importlib.import_module(f"sims.algorithms.{m.name}") for m in pkgutil.iter_modules(sims.algorithms.__path__)
    ]
    values = [value for module in modules for value in vars(module).values()]
    return {value.name: value for value in values if isinstance(value, Algorithm)}


EVERY = pytest.mark.parametrize("algorithm", found().values(), ids=lambda algorithm: algorithm.name)
ONE_CLIENT_A_ROUND = {"sequential_sgd"}
SERVER_STEPS_ALONG_GRADIENTS = {"minibatch_sgd", "wait_minibatch", "wait_full", "fedpage"}


def some_hyper(algorithm: Algorithm) -> Any:
    """Small exact parameters: 2 local steps, 2 for whole numbers and 1/8 for the others that have no default."""
    values: dict[str, Any] = {}
    for parameter in dataclasses.fields(algorithm.hyper):
        if parameter.name == "local_steps":
            values["local_steps"] = 2
        elif parameter.default is dataclasses.MISSING:
            values[parameter.name] = 2 if parameter.type == "int" else Fraction(1, 8)
    return algorithm.hyper(**values)


def case_for(algorithm: Algorithm, seed: int) -> Scenario:
    case = scenario(seed, n_clients=4, rounds=6)
    if algorithm.name in ONE_CLIENT_A_ROUND:
        first = [slots.valid & (np.cumsum(slots.valid, axis=-1) == 1) for slots in case.rounds]
        rounds = [dataclasses.replace(slots, valid=v) for slots, v in zip(case.rounds, first, strict=True)]
        case = dataclasses.replace(case, rounds=rounds)
    return case


def states(algorithm: Algorithm, case: Scenario, to: Convert = exact) -> list[State]:
    return list(play(algorithm, some_hyper(algorithm), case, to))


def same(ours: State, theirs: State) -> None:
    """Exactly the same state, numbers that no float touched."""
    require_exact(ours.linear)
    for mine, other in ((ours.linear, theirs.linear), (ours.discrete, theirs.discrete)):
        assert list(mine) == list(other)
        for name, array in mine.items():
            assert array.shape == other[name].shape, name
            assert (array == other[name]).all(), name


def close(rounded: list[State], rational: list[State]) -> None:
    """Every state of a float run next to the exact one: under 1000 operations, none off by 1e-15 of the largest one."""
    for ours, theirs in zip(rounded, rational, strict=True):
        largest = max(1.0, *(np.abs(numbers(array)).max() for array in theirs.linear.values()))
        for name, array in theirs.linear.items():
            np.testing.assert_allclose(numbers(ours.linear[name]), numbers(array), rtol=0, atol=1e-12 * largest)
        for name, array in theirs.discrete.items():
            assert np.array_equal(np.asarray(ours.discrete[name]), array), name


@EVERY
def test_floats_agree_with_rationals(algorithm: Algorithm) -> None:
    for seed in range(4):
        case = case_for(algorithm, seed)
        rational = states(algorithm, case)
        for state in rational:
            require_exact(state.linear)
            assert all(array.dtype.kind in "iu" for array in state.discrete.values())
        close(states(algorithm, case, floats), rational)


@pytest.mark.torch
@EVERY
def test_torch_agrees_with_rationals(algorithm: Algorithm) -> None:
    pytest.importorskip("torch")
    for seed in range(2):
        case = case_for(algorithm, seed)
        close(states(algorithm, case, tensors), states(algorithm, case))


@EVERY
def test_the_model_moves(algorithm: Algorithm) -> None:
    """Otherwise the comparisons of this file would show nothing."""
    moved = [states(algorithm, case)[-1].linear["x"] != case.x0 for case in (case_for(algorithm, s) for s in range(4))]
    assert all(m.any() for m in moved)


@EVERY
def test_padding_order_of_slots_and_replicates_do_not_matter(algorithm: Algorithm) -> None:
    """Each replicate alone, without a batch axis, its clients in order and no padding, gives the same numbers."""
    for seed in range(3):
        case = case_for(algorithm, seed)
        together = states(algorithm, case)
        for r in range(2):
            rounds = []
            for slots in case.rounds:
                at = np.nonzero(slots.valid[r])[0]
                at = at[np.argsort(slots.clients[r][at])]
                parts = (slots.clients, slots.valid, slots.role, slots.weight)
                clients, valid, role, weight = (part[r][at] for part in parts)
                rounds.append(type(slots)(clients, valid, role, weight, slots.steps[:, r, at], slots.gradient[r, at]))
            alone = states(algorithm, dataclasses.replace(case, x0=case.x0[r], rounds=rounds))
            for ours, all_of_them in zip(alone, together, strict=True):
                linear = {name: array[r] for name, array in all_of_them.linear.items()}
                same(ours, State(linear, {name: array[r] for name, array in all_of_them.discrete.items()}))


@EVERY
def test_renaming_the_clients_renames_their_memories_and_nothing_else(algorithm: Algorithm) -> None:
    case, names = case_for(algorithm, 1), np.array([2, 0, 3, 1])
    old = np.argsort(names)
    renamed = dataclasses.replace(
        case,
        curvature=case.curvature[old],
        centre=case.centre[old],
        rounds=[dataclasses.replace(slots, clients=names[slots.clients]) for slots in case.rounds],
    )
    for ours, theirs in zip(states(algorithm, renamed), states(algorithm, case), strict=True):
        linear = {k: a[:, old] if a.ndim == 3 else a for k, a in theirs.linear.items()}
        same(ours, State(linear, {k: a[:, old] if a.ndim == 2 else a for k, a in theirs.discrete.items()}))


@EVERY
def test_what_is_kept_is_what_is_declared(algorithm: Algorithm) -> None:
    """Bytes of the whole state, on the server and on the clients, at the start; and of every state of a run."""
    for kind in (np.float32, np.float64):
        state = algorithm.init(some_hyper(algorithm), np.zeros(3, dtype=kind), 7)
        stated = costs(algorithm, 7, 3, np.dtype(kind).itemsize)
        assert nbytes(state) == stated.server_bytes + 7 * stated.client_bytes
    first, *later = states(algorithm, case_for(algorithm, 1), floats)
    assert {nbytes(state) for state in later} == {nbytes(first)}


def nbytes(state: State) -> int:
    return sum(array.nbytes for arrays in (state.linear, state.discrete) for array in arrays.values())


def test_these_tests_catch_an_algorithm_that_counts_padding_or_rounds() -> None:
    honest = found()["fedamd"]
    careless = dataclasses.replace(
        honest, apply=lambda s, c, *a: honest.apply(s, dataclasses.replace(c, valid=c.valid | True), *a)
    )
    rounding = dataclasses.replace(
        honest, work=lambda s, c, h: honest.work(s, c, dataclasses.replace(h, local_lr=0.125))
    )
    with pytest.raises(AssertionError):
        test_padding_order_of_slots_and_replicates_do_not_matter(careless)
    with pytest.raises(TypeError, match="not a rational"):
        test_floats_agree_with_rationals(rounding)


@EVERY
def test_a_change_of_units_changes_the_run_by_its_units(algorithm: Algorithm) -> None:
    """f -> s f(x/r): with curvatures times s/r^2 and step sizes times r^2/s the models are r times the old ones."""
    r, s = Fraction(3), Fraction(5)
    units = {"local_lr": r**2 / s, "proximal": s / r**2}
    if algorithm.name in SERVER_STEPS_ALONG_GRADIENTS:
        units["global_lr"] = r**2 / s
    for seed in range(5):
        case = case_for(algorithm, seed)
        curved = s / r**2
        rounds = [
            dataclasses.replace(slots, steps=slots.steps * curved, gradient=slots.gradient * curved)
            for slots in case.rounds
        ]
        rescaled = Scenario(case.curvature * curved, case.centre * r, case.x0 * r, rounds)
        hyper = some_hyper(algorithm)
        changed = {name: getattr(hyper, name) * unit for name, unit in units.items() if hasattr(hyper, name)}
        old, new = play(algorithm, hyper, case), play(algorithm, dataclasses.replace(hyper, **changed), rescaled)
        for before, after in zip(old, new, strict=True):
            assert (after.linear["x"] == r * before.linear["x"]).all()
            require_exact(after.linear)


@EVERY
def test_an_algorithm_says_what_it_looks_at(algorithm: Algorithm) -> None:
    """A round without weights, or without roles, fails or ends elsewhere exactly for the algorithms that say so."""
    hyper, case, found = some_hyper(algorithm), case_for(algorithm, 1), set()
    whole = [state.linear["x"] for state in play(algorithm, hyper, case)]
    for what, part in (("weighting", "weight"), ("roles", "role")):
        bare = dataclasses.replace(algorithm, apply=partial(_without, algorithm, part))
        try:
            same = all((a.linear["x"] == x).all() for a, x in zip(play(bare, hyper, case), whole, strict=True))
        except (InputError, AttributeError, TypeError):
            same = False
        found |= set() if same else {what}
    assert found == set(algorithm.looks_at)


def _without(algorithm: Algorithm, part: str, state: State, cohort: Any, local: Any, hyper: Any) -> State:
    return algorithm.apply(state, dataclasses.replace(cohort, **{part: None}), local, hyper)
