"""The order that stands beside a bound, as text, is the order of its right-hand side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sympy
from sympy.codegen.cfunctions import log1p
from sympy.parsing.sympy_parser import convert_xor, implicit_multiplication, parse_expr, standard_transformations

from analysis.letters import letters_of, symbols_of
from fltheory.ledger import Claim, ledger
from fltheory.papers.fedamd.setting import anchor_period, subsampled
from fltheory.papers.fedau.setting import interval_variance
from fltheory.symbols import cohort_size, global_lr, local_lr, n_clients, rate, rounds

HOW = (*standard_transformations, implicit_multiplication, convert_xor)
# What the orders call by another name than the legend of their claim: text -> what it is in code names.
SPELT = {
    "calF": "initial_gap", "gap": "initial_gap", "(F(x_0) - F_*)": "initial_gap", "delta^2(P)": "interval_divergence^2",
    "1{b<n}": "subsampled", "b'": "batch_size",
}  # fmt: skip
LOG = sympy.Symbol("log_rounds", integer=True, positive=True)  # stands for the logarithm of a number of rounds
OVER_LOG = sympy.Symbol("over_log", positive=True)  # R of Corollary 4 of FedAU
R = "(1/(2 log(1/(1 - min_rate))))"
ALSO_SPELT = {
    "fedamd.thm44.repaired": {"T": "miner_rounds"},  # between half of all rounds and all of them
    "fedamd.thm411.improved": {"kappa": "(smoothness/polyak_lojasiewicz)"},
    "fedau.cor4": {"Psi_G": "objective_gradient_bound^2", "R": "over_log"},
    "fedau.lemB71": {"R": R},
    "fedau.thm2": {"Psi_G": "objective_gradient_bound^2"},
    "fedau.thm2.option1": {"Psi_G": "0"},  # smaller than its order: Option 1 does not need bounded gradients
    "fedau.thm3": {"(1/N) sum (1-p_n)": "(1-p)"},  # of one client
}
# In the letters of the bound, without a step or an accuracy to be chosen.
PLAIN = (
    "amplified.thm31", "amplified.cor32", "amplified.cor33", "amplified.cor43", "amplified.cor48",
    "amplified.cor32.attained", "fast.thm1", "fast.cor1", "fast.cor2", "fedamd.thm44.order", "fedamd.thm44.repaired",
    "fedamd.cor45.repaired", "fedamd.cor45.repaired-B", "fedamd.cor45.attained", "fedamd.cor45.attained-B",
    "fedau.lemB31", "fedau.lemB71", "fedau.lemB71.improved", "fedau.thm2", "fedau.thm2.option1", "fedau.thm3",
    "fedau.thm3.improved", "fedau.cor4", "fedlaavg.cor1", "fedlaavg.thm2.final", "fedlaavg.thm2.attained",
    "fedlaavg.thm3.full", "fedlaavg.thm4",
)  # fmt: skip
# Rounds until the bound, but for its noise, is eps: at the largest step that the conditions allow.
UNTIL = (
    "fedamd.cor45.repaired-C", "fedamd.thm46", "fedamd.thm48", "fedamd.cor49", "fedamd.cor49.repaired",
    "fedamd.thm411", "fedamd.thm411.improved",
)  # fmt: skip
NOT_TIED = {
    "amplified.law.cyclic": "an order for small steps; the value itself levels off",
    "fedamd.cor412": "at its p a difference of nearly equal numbers; its step is one of Theorem 4.11, which is tied",
    "fedau.thmB41": "no order: a level that is reached",
    "fedlaavg.thm4.rate": "names the equation of its right-hand side",
}
_PROBLEM, _EXAMPLE = ("initial_gap", "smoothness"), ("block_staleness", "example_gradient", "start_distance")
# What an order leaves out as constant: of the problem, and of the step size.
LEFT_OUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("fast.cor1", "fast.cor2"), (*_PROBLEM, "noise_std", "heterogeneity", "step_constant")),
    **dict.fromkeys(("fedlaavg.thm2.final", "fedlaavg.thm2.attained"), _EXAMPLE),
    "fedlaavg.thm3.full": (*_PROBLEM, "noise_std"),
    "fedamd.thm44.order": ("order_constant",),
    **dict.fromkeys(("fedamd.cor45.repaired-C", "fedamd.thm46", "fedamd.thm48"), _PROBLEM),
    **dict.fromkeys(("fedamd.cor49", "fedamd.cor49.repaired"), (*_PROBLEM, "thinning")),
    "fedamd.thm411": ("smoothness",),
}
SHARES = ("snapshot_rate", "selected_share", "subsampled")  # numbers from 0 to 1
RATES = ("rate", "min_rate", "anchor_probability")
TO_ONE = ("fedamd.thm48", "fedamd.thm411", "fedamd.thm411.improved")  # orders that are right for rates near 1 too
LATE = ("fedamd.cor45.repaired-B", "fedamd.cor45.attained-B")  # of the slowest term, after sufficiently many rounds
_DRIFT = "heterogeneity**2*local_lr**2*local_steps**2*smoothness**2*(120 - 60*snapshot_rate)"
# (claim, what is left out) -> why the order is the same without it.
SAME = {
    ("fast.thm1", "-60*snapshot_rate of 120 - 60*snapshot_rate"): "the sum is between 60 and 120",
    ("fast.thm1", "snapshot_rate in -60*snapshot_rate"): "the sum is between 60 and 120",
    ("fast.thm1", f"120 - 60*snapshot_rate in {_DRIFT}"): "between 60 and 120",
    ("fedamd.thm46", "1 of 2*anchor_period*n_clients/cohort_size + 1"): "the other term is at least 4",
    ("fedamd.thm46", "-1 of anchor_period - 1"): "between tau/2 and tau",
}
QUARTER = sympy.Rational(1, 4)  # the smallest power that orders of the papers differ by
DRAWS = 5000
ROOM = 1000  # constants of the bounds and what numbers that are at least 1 hide, against letters over 40 decades


def right_side(claim: Claim) -> sympy.Expr:
    """What the order is the order of."""
    assert claim.bound is not None
    rhs = claim.bound.rhs
    if claim.id == "fedlaavg.thm3.full":
        return rhs.subs(local_lr, claim.formulas["step"])
    if claim.id == "fedau.cor4":  # the weight error is of the order of Lemma B.7.1, which is tied by itself
        return rhs.subs(ledger["fedau.lemB71"].bound.rhs, OVER_LOG * sympy.log(rounds) ** 2 / rounds)
    if claim.id == "fedlaavg.thm4":  # with `step` and the staleness inserted
        return right_side(ledger["fedlaavg.thm4.rate"])
    if claim.id == "fedau.thm3.improved":  # of a client that participates independently
        return rhs.subs(interval_variance, (1 - rate) / rate**2)
    if claim.id not in UNTIL:
        return rhs
    descent = rhs.subs({subsampled: 0, sympy.floor(rounds / anchor_period): rounds / anchor_period})
    powers = [power for power in descent.atoms(sympy.Pow) if power.exp == rounds]
    needed = 1 / (1 - powers[0].base) if powers else descent * rounds
    steps = [part for part in claim.conditions.values() if part.lhs.has(global_lr)]
    assert bool(steps) == needed.has(global_lr)
    return needed.subs(global_lr, sympy.Min(*(global_lr * part.rhs / part.lhs for part in steps))) if steps else needed


def written(text: str, claim: Claim) -> sympy.Expr:
    """The order as an expression in the symbols of the bound."""
    text = text.partition(" with b = ")[0].removeprefix("T = ")
    text = re.sub(r"[/ ]eps\b", "", text.replace(" log(1/eps)", ""))
    return in_symbols(re.sub(r"\blog(\^2)? T\b", r"log(T)\1", text), claim)


def in_symbols(text: str, claim: Claim) -> Any:
    """A formula or a relation in the letters of a claim as an expression in its symbols."""
    symbols = symbols_of((*claim.parts, *claim.mentions)) | {OVER_LOG.name: OVER_LOG}
    for spelt, name in (SPELT | ALSO_SPELT.get(claim.id, {})).items():
        text = re.sub(rf"(?<!\w){re.escape(spelt)}(?!\w)", f"({name})", text)
    known = symbols | {letter: symbols[name] for name, letter in letters_of(claim, symbols).items()}
    found = parse_expr(re.sub(r"\bO\(", "(", text), local_dict=known, transformations=HOW)
    assert found.free_symbols <= set(symbols.values()), found
    return found.subs(sympy.log(rounds), LOG)


def agrees(claim: Claim, order: sympy.Expr) -> bool:
    """Whether the bound is within constants of the order at random values; a constant that is left out is 1.

    No logarithm of a float is large: that of the number of rounds is a letter of its own, and at least 1.
    """
    if order.has(sympy.zoo):
        return False
    rhs, order = (_of_small_rates(side.subs(sympy.log(rounds), LOG)) for side in (right_side(claim), order))
    symbols, rng = sorted(rhs.free_symbols | order.free_symbols, key=str), np.random.default_rng(0)

    def values(symbol: sympy.Symbol) -> Any:
        if symbol.name in LEFT_OUT.get(claim.id, ()):
            return 1.0
        small, near_1 = 10 ** rng.uniform(-20, -0.5, DRAWS), 1 - 10 ** rng.uniform(-10, -0.5, DRAWS)
        if symbol.name in SHARES or (symbol.name in RATES and claim.id in TO_ONE):
            return np.where(rng.random(DRAWS) < 0.5, small, near_1)
        if symbol.name in RATES:
            return small
        if symbol == rounds and claim.id in LATE:
            return 10 ** rng.uniform(90, 110, DRAWS)
        wide = rng.uniform(0 if symbol.is_integer else -20, 60 if symbol == rounds else 20, DRAWS)
        # some of them moderate, so that each term dominates somewhere
        return (1 + (symbol == anchor_period)) * 10 ** np.where(rng.random(DRAWS) < 0.25, 0, wide)

    at = {symbol: values(symbol) for symbol in symbols}
    if cohort_size in at and n_clients in at:
        at[n_clients] = at[n_clients] * at[cohort_size]  # a cohort is no larger than all clients
    with np.errstate(all="ignore"):
        ratio = sympy.lambdify(symbols, rhs)(*at.values()) / sympy.lambdify(symbols, order)(*at.values())
        return bool(np.all((ratio > 1 / ROOM) & (ratio < ROOM)))


def left_out(order: sympy.Expr) -> Iterator[tuple[str, sympy.Expr]]:
    """The order without a summand of one of its sums, without a factor of one summand, or of the whole."""
    for total in sorted(order.atoms(sympy.Add), key=str):
        for term in total.args:
            yield f"{term} of {total}", order.xreplace({total: total - term})
            for factor in _factors(term):
                yield f"{factor} in {term}", order.xreplace({total: total - term + term / factor})
    if not order.is_Add:
        yield from ((str(factor), order / factor) for factor in _factors(order))


def _factors(term: sympy.Expr) -> list[sympy.Expr]:
    return [factor for factor in sympy.Mul.make_args(term) if factor.free_symbols]


def _of_small_rates(expression: sympy.Expr) -> sympy.Expr:
    """log(1/(1 - p)) without the rounding of 1 - p."""
    return expression.replace(sympy.log, lambda of: -log1p(1 / of - 1))


def test_every_order_is_tied_or_has_a_reason() -> None:
    with_order = {claim.id for claim in ledger.values() if claim.bound is not None and claim.bound.order}
    assert sorted(with_order) == sorted((*PLAIN, *UNTIL, *NOT_TIED))


@pytest.mark.parametrize("id_", [*PLAIN, *UNTIL])
def test_the_order_is_that_of_the_bound_and_no_other(id_: str) -> None:
    claim = ledger[id_]
    assert claim.bound is not None
    order = written(claim.bound.order, claim)
    assert agrees(claim, order)
    assert {s.name for s in right_side(claim).free_symbols - order.free_symbols} >= set(LEFT_OUT.get(id_, ()))
    for letter in order.free_symbols:
        for power in (0, sympy.Rational(1, 2), 2):
            assert not agrees(claim, order.subs(letter, letter**power)), (letter, power)
        for power in (-QUARTER, QUARTER):
            assert not agrees(claim, order * letter**power), (letter, power)


@pytest.mark.parametrize("id_", [*PLAIN, *UNTIL])
def test_what_is_left_out_of_a_summand_is_noticed(id_: str) -> None:
    claim = ledger[id_]
    assert claim.bound is not None
    missed = {what for what, false in left_out(written(claim.bound.order, claim)) if agrees(claim, false)}
    assert missed == {what for where, what in SAME if where == id_}


@pytest.mark.parametrize(
    ("id_", "false"),
    [
        ("fedlaavg.thm3.full", "O(1/(N T))"),
        ("fedau.lemB71", "O(R log T / T)"),
        ("fedamd.thm44.repaired", "O(gap/(eta_s eta_l K T)) + O((eta_s + eta_l K L) eta_l K L 1{b<n} sigma^2/(M b))"),
        ("fedamd.thm411", "T = O(1/(mu (1-p^A)) (1 + M/(A p) + M mu (1-p^A)/(A p)) log(1/eps))"),
        ("fedamd.thm411", "T = O(1/(mu (1-p^A)) (1 + M/(mu A p)) log(1/eps))"),
        ("fedamd.thm411.improved", "T = O((1/(1-p^A)) log(1/eps))"),
    ],
)  # fmt: skip
def test_a_false_order_is_noticed(id_: str, false: str) -> None:
    assert not agrees(ledger[id_], written(false, ledger[id_]))


def test_a_false_power_of_a_logarithm_among_other_terms_is_noticed() -> None:
    claim = ledger["fedau.cor4"]
    assert claim.bound is not None
    false = claim.bound.order.replace("R log^2 T/T", "R log T/T")
    assert false != claim.bound.order
    assert not agrees(claim, written(false, claim))
