"""Finding algorithms by name, what they cost, the objectives of weighting rules, and CONTRIBUTING's new algorithm."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims import preflight
from sims.algorithms import Costs, algorithms, costs, implicit_weights
from sims.algorithms.amplified import wait_full
from sims.algorithms.fedamd import fedamd, fedamd_massive
from sims.algorithms.fedavg import fedavg
from sims.algorithms.fedlaavg import fedlaavg
from sims.algorithms.mifa import mifa
from sims.algorithms.objectives import RULES
from sims.algorithms.scaffold import scaffold
from sims.experiment import parse
from sims.testing import check_algorithm
from sims.weighting import RULES as RULES_OF_THE_ROUND_LOOP
from tests.sims.algorithms import test_backends as backends

EXAMPLE = """\
# FedAvg, one round late: the server applies the mean update that arrived in the round before.
from dataclasses import dataclass

from fltheory.errors import count
from sims.algorithms.arguments import positive
from sims.algorithms.protocol import Algorithm, State, Work, mean


@dataclass(frozen=True)
class Hyper:
    local_lr: float  # or a Fraction
    local_steps: int = 1


def init(hyper, x0, n_clients):
    positive(local_lr=hyper.local_lr)
    count("local_steps", hyper.local_steps)
    return State({"x": x0, "pending": 0 * x0})


def work(state, cohort, hyper):
    return Work(state.linear["x"], hyper.local_steps, hyper.local_lr)


def apply(state, cohort, local, hyper):
    return State({"x": state.linear["x"] + state.linear["pending"], "pending": mean(local.delta, cohort.valid)})


late = Algorithm("late", "my draft", Hyper, init, work, apply, server_vectors=lambda n_clients: 2)
"""

SMALL = {
    "kind": "simulate",
    "rounds": 3,
    "replicates": 2,
    "problem": {"name": "quadratic", "curvature": [1, 2]},
    "process": {"name": "bernoulli", "p": 0.5},
}


def test_every_algorithm_is_registered_under_its_name() -> None:
    registered = algorithms()
    assert {name: registered.get(name) for name in backends.found()} == backends.found()


def install(folder: Path, entry: str) -> None:
    info = folder / "mypaper-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypaper\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[fltheory.algorithms]\n{entry}\n")


@pytest.fixture
def foreign_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, as if a package were installed there."""
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "mypaper_late", raising=False)
    return tmp_path


def test_a_new_algorithm_is_a_module_under_30_lines_and_one_entry_point(foreign_package: Path) -> None:
    assert len(EXAMPLE.splitlines()) < 30
    (foreign_package / "mypaper_late.py").write_text(EXAMPLE)
    install(foreign_package, "late = mypaper_late:late")
    late = algorithms()["late"]
    assert costs(late, 10, 100) == Costs(1600, 0, 1, 1)
    check_algorithm(late)
    above, whole = "a finite number above 0", "a whole number of at least 1"
    for wrong, allowed in (
        ({"local_lr": -1}, above),
        ({"local_lr": "a"}, above),
        ({"local_lr": 0.1, "local_steps": -2}, whole),
        ({"local_lr": 0.1, "local_steps": 2.5}, whole),
    ):
        with pytest.raises(InputError, match=rf"^{list(wrong)[-1]} must be {allowed}; got "):
            parse({**SMALL, "algorithm": {"name": "late", **wrong}})
    preflight.check(parse({**SMALL, "algorithm": {"name": "late", "local_lr": 0.1}}))


def test_contributing_shows_this_example() -> None:
    page = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert EXAMPLE in page


def test_an_entry_point_that_cannot_be_loaded_is_named(foreign_package: Path) -> None:
    install(foreign_package, "broken = mypaper_late:nothing")
    with pytest.raises(InputError, match=r"'broken' of fltheory\.algorithms"):
        algorithms()


