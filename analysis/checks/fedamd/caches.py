"""What holds of the cached gradients in place of Lemmas E.1 to E.3: noise, staleness, one-step descent."""

from __future__ import annotations

from fractions import Fraction as F

import sympy

from analysis.checks import CheckBook, Depth, mutate, times, without
from analysis.checks.certificates import Fact, below_one, identity, nonnegative, proved
from analysis.checks.certificates import at_most as no_more
from analysis.checks.fedamd.displacement import error_factor, local_limits, rhs
from analysis.checks.fedamd.rounds import SPACE, Round, some_rounds
from analysis.checks.fedamd.searching import INDEPENDENT
from analysis.checks.points import held_at
from analysis.checks.tools import made_with, reading
from analysis.domains import Real
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers import fedamd

checks = CheckBook()


@checks.trial(fedamd.lemE3_repaired, SPACE)
def descent_with_the_true_error(claim: Claim, point: Point) -> Sides:
    """The repaired lemma in expectation over runs, which is a mixture of its conditional forms."""
    now = Round(point)
    squares = {"cache_error": now.cache_error(now.before), "gradient_norm": now.gradient_square()}
    roots = {name: sympy.sqrt(v) if not isinstance(v, float) else v**0.5 for name, v in squares.items()}
    constants = now.constants | roots | {"move_square": now.move_square()}
    return Sides(now.descent(), right_side(claim.bound, constants), constants, met=now.met)


@checks.trial(fedamd.law_noise, SPACE | {"split": Real("1/10", 10, log=True)})
def noise_and_staleness(claim: Claim, point: Point) -> Sides:
    """E|g - grad F|^2 against the noise and the staleness of the caches."""
    now = Round(point, shadows=True)
    stale = now.expected(now.before, *now.run.staleness()) / now.run.n_clients
    constants = now.constants | {"tuned_staleness": point["split"], "cache_staleness": stale}
    return Sides(now.cache_error(now.before), right_side(claim.bound, constants), constants, met=now.met)


@checks.trial(fedamd.law_staleness, SPACE)
def staleness_of_a_round(claim: Claim, point: Point) -> Sides:
    """E S_{t+1} against E S_t and the squared move."""
    now = Round(point, shadows=True)
    stale = [now.expected(m, *now.run.staleness()) / now.run.n_clients for m in (now.before, now.then)]
    constants = now.constants | {"cache_staleness": stale[0], "move_square": now.move_square()}
    return Sides(stale[1], right_side(claim.bound, constants), constants, met=now.met)


def _two_clients(depth: Depth) -> list[Point]:
    """Shadow caches double the state, so three clients are left to deep runs."""
    return [point for point in some_rounds(depth) if depth == "deep" or len(point["curvatures"]) <= 2]


def _with_splits(depth: Depth) -> list[Point]:
    splits = (F(1, 2),) if depth == "quick" else (F(1, 2), F(2))
    return [{**point, "split": split} for point in _two_clients(depth) for split in splits]


@checks(
    fedamd.law_noise,
    mutants=[
        times("bound", F(1, 2)),
        mutate("bound", "no noise", lambda e: e.subs(fedamd.subsampled, 0)),
        mutate("bound", "no staleness", lambda e: e.subs(fedamd.cache_staleness, 0)),
    ],
)
@reading(INDEPENDENT)
def error_in_two_parts(claim: Claim, depth: Depth) -> Evidence:
    """Noises of different anchor rounds and clients are uncorrelated given the schedule; then Young's inequality."""
    points = held_at(
        noise_and_staleness, claim, _with_splits(depth), summary="No violation on quadratics", domain="t <= 6"
    )
    noise, stale, r = sympy.symbols("noise stale r", positive=True)  # root mean squares
    bound = rhs(claim).subs({fedamd.cache_staleness: stale**2, fedamd.tuned_staleness: r})
    bound = bound.subs(fedamd.subsampled, noise**2 * fedamd.M * fedamd.b / fedamd.sigma**2)
    facts = [
        identity(
            "(1 + r) n^2 + (1 + 1/r) s^2 - (n + s)^2 is a square",
            sympy.expand(bound - (noise + stale) ** 2 - (sympy.sqrt(r) * noise - stale / sympy.sqrt(r)) ** 2),
        )
    ]
    return proved(facts, points, "The mean of M uncorrelated noises has variance sigma^2/(Mb).")


