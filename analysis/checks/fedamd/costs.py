"""Remarks on what FedAMD's settings cost and assume: fewer anchors, batch sizes, caches that all clients start."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import sympy

from analysis.checks import CheckBook, Depth, plus, times
from analysis.checks.certificates import chain, identity
from analysis.checks.fedamd.displacement import rhs
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import right_side
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from sims.algorithms import fedamd as library
from sims.exact import Engine, Setting
from sims.problems.base import full_gradient
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import in_turn, roles, schedule, uniform_subsets

checks = CheckBook()


@checks(fedamd.ERR8, mutants=[plus("saved share", F(1, 10)), times("saved share", F(1, 2))])
def anchors_saved_in_a_round(claim: Claim, depth: Depth) -> Evidence:
    """Anchor samples at 1/c of a probability against those at the probability itself, M = 100, A = 20 included."""
    tally = Tally()
    for size, thin in ((20, 2), (20, 3), (5, 10), (1, 1)):
        samples = claim.formulas["anchor samples of a round"]
        best = (sympy.Rational(2, size + 2)) ** sympy.Rational(1, size)
        one, other = (samples.subs({fedamd.A: size, fedamd.b: 600, fedamd.p: p}) for p in (best, best / thin))
        saved = claim.formulas["saved share"].subs(fedamd.c, thin)
        tally.holds(sympy.simplify(1 - other / one - saved) == 0, A=size, c=thin)
    return tally.evidence(
        "exact", "exact arithmetic", "The anchors of a round cost 1/c.", domain="A up to 20, c up to 10"
    )


def _gradients(warm: bool, rounds: int) -> list[Any]:
    """E|grad F(x_t)|^2 for F_m = (x -+ 1)^2/2 from the minimum, by the library's FedAMD."""
    scenario = roles(uniform_subsets(2, 1), F(2, 3))
    if warm:
        scenario = in_turn(roles(schedule([[True] * 2]), 1), 1, scenario)
    problem = DiagonalQuadratic([1, 1], [1, -1])
    engine = Engine(Setting(library.fedamd, problem, library.Hyper(F(1, 5), 1, 1, None), [0]), scenario)
    form = engine.quadratic(lambda state: (full_gradient(problem, state["x"]) ** 2).sum(axis=-1))
    return [moments.expected(form) for moments in engine.moments(rounds)]


@checks(fedamd.ERR11, mutants=[plus("largest E|grad F|^2", 1)])
def caches_that_start_at_zero(claim: Claim, depth: Depth) -> Evidence:
    """At the minimum, without noise, Theorem 4.8's bound is 0; cold caches move the model all the same."""
    constants = {
        "initial_gap": F(0), "subsampled": 0, "noise_std": 0, "n_clients": 2, "cohort_size": 1, "anchor_batch": 2,
        "anchor_probability": F(2, 3), "global_lr": 1, "local_lr": F(1, 5), "local_steps": 1, "rounds": 4,
    }  # fmt: skip
    bound = right_side(fedamd.thm48.bound, constants) + F(str(claim.formulas["largest E|grad F|^2"]))
    cold, warm = Tally(sides=("E|grad F(x_t)|^2", "the bound of Theorem 4.8")), Tally()
    for tally, starts in ((cold, False), (warm, True)):
        for t, value in enumerate(_gradients(starts, 5)):
            tally.at_most(value, bound, t=t)
    return conditional(
        cold, warm, "all clients start their caches, as section 3 describes", "exact moments",
        "Cold caches move the model away from the minimum that it starts from.",
        domain="M = 2, A = 1, p = 2/3, eta = 1/5, five rounds",
    )  # fmt: skip


@checks(
    fedamd.ERR15,
    mutants=[times("batch", F(1, 2)), times("of 4.8", F(1, 2)), times("of 4.6", F(1, 2)), times("of 4.11", F(1, 2))],
)
def noise_at_the_batch(claim: Claim, depth: Depth) -> Evidence:
    """The anchor noise at the batch is eps, and the theorems' noise terms are the stated multiples of it."""
    f = claim.formulas
    noise, scale = fedamd.anchor_noise, fedamd.subsampled

    def factor(theorem: Claim) -> Any:
        return rhs(theorem).coeff(scale) * scale / noise

    facts = [
        identity("noise at the batch", (f["noise"] / scale).subs(fedamd.b, f["batch"]) - rhs(claim)),
        identity("Theorem 4.8", factor(fedamd.thm48) - f["of 4.8"]),
        identity("Theorem 4.6", factor(fedamd.thm46) - f["of 4.6"]),
        identity("Theorem 4.11", factor(fedamd.thm411) * fedamd.mu - f["of 4.11"]),
    ]
    return chain(facts, "The noise terms are O(eps), the convention of the paper.")
