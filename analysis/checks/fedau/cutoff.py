"""Checks of Appendix B.7: the choice of K."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import sympy
from sympy import Rational, Symbol

from analysis.checks import CheckBook, Depth, mutate, put, times, without
from analysis.checks.certificates import Fact, at_most_one, chain, identity, nonnegative
from analysis.checks.fedau.quadratics import independent
from analysis.checks.tools import SLACK, gives, made_with, rests_on
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import stated
from fltheory.ledger import Bound, Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import T
from fltheory.symbols import min_rate
from fltheory.weights import exact_weight_law

checks = CheckBook()


# The least K whose bias (1 - p_min)^(2K) is at most 1/T.
SMALLEST = sympy.ceiling(sympy.log(T) / (2 * sympy.log(1 / (1 - min_rate))))


def smallest_cutoff(claim: Claim) -> Fact:
    """The claim's K is the one that its statement describes."""
    return Fact("K = ceil(log_c T) with c = 1/(1 - p_min)^2", claim.formulas["cutoff"] == SMALLEST)


def _at_this_cutoff(claim: Claim, needed: Any) -> list[Fact]:
    """K < log_c T + 1 and (1 - p)^(2K) <= 1/T in a bound on the weight error, which gives `needed`/T."""
    assert claim.bound is not None
    logarithm, rate = sympy.Dummy("log T", nonnegative=True), at_most_one()
    inverse = sympy.Dummy("1/log c", positive=True)
    letters = {sympy.log(T): logarithm, sympy.log(1 / (1 - min_rate)): 1 / (2 * inverse)}
    room = (claim.bound.rhs * T - needed).subs(letters).subs({min_rate: rate})
    return [
        Fact("T >= 2 is stated", gives(claim, T >= 2)),
        smallest_cutoff(claim),
        nonnegative("the bound covers Theorem 3 at this K", room),
    ]


def cutoff_at(formula: Any, rate: float, rounds: int) -> int:
    """Corollary 4's K from the claim's own formula, in exact arithmetic on the given binary rate."""
    value = formula.subs({min_rate: Rational(rate), T: rounds})
    return int(value.evalf(40)) if value.is_number and not value.has(sympy.zoo, sympy.nan) else 0


def _choices(depth: Depth) -> Iterable[tuple[float, int]]:
    rates, horizons = _grid(depth)
    return ((rate, horizon) for rate in rates for horizon in horizons)


def _grid(depth: Depth) -> tuple[tuple[float, ...], tuple[int, ...]]:
    if depth == "quick":
        return (0.02, 0.1, 0.5, 0.9, 1 - 1e-6), (2, 10, 1000)
    return (0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-6), (2, 3, 10, 30, 100, 300, 1000)


def _domain(depth: Depth) -> str:
    rates, horizons = _grid(depth)
    return f"p_min in {{{', '.join(f'{r:.7g}' for r in rates)}}}, T in {{{', '.join(map(str, horizons))}}}"


def _chosen(claim: Claim, depth: Depth) -> Tally:
    """The exact average error at the chosen K, of the slowest client and of faster ones, against the bound."""
    assert claim.bound is not None
    tally = Tally(slack=SLACK)
    for slowest, horizon in _choices(depth):
        cutoff = cutoff_at(claim.formulas["cutoff"], slowest, horizon)
        right = claim.bound.at(min_rate=slowest, rounds=horizon)
        for rate in (slowest, (1 + slowest) / 2):
            where = {"p": rate, "p_min": slowest, "T": horizon, "K": cutoff}
            if cutoff < 1:
                tally.holds(False, **where)
            else:
                tally.at_most(float(exact_weight_law(rate, cutoff, horizon).error.mean()), right, **where)
    return tally


CUTOFF_MUTANTS = [
    times("cutoff", Rational(13, 10)),
    mutate("cutoff", "log_c of sqrt(T), halved", lambda e: sympy.ceiling(e.args[0] / 8)),
    mutate("cutoff", "one", lambda e: sympy.Integer(1)),
]


@checks(
    fedau.lemB71,
    mutants=[
        times("bound", Rational(1, 20)),
        times("bound", 1 / T),
        times("published order", 1 / T),
        times("published order", 1 / sympy.log(T)),
        *(times("published order", sympy.log(1 / (1 - min_rate)) ** power) for power in (1, -1, 3)),
        mutate("bound", "without the bias", lambda e: e - 1 / T),
        times("cutoff", Rational(13, 10)),
        without("rounds"),
    ],
)
def chosen_cutoff(claim: Claim, depth: Depth) -> Evidence:
    """The explicit bound on the grid; at p_min = 1 there is no K >= 1. Near it, where R tends to 0, the explicit bound
    is no fixed multiple of the order, but the error keeps below one."""
    log_T, log_c = sympy.log(T), 2 * sympy.log(1 / (1 - min_rate))
    order = Bound("", claim.formulas["published order"])
    proof = chain(_at_this_cutoff(claim, (3 + 2 * log_T) * (log_T / log_c + 1) + 1), "")
    if proof.verdict != "proved":
        return proof
    found = _chosen(claim, depth)
    # The hidden constant of O(.): what the explicit bound is of the published order for large T, at every p_min.
    inverse, x = Symbol("R", positive=True), Symbol("log T", positive=True)
    letters = {sympy.log(1 / (1 - min_rate)): 1 / (2 * inverse), sympy.log(T): x}
    multiple = (claim.bound.rhs / claim.formulas["published order"]).subs(letters).subs(T, sympy.exp(x))  # type: ignore[union-attr]
    constant = sympy.limit(multiple, x, sympy.oo)
    if not (constant.is_Rational and constant > 0):  # infinite, 0, or with R in it
        return Evidence("not checked", "algebra", "the explicit bound is not of the published order")
    shares = [
        float(exact_weight_law(rate, cutoff_at(claim.formulas["cutoff"], rate, horizon), horizon).error.mean())
        / order.at(min_rate=rate, rounds=horizon)
        for rate, horizon in (*_choices(depth), *((1 - 10.0**-k, 2) for k in (9, 12, 15)))
    ]
    told = f"The error is at most {max(shares):.3g} times the published order wherever it was computed."
    if sympy.limit(multiple, inverse, 0) == sympy.oo:
        near = 1 - 1e-12
        hidden = claim.bound.at(min_rate=near, rounds=1000) / order.at(min_rate=near, rounds=1000)  # type: ignore[union-attr]
        told += (
            f" The explicit bound is {constant} times it for large T, but near min p_n = 1 no fixed multiple of it: "
            f"{hidden:.1f} times at T = 1000, min p_n = 1 - 1e-12."
        )
    at_one = Tally(sides=("the least K that an estimator has", "ceil(log_c T)"))
    conditions = stated(claim, {"rounds": 1000, "min_rate": 1}) | independent(claim, 1)
    cutoff = cutoff_at(claim.formulas["cutoff"], 1.0, 1000)
    at_one.at_most(1, cutoff, p_min=1, T=1000, **conditions)
    return conditional(
        at_one,
        found,
        "K >= 1, that is min p_n below 1",
        "exact grid",
        told,
        domain=f"{_domain(depth)}; p_min up to 1 - 1e-15 at T = 2",
    )