def test_costs_in_bytes() -> None:
    """Vectors a round as in FedAMD's Table 2 (its miners' 3), memory by hand: 44426 parameters of 4 bytes."""
    vector = 4 * 44426
    assert costs(fedavg, 100, 44426, 4) == Costs(vector, 0, 1, 1)
    assert costs(scaffold, 100, 44426, 4) == Costs(2 * vector, vector, 2, 2)
    assert costs(fedamd, 100, 44426, 4) == Costs(101 * vector, 0, 2, 1)
    assert costs(fedamd_massive, 100, 44426, 4) == Costs(2 * vector, vector, 2, 1)
    count = 8
    assert costs(mifa, 100, 44426, 4) == Costs(101 * vector + 100 * count, 0, 1, 1)  # who was seen
    assert costs(fedlaavg, 100, 44426, 4) == Costs(2 * vector + 101 * count, vector, 1, 1)  # ages and the refresh
    assert costs(wait_full, 100, 44426, 4) == Costs(vector + count, vector + count, 1, 1)  # rounds; gradients taken
    for name, bad in (("n_clients", (0, 1, 1)), ("dimension", (1, 0, 1)), ("itemsize", (1, 1, 0))):
        with pytest.raises(InputError, match=name):
            costs(fedavg, *bad)


# Which objective a weighting rule minimises.

WITNESS = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
rates = st.lists(st.fractions(Fraction(1, 50), 1, max_denominator=50), min_size=1, max_size=6)


def enumerated(chances: list[Fraction]) -> list[Fraction]:
    """E[1{n in S} / |S|] over all cohorts S."""
    shares = [Fraction(0)] * len(chances)
    for cohort in itertools.product((0, 1), repeat=len(chances)):
        probability = math.prod(
            (p if taken else 1 - p for p, taken in zip(chances, cohort, strict=True)), start=Fraction(1)
        )
        for n in np.nonzero(cohort)[0]:
            shares[n] += probability / sum(cohort)
    return shares


@pytest.mark.parametrize(
    ("rule", "cutoff", "minimum"),
    [
        ("known_rates", math.inf, Fraction(8, 7)),
        ("average_all", math.inf, Fraction(76, 47)),
        ("average_participating", math.inf, Fraction(1076, 631)),
        ("fedau", 5, Fraction(855916, 634697)),
        ("exponential_average", 5, Fraction(855916, 634697)),
        ("fedau", math.inf, Fraction(8, 7)),
    ],
)
def test_the_minimum_that_each_rule_finds(rule: str, cutoff: float, minimum: Fraction) -> None:
    """Three clients a_n (x - b_n)^2 / 2 that take part at .1, .5, .9: what small steps converge to in the mean."""
    a, b = np.array([1, 2, 4]), np.array([-1, Fraction(1, 2), 2], dtype=object)
    for given_rates, kind in ((WITNESS, Fraction), ([float(p) for p in WITNESS], float)):
        phi = implicit_weights(rule, given_rates, cutoff)
        found_minimum = (phi * a * b).sum() / (phi * a).sum()
        assert isinstance(phi[0], kind)
        assert found_minimum == (minimum if kind is Fraction else pytest.approx(float(minimum), rel=1e-14))


@given(chances=rates)
def test_average_participating_is_what_enumeration_of_cohorts_gives(chances: list[Fraction]) -> None:
    exact = implicit_weights("average_participating", chances)
    assert list(exact) == enumerated(chances)
    assert sum(exact) == 1 - math.prod(1 - p for p in chances)
    floating = implicit_weights("average_participating", [float(p) for p in chances])
    np.testing.assert_allclose(floating, exact.astype(float), rtol=1e-13)


def test_average_participating_with_many_clients() -> None:
    """1000 equal rates p: (1 - (1-p)^N) / N each. Some 30 rounded operations a client law, all terms positive."""
    p, n = 0.01, 1000
    np.testing.assert_allclose(implicit_weights("average_participating", [p] * n), (1 - (1 - p) ** n) / n, rtol=1e-12)


@pytest.mark.parametrize("p", [1e-12, 0.3, 1.0])
def test_fedau_keeps_its_digits_at_small_rates(p: float) -> None:
    exact = implicit_weights("fedau", [Fraction(p)], 3)[0]
    assert implicit_weights("fedau", [p], 3)[0] == pytest.approx(float(exact), rel=1e-14)


def test_the_rules_are_those_of_the_round_loop() -> None:
    assert set(RULES) == set(RULES_OF_THE_ROUND_LOOP)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("fedavg", [0.5]), "rule"),
        (("fedau", [0.5, 0]), "rates"),
        (("fedau", [float("nan")]), "rates"),
        (("fedau", []), "rates"),
        (("fedau", 0.5), "rates"),
        (("fedau", [0.5], 0), "cutoff"),
    ],
)
def test_bad_input_is_named(arguments: tuple[Any, ...], named: str) -> None:
    with pytest.raises(InputError, match=named):
        implicit_weights(*arguments)