@checks(
    fedamd.law_staleness,
    mutants=[
        times("bound", F(1, 2)),
        mutate("bound", "no move", lambda e: e.subs(fedamd.move_square, 0)),
        mutate("bound", "faster", lambda e: e - fedamd.refresh * fedamd.cache_staleness),
        times("sum over sum", F(1, 2)),
    ],
)
def staleness_recursion(claim: Claim, depth: Depth) -> Evidence:
    """A client that refreshes starts anew, one that does not is off by Young's inequality."""
    points = held_at(
        staleness_of_a_round, claim, _two_clients(depth), summary="No violation on quadratics", domain="t <= 6"
    )
    q = sympy.Symbol("q", positive=True)
    bound = rhs(claim).subs(fedamd.p, q * fedamd.M / fedamd.A)
    of_stale = sympy.simplify(bound.coeff(fedamd.cache_staleness))
    of_move = sympy.simplify(bound.coeff(fedamd.move_square) / fedamd.L**2)
    young = of_stale / (1 - q) - 1  # (1 + young)(1 - q) is the claimed factor
    share = below_one()
    sums = claim.formulas["sum over sum"].subs(fedamd.p, q * fedamd.M / fedamd.A)
    root = sympy.Symbol("root", positive=True)  # sqrt(1 - q): Young's constant 1/root - 1 is the best one
    best = (1 + 1 / (1 / root - 1)) / (1 - root)
    facts = [
        nonnegative("Young's constant is positive", young, {q: share}),
        nonnegative("factor of the squared move: at most the claimed one", of_move - (1 + 1 / young), {q: share}),
        identity("the sum with the best constant", sympy.simplify(sums.subs(q, 1 - root**2)) - best),
    ]
    return proved(facts, points, "Refreshing is independent of the past.")


@checks(
    fedamd.lemE3_repaired,
    mutants=[
        mutate("bound", "no error", lambda e: e.subs(fedamd.cache_error, 0)),
        mutate("bound", "twice the descent", lambda e: e - fedamd.eta * fedamd.moving * fedamd.gradient_norm**2 / 2),
        without("local step"),
        without("local step and noise"),
    ],
)
@made_with({"fedamd.A42": "law.local: the noise of a step has mean 0 given the steps before"})
def descent_at_any_global_step(claim: Claim, depth: Depth) -> Evidence:
    """Lemma B.3 where there are miners, Lemma B.1 over who they are, and the displacement of a miner."""
    points = held_at(
        descent_with_the_true_error, claim, some_rounds(depth), summary="No violation on quadratics", domain="t <= 6"
    )
    move, noise = local_limits(claim)
    if sympy.oo in (move, noise):
        return proved([Fact("every local step is limited", False)], points, "")
    bound, half = rhs(claim), fedamd.eta * fedamd.moving / 2
    of_error = sympy.simplify(bound.coeff(fedamd.cache_error**2) / half)
    of_gradient = sympy.simplify(bound.coeff(fedamd.gradient_norm**2) / half)
    nothing = dict.fromkeys((fedamd.gradient_norm, fedamd.direction_error), 0)
    steps = {fedamd.step: fedamd.eta_s, fedamd.other_step: fedamd.eta_l * fedamd.K, fedamd.step_length: 1}
    descent = rhs(fedamd.lemB3).subs(nothing | steps)
    facts = [
        identity("factor of the squared move, from Lemma B.3", bound.coeff(fedamd.move_square) - descent),
        no_more("factor of |g - grad F|^2", error_factor(move, noise), of_error),
        no_more("factor of |grad F|^2", -of_gradient, sympy.Rational(1, 2)),
    ]
    return proved(facts, points, "Lemmas B.3 and B.1 with the displacement of a miner.")
