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

import pytest

import sims.algorithms
from fltheory.errors import InputError
from sims.algorithms.protocol import Algorithm, State
from sims.arrays import require_exact
from sims.testing import check_algorithm
from sims.testing.algorithms import case_for, some_hyper
from sims.testing.scenarios import Scenario, play


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


@EVERY
def test_the_battery(algorithm: Algorithm) -> None:
    """The same run on floats, rationals and, where it is installed, torch; padding, names, costs and the rest."""
    check_algorithm(algorithm, one_client_a_round=algorithm.name in ONE_CLIENT_A_ROUND)


@EVERY
def test_a_change_of_units_changes_the_run_by_its_units(algorithm: Algorithm) -> None:
    """f -> s f(x/r): with curvatures times s/r^2 and step sizes times r^2/s the models are r times the old ones."""
    r, s = Fraction(3), Fraction(5)
    units = {"local_lr": r**2 / s, "proximal": s / r**2}
    if algorithm.name in SERVER_STEPS_ALONG_GRADIENTS:
        units["global_lr"] = r**2 / s
    for seed in range(5):
        case = case_for(seed, algorithm.name in ONE_CLIENT_A_ROUND)
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
    hyper, case, found = some_hyper(algorithm), case_for(1, algorithm.name in ONE_CLIENT_A_ROUND), set()
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
