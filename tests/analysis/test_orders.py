"""The order that stands beside a bound, as text, is the order of its right-hand side."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import sympy
from sympy.parsing.sympy_parser import convert_xor, implicit_multiplication, parse_expr, standard_transformations

from analysis.letters import letters_of, symbols_of
from fltheory.ledger import Bound, ledger

HOW = (*standard_transformations, implicit_multiplication, convert_xor)
# What the orders call by another name than the legend of their claim: text -> code name.
SPELT = {
    "calF": "initial_gap", "gap": "initial_gap", "delta^2(P)": "interval_divergence^2",
    "Psi_G": "objective_gradient_bound^2",
}  # fmt: skip
# Orders in the letters of the bound, without a step or an accuracy to be chosen.
PLAIN = (
    "amplified.thm31", "amplified.cor32", "amplified.cor33", "amplified.cor43", "amplified.cor48",
    "fast.thm1", "fast.cor1", "fast.cor2", "fedamd.cor45.repaired", "fedau.lemB31", "fedau.thm2",
    "fedlaavg.cor1", "fedlaavg.thm2.final",
)  # fmt: skip
# What an order need not name: constants of the problem, and of the step size.
CONSTANTS = (
    "initial_gap", "smoothness", "noise_std", "heterogeneity", "step_constant", "block_staleness", "example_gradient",
    "start_distance",
)  # fmt: skip
SHARES = ("snapshot_rate", "selected_share")  # numbers from 0 to 1
ROOM = 1000  # constants of the bounds and what numbers that are at least 1 hide, against letters over 40 decades


def written(text: str, symbols: dict[str, sympy.Symbol], letters: dict[str, str]) -> sympy.Expr:
    """The order as an expression in the symbols of the bound."""
    for spelt, name in SPELT.items():
        text = re.sub(rf"(?<!\w){re.escape(spelt)}(?!\w)", f"({name})", text)
    known = symbols | {letter: symbols[name] for name, letter in letters.items()}
    order = parse_expr(re.sub(r"\bO\(", "(", text), local_dict=known, transformations=HOW)
    assert order.free_symbols <= set(symbols.values()), order
    return order


def agrees(bound: Bound, order: sympy.Expr) -> bool:
    """Whether the bound is within constants of the order at random values; a constant that it does not name is 1."""
    symbols, rng = sorted(bound.rhs.free_symbols | order.free_symbols, key=str), np.random.default_rng(0)

    def values(symbol: sympy.Symbol) -> Any:
        if symbol.name in CONSTANTS and symbol not in order.free_symbols:
            return 1.0
        if symbol.name in SHARES:
            return rng.random(2000)
        return 10 ** rng.uniform(0 if symbol.is_integer else -20, 20, 2000)

    at = [*map(values, symbols)]
    ratio = sympy.lambdify(symbols, bound.rhs)(*at) / sympy.lambdify(symbols, order)(*at)
    return bool(np.all((ratio > 1 / ROOM) & (ratio < ROOM)))


@pytest.mark.parametrize("id_", PLAIN)
def test_the_order_is_that_of_the_bound_and_no_other(id_: str) -> None:
    claim = ledger[id_]
    bound = claim.bound
    assert bound is not None
    symbols = symbols_of((*claim.parts, *claim.mentions))
    order = written(bound.order, symbols, letters_of(claim, symbols))
    assert agrees(bound, order)
    for letter in (symbol for symbol in order.free_symbols if symbol.name not in SHARES):
        for power in (*([0] if letter.name not in CONSTANTS else []), sympy.Rational(1, 2), 2):
            assert not agrees(bound, order.subs(letter, letter**power)), (letter, power)
