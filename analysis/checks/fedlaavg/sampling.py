"""Checks of what depends on the samples being independent of availability: Lemmas 2, 3, 6, 7, Theorems 3 and 4.

Trials let availability look at the signs of the latest gradient noise, which no statement of the paper excludes. With
a constant policy it is given in advance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction as F
from functools import lru_cache
from itertools import product
from typing import Any

import sympy

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.fedlaavg import reactive
from analysis.checks.fedlaavg.model import INDEPENDENT_NOISE, Clients, traces
from analysis.checks.points import facts_of, tally_of
from analysis.checks.tools import SLACK, reading
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, Trial, conditions_at, exact_value, judge, right_side
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import by_rounds, iterations
from fltheory.papers.fedlaavg.letters import B, C, G, L, sigma

checks = CheckBook()

HYPOTHESIS = "the availability sets do not depend on the sampled data"

# ---- Lemmas 2 and 6 --------------------------------------------------------------------------------------


def _second_moments(local_steps: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """(E|g|^2, G^2, E|g - grad f_i|^2, sigma^2) of every stochastic gradient of short runs, over all noise paths."""
    clients = Clients((F(-20), F(1, 2), F(20)), (F(1), F(2), F(1)), (1, 1, 1))
    for noise, chosen in product((F(1, 2), F(1), F(2)), ([[0, 1], [2]], [[0], [1]], [[2], [0, 2]])):
        paths = list(traces(clients, F(0), F(1, 5), noise, chosen, local_steps))
        for t in range(len(chosen) * local_steps):
            for i in chosen[t // local_steps]:
                taken = [(p.gradients[t][i], clients.slope(i, p.points[t][i])) for p in paths]
                yield (
                    sum(g * g for g, _ in taken) / len(paths), clients.caps[i] ** 2 + noise**2,
                    sum((g - slope) ** 2 for g, slope in taken) / len(paths), noise**2,
                )  # fmt: skip


def _fixed_iteration(claim: Claim, local_steps: int) -> Evidence:
    tally = Tally()
    for square, bound, variance, noise_square in _second_moments(local_steps):
        known = {"gradient_bound": _root(bound), "noise_std": _root(noise_square)}
        tally.at_most(float(square), float(right_side(claim.bound, known)) * (1 + SLACK), G2=bound)
        tally.at_most(variance, exact_value(claim.formulas["variance"], {"noise_std": _root(noise_square)}))
    return tally.evidence(
        "exact", "enumeration", "At most, with equality where the slope is at its cap.", ratio=True,
        domain="three clients, two rounds, all noise paths, exact rationals",
    )  # fmt: skip


def _root(square: Any) -> Any:
    root = math.isqrt(square.numerator), math.isqrt(square.denominator)
    exact = F(*root)
    return exact if exact**2 == square else math.sqrt(square)


MOMENT_MUTANTS = [
    times("bound", "9/10"),
    put("bound", G, 1),
    times("variance", "1/2"),
    put("variance", sigma, sigma / 2),
    put("variance", sigma, 1),
]


@checks(iterations.lem2, mutants=MOMENT_MUTANTS)
def moments_at_a_fixed_iteration(claim: Claim, depth: Depth) -> Evidence:
    """All noise paths of short runs, one local step."""
    return _fixed_iteration(claim, 1)


@checks(by_rounds.lem6, mutants=MOMENT_MUTANTS)
def moments_in_a_round(claim: Claim, depth: Depth) -> Evidence:
    """All noise paths of short runs, two local steps."""
    return _fixed_iteration(claim, 2)


# ---- Lemmas 3 and 7 --------------------------------------------------------------------------------------

ERRORS: dict[str, Domain] = {
    "cohort_size": Whole(1, 3),
    "window": Whole(1, 6),
    "policy": Several(Whole(0, 7), 1, 8),
    "iteration": Whole(1, 10),
}


def error_trial(claim: Claim) -> Any:
    @checks.trial(claim, ERRORS)
    def errors_of_three_clients(claim: Claim, point: Point) -> Sides:
        """Three clients, gradient errors +-1, at least K available in every iteration; availability reacts to the
        samples. `policy` says who is wanted next: entry number s (from 0, counted over again), where bit i of s is 1 if
        client i + 1's latest error is positive; bit i of the entry is 1 if client i + 1 is wanted. A policy of one
        entry does not look. Available are those wanted, those who were away in the last `window` - 1 iterations, and
        then client 1, client 2, ... until K are there. Of them the K taken longest ago are taken, clients with lower
        numbers before others who were not taken yet. The left side is at t = `iteration`; before its first error a
        client counts as 0."""
        system = reactive.chain(3, point["cohort_size"], point["window"], point["policy"])
        *_, law = system.laws(point["iteration"])
        where = {
            "noise_square_sum": sum(m * sum(s * s for s in node.signs) for node, m in law.items()), "noise_std": 1,
        }  # fmt: skip
        here = max(max(node.missed) for node in law) < point["window"]
        met = {"ass2": max(s * s for node in law for s in node.signs) <= 1, "ass4": here, "ass5": here}
        facts = {"everybody has taken part": all(all(node.signs) for node in law)}
        left = sum(mass * sum(node.signs) ** 2 for node, mass in law.items())
        return Sides(left, right_side(claim.bound, where), where, facts, met)

    return errors_of_three_clients


errors_by_iteration, errors_by_round = error_trial(iterations.lem3), error_trial(by_rounds.lem7)
KNOWN_ERRORS = {"cohort_size": 1, "window": 3, "policy": (6, 1, 7, 6, 5, 3, 0, 1), "iteration": 4}


def _independent_errors(trial: Any, claim: Claim, depth: Depth, where: str) -> Evidence:
    stated, given = Tally(), Tally()
    found = judge(trial, claim, KNOWN_ERRORS)
    assert found.admitted
    stated.at_most(found.sides.left, found.sides.right, **_shown(facts_of(KNOWN_ERRORS, found)))
    latest = {"quick": 5, "default": 6, "deep": 9}[depth]
    for size, window, mask, t in product((1, 2, 3), (1, 2, 3), (0, 1, 5, 7), range(1, latest)):
        point = {"cohort_size": size, "window": window, "policy": (mask,), "iteration": t}
        found = judge(trial, claim, point)
        if found.admitted:
            given.equal(found.sides.left, found.sides.right, **point)
    return conditional(
        stated, given, HYPOTHESIS, "enumeration",
        "The sums are equal when availability does not look at the samples; three clients of which one is selected at "
        "a time can reach 9/2 against 3 when it does.",
        domain=f"three clients, K and E up to 3, {where} < {latest}, all noise paths",
    )  # fmt: skip


def _shown(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name not in ("left", "right")}


@checks(iterations.lem3, mutants=[times("bound", "1/2"), times("bound", 2)])
@reading(INDEPENDENT_NOISE)
def errors_at_the_latest_iterations(claim: Claim, depth: Depth) -> Evidence:
    """All noise paths, under a policy that looks at them and under policies that do not."""
    return _independent_errors(errors_by_iteration, claim, depth, "t")


@checks(by_rounds.lem7, mutants=[times("bound", "1/2"), times("bound", 2)])
@reading(INDEPENDENT_NOISE)
def errors_at_the_latest_rounds(claim: Claim, depth: Depth) -> Evidence:
    """The same in rounds of one local step."""
    return _independent_errors(errors_by_round, claim, depth, "C = 1, r")


# ---- Theorems 3 and 4, Corollary 1 -------------------------------------------------------------------------

CHAIN: dict[str, Domain] = {"window": Whole(1, 6), "policy": Several(Whole(0, 3), 1, 4), "start": Real(-2, 2)}


CHAIN_RUN = (
    "two clients, one taken in each iteration, f_i = x^2/2 where the iterates are, x^0 = `start`, noise +-1; `policy` "
    "says who is wanted: entry number s (from 0, counted over again), where bit i of s is 1 if client i + 1's latest "
    "noise is positive; bit i of the entry is 1 if client i + 1 is wanted. Available are those wanted, those who were "
    "away in the last `window` - 1 iterations, and client 1 if nobody else is; of them the one taken longest ago is "
    "taken, client 1 if neither was yet; a client not taken yet counts as gradient 0 in the mean of two"
)


def _two_clients(point: Point) -> reactive.Chain:
    return reactive.chain(2, 1, point["window"], point["policy"])


def _on_the_chain(claim: Claim, point: Point, step: Any, horizon: int, more: dict[str, Any]) -> Sides:
    """Two clients, exactly one taken in every iteration, loss x^2/2 near the origin, noise +-1."""
    system = _two_clients(point)
    where = reactive.constants(system, point["start"], step, horizon)
    inside = {"(I + 1) gamma L < 1": where is not None}
    if where is None:
        return Sides(0, 0, reactive.constants(system, 0, F(1, 10**6), horizon) | {"local_lr": step, **more}, inside)  # type: ignore[operator]
    where |= more
    left = reactive.mean_square(system, point["start"], step, horizon)
    return Sides(left, right_side(claim.bound, where), where, inside, reactive.met(system, point["start"], where))


def halved(point: Point) -> Any:
    """The step size, a power of 1/2, of the kind of the start."""
    step = F(1, 2 ** point["halvings"])
    return float(step) if isinstance(point["start"], float) else step


def chain_trial(claim: Claim) -> Any:
    @checks.trial(claim, {**CHAIN, "halvings": Whole(2, 14), "iterations": Whole(1, 6000)})
    def two_clients_one_at_a_time(claim: Claim, point: Point) -> Sides:
        """Two clients, one taken in each iteration; availability reacts to the samples. `policy` says who is wanted
        next: entry number s (from 0, counted over again), where bit i of s is 1 if client i + 1's latest gradient noise
        is positive; bit i of the entry is 1 if client i + 1 is wanted. A policy of one entry does not look. Available
        are those wanted, those who were away in the last `window` - 1 iterations, and client 1 if nobody else is. Of
        them the one taken longest ago is taken, client 1 if neither was yet. Both losses are x^2/2 where the iterates
        are, from x^0 = `start`, the noise is +-1; a client not taken yet counts as gradient 0 in the mean of two.

        At the step 2^-halvings. I is ceil(N/K) E - 1 and G^2 = r^2 + 1, as |x| <= r = (max(|x^0|, 1) + s)/(1 - s) for
        s = (I + 1) gamma. In a witness the left side is rounded down to 12 decimals, G up to 6: on the safe side.
        """
        horizon = point["iterations"]
        more = {"local_steps": 1, "rounds": horizon}  # what Theorem 4 asks for: C = 1
        return _on_the_chain(claim, point, halved(point), horizon, more)

    return two_clients_one_at_a_time


theorem_3_trial, eq33_trial, eq52_trial = map(chain_trial, (iterations.thm3, iterations.eq33, by_rounds.eq52))
AWAY_WHILE_GOOD = (3, 2, 1, 0)  # wanted: the clients of which the latest noise was negative
KNOWN = {"window": 5, "policy": AWAY_WHILE_GOOD, "start": F(0), "halvings": 10, "iterations": 2500}


# The stated step sizes are irrational for two clients: at points of floats only, no search or witness has these.


def _corollary_1(claim: Claim, point: Point) -> Sides:
    """At the step size of the corollary."""
    horizon = point["iterations"]
    more = {"selected_share": 0.5}
    step = _stated_step(claim, {"window": point["window"], "n_clients": 2, "iterations": horizon, **more})
    return _on_the_chain(claim, point, step, horizon, more)


def _theorem_4(claim: Claim, point: Point) -> Sides:
    """At the step size of the theorem, with one local step."""
    horizon = point["rounds"]
    more = {"selected_share": 0.5, "local_steps": 1, "rounds": horizon}
    step = _stated_step(claim, {"window": point["window"], "n_clients": 2, **more})
    return _on_the_chain(claim, point, step, horizon, more)


corollary_1_on_the_chain = Trial(iterations.cor1.id, {**CHAIN, "iterations": Whole(1, 100_000)}, _corollary_1)
theorem_4_trial, theorem_4_rate_trial = (
    Trial(claim.id, {**CHAIN, "rounds": Whole(1, 100_000)}, _theorem_4)
    for claim in (by_rounds.thm4, by_rounds.thm4_rate)
)


def _stated_step(claim: Claim, where: dict[str, Any]) -> float:
    """The formula `step`, with smoothness 1 if there is no other."""
    formula = claim.formulas["step"]
    return float(formula.subs({s: ({"smoothness": 1} | where)[s.name] for s in formula.free_symbols}))


def without_a_look(trial: Any, depth: Depth) -> Iterator[dict[str, Any]]:
    """Points of a trial on the chain under policies that do not look: short and long, from afar, from the minimum."""
    lengths = {"quick": (1, 30), "default": (1, 30, 1000), "deep": (1, 5, 30, 300, 3000)}[depth]
    clock = "rounds" if "rounds" in trial.space else "iterations"
    for window, policy, start, horizon in product((1, 2), ((0,), (3,)), (0.0, 2.0), lengths):
        point: dict[str, Any] = {"window": window, "policy": policy, "start": start, clock: horizon}
        if "halvings" in trial.space:
            yield from ({**point, "halvings": halvings} for halvings in (3, 5, 8))
        else:
            yield point


EXPLICIT = "our explicit form of it"  # of a claim that is printed as an order


def reacting(
    trial: Any, claim: Claim, known: Point, depth: Depth, given: Tally, domain: str, *, bound: str = "the bound"
) -> Evidence:
    """`conditional` with the known witness of a policy that looks, and no violation without one."""
    stated = tally_of(trial, claim, [known])
    known_ratio = stated.largest
    free = tally_of(trial, claim, without_a_look(trial, depth))
    given.cases += free.cases
    given.largest = max(given.largest, free.largest)
    given.witness = given.witness or free.witness
    summary = (
        "Two clients of which one is taken at a time, wanted only while their latest noise is not positive: "
        f"{known_ratio:.4g} times {bound}. With availability given in advance the largest ratio found is "
        f"{given.largest:.3g}."
    )
    return conditional(stated, given, HYPOTHESIS, "exact moments", summary, domain=f"{CHAIN_RUN}; {domain}")


DOMAIN = "two clients, K = 1, E up to 5, steps 1/8 to 1/1024; short runs with all noise paths"
LATE = {"window": 5, "policy": AWAY_WHILE_GOOD, "start": 0.0}


@checks(
    iterations.cor1,
    mutants=[times("bound", "1/100"), put("bound", B, 0), times("step", 100), put("step", L, 1), without("range")],
)
@reading(INDEPENDENT_NOISE)
def corollary_1(claim: Claim, depth: Depth) -> Evidence:
    """The substitution leaves at least (33); a policy that looks exceeds it."""
    wrong = _substitution(claim, iterations.thm3.bound.rhs, "iterations", {})  # type: ignore[union-attr]
    known = {**LATE, "iterations": 100_000}
    return wrong or reacting(corollary_1_on_the_chain, claim, known, depth, Tally(), DOMAIN, bound=EXPLICIT)


@checks(
    by_rounds.thm4_rate,
    mutants=[
        times("bound", "1/100"),
        put("bound", B, 0),
        put("step", C, 1),
        put("step", L, 1),
        without("range"),
        times("(52)", "7/10"),
    ],
)
@reading(INDEPENDENT_NOISE)
def rate_of_theorem_4(claim: Claim, depth: Depth) -> Evidence:
    """The substitution leaves at least (52), C cancels but in one term; a policy that looks exceeds it."""
    explicit = claim.formulas["(52)"]
    if explicit != by_rounds.eq52.bound.rhs:  # type: ignore[union-attr]
        witness = {"explicit": str(explicit), "(52)": str(by_rounds.eq52.bound.rhs)}  # type: ignore[union-attr]
        return Evidence("refuted", "algebra", "Not the bound of (52).", witness=witness)
    wrong = in_rounds(claim, explicit)
    known = {**LATE, "rounds": 100_000}
    return wrong or reacting(theorem_4_rate_trial, claim, known, depth, Tally(), DOMAIN, bound=EXPLICIT)


def in_rounds(claim: Claim, explicit: Any) -> Evidence | None:
    """The substitution of Theorem 4."""
    return _substitution(claim, explicit, "rounds", {"local_steps": (1, 4, 10)})


def _substitution(claim: Claim, explicit: Any, clock: str, more: dict[str, tuple[int, ...]]) -> Evidence | None:
    """The explicit bound at the stated step against the stated one, with each source of error alone; None if fine."""
    alone = (
        {"initial_gap": 1.0},
        {"noise_std": 1.0},
        {"gradient_bound": 1.0},
        {"initial_gap": 1.0, "noise_std": 1.0},
        {"initial_gap": 1.0, "smoothness": 8.0},
        {"initial_gap": 1.0, "smoothness": 1 / 8},
    )
    nothing = {"initial_gap": 0.0, "noise_std": 0.0, "gradient_bound": 0.0, "smoothness": 1.0}
    # of 4 000 000 clients, all of whom are asked, the step passes 1/(4L) in runs that are not short
    asked = [*((n, size) for n in (1, 2, 16, 100) for size in (1, 2, 10) if size <= n), (4_000_000, 4_000_000)]
    for (n, size), window, horizon, source, steps in product(
        asked, (1, 2, 50), (1, 4, 10, 100, 10_000, 1_000_000), alone, more.get("local_steps", (1,))
    ):
        where = nothing | source | {
            "n_clients": n, "window": window, "selected_share": size / n, clock: horizon, "local_steps": steps,
            "staleness": -(-n // size) * window - 1,
        }  # fmt: skip
        where["local_lr"] = _stated_step(claim, where)
        if where["local_lr"] * where["smoothness"] >= 1 / 2 or not all(conditions_at(claim, where).values()):
            continue
        left = _at(explicit, where)
        right = _at(claim.bound.rhs, where)  # type: ignore[union-attr]
        if left > right * (1 + SLACK):
            return Evidence("refuted", "substitution", "The stated bound is below (33) or (52).", witness=where)
    return None


def _at(expression: Any, where: dict[str, Any]) -> float:
    symbols = sorted(expression.free_symbols, key=lambda s: s.name)
    return float(compiled(expression)(*(where[s.name] for s in symbols)))


@lru_cache(maxsize=64)
def compiled(expression: Any) -> Any:
    """A formula as a function of its letters in alphabetical order."""
    return sympy.lambdify(sorted(expression.free_symbols, key=lambda s: s.name), expression, "math")
