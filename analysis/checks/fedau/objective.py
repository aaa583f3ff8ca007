"""Checks of sections 1 and 2: the objective, absorbed data weights, and what constant weights minimise."""

from __future__ import annotations

from fractions import Fraction as F

import sympy
from sympy import Symbol

from analysis.checks import CheckBook, Depth, mutate, put, times
from analysis.checks.tools import at, rational_sample
from analysis.evidence import Evidence, algebra
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import T, p
from fltheory.symbols import UNITS, global_lr, local_lr
from fltheory.units import UnitError, unit_of

checks = CheckBook()


@checks(fedau.eq1, mutants=[times("coefficient", 2), put("coefficient", fedau.N, fedau.N**2)])
def coefficients_average(claim: Claim, depth: Depth) -> Evidence:
    """N equal coefficients of an average sum to one."""
    steps = [Step("N coefficients sum to 1", fedau.N * claim.formulas["coefficient"] - 1)]
    return algebra(steps, "proved", "The coefficients are equal and sum to one.", sample=rational_sample)


@checks(fedau.A1, mutants=[put("absorbed", fedau.N, fedau.N**2), times("absorbed", 2)])
def weights_are_absorbed(claim: Claim, depth: Depth) -> Evidence:
    """(1/N) F_n has the coefficient q_n/Gamma on client n's own objective."""
    wanted = fedau.data_weight / fedau.total_data_weight
    steps = [Step("(1/N) times the absorbed weight is q_n/Gamma", claim.formulas["absorbed"] / fedau.N - wanted)]
    return algebra(steps, "proved", "Symbolic identity, for every n and N.", sample=rational_sample)


@checks(fedau.thm1, mutants=[put("coefficient", p, p**2), put("coefficient", fedau.weight, 1)])
def expected_step_descends_h(claim: Claim, depth: Depth) -> Evidence:
    """One local step moves, in expectation, along -grad h; but h must have a minimum to be minimised."""
    # Expected update of client n with one local step: -(gamma eta/N) w_n p_n grad F_n = -(gamma eta P/N) c_n grad F_n.
    lr = local_lr * global_lr / fedau.N
    residual = lr * fedau.weight * p - lr * fedau.total_weight * claim.formulas["coefficient"]
    found = algebra(
        [Step("expected step = -(gamma eta P/N) grad h, client by client", residual)],
        "proved",
        "",
        sample=rational_sample,
    )
    if found.verdict != "proved":
        return found
    rates, slopes = (F(9, 10), F(1, 10)), (1, -1)
    total = sum(rates)
    slope = sum(
        at(claim.formulas["coefficient"], weight=1, rate=r, total_weight=total) * s
        for r, s in zip(rates, slopes, strict=True)
    )
    return Evidence(
        "conditional",
        "algebra and witness",
        "Needs h bounded below, which nonnegative losses satisfy; boundedness of f alone does not give it.",
        "one local step; the general case rests on Theorem B.4.1",
        found.cases,
        hypothesis="h is bounded below",
        witness={
            "F_1": "x",
            "F_2": "-x",
            "p": "(9/10, 1/10)",
            "weights": "(1, 1)",
            "f": "0",
            "|grad h|^2 at every point": slope**2,
        },
    )


@checks(
    fedau.thmB41,
    mutants=[
        put("bound", fedau.sigma**2, fedau.sigma),
        mutate("bound", "first term without T", lambda e: e.subs(T, 1)),
        mutate("bound", "a constant floor", lambda e: e + fedau.sigma**2),
    ],
)
def bound_vanishes_in_one_unit(claim: Claim, depth: Depth) -> Evidence:
    """The bound is homogeneous and tends to 0 with the stated step sizes; its descent lemma is not checked here."""
    assert claim.bound is not None
    try:
        unit = unit_of(claim.bound.rhs, UNITS)
    except UnitError as error:
        return Evidence("inconsistent", "units", f"not homogeneous: {error}")
    if unit != claim.bound.unit:
        return Evidence("inconsistent", "units", f"the bound has unit {unit}, its left-hand side {claim.bound.unit}")
    c1, c2 = Symbol("c1", positive=True), Symbol("c2", positive=True)
    x = Symbol("x", positive=True)
    local = c1 / sympy.sqrt(x)
    schedule = {local_lr: local, global_lr: c2 / c1, T: x}
    limit = sympy.limit(claim.bound.rhs.subs(schedule, simultaneous=True), x, sympy.oo)
    if limit != 0:
        return Evidence("refuted", "algebra", f"the bound tends to {limit}", witness={"limit of the bound": limit})
    return Evidence(
        "conditional",
        "units and limit",
        "Homogeneous, and vanishes with the stated step sizes; needs h bounded below, which nonnegative losses "
        "satisfy. The descent lemma behind its constants is not checked here.",
        "all positive constants",
        2,
        hypothesis="h is bounded below; Lemma B.3.3",
        witness={
            "F_1": "x",
            "F_2": "-x",
            "p": "(9/10, 1/10)",
            "weights": "(1, 1)",
            "|grad h|^2 at every point": F(16, 25),
        },
    )