@checks(
    fedau.lemB71_improved,
    mutants=[
        times("bound", Rational(1, 6)),
        put("bound", min_rate, 1),
        *CUTOFF_MUTANTS,
        put("bound", 5, 1),
        put("bound", 2 * sympy.log(T), sympy.log(T)),
        without("rounds"),
        without("rates"),
    ],
)
@rests_on({"rates": min_rate < 1})
@made_with({"fedau.ass4": "the exact law is that of independent rounds"})
def chosen_cutoff_improved(claim: Claim, depth: Depth) -> Evidence:
    """The exact average error at Corollary 4's K against (2 log T + 5)/(p_min T).

    thm3.improved at this K, with p Var[S] <= (1 - p)/p and 2 log(1/(1-p_min)) >= 2 p_min, gives 2 log T + 2 for 2 log T
    + 5.
    """
    proof = chain(_at_this_cutoff(claim, (2 * sympy.log(T) + 2) / min_rate), "")
    if proof.verdict != "proved":
        return proof
    tally = _chosen(claim, depth)
    return tally.evidence(
        "exact",
        "exact grid",
        f"No violation; largest left/right ratio found {tally.largest:.3f}.",
        domain=_domain(depth),
        ratio=True,
    )


@checks(fedau.E7, mutants=CUTOFF_MUTANTS)
def bias_at_the_chosen_cutoff(claim: Claim, depth: Depth) -> Evidence:
    """With p_min known the bias is at most 1/T; a fixed K keeps a floor of (1-p)^(2K) for ever."""
    if not (written := smallest_cutoff(claim)).holds:
        return Evidence("not checked", "algebra", f"another cutoff than that of the text: {written.statement}")
    known = Tally(slack=SLACK)
    for slowest, horizon in _choices(depth):
        limit = float(claim.formulas["largest bias"].subs(T, horizon))
        cutoff = cutoff_at(claim.formulas["cutoff"], slowest, horizon)
        known.at_most((1 - slowest) ** (2 * cutoff), limit, p_min=slowest, T=horizon, K=cutoff)
    held = known.evidence("exact", "exact grid", "The bias is at most 1/T.", domain=_domain(depth), ratio=True)
    rate, horizon, fixed = 0.02, 100, 50
    floor, needed = (1 - rate) ** (2 * fixed), cutoff_at(claim.formulas["cutoff"], rate, horizon)
    if held.verdict != "exact" or floor <= 1 / horizon:
        return held
    return replace(  # a fixed K is outside the statement, whose own K needs what is unknown: no witness
        held,
        verdict="conditional",
        summary="K = ceil(log_c T) needs a lower bound on the smallest participation probability. It is "
        f"{needed} at T = {horizon}, p_min = {rate}; K = {fixed}, fixed without one, keeps a bias (1-p)^(2K) of "
        f"{floor:.4f} there for ever.",
        hypothesis="a lower bound on the smallest participation probability is known",
    )


@checks(
    fedau.E16,
    mutants=[
        mutate("printed step", "natural logarithm", lambda e: sympy.log(T) ** 2),
        put("order of the lemma", 2, 3),
        times("order of the lemma", 2),
        without("rounds"),
    ],
)
@rests_on({"rounds": T >= 2})
def of_the_order_of_the_lemma(claim: Claim, depth: Depth) -> Evidence:
    """1 <= log_2^2 T at T = 2, from where it grows; beside the logarithm of the lemma a constant factor."""
    printed, lemma = claim.formulas["printed step"], claim.formulas["order of the lemma"]
    of_the_lemma = fedau.lemB71.formulas["published order"] * 2 * sympy.log(1 / (1 - min_rate))
    ratio = sympy.simplify(printed / lemma)
    facts = [
        Fact("equality at T = 2", printed.subs(T, 2) == 1),
        Fact("the square of a logarithm, which grows", not (printed / sympy.log(T) ** 2).free_symbols),
        Fact("a number times the order of the lemma", not ratio.free_symbols),
        identity("that order, without R", of_the_lemma - lemma / T),
    ]
    factor = f"{float(ratio):.3g}" if facts[2].holds else ""
    return chain(facts, f"Equality at T = 2; {factor} times the order of the lemma.")
