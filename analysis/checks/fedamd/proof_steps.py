"""Steps of the printed proofs about a miner's local steps: (42), (55), (65), (139) and simplified coefficients."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import sympy

from analysis.checks import CheckBook, Depth, Mutant, mutate, plus, put, times
from analysis.checks.certificates import chain, identity, limit_of
from analysis.checks.fedamd.displacement import rhs
from analysis.checks.fedamd.searching import met
from analysis.checks.points import witnessed
from analysis.domains import Domain, Real, Whole
from analysis.evidence import Evidence, Tally
from analysis.letters import in_text
from analysis.trials import Point, Sides
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from fltheory.papers.fedamd import A, K, L, L_sigma, M, T, b_small, eta_l, position, steps_done, tau

checks = CheckBook()


def _third_step(h: Any, z: Any, lr: Any) -> tuple[Any, Any, Any]:
    """E|sum of gradient changes|^2, of their means and of their noises, before step 3 and per |g|^2."""
    whole: Any = 0
    means: Any = 0
    noises: Any = 0
    for signs in itertools.product((-1, 1), repeat=2):
        direction: Any = F(1)
        mean: Any = 0
        noise: Any = 0
        for sign in signs:
            mean, noise = mean + lr * h * direction, noise + lr * sign * z * direction
            direction = direction * (1 - lr * (h + sign * z))
        whole, means = whole + (mean + noise) ** 2 * F(1, 4), means + mean**2 * F(1, 4)
        noises = noises + noise**2 * F(1, 4)
    return whole, means, noises


@checks(
    fedamd.eq42,
    mutants=[
        mutate(
            "left over", "the cross term", lambda e: -2 * fedamd.lr**3 * fedamd.curvature * fedamd.sample_curvature**2
        )
    ],
)
def cross_term(claim: Claim, depth: Depth) -> Evidence:
    """Enumeration of two sample signs: what the square exceeds its two parts by."""
    tally = Tally()
    for h, z, lr in ((-1, 1, F(1, 10)), (1, 1, F(1, 10)), (F(1, 2), 2, F(1, 20)), (0, 1, F(1, 10))):
        whole, means, noises = _third_step(h, z, lr)
        claimed = claim.formulas["left over"].subs({fedamd.curvature: h, fedamd.sample_curvature: z, fedamd.lr: lr})
        tally.equal(whole - means - noises, F(int(claimed.p), int(claimed.q)), h=h, z=z, lr=lr, k=3)
    domain = "k = 3, sample curvatures h +- z"
    if tally.witness:
        w = tally.witness
        return Evidence(
            "refuted", "enumeration",
            f"The cross term is not zero: the means depend on earlier noise, so that before step {w['k']} with "
            f"h = {w['h']}, z = {w['z']} and step size {w['lr']} the square is {w['left']} |g|^2 more than its "
            f"two parts, where {w['right']} is said.", domain, tally.cases, witness=w,
        )  # fmt: skip
    return tally.evidence("exact", "enumeration", "The parts add up.", domain=domain)


COUNT_SPACE: dict[str, Domain] = {
    "sample_curvature": Real(0, 3),
    "local_steps": Whole(2, 30),
    "local": Real("1/1000", "1/2", log=True),
}


def _counted(claim: Claim, point: Point) -> Sides:
    """Variance of a miner's change, per |eta_l g|^2, against the claimed counts of each step's noise (h = 0)."""
    k = point["local_steps"]
    lr = point["local"] / k
    variance = lr**2 * point["sample_curvature"] ** 2
    count = claim.formulas["times of step k"]
    left: Any = 0
    right: Any = 0
    for j in range(1, k):
        noise = variance * (1 + variance) ** (j - 1)
        claimed = count.subs({position: j, steps_done: k})
        left, right = left + (k - j) ** 2 * noise, right + F(int(claimed.p), int(claimed.q)) * noise
    constants = {
        "smoothness": 1, "noise_smoothness": point["sample_curvature"], "batch_size": 1, "local_steps": k,
        "local_lr": lr,
    }  # fmt: skip
    return Sides(left, right, constants, met=met(constants, [0], sampled=point["sample_curvature"]))


@checks.trial(fedamd.eq65, COUNT_SPACE)
def noise_in_a_change(claim: Claim, point: Point) -> Sides:
    """The noise of step k enters all later sums."""
    return _counted(claim, point)


@checks.trial(fedamd.eq139, COUNT_SPACE)
def variance_of_a_change(claim: Claim, point: Point) -> Sides:
    """The noise of step k enters all later sums: against (139)."""
    return _counted(claim, point)


SQUARED = (steps_done - position) ** 2


@checks(fedamd.eq65, mutants=[mutate("times of step k", "squared", lambda e: SQUARED), times("times of step k", 9)])
def three_local_steps(claim: Claim, depth: Depth) -> Evidence:
    """K = 3 with small steps: 5 against 3."""
    point = {"sample_curvature": 1, "local_steps": 3, "local": F(1, 10)}
    return witnessed(
        noise_in_a_change, claim, point, "The noise of step k enters K - k sums, so its square counts (K - k)^2 times."
    )


@checks(fedamd.eq139, mutants=[mutate("times of step k", "squared", lambda e: SQUARED), times("times of step k", 9)])
def ten_local_steps(claim: Claim, depth: Depth) -> Evidence:
    """K = 10: the counts add up to 285 against 162."""
    point = {"sample_curvature": 1, "local_steps": 10, "local": F(1, 10)}
    return witnessed(
        variance_of_a_change, claim, point, "The counts (K - k)^2 add up to more than 2 (K - 1) each from K = 6 on."
    )


@checks.trial(
    fedamd.eq55,
    {"curvature": Real(-1, 1), "local_steps": Whole(1, 30), "local": Real("1/1000", "1/2", log=True)},
)
def distances_of_a_miner(claim: Claim, point: Point) -> Sides:
    """Squared distances from the start against squared steps, without noise, per |g|^2."""
    k, h = point["local_steps"], point["curvature"]
    lr = point["local"] / k
    steps = [lr * (1 - lr * h) ** j for j in range(k)]
    distances = [sum(steps[:j]) for j in range(k)]
    factor = claim.formulas["times the squared steps"].subs(K, k)
    right = F(int(factor.p), int(factor.q)) * sum(step**2 for step in steps)
    constants = {"smoothness": 1, "local_steps": k, "local_lr": lr}
    return Sides(sum(d**2 for d in distances), right, constants, met=met(constants, [h]))


@checks(
    fedamd.eq55,
    mutants=[put("times the squared steps", K, K**2), put("times the squared steps", K, K * (K - 1) / 2 + K)],
)
def equal_steps(claim: Claim, depth: Depth) -> Evidence:
    """Five equal steps (a linear loss): 0 + 1 + 4 + 9 + 16 = 30 against 25."""
    point = {"curvature": 0, "local_steps": 5, "local": F(1, 10)}
    return witnessed(
        distances_of_a_miner, claim, point, "|x_k - x_0|^2 is at most k times the sum of squared steps; k is missing."
    )


# ---- simplified coefficients ---------------------------------------------------------------------------------


def _divided_by(claim: Claim, rounds: Any) -> Any:
    """What a summed descent was divided by to come to the bound: the factor of |grad F|^2 in each of these rounds."""
    return 1 / (rounds * rhs(claim).coeff(fedamd.gap))


# The coefficient of |grad F|^2 over (eta_l K)^2 as it is printed, the statement whose step it is simplified with, what
# it falls with, and the factor of -|grad F|^2 that the statement keeps where it is exactly what 1/2 leaves of eta/2:
# (68) comes into (69) times L eta^2 instead, where there is room for more.
SIMPLIFIED: dict[str, tuple[Any, Claim, Any, Any]] = {
    fedamd.eq68.id: (12 * eta_l**2 * (L_sigma**2 / (M * b_small) + K**2 * L**2), fedamd.thm44, K * M, None),
    fedamd.eq93.id: (
        12 * eta_l**2 * (L_sigma**2 / (A * b_small) + K**2 * L**2), fedamd.thm46, K * A,
        _divided_by(fedamd.thm46, T - sympy.floor(T / tau)),
    ),
    fedamd.eq154.id: (
        6 * eta_l**2 * (2 * L_sigma**2 / b_small + K**2 * L**2), fedamd.lemE3, K,
        -rhs(fedamd.lemE3).coeff(fedamd.gradient_square) / fedamd.moving,
    ),
}  # fmt: skip


def _limits(stated: Claim) -> tuple[Any, Any]:
    """The largest eta_l K L, and the largest K L_sigma^2 eta_l^2/b'."""
    noise = limit_of(stated, "local step and noise", K * L_sigma**2 * eta_l**2 / b_small)
    return limit_of(stated, "local step", eta_l * K * L), noise


