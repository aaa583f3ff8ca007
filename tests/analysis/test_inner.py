"""Which falsifications inside a statement are tried: those that say more somewhere, and no others."""

from __future__ import annotations

from dataclasses import replace

from sympy import Rational

from fltheory.ledger import Bound, Paper
from fltheory.symbols import cohort_size, n_clients, noise_std, rate, rounds, smoothness
from tests.analysis import inner

CLAIM = Paper("inner", "A draft", edition="draft").claim(
    "thm1", "A bound", kind="theorem", where="1", words="It is small.",
    conditions={"many": n_clients >= 2, "cohort": cohort_size <= n_clients},
    bound=Bound("error", noise_std**2 / n_clients + rounds), formulas={"share": cohort_size / n_clients},
)  # fmt: skip


def test_exponents_that_make_a_bound_smaller() -> None:
    names = [mutant.name for mutant in inner.exponents(CLAIM)]
    assert names == [
        # 1/n_clients is small beside the rounds unless noise_std is large, and then a root of noise_std falsifies too
        "bound: n_clients -> n_clients^2",
        "bound: noise_std -> noise_std^1/2",
        "bound: noise_std -> noise_std^0",
        "bound: rounds -> rounds^1/2",
        "bound: rounds -> rounds^0",
        "share: cohort_size -> cohort_size^2",
        "share: cohort_size -> cohort_size^0",
        "share: n_clients -> n_clients^2",
        "share: n_clients -> n_clients^0",
    ]


def test_a_factor_of_two_falsifies_no_bound_that_need_not_be_tight() -> None:
    twofold = replace(CLAIM, conditions={}, bound=Bound("error", 1 + rate), formulas={})
    assert not list(inner.exponents(twofold))


def test_a_proved_bound_that_is_half_as_large_is_tried() -> None:
    chance = replace(CLAIM, conditions={}, bound=Bound("error", 1 / (1 - rate**3)), formulas={})
    assert not list(inner.exponents(chance))
    assert [mutant.name for mutant in inner.exponents(chance, inner.SMALL)] == ["bound: rate -> rate^2"]


def test_conditions_that_admit_more() -> None:
    conditions = {"many": n_clients >= 2, "four": n_clients >= 4, "cohort": cohort_size <= n_clients}
    names = [mutant.name for mutant in inner.loosened(replace(CLAIM, conditions=conditions), conditions)]
    assert names == [
        # twice the room of n_clients >= 2 is no condition any more, and n_clients^2 >= 2 admits no other whole number
        "four: twice the room",
        "four: n_clients -> n_clients^2",
        "cohort: twice the room",
        "cohort: n_clients -> n_clients^2",
    ]
    (wider, *_) = inner.loosened(replace(CLAIM, conditions=conditions), {"four": conditions["four"]})
    assert wider.apply(replace(CLAIM, conditions=conditions)).conditions["four"] == (2 * n_clients >= 4)


def test_each_summand_gets_the_wrong_sign() -> None:
    noise = noise_std**2 / n_clients
    formula = rounds * (1 + smoothness) - 1
    mutants = list(inner.flips(replace(CLAIM, formulas={"share": formula})))
    found = [mutant.apply(replace(CLAIM, formulas={"share": formula})) for mutant in mutants]
    bounds = [claim.bound.rhs for claim in found if claim.bound and claim.bound != CLAIM.bound]
    assert bounds == [noise - rounds, rounds - noise]
    assert {claim.formulas["share"] for claim in found} - {formula} == {
        formula + 2, formula - 2 * rounds * (1 + smoothness), rounds * (smoothness - 1) - 1,
        rounds * (1 - smoothness) - 1,
    }  # fmt: skip


def test_a_larger_bound_is_no_falsification_of_a_sign() -> None:
    partly = replace(CLAIM, bound=Bound("error", rounds * (2 - rate)), formulas={})
    assert [mutant.name for mutant in inner.flips(partly)] == ["bound: -(2) in 2 - rate"]


def test_each_summand_is_halved() -> None:
    bounds = [mutant.apply(CLAIM).bound for mutant in inner.halves(CLAIM)]
    noise = noise_std**2 / n_clients
    assert {bound.rhs.expand() for bound in bounds if bound} == {noise / 2 + rounds, noise + rounds / 2}


def test_attained_exponents_are_shifted_both_ways() -> None:
    one = replace(CLAIM, bound=Bound("error", smoothness * rounds), formulas={})
    bounds = [mutant.apply(one).bound for mutant in inner.shifted(one)]
    both = [smoothness * rounds ** Rational(3, 2), smoothness * rounds ** Rational(1, 2)]
    assert [bound.rhs for bound in bounds if bound] == both  # smoothness is no whole number
