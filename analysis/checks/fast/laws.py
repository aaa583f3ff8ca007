"""What FAST does on the plus-minus-one family in the long run, exactly; and Theorem 1 where nothing is lost."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Rational, symbols

from analysis.checks import CheckBook, Depth, mutate, plus, put, times, without
from analysis.checks.amplified.waves import Waves
from analysis.checks.amplified.weighting import centred
from analysis.checks.certificates import joined
from analysis.checks.fast.family import Family
from analysis.checks.points import drawn, held_at
from analysis.checks.tools import INDEPENDENT_NOISE, reading, rests_on
from analysis.domains import Choice, Real, Several, Whole
from analysis.evidence import Evidence, Tally, algebra
from analysis.trials import Point, Sides, exact_value, right_side, root
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import R, interval_length, q, server_weight, sigma, sigma_G, zeta
from sims.algorithms import fedavg
from sims.exact import Engine, Setting
from sims.problems.quadratic import plus_minus_one
from sims.scenarios import Scenario, average_participating, schedule, snapshots, uniform_subsets, weighted

checks = CheckBook()

RATES = {
    "quick": (F(1, 4), F(1, 2)),
    "default": (F(1, 4), F(1, 2), F(9, 10)),
    "deep": tuple(F(k, 20) for k in range(1, 20)),
}


def engine(scenario: Scenario, lr: Any, steps: int) -> Engine:
    """The library's FedAvg on the two clients of the family."""
    setting = Setting(fedavg.fedavg, plus_minus_one(), fedavg.Hyper(lr, 1, steps), [F(0)])
    return Engine(setting, weighted(scenario, average_participating))  # type: ignore[arg-type]


def _square(system: Engine) -> Any:
    return system.quadratic(lambda state: (state["x"] ** 2).sum(axis=-1))


ONE = schedule([[True, False]])


@checks(
    fast.law_lower_bounds,
    mutants=[
        times("coins", "11/10"),
        put("coins", q, q / 2),
        times("every I rounds", "11/10"),
        put("every I rounds", interval_length, interval_length + 1),
        mutate("snapshots first", "squared", lambda e: e**2),
        plus("snapshots first", "1/20"),
    ],
)
def what_remains(claim: Claim, depth: Depth) -> Evidence:
    """Stationary moments and limit cycles of the library's FedAvg in Fractions; long runs with all snapshots first."""
    tally = Tally()
    for lr, steps, rate, m in itertools.product((F(1, 10), F(1, 3)), (1, 2), RATES[depth], (1, 2)):
        system = engine(snapshots(uniform_subsets(2, m), ONE, probability=rate), lr, steps)
        found = system.stationary().expected(_square(system))
        values = {"smoothness": 1, "local_lr": lr, "local_steps": steps, "n_clients": 2}
        values |= {"snapshot_rate": rate, "snapshot_clients": m}
        tally.equal(found, exact_value(claim.formulas["coins"], values), **values)
    for lr, steps, interval in itertools.product((F(1, 10), F(1, 3)), (1, 2), (1, 2, 3, 5)):
        system = engine(snapshots(schedule([[True, True]]), ONE, interval=interval), lr, steps)
        form = _square(system)
        found = sum(moments.expected(form) for moments in system.limit_cycle()) / interval
        values = {"smoothness": 1, "local_lr": lr, "local_steps": steps, "interval": interval}
        tally.equal(found, exact_value(claim.formulas["every I rounds"], values), **values)
    for rate in RATES[depth]:
        # From 0, snapshots keep x at 0, and R_a arbitrary rounds bring it to 1 - keep^j: all but 3/(pull R) of them.
        family, rounds = Family(F(1, 2), 1), 400
        tail = round((1 - rate) * rounds)
        squares = [mean * mean for mean, _ in family.moments(F(0), [None] * (rounds - tail) + [1] * tail)[:-1]]
        limit = exact_value(claim.formulas["snapshots first"], {"snapshot_rate": rate})
        gap = sum(squares) / rounds - limit
        tally.at_most(abs(gap), 3 / (family.pull * rounds), rate=rate)
    summary = "Equal in every case: (1-q)^2 sigma_G^2 remains with coins or a period, (1-q) sigma_G^2 in blocks."
    return tally.evidence("exact", "exact moments", summary, domain="K = 1, 2; eta = 1/10, 1/3; I = 1, 2, 3, 5")


