"""The order that stands beside a bound, as text, is the order of its right-hand side."""

from __future__ import annotations

import re
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
    "1{b<n}": "subsampled", "kappa": "(smoothness/polyak_lojasiewicz)",
}  # fmt: skip
LOG = sympy.Symbol("log_rounds", integer=True, positive=True)  # stands for the logarithm of a number of rounds
R = "(1/(2 log(1/(1 - min_rate))))"
ALSO_SPELT = {
    "fedamd.thm44.repaired": {"T": "miner_rounds"},  # between half of all rounds and all of them
    "fedau.cor4": {"Psi_G": "objective_gradient_bound^2", "R": R},
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
# What an order need not name: constants of the problem, and of the step size.
CONSTANTS = (
    "initial_gap", "smoothness", "noise_std", "heterogeneity", "step_constant", "block_staleness", "example_gradient",
    "start_distance", "order_constant", "thinning",
)  # fmt: skip
SHARES = ("snapshot_rate", "selected_share", "subsampled")  # numbers from 0 to 1
RATES = ("rate", "min_rate", "anchor_probability")
TO_ONE = ("fedamd.thm48", "fedamd.thm411")  # orders that are right for rates near 1 too
LATE = ("fedamd.cor45.repaired-B", "fedamd.cor45.attained-B")  # of the slowest term, after sufficiently many rounds
QUARTER = sympy.Rational(1, 4)  # the smallest power that orders of the papers differ by
ROOM = 1000  # constants of the bounds and what numbers that are at least 1 hide, against letters over 40 decades


def right_side(claim: Claim) -> sympy.Expr:
    """What the order is the order of."""
    assert claim.bound is not None
    rhs = claim.bound.rhs
    if claim.id == "fedlaavg.thm3.full":
        return rhs.subs(local_lr, claim.formulas["step"])
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
    symbols = symbols_of((*claim.parts, *claim.mentions))
    text = text.partition(" with b = ")[0].removeprefix("T = ")
    text = re.sub(r"[/ ]eps\b", "", text.replace(" log(1/eps)", ""))
    text = re.sub(r"\blog(\^2)? T\b", r"log(T)\1", text)
    for spelt, name in (SPELT | ALSO_SPELT.get(claim.id, {})).items():
        text = re.sub(rf"(?<!\w){re.escape(spelt)}(?!\w)", f"({name})", text)
    known = symbols | {letter: symbols[name] for name, letter in letters_of(claim, symbols).items()}
    order = parse_expr(re.sub(r"\bO\(", "(", text), local_dict=known, transformations=HOW)
    assert order.free_symbols <= set(symbols.values()), order
    return order.subs(sympy.log(rounds), LOG)


def agrees(claim: Claim, order: sympy.Expr) -> bool:
    """Whether the bound is within constants of the order at random values; a constant that it does not name is 1.

    No logarithm of a float is large: that of the number of rounds is a letter of its own, and at least 1.
    """
    if order.has(sympy.zoo):
        return False
    rhs, order = (_of_small_rates(side.subs(sympy.log(rounds), LOG)) for side in (right_side(claim), order))
    symbols, rng = sorted(rhs.free_symbols | order.free_symbols, key=str), np.random.default_rng(0)

    def values(symbol: sympy.Symbol) -> Any:
        if symbol.name in CONSTANTS and symbol not in order.free_symbols:
            return 1.0
        if symbol.name in SHARES:
            return rng.random(2000)
        if symbol.name in RATES:
            small = 10 ** rng.uniform(-20, -0.5, 2000)
            near_1 = 1 - 10 ** rng.uniform(-10, -0.5, 2000)
            return np.where(rng.random(2000) < 0.5, small, near_1) if claim.id in TO_ONE else small
        if symbol == rounds and claim.id in LATE:
            return 10 ** rng.uniform(90, 110, 2000)
        return (1 + (symbol == anchor_period)) * 10 ** rng.uniform(0 if symbol.is_integer else -20, 20, 2000)

    at = {symbol: values(symbol) for symbol in symbols}
    if cohort_size in at and n_clients in at:
        at[n_clients] = at[n_clients] * at[cohort_size]  # a cohort is no larger than all clients
    with np.errstate(divide="ignore"):
        ratio = sympy.lambdify(symbols, rhs)(*at.values()) / sympy.lambdify(symbols, order)(*at.values())
    return bool(np.all((ratio > 1 / ROOM) & (ratio < ROOM)))


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
    for letter in (symbol for symbol in order.free_symbols if symbol.name not in SHARES):
        for power in (*([0] if letter.name not in CONSTANTS else []), sympy.Rational(1, 2), 2):
            assert not agrees(claim, order.subs(letter, letter**power)), (letter, power)
        for power in (-QUARTER, QUARTER):
            assert not agrees(claim, order * letter**power), (letter, power)


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