def _at_the_largest_step(coefficient: Any, stated: Claim) -> Any:
    """The coefficient where both of a statement's conditions on the local step are equalities."""
    step, noise = _limits(stated)
    return coefficient.subs(L_sigma, sympy.sqrt(noise * b_small / K) / eta_l).subs(eta_l, step / (K * L))


def _least_count(coefficient: Any, allowed: Any, count: Any) -> Any:
    """From which value of `count` on a coefficient a + b/count is at most `allowed`."""
    rest = coefficient.subs(K, sympy.oo)
    return sympy.cancel((coefficient - rest) * count) / (allowed - rest) if rest < allowed else sympy.oo


def _doubled(claim: Claim) -> list[Mutant]:
    """Each of the two parts of the coefficient twice."""
    return [plus("largest", term) for term in claim.formulas["largest"].args]


ALLOWED = [plus("allowed", 2), times("allowed", F(2, 3)), times("allowed", F(6, 5))]


@checks(fedamd.eq68, mutants=[times("largest", F(1, 4)), plus("allowed", F(2, 3)), *_doubled(fedamd.eq68)])
@checks(fedamd.eq93, mutants=[times("largest", F(1, 4)), *ALLOWED, *_doubled(fedamd.eq93)])
@checks(fedamd.eq154, mutants=[times("largest", F(1, 4)), *ALLOWED, *_doubled(fedamd.eq154)])
def coefficient_of_the_gradient(claim: Claim, depth: Depth) -> Evidence:
    """The printed coefficient at the largest local step, and for which whole numbers it is as small as allowed: what
    a statement keeps of -(eta/2) |grad F|^2 is (1 - allowed) times that."""
    coefficient, stated, count, kept = SIMPLIFIED[claim.id]
    largest, allowed = claim.formulas["largest"], claim.formulas["allowed"]
    steps = [identity("the coefficient at the largest step", _at_the_largest_step(coefficient, stated) - largest)]
    if kept is not None:
        steps.append(identity("what is kept of -(eta/2) |grad F|^2", (1 - allowed) * fedamd.eta / 2 - kept))
    printed = chain(steps, "")
    if printed.verdict != "proved":
        return printed
    least = _least_count(largest, allowed, count)
    if least <= 1:
        return Evidence("proved", "algebra", f"The coefficient is at most {allowed}.", cases=1)
    form = in_text(claim)

    def known(least: Any) -> str:
        if least <= 1:
            return f"at most {allowed} whatever {form(count)} is"
        if least < sympy.oo:
            return f"at most {allowed} exactly where {form(count)} >= {sympy.ceiling(least)}"
        return f"above {allowed} whatever {form(count)} is"

    ones = dict.fromkeys(sorted(largest.free_symbols, key=str), 1)
    step, noise = _limits(stated)
    steepness = sympy.simplify(noise * K / step**2)  # L_sigma^2/(b' L^2) where both limits coincide
    witness = {
        **{symbol.name: 1 for symbol in ones}, "eta_l K L": step, "L_sigma^2/(b' L^2)": steepness.subs(K, 1),
        "coefficient": largest.subs(ones), "allowed": allowed,
    }  # fmt: skip
    summary = (
        f"At the largest local step, with L_sigma^2/(b' L^2) = {form(steepness)}, for which both limits coincide, "
        f"the coefficient is {form(largest)}, {known(least)}."
    )
    if stated is fedamd.lemE3:  # on which Theorem 4.8 rests
        other = sympy.expand(sympy.cancel(_at_the_largest_step(coefficient, fedamd.thm48)))
        least = _least_count(other, allowed, count)
        summary += f" At the largest local step of Theorem 4.8 it is {form(other)}, {known(least)}."
    return Evidence("inconsistent", "algebra", summary, cases=1, witness=witness)
