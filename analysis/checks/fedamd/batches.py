"""Corollary 4.5: what the three batch settings make of Theorem 4.4, as printed and with restored units."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import sympy
from sympy import sqrt

from analysis.checks import CheckBook, Depth, times, without
from analysis.checks.certificates import Fact, chain, identity, nonnegative
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.searching import INDEPENDENT
from analysis.checks.tools import reading, rests_on
from analysis.evidence import Evidence
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import K, L, M, T, eta_l, eta_s, gap, sigma, tau

checks = CheckBook()
x = sympy.Symbol("x", positive=True)  # a square root of 1/T, so that orders are powers


@checks(
    fedamd.cor45,
    mutants=[
        times("first: bound times sqrt(T)", 2),
        times("third: first term times T", 2),
        without("first setting: product of steps"),
        without("second setting: product of steps"),
    ],
)
def orders_of_the_printed_settings(claim: Claim, depth: Depth) -> Evidence:
    """(47) at the printed step sizes with L = F(x_0) - F_* = 1: its leading terms, tau being a constant."""
    f, unit = claim.formulas, {L: 1, gap: 1, fedamd.subsampled: 1}

    def leading(setting: str, batch: Any) -> Any:
        rates = {eta_l: f[f"{setting} local step"], eta_s: f[f"{setting} global step"]}
        bound = fedamd.eq47.subs(rates, simultaneous=True).subs(unit).subs(fedamd.b, batch)
        return sympy.limit(sympy.simplify(bound.subs(T, 1 / x**2) / x), x, 0, "+")

    def asked(setting: str, name: str) -> Fact:
        limit: Any = fedamd.thm44.conditions["product of steps"]
        stated: Any = claim.conditions.get(f"{name} setting: product of steps")
        product = f[f"{name} local step"] * f[f"{name} global step"]
        same = stated is not None and stated.gts == limit.gts and sympy.simplify(stated.lts - product) == 0
        return Fact(f"{setting}: T is large enough for the step of Theorem 4.4", same)

    third = fedamd.eq47.subs({eta_l: f["third local step"], eta_s: f["third global step"]}, simultaneous=True)
    facts = [
        identity("b = 1", leading("first", 1) - f["first: bound times sqrt(T)"]),
        identity("b = K", leading("second", K) - f["second: bound times sqrt(T)"]),
        asked("b = 1", "first"),
        asked("b = K", "second"),
        identity("large b", third.subs(fedamd.subsampled, 0).subs(unit) * T - f["third: first term times T"]),
    ]
    found = chain(facts, "")
    if found.verdict != "proved":
        return found
    return Evidence(
        "conditional", "algebra", "The orders follow from (47), which holds for bounded tau.", found.domain, 3,
        hypothesis="tau is bounded, and F(x_0) - F_* and L count as constants", steps=found.steps,
    )  # fmt: skip


def _rates(claim: Claim) -> tuple[dict[Any, Any], Any]:
    """Step sizes and anchor batch of a repaired setting."""
    batch = {"-B": K, "-C": fedamd.b}.get(claim.id[-2:], 1)
    return {eta_l: claim.formulas["local_lr"], eta_s: claim.formulas["global_lr"]}, batch


def _from_theorem(claim: Claim) -> list[Fact]:
    """Theorem 4.4 as repaired, at the setting's step sizes and T (tau - 1)/tau miner rounds, is within the bound."""
    rates, batch = _rates(claim)
    theorem = fedamd.thm44_repaired
    at = {fedamd.miner_rounds: T * (tau - 1) / tau}
    full = rhs(theorem).subs(rates, simultaneous=True).subs(at).subs(fedamd.b, batch)
    bound = rhs(claim)
    if not claim.id.endswith("-C"):
        full, bound = full.subs(fedamd.subsampled, 1), bound.subs(fedamd.subsampled, 1)
    m = sympy.Dummy("period", nonnegative=True)  # tau = 2 + m
    names = (T, sigma, gap, L, M, K)
    plain = {name: sympy.Dummy(name.name, positive=True) ** 4 for name in names}  # roots become powers
    room = sympy.simplify((bound - full).subs(plain)).subs(tau, 2 + m)
    if not claim.id.endswith("-C"):
        room = sympy.expand(sympy.powdenest(sympy.simplify(room * sqrt(2 + m) * (1 + m)), force=True))
    return [nonnegative("Theorem 4.4 as repaired is within the bound", room)]


STEP_CONDITIONS = ("product of steps", "local step", "local step and noise")


def _conditions(claim: Claim) -> list[Fact]:
    """The setting's conditions are those of Theorem 4.4 at its step sizes."""
    rates, _ = _rates(claim)
    some = {name: sympy.Dummy(name.name, positive=True) for name in (gap, sigma)}  # at 0 there is nothing to do
    facts = [Fact("both step sizes are positive", all(rate.subs(some).is_positive for rate in rates.values()))]
    for name in STEP_CONDITIONS:
        theirs = fedamd.thm44_repaired.conditions[name]
        ratio = sympy.simplify((theirs.lhs / theirs.rhs).subs(rates, simultaneous=True))
        if claim.id.endswith("-C"):
            least = claim.conditions.get("local steps")
            if name != "local step and noise":
                facts.append(nonnegative(name, 1 - ratio))
            else:
                facts.append(Fact(name, least is not None and sympy.simplify(_least_steps(least) / K - ratio) == 0))
            continue
        ours = claim.conditions.get(name)
        if ours is None:
            return [Fact(f"{name} is stated", False)]
        stated = ours.lhs / ours.rhs
        power = next((k for k in (1, 2, 4) if sympy.simplify(stated - ratio**k) == 0), 0)
        facts.append(Fact(f"{name}: the stated condition is its power {power}", power > 0))
    return facts


def _least_steps(condition: Any) -> Any:
    """What K is at least, besides 1."""
    if condition.gts != K:
        return sympy.nan
    (largest,) = condition.atoms(sympy.Max)
    (steps,) = set(largest.args) - {1}
    return steps


HALF = times("bound", F(1, 2))
BACKWARDS = [times(step, -1) for step in ("local_lr", "global_lr")]
for _claim, _mutants in (
    (
        fedamd.cor45_repaired,
        [HALF, without("period"), *map(without, STEP_CONDITIONS), *BACKWARDS],
    ),
    (
        fedamd.cor45_repaired_b,
        [HALF, without("period"), *map(without, STEP_CONDITIONS), *BACKWARDS],
    ),
    (fedamd.cor45_repaired_c, [HALF, without("period"), without("local steps"), *BACKWARDS]),
):

    @checks(_claim, mutants=_mutants)
    @rests_on({"period": tau >= 2})
    @reading(INDEPENDENT)
    def from_the_repaired_theorem(claim: Claim, depth: Depth) -> Evidence:
        """Step sizes put into Theorem 4.4 as repaired."""
        facts = [*_conditions(claim), *_from_theorem(claim)]
        return chain(facts, "Theorem 4.4 as repaired at these step sizes, with T a multiple of tau.")
