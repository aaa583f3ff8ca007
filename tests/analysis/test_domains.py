"""Every domain draws, steps and simplifies within itself, and simplifying ends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from analysis.domains import Choice, Domain, Real, Several, Whole
from fltheory.errors import InputError

DOMAINS: list[Domain] = [
    Whole(1, 1),
    Whole(-3, 1000),
    Real(-1, 2),
    Real("1/1000", 10, log=True),
    Choice((1, "a", (2, 3))),
    Several(Whole(0, 9), 0, 4),
    Several(Real(0, 1), 2, 2),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_values_stay_inside(domain: Domain) -> None:
    rng = np.random.default_rng(0)
    value = domain.draw(rng)
    for _ in range(300):
        assert domain.contains(value)
        assert domain.contains(domain.exact(value))
        value = domain.near(value, rng)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_simplifying_ends_inside(domain: Domain) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        value, steps = domain.exact(domain.draw(rng)), 0
        while (simpler := next(iter(domain.simpler(value)), None)) is not None:
            assert domain.contains(simpler)
            value, steps = simpler, steps + 1
            assert steps < 200


def test_every_whole_number_is_reached() -> None:
    rng = np.random.default_rng(2)
    assert {Whole(5, 9).draw(rng) for _ in range(500)} == set(range(5, 10))


def test_exact_is_near() -> None:
    assert Real(0, 1).exact(1 / 3) == Fraction(1, 3)
    assert Real("1/3", 1).exact(float(Fraction(1, 3))) >= Fraction(1, 3)


@pytest.mark.parametrize("value", [True, 1.0, 11, "1"])
def test_what_is_no_whole_number(value: object) -> None:
    assert not Whole(1, 10).contains(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Whole(2, 1),
        lambda: Real(1, 1),
        lambda: Real(0, 1, log=True),
        lambda: Choice(()),
        lambda: Several(Whole(0, 1), 2, 1),
    ],
)
def test_empty_domains_are_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]