@checks(
    fast.law_server_weight,
    mutants=[
        times("limit", 2),
        put("limit", server_weight, 1),
        put("limit", q, q**2),
    ],
)
def weight_of_arbitrary_rounds(claim: Claim, depth: Depth) -> Evidence:
    """Mean and second moment of a round with coins, solved for their fixed point, as the pull tends to 0."""
    p, alpha, rate = symbols("pull server_weight snapshot_rate", positive=True)
    moved = (1 - alpha * p, alpha * p)  # what an arbitrary round keeps of x, and adds
    kept = rate * (1 - p) + (1 - rate) * moved[0]
    mean = _over(p, (1 - rate) * moved[1], 1 - kept)
    squared = rate * (1 - p) ** 2 + (1 - rate) * moved[0] ** 2
    added = (1 - rate) * (2 * moved[0] * moved[1] * mean + moved[1] ** 2)
    limit = _over(p, added, 1 - squared).subs(p, 0).subs({alpha: server_weight, rate: q})
    formula = claim.formulas["limit"]
    steps = [Step("the second moment at rest, as the pull tends to 0", limit - formula)]
    values = [formula.subs({q: Rational(1, 2), server_weight: Rational(a, 10)}) for a in (10, 5, 1, 0)]
    listed = ", ".join(f"{float(value):.3g}" for value in values)
    summary = f"At q = 1/2: {listed} for alpha = 1, 1/2, 1/10, 0."
    return algebra(steps, "exact", summary, sample=lambda r: r.subs({q: Rational(1, 3), server_weight: Rational(1, 3)}))


def _over(p: Any, numerator: Any, denominator: Any) -> Any:
    """A quotient of two multiples of p, reduced by it."""
    return sympy.expand(numerator / p) / sympy.expand(denominator / p)


# ---- Theorem 1 where nothing is lost -------------------------------------------------------------------------------


def _constants(point: Point, q: Any, lr: Any, sizes: tuple[int, int, int]) -> dict[str, Any]:
    return {
        "smoothness": 1,
        "local_lr": lr,
        "local_steps": point["steps"],
        "rounds": point["rounds"],
        "snapshot_rate": q,
        "snapshot_clients": sizes[0],
        "arbitrary_clients": sizes[1],
        "n_clients": sizes[2],
    }


@checks.trial(
    fast.thm1_special,
    space={
        "identical": Choice((True, False)),
        "q": Real(0, 1),
        "sampled": Whole(1, 20),
        "asked": Whole(1, 20),
        "variance": Real(0, 9),
        "steps": Whole(1, 20),
        "start": Real(-3, 3),
        "step_share": Real("1/10000", 2, log=True),
        "rounds": Whole(1, 10**9),
    },
)
def quadratics_where_nothing_is_lost(claim: Claim, point: Point) -> Sides:
    """x^2/2 for every client with coins, or the plus-minus-one family with all clients in every round."""
    assert claim.bound is not None
    identical, one = point["identical"], point["step_share"] / point["step_share"]
    m, n, q = (point["sampled"], point["asked"], point["q"]) if identical else (2 * point["asked"], 1, one)
    share = q / m + (1 - q) / n
    lr = point["step_share"] * min(one / 8, share / 5) / point["steps"]
    family = Family(lr, point["steps"], point["variance"], 2, 1, 2)
    limit = family.noise * share / (1 - family.keep**2)
    away, twice = point["start"] ** 2 - limit, (1 - family.keep ** (2 * point["rounds"])) / (1 - family.keep**2)
    left = limit + away * family.keep**2 * twice / (one * point["rounds"])  # rounds 1 to R
    constants = _constants(point, q, lr, (m, n, max(m, 2 * n))) | {
        "heterogeneity": 0 if identical else 1,
        "noise_std": root(point["variance"]),
        "initial_gap": point["start"] ** 2 / 2,
    }
    return Sides(left, right_side(claim.bound, constants), constants)


@checks.trial(
    fast.thm1_special,
    space={
        "centres": Several(Real(-2, 2), 1, 4),
        "slopes": Several(Real(-2, 2), 1, 4),
        "steps": Whole(1, 6),
        "start": Real(-4, 4),
        "step_share": Real("1/1000", 2, log=True),
        "rounds": Whole(1, 100),
    },
)
def waves_with_all_clients(claim: Claim, point: Point) -> Sides:
    """Nonconvex clients, all of them in every round, without noise; one client alone is sigma_G = 0."""
    assert claim.bound is not None
    clients, one = len(point["centres"]), point["step_share"] / point["step_share"]
    problem = Waves(one, point["centres"], centred([point["slopes"][k % len(point["slopes"])] for k in range(clients)]))
    row = tuple([one / clients] * clients)
    lr = point["step_share"] * min(one / 8, one / (5 * clients)) / point["steps"]
    squares = problem.run(point["start"], lr, 1, point["steps"], 1, [row] * (point["rounds"] + 1))
    gap = problem.value(point["start"]) - problem.lowest()
    constants = _constants(point, one, lr, (clients, 1, clients)) | {
        "heterogeneity": root(problem.divergences([row], 1).d2),
        "noise_std": 0,
        "initial_gap": max(gap, 0 * gap),
    }
    return Sides(sum(squares[1:]) / (one * point["rounds"]), right_side(claim.bound, constants), constants)


@checks.trial(
    fast.thm1_special,
    space={
        "steps": Whole(1, 20_000),
        "push": Real("1/100", 10),
        "step_share": Real("1/1000", 2, log=True),
        "rounds": Whole(1, 10**9),
    },
)
def at_rest_between_unlike_clients(claim: Claim, point: Point) -> Sides:
    """f_1 = x^2/2 near 0, linear further out, f_2 = push x, both in every round without noise, from where they rest.

    A round moves client 1 by (k - 1) x, k = (1 - eta)^K, and client 2 by -K eta push; where these cancel x stays.
    """
    assert claim.bound is not None
    push, steps = point["push"], point["steps"]
    one = push / push
    lr = point["step_share"] * one / (10 * steps)  # s = 1/2
    rest = -steps * lr * push / (1 - (1 - lr) ** steps)
    slope = (rest + push) / 2  # F', zero at -push; client 1 is linear beyond |rest|
    constants = _constants(point, one, lr, (2, 1, 2)) | {
        "heterogeneity": (abs(rest) + push) / 2, "noise_std": 0, "initial_gap": slope**2,
    }  # fmt: skip
    return Sides(slope**2, right_side(claim.bound, constants), constants)


POINTS = {"quick": 200, "default": 3_000, "deep": 60_000}
# Where local steps of clients of unlike curvature come to rest: what remains is heterogeneity.
AT_REST: dict[str, Any] = {
    "centres": (0.0, 0.0, 0.0, 2.0), "slopes": (0.0, 0.3), "steps": 6, "start": -0.0032, "step_share": 1.0,
    "rounds": 100,
}  # fmt: skip
# Many local steps, and rounds enough to forget the start.
MANY_STEPS: dict[str, Any] = {"steps": 10_000, "push": 1.0, "step_share": 1.0, "rounds": 10**9}
PARTS: tuple[dict[str, Any], ...] = ({}, {"variance": 0.0, "step_share": 0.9}, {"start": 0.0, "identical": True})


@checks(
    fast.thm1_special,
    mutants=[
        times("bound", "1/8"),
        put("bound", 4 * zeta, zeta / 4),
        put("bound", sigma, sigma / 4),
        put("bound", R, 9 * R),
        mutate("bound", "without heterogeneity", lambda e: e.subs(sigma_G, 0)),
        without("drift"),
        without("noise"),
        put("bound", fast.K, fast.K ** Rational(1, 2)),
    ],
)
@rests_on({"drift": fast.eta <= 1 / (8 * fast.L * fast.K), "noise": fast.eta <= fast.s / (5 * fast.L * fast.K)})
@reading(INDEPENDENT_NOISE)
def no_violation_where_nothing_is_lost(claim: Claim, depth: Depth) -> Evidence:
    """Exact moments of quadratics with noise, runs of nonconvex clients, and rests of up to 20,000 local steps."""
    points = [point for part in PARTS for point in drawn(quadratics_where_nothing_is_lost, POINTS[depth], **part)]
    summary = "No violation on quadratics"
    first = held_at(
        quadratics_where_nothing_is_lost, claim, points, "supported", "seeded search", summary, domain="quadratics"
    )
    if first.verdict == "refuted":
        return first
    waves = [*drawn(waves_with_all_clients, POINTS[depth]), AT_REST]
    summary = "No violation on nonconvex clients"
    second = held_at(waves_with_all_clients, claim, waves, "supported", "seeded search", summary, domain="waves")
    if second.verdict == "refuted":
        return second
    rests = [*drawn(at_rest_between_unlike_clients, POINTS[depth]), MANY_STEPS]
    summary = "No violation where unlike clients rest"
    third = held_at(at_rest_between_unlike_clients, claim, rests, "supported", "seeded search", summary, domain="rests")
    return third if third.verdict == "refuted" else joined(joined(first, second), third)
