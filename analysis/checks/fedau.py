"""Checks of FedAU's statements on weights: enumeration, exact rationals, exact laws on grids, algebra."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import sympy
from sympy import Rational, Symbol

from analysis.checks import CheckBook, Depth, mutate, plus, put, times
from analysis.checks import histories as h
from analysis.evidence import Evidence, Tally, algebra, conditional
from fltheory.distributions import KCutoffGeometric
from fltheory.distributions import symbolic as interval_law
from fltheory.ledger import Bound, Claim
from fltheory.papers import fedau
from fltheory.papers.fedau import K, T, p, t
from fltheory.streams import stream
from fltheory.symbols import UNITS
from fltheory.units import UnitError, unit_of
from fltheory.weights import exact_weight_law, fedau_weights

checks = CheckBook()

# The exact law is accurate to 1e-12 relative; a bound may be missed by that much and no more.
SLACK = 1e-11
RATES = [F(1, 50), F(1, 10), F(1, 3), F(1, 2), F(9, 10), F(1)]
CUTOFFS = [1, 2, 3, 5, math.inf]


def at(expression: Any, **values: Any) -> Any:
    """A formula at exact values, as a Fraction; names are those of its symbols."""
    known = {s: values[s.name] for s in expression.free_symbols}
    exact = {s: sympy.oo if v == math.inf else sympy.nsimplify(Rational(v)) for s, v in known.items()}
    value = expression.subs(exact)
    return F(int(value.p), int(value.q))


def rational_sample(residual: Any) -> Any:
    """A residual at p = 1/3, K = 4 and small distinct values of the other letters."""
    first = {p: Rational(1, 3), K: 4, T: 7, t: 2}
    others = sorted(residual.free_symbols - set(first), key=lambda s: s.name)
    return residual.subs(first | {s: Rational(2 + i, 5) for i, s in enumerate(others)})


# ---- setting and Theorem 1 -------------------------------------------------------------------------------


@checks(fedau.eq1, mutants=[times("coefficient", 2), put("coefficient", fedau.N, fedau.N**2)])
def coefficients_average(claim: Claim, depth: Depth) -> Evidence:
    """N equal coefficients of an average sum to one."""
    steps = [("N coefficients sum to 1", fedau.N * claim.formulas["coefficient"] - 1)]
    return algebra(steps, "proved", "The coefficients are equal and sum to one.", sample=rational_sample)


@checks(fedau.A1, mutants=[put("absorbed", fedau.N, fedau.N**2), times("absorbed", 2)])
def weights_are_absorbed(claim: Claim, depth: Depth) -> Evidence:
    """(1/N) F_n has the coefficient q_n/Gamma on client n's own objective."""
    wanted = fedau.data_weight / fedau.total_data_weight
    steps = [("(1/N) times the absorbed weight is q_n/Gamma", claim.formulas["absorbed"] / fedau.N - wanted)]
    return algebra(steps, "proved", "Symbolic identity, for every n and N.", sample=rational_sample)


@checks(fedau.thm1, mutants=[put("coefficient", p, p**2), put("coefficient", fedau.weight, 1)])
def expected_step_descends_h(claim: Claim, depth: Depth) -> Evidence:
    """One local step moves, in expectation, along -grad h; but h must have a minimum to be minimised."""
    # Expected update of client n with one local step: -(gamma eta/N) w_n p_n grad F_n = -(gamma eta P/N) c_n grad F_n.
    lr = fedau.local_lr * fedau.global_lr / fedau.N
    residual = lr * fedau.weight * p - lr * fedau.total_weight * claim.formulas["coefficient"]
    found = algebra(
        [("expected step = -(gamma eta P/N) grad h, client by client", residual)], "proved", "", sample=rational_sample
    )
    if found.verdict != "proved":
        return found
    rates, slopes = (F(9, 10), F(1, 10)), (1, -1)
    total = sum(rates)
    slope = sum(at(claim.formulas["coefficient"], weight=1, rate=r, total_weight=total) * s for r, s in zip(rates, slopes, strict=True))
    return Evidence(
        "conditional", "algebra and witness",
        "Needs h bounded below, which nonnegative losses satisfy; boundedness of f alone does not give it.",
        "one local step; the general case rests on Theorem B.4.1", found.cases,
        hypothesis="h is bounded below",
        witness={"F_1": "x", "F_2": "-x", "p": "(9/10, 1/10)", "weights": "(1, 1)", "f": "0",
                 "|grad h|^2 at every point": slope**2},
    )  # fmt: skip


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
    schedule = {fedau.local_lr: local, fedau.global_lr: c2 / c1, T: x}
    limit = sympy.limit(claim.bound.rhs.subs(schedule, simultaneous=True), x, sympy.oo)
    if limit != 0:
        return Evidence("refuted", "algebra", f"the bound tends to {limit}", witness={"limit of the bound": limit})
    return Evidence(
        "conditional", "units and limit",
        "Homogeneous, and vanishes with the stated step sizes; needs h bounded below, which nonnegative losses "
        "satisfy. The descent lemma behind its constants is not checked here.",
        "all positive constants", 2, hypothesis="h is bounded below; Lemma B.3.3",
        witness={"F_1": "x", "F_2": "-x", "p": "(9/10, 1/10)", "weights": "(1, 1)", "|grad h|^2 at every point": F(16, 25)},
    )  # fmt: skip


# ---- the estimator ---------------------------------------------------------------------------------------


@checks(
    fedau.sec3_interval,
    mutants=[put("average interval", T, T - 1), times("average interval", 2), put("average interval", fedau.participations, fedau.participations + 1)],
)  # fmt: skip
def interval_of_every_history(claim: Claim, depth: Depth) -> Evidence:
    """All histories: T over participations against the mean of the intervals that participations complete."""
    rounds = {"quick": 8, "default": 11, "deep": 16}[depth]
    stated, last_round = Tally(), Tally()
    for length in range(1, rounds + 1):
        for history in h.all_histories(length):
            if not any(history):
                continue
            intervals, _ = h.cut(history, math.inf)
            value = at(claim.formulas["average interval"], rounds=length, participations=sum(history))
            case = (F(sum(intervals), len(intervals)), value)
            (last_round if history[-1] else stated).equal(*case, history="".join("01"[x] for x in history))
    return conditional(
        stated, last_round, "the last round is a participating one", "enumeration",
        "Exact when the last round is a participating one; otherwise the unfinished last interval makes a small "
        "difference.", domain=f"all histories of up to {rounds} rounds with a participation",
    )  # fmt: skip


@checks(
    fedau.alg2,
    mutants=[
        put("weight", fedau.open_interval, fedau.open_interval + 1),
        put("weight", fedau.completed, fedau.completed + 1),
        plus("largest", -1),
        plus("fewest", 1),
    ],
)
def every_history_literally(claim: Claim, depth: Depth) -> Evidence:
    """All histories and cutoffs: the estimator, the closed form and the invariants."""
    rounds = {"quick": 7, "default": 10, "deep": 14}[depth]
    tally = Tally(slack=1e-13)
    all_of_them = np.array(list(h.all_histories(rounds)), dtype=bool).T
    for cutoff in (1, 2, 3, 4, rounds, math.inf):
        computed = fedau_weights(all_of_them, cutoff)
        forms = {name: sympy.lambdify(sorted(e.free_symbols, key=str), e) for name, e in claim.formulas.items()}
        for column, history in enumerate(all_of_them.T):
            for time in range(rounds):
                done, open_length = h.cut(history[:time], cutoff)
                where = {"history": "".join("01"[int(x)] for x in history[:time]), "K": cutoff}
                weight = float(computed[time, column])
                wanted = forms["weight"](len(done), open_length, time) if done else 1.0
                tally.equal(weight, wanted, **where)
                tally.at_most(weight, forms["largest"](cutoff, time), **where)
                tally.at_most(1.0, weight, **where)
                if cutoff != math.inf:
                    tally.at_most(forms["fewest"](cutoff, time), len(done), **where)
    return tally.evidence(
        "exact", "enumeration", "Closed form and invariants hold in every state.",
        domain=f"all histories of {rounds} rounds, K in 1..4, {rounds} and infinity",
    )  # fmt: skip


# ---- one interval ----------------------------------------------------------------------------------------


@checks(
    fedau.lemB61,
    mutants=[
        times("probability of k < K", 2),
        put("probability of K", K, K + 1),
        mutate("mean", "exponent K-1", lambda e: e.subs((1 - p) ** K, (1 - p) ** (K - 1))),
        mutate("variance", "2K instead of 2K-1", lambda e: e.subs(2 * K - 1, 2 * K)),
        mutate("variance", "the garbled extra term", lambda e: e + 2 * (1 - p) ** K / p**2),
        times("largest variance", Rational(1, 2)),
    ],
)
def interval_moments(claim: Claim, depth: Depth) -> Evidence:
    """Normalisation by the paper's induction on K, moments by tail sums, the variance bound by signs."""
    part = claim.formulas
    steps = [
        *interval_law.prove_normalised(part["probability of k < K"], part["probability of K"]),
        *interval_law.prove_mean(part["mean"]),
        *interval_law.prove_variance(part["mean"], part["variance"], part["largest variance"]),
    ]
    return algebra(
        [(s.statement, s.residual) for s in steps], "proved",
        "Distribution, mean and variance by induction on K; Var[S] <= (1-p)/p^2 because what it drops is positive.",
        sample=rational_sample,
    )  # fmt: skip


# ---- the law of the weight -------------------------------------------------------------------------------


def _horizon(depth: Depth) -> int:
    return {"quick": 8, "default": 14, "deep": 24}[depth]


def _rational_domain(rounds: int) -> str:
    rates = ", ".join(str(r) for r in RATES)
    return f"p in {{{rates}}}, K in {{1, 2, 3, 5, infinity}}, t <= {rounds}, exact rationals"


@checks(fedau.law, mutants=[plus("joint", Rational(1, 100)), put("joint", 1 - p, (1 - p) ** 2), times("joint", 2)])
def joint_law(claim: Claim, depth: Depth) -> Evidence:
    """Algorithm 2 stepped over exact probabilities against the product form."""
    rounds, tally = _horizon(depth), Tally()
    for rate in RATES:
        for cutoff in CUTOFFS:
            f = h.first_passages(rate, cutoff, rounds)
            for time, law in enumerate(h.states(rate, cutoff, rounds)):
                for (m, s), mass in law.items():
                    form = at(claim.formulas["joint"], first_passage=f[m][time - s], rate=rate, open_interval=s)
                    tally.equal(mass, form, p=rate, K=cutoff, t=time, M=m, S=s)
    return tally.evidence("exact", "enumeration", "Equal in every state.", domain=_rational_domain(rounds))


def _mean(time: int, law: dict[h.State, F], *, given_sample: bool = False) -> F:
    """E[w_t], or E[w_t | M_t >= 1]."""
    kept = [(mass, h.weight(time, s)) for s, mass in law.items() if s[0] or not given_sample]
    return F(sum(mass * w for mass, w in kept)) / (sum(mass for mass, _ in kept) if given_sample else 1)


@checks(fedau.law_mean, mutants=[put("late", K, K + 1), times("late", 2), put("early", t, t + 1), times("early", Rational(1, 2))])
def mean_of_every_round(claim: Claim, depth: Depth) -> Evidence:
    """Exact mean by stepping Algorithm 2 against the closed form, early and late."""
    rounds, tally = _horizon(depth), Tally()
    for rate in RATES:
        for cutoff in CUTOFFS:
            for time, law in enumerate(h.states(rate, cutoff, rounds)):
                if time:
                    form = claim.formulas["late" if time >= cutoff else "early"]
                    where = {"p": rate, "K": cutoff, "t": time}
                    tally.equal(_mean(time, law), at(form, rate=rate, cutoff=cutoff, round_index=time), **where)
    return tally.evidence("exact", "enumeration", "Equal in every round.", domain=_rational_domain(rounds))


@checks(fedau.law_var, mutants=[put("late", K, K + 1), times("late", 2), put("late", fedau.squared_difference, 2 * fedau.squared_difference)])
def error_of_late_rounds(claim: Claim, depth: Depth) -> Evidence:
    """E[(p w_t - 1)^2] for t >= 2K by stepping Algorithm 2 against the law of the first two intervals."""
    rounds, tally = _horizon(depth), Tally()
    for rate in RATES:
        for cutoff in (1, 2, 3):
            laws = list(h.states(rate, cutoff, rounds))
            for time in range(2 * cutoff, rounds + 1):
                error = sum(mass * (rate * h.weight(time, s) - 1) ** 2 for s, mass in laws[time].items())
                form = at(claim.formulas["late"], rate=rate, cutoff=cutoff, squared_difference=_pair(rate, cutoff, time, laws))
                tally.equal(error, form, p=rate, K=cutoff, t=time)
    return tally.evidence(
        "exact", "enumeration", "Equal in every round t >= 2K.",
        domain=f"p in {{{', '.join(map(str, RATES))}}}, K in {{1, 2, 3}}, 2K <= t <= {rounds}, exact rationals",
    )  # fmt: skip


def _pair(rate: F, cutoff: int, time: int, laws: Sequence[dict[h.State, F]]) -> F:
    """E[(X_1 - X_2)^2 / M_t]: after two intervals Algorithm 2 starts afresh with t - X_1 - X_2 rounds to go."""
    one = {k: (1 - rate) ** (k - 1) * (1 if k == cutoff else rate) for k in range(1, cutoff + 1)}
    return sum(
        (
            one[a] * one[b] * (a - b) ** 2 * sum(mass / (m + 2) for (m, _), mass in laws[time - a - b].items())
            for a in one
            for b in one
        ),
        F(0),
    )


@checks(fedau.eqB68a, mutants=[put("mean", K, K + 1), times("mean", 2), put("mean", K, 2 * K)])
def mean_given_a_sample(claim: Claim, depth: Depth) -> Evidence:
    """The mean given at least one completed interval, early rounds and late ones apart."""
    rounds, early, late = _horizon(depth), Tally(), Tally()
    for rate in RATES[:-1]:
        for cutoff in (1, 2, 3, 4, 5):
            form = at(claim.formulas["mean"], rate=rate, cutoff=cutoff)
            for time, law in enumerate(h.states(rate, cutoff, rounds)):
                if time:
                    tally = late if time >= cutoff else early
                    tally.equal(_mean(time, law, given_sample=True), form, p=rate, K=cutoff, t=time)
    return conditional(
        early, late, "t >= K", "enumeration",
        "Holds for t >= K; for 0 < t < K the mean of w_t differs from E[S], and Theorem 3 is still true by a short "
        "alternative argument.", domain=f"p in {{1/50, 1/10, 1/3, 1/2, 9/10}}, K in 1..5, 0 < t <= {rounds}, exact rationals",
    )  # fmt: skip


def _per_round_errors(bound: Bound, depth: Depth, *, given_sample: bool) -> Tally:
    """E[(p w_t - 1)^2; M_t >= 1], divided by P(M_t >= 1) on request, against a per-round bound."""
    tally = Tally(slack=SLACK)
    horizon = {"quick": 60, "default": 300, "deep": 3000}[depth]
    for rate in (1e-3, 5e-3, 0.02, 0.1, 0.5, 0.9):
        for cutoff in (1, 2, 5, 20, 99, 1000):
            variance = float(KCutoffGeometric(rate, cutoff).var())
            error = exact_weight_law(rate, cutoff, horizon + 1).error
            for time in range(1, horizon + 1):
                none = (1 - rate) ** time if time < cutoff else 0.0
                left = error[time] - (1 - rate) ** 2 * none  # without a sample the weight is 1
                right = bound.at(rate=rate, cutoff=cutoff, round_index=time, interval_variance=variance)
                # The subtraction costs up to one rounding of the error that it started from.
                noise = 4 * np.finfo(float).eps * error[time]
                tally.at_most((left - noise) / ((1 - none) if given_sample else 1.0), right, p=rate, K=cutoff, t=time)
    return tally


ERROR_BOUND_MUTANTS = [
    times("bound", Rational(1, 2)),
    put("bound", 2 * K, 4 * K),
    put("bound", p**2, p**3),
    mutate("bound", "one sample more", lambda e: e.subs(sympy.Max(sympy.floor(t / K), 1), sympy.floor(t / K) + 1)),
]


@checks(fedau.eqB68b, mutants=ERROR_BOUND_MUTANTS[:2])
def variance_given_a_sample(claim: Claim, depth: Depth) -> Evidence:
    """The conditional reading fails for small p and t < K; the unconditional expectation never does."""
    assert claim.bound is not None
    return conditional(
        _per_round_errors(claim.bound, depth, given_sample=True),
        _per_round_errors(claim.bound, depth, given_sample=False),
        "read as the expectation over all paths, not given M_t >= 1", "exact grid",
        "Needs an argument for the random number of intervals; convexity and exchangeability supply it for the "
        "unconditional expectation.", domain="p in {.001, .005, .02, .1, .5, .9}, K in {1, 2, 5, 20, 99, 1000}",
    )  # fmt: skip


@checks(fedau.eqB68b_unconditional, mutants=ERROR_BOUND_MUTANTS)
def variance_over_all_paths(claim: Claim, depth: Depth) -> Evidence:
    """The per-round bound on E[(p w_t - 1)^2; M_t >= 1]."""
    assert claim.bound is not None
    return _per_round_errors(claim.bound, depth, given_sample=False).evidence(
        "exact", "exact grid", "No round exceeds it.", ratio=True,
        domain="p in {.001, .005, .02, .1, .5, .9}, K in {1, 2, 5, 20, 99, 1000}",
    )  # fmt: skip


# ---- Theorem 3 -------------------------------------------------------------------------------------------

GRID_RATES = (1e-6, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
GRID_CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100, 300)


def _grid(depth: Depth) -> tuple[Sequence[float], Sequence[int], int]:
    if depth == "quick":
        return GRID_RATES[::3], GRID_CUTOFFS[::2], 300
    return GRID_RATES, GRID_CUTOFFS, {"default": 2000, "deep": 20000}[depth]


def _horizons(rounds: int) -> Iterable[int]:
    """All T up to 32, then about ten a factor of two."""
    wide = np.unique(np.geomspace(32, rounds, num=10 * max(1, int(math.log2(rounds / 32)))).astype(int))
    return sorted({*range(2, 33), *wide.tolist()})


def _grid_domain(rates: Sequence[float], cutoffs: Sequence[int], rounds: int) -> str:
    return f"p in {{{', '.join(f'{r:g}' for r in rates)}}}, K in {{{', '.join(map(str, cutoffs))}}}, 2 <= T <= {rounds}"


def _average_errors(claims: Sequence[Bound], depth: Depth) -> tuple[list[Tally], str]:
    """The exact average weight error against each bound, over the grid."""
    rates, cutoffs, rounds = _grid(depth)
    tallies = [Tally(slack=SLACK) for _ in claims]
    for rate in rates:
        for cutoff in cutoffs:
            variance = float(KCutoffGeometric(rate, cutoff).var())
            average = np.cumsum(exact_weight_law(rate, cutoff, rounds).error) / np.arange(1, rounds + 1)
            for horizon in _horizons(rounds):
                for bound, tally in zip(claims, tallies, strict=True):
                    right = bound.at(rate=rate, cutoff=cutoff, rounds=horizon, interval_variance=variance)
                    tally.at_most(average[horizon - 1], right, p=rate, K=cutoff, T=horizon)
    return tallies, _grid_domain(rates, cutoffs, rounds)


@checks(
    fedau.thm3,
    mutants=[
        times("bound", Rational(1, 2)),
        put("bound", 2 * K, 3 * K),
        mutate("bound", "bias term left out", lambda e: e - (1 - p) ** (2 * K)),
        mutate("bound", "T squared", lambda e: e.subs(1 / T, 1 / T**2)),
        times("first line", Rational(1, 2)),
    ],
)
def average_error_on_the_grid(claim: Claim, depth: Depth) -> Evidence:
    """The exact average weight error against the first and the last line of (B.6.9)."""
    assert claim.bound is not None
    first_line = Bound(claim.bound.lhs, claim.formulas["first line"])
    (last, first), domain = _average_errors([claim.bound, first_line], depth)
    decisive = first if first.witness else last
    return decisive.evidence(
        "exact", "exact grid",
        f"No violation; largest left/right ratio found {last.largest:.3f} (last line), {first.largest:.3f} (first line).",
        domain=domain, ratio=True,
    )  # fmt: skip


@checks(
    fedau.thm3_improved,
    mutants=[
        times("bound", Rational(1, 2)),
        put("bound", 2 * K, 3 * K),
        mutate("bound", "bias term left out", lambda e: e - (1 - p) ** (2 * K)),
        mutate("bound", "T squared", lambda e: e.subs(1 / T, 1 / T**2)),
        put("bound", (1 - p) ** 2, (1 - p) ** 4),
    ],
)
def average_error_against_the_improvement(claim: Claim, depth: Depth) -> Evidence:
    """The exact average weight error against our bound without the factor K."""
    assert claim.bound is not None
    (tally,), domain = _average_errors([claim.bound], depth)
    return tally.evidence("exact", "exact grid", f"No violation; largest left/right ratio found {tally.largest:.3f}.",
                          domain=domain, ratio=True)  # fmt: skip


@checks(fedau.thm3_repaired, mutants=[*ERROR_BOUND_MUTANTS[:2], put("late", 2 * K, 3 * K), times("late", Rational(1, 2))])
def error_of_every_round(claim: Claim, depth: Depth) -> Evidence:
    """The exact error of every round against (R), counting the rounds in which it is attained."""
    assert claim.bound is not None
    rates, cutoffs, rounds = _grid(depth)
    rounds = min(rounds, 1000)
    tally, attained, late = Tally(slack=SLACK), 0, Bound("", claim.formulas["late"])
    for rate in rates:
        for cutoff in cutoffs:
            variance = float(KCutoffGeometric(rate, cutoff).var())
            error = exact_weight_law(rate, cutoff, rounds).error
            for time in range(1, rounds):
                bound = claim.bound if time < cutoff else late
                right = bound.at(rate=rate, cutoff=cutoff, round_index=time, interval_variance=variance)
                attained += math.isclose(error[time], right, rel_tol=SLACK)
                tally.at_most(error[time], right, p=rate, K=cutoff, t=time)
    return tally.evidence(
        "exact", "exact grid", f"No violation; attained in {attained} of {tally.cases} rounds.",
        domain=_grid_domain(rates, cutoffs, rounds).replace("2 <= T", "1 <= t"), ratio=True,
    )  # fmt: skip


@checks(fedau.E8, mutants=[put("first term", K, K**2), put("first term", K, sympy.log(K + 1))])
def first_term_is_linear(claim: Claim, depth: Depth) -> Evidence:
    """The second difference in K is zero, the first is positive."""
    term = claim.formulas["first term"]
    step = sympy.expand(term.subs(K, K + 1) - term)
    steps = [("second difference in K is 0", step.subs(K, K + 1) - step)]
    found = algebra(steps, "proved", "Linear in K with a positive slope: said of the bound, and true of it.", sample=rational_sample)
    if found.verdict == "proved" and not step.subs(T, T + 1).is_positive:  # T >= 2: log T > 0
        return Evidence("refuted", "algebra", f"the slope {step} is not positive", witness={"slope": step})
    return found


# ---- the choice of K -------------------------------------------------------------------------------------


def _cutoff(formula: Any, rate: float, rounds: int) -> int:
    """Corollary 4's K from the claim's own formula, in exact arithmetic on the given binary rate."""
    value = formula.subs({fedau.min_rate: Rational(rate), T: rounds})
    return int(value.evalf(40)) if value.is_number and not value.has(sympy.zoo, sympy.nan) else 0


def _choices(depth: Depth) -> Iterable[tuple[float, int]]:
    rates = (0.02, 0.1, 0.5, 0.9, 1 - 1e-6) if depth == "quick" else (0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-6)
    horizons = (2, 10, 100) if depth == "quick" else (2, 3, 10, 30, 100, 300, 1000)
    return ((rate, horizon) for rate in rates for horizon in horizons)


def _chosen(claim: Claim, depth: Depth) -> Tally:
    """The exact average error at the chosen K, of the slowest client and of faster ones, against the bound."""
    assert claim.bound is not None
    tally = Tally(slack=SLACK)
    for slowest, horizon in _choices(depth):
        cutoff = _cutoff(claim.formulas["cutoff"], slowest, horizon)
        right = claim.bound.at(min_rate=slowest, rounds=horizon)
        for rate in (slowest, (1 + slowest) / 2):
            where = {"p": rate, "p_min": slowest, "T": horizon, "K": cutoff}
            if cutoff < 1:
                tally.holds(False, **where)
            else:
                tally.at_most(float(exact_weight_law(rate, cutoff, horizon).error.mean()), right, **where)
    return tally


CUTOFF_MUTANTS = [
    mutate("cutoff", "log_c of sqrt(T), halved", lambda e: sympy.ceiling(e.args[0] / 8)),
    mutate("cutoff", "one", lambda e: sympy.Integer(1)),
]


@checks(fedau.lemB71, mutants=[times("bound", Rational(1, 20)), times("bound", 1 / T)])
def chosen_cutoff(claim: Claim, depth: Depth) -> Evidence:
    """The explicit bound on the grid; at p_min = 1 the formula for K gives 0, and R is 0 too."""
    found = _chosen(claim, depth)
    at_one = Tally()
    for horizon in (2, 10, 1000):
        at_one.at_most(1, _cutoff(claim.formulas["cutoff"], 1.0, horizon) or 0, p_min=1, T=horizon, R=0)
    order = Bound("", claim.formulas["published order"])
    hidden = max(
        Bound("", claim.bound.rhs).at(min_rate=rate, rounds=1000) / order.at(min_rate=rate, rounds=1000)  # type: ignore[union-attr]
        for rate in (1 - 1e-6, 1 - 1e-12)
    )
    return conditional(
        at_one, found, "min p_n stays away from 1 (and K >= 1)", "exact grid",
        "The hidden constant is uniform when min p_n stays away from 1: the explicit bound is "
        f"{hidden:.1f} times the published order at T = 1000, min p_n = 1 - 1e-12. The error itself is tiny there.",
        domain="p_min from .02 to 1 - 1e-6, T from 2 to 1000; p_min = 1",
    )  # fmt: skip


@checks(fedau.lemB71_improved, mutants=[times("bound", Rational(1, 6)), put("bound", fedau.min_rate, 1), CUTOFF_MUTANTS[1]])
def chosen_cutoff_improved(claim: Claim, depth: Depth) -> Evidence:
    """The exact average error at Corollary 4's K against (2 log T + 5)/(p_min T)."""
    tally = _chosen(claim, depth)
    return tally.evidence("exact", "exact grid", f"No violation; largest left/right ratio found {tally.largest:.3f}.",
                          domain="p_min from .02 to 1 - 1e-6, T from 2 to 1000", ratio=True)  # fmt: skip


@checks(fedau.E7, mutants=CUTOFF_MUTANTS)
def bias_at_the_chosen_cutoff(claim: Claim, depth: Depth) -> Evidence:
    """With p_min known the bias is at most 1/T; a fixed K keeps a floor of (1-p)^(2K) for ever."""
    known, unknown = Tally(slack=SLACK), Tally(slack=SLACK)
    for slowest, horizon in _choices(depth):
        limit = float(claim.formulas["largest bias"].subs(T, horizon))
        cutoff = _cutoff(claim.formulas["cutoff"], slowest, horizon)
        known.at_most((1 - slowest) ** (2 * cutoff), limit, p_min=slowest, T=horizon, K=cutoff)
    for horizon in (100, 1000, 10_000):
        unknown.at_most(0.98**100, float(claim.formulas["largest bias"].subs(T, horizon)), p_min=0.02, T=horizon, K=50)
    return conditional(
        unknown, known, "a lower bound on the smallest participation probability is known", "exact grid",
        "The choice of K needs a lower bound on the smallest participation probability; with a fixed K the bias "
        "(1-p)^(2K) stays, .1326 at K = 50, p = .02.", domain="p_min from .02 to 1 - 1e-6, T from 2 to 1000; K = 50 at p = .02",
    )  # fmt: skip


@checks(fedau.E16, mutants=[mutate("printed step", "natural logarithm", lambda e: sympy.log(T) ** 2), mutate("order of the lemma", "base two", lambda e: sympy.log(T, 2) ** 2)])  # fmt: skip
def one_logarithm(claim: Claim, depth: Depth) -> Evidence:
    """1 <= log^2 T at T = 2 with the printed logarithm and with that of the lemma; both grow in T."""
    printed, lemma = (float(claim.formulas[name].subs(T, 2)) for name in ("printed step", "order of the lemma"))
    ratio = float(sympy.simplify(claim.formulas["printed step"] / claim.formulas["order of the lemma"]))
    if printed < 1:
        return Evidence("refuted", "algebra", "fails at T = 2", witness={"T": 2, "log^2 T": printed})
    if lemma >= 1:
        return Evidence("proved", "algebra", "log^2 T >= 1 for T >= 2, in one and the same base", "T >= 2", 2)
    return Evidence(
        "inconsistent", "algebra",
        f"The step needs base two, the lemma's order is natural: a factor {ratio:.2f}, which does not change the order.",
        "T >= 2", 2, witness={"T": 2, "log_2^2 T": printed, "log^2 T": lemma},
    )  # fmt: skip


# ---- long run, numbers, Appendix C.6 ---------------------------------------------------------------------


@checks(
    fedau.longrun,
    mutants=[put("bernoulli", K, K + 1), put("markov", K, K + 1), mutate("cyclic", "102", lambda e: fedau.active / (fedau.active - 1 + sympy.ceiling((102 - fedau.active) / K)))],
)  # fmt: skip
def completions_in_the_long_run(claim: Claim, depth: Depth) -> Evidence:
    """p times the mean completed interval: the chain's stationary law solved in rationals, a cycle counted."""
    tally = Tally()
    rates = [F(1, 50), F(1, 10), F(1, 2), F(9, 10)]
    for rate in rates:
        for cutoff in (1, 2, 3, 5, 10, 50):
            where = {"p": rate, "K": cutoff}
            scale = rate / h.completion_rate(rate, 1 - rate, cutoff)
            tally.equal(scale, at(claim.formulas["bernoulli"], rate=rate, cutoff=cutoff), family="bernoulli", **where)
            a = min(F(1, 20), rate / (1 - rate))
            b = a * (1 - rate) / rate
            form = at(claim.formulas["markov"], enter=a, leave=b, cutoff=cutoff)
            tally.equal(rate / h.completion_rate(a, b, cutoff), form, family="markov", **where)
            d = int(100 * rate)
            cycle = [True] * d + [False] * (100 - d)
            completed, _ = h.cut([*cycle, True], cutoff)  # from one end of an on-run round to the next cycle's
            form = at(claim.formulas["cyclic"], active=d, cutoff=cutoff)
            tally.equal(F(d, 100) * F(100, len(completed) - 1), form, family="cyclic", **where)
    return tally.evidence("exact", "exact rationals", "Equal for every family.",
                          domain="p in {1/50, 1/10, 1/2, 9/10}, K in {1, 2, 3, 5, 10, 50}")  # fmt: skip


@checks(fedau.facts, mutants=[plus("standard deviation", 1), plus("shortest", Rational(1, 10)), plus("longest", Rational(-1, 10)), plus("mean interval", 1), plus("mean", 1)])  # fmt: skip
def example_numbers(claim: Claim, depth: Depth) -> Evidence:
    """The five numbers from T = 10,000 and p = 1/50; intervals agree after rounding to the printed digit."""
    trials, rate, tally = 10_000, Rational(1, 50), Tally()
    deviation = sympy.sqrt(trials * rate * (1 - rate))
    mean = trials * rate
    for name, value in {"standard deviation": deviation, "mean": mean, "mean interval": 1 / rate}.items():
        tally.equal(value, claim.formulas[name], number=name)
    for name, value in {"shortest": trials / (mean + 2 * deviation), "longest": trials / (mean - 2 * deviation)}.items():
        tally.at_most(abs(value - claim.formulas[name]), Rational(1, 20), number=name)
    return tally.evidence("exact", "exact rationals", "14, 200 and 50 exactly; 43.8596 and 58.1395 round as printed.",
                          domain="T = 10,000, p = 1/50")  # fmt: skip


@checks(fedau.C6_mean, mutants=[plus("mean", Rational(1, 100)), times("mean", Rational(1, 2))])
def mean_rate_before_and_after_the_floor(claim: Claim, depth: Depth) -> Evidence:
    """E<kappa, q> = 1/C whatever q is; raising small rates to .02 lifts the mean, measured with its error."""
    classes, target, floor = 10, Rational(1, 10), 0.02
    normalised = classes * target * Rational(1, classes)  # E[p_n] = (1/lambda) E<kappa_n, q>
    before = Tally()
    before.equal(normalised, claim.formulas["mean"], stage="before the floor")
    draws = {"quick": 20_000, "default": 200_000, "deep": 4_000_000}[depth]
    rng = stream(0, "fedau.C6.mean")
    q = rng.dirichlet(np.full(classes, 0.1), draws)
    kappa = rng.dirichlet(np.full(classes, 0.1), draws)
    lifted = np.maximum(np.einsum("ij,ij->i", q, kappa) * classes * float(target), floor)
    mean, error = float(lifted.mean()), float(lifted.std(ddof=1) / math.sqrt(draws))
    after = Tally()
    # Five standard errors: a mean of .1 would be called different with probability below 3e-7.
    after.holds(abs(mean - float(claim.formulas["mean"])) <= 5 * error, stage="after the floor", mean=round(mean, 4), standard_error=round(error, 5))
    return conditional(
        after, before, "before the floor", "algebra and simulation",
        f"True before the floor, as announced; after the floor the mean rate is about {mean:.3f}.",
        domain=f"C = 10, alpha_d = alpha_p = .1, mu = .1, floor .02, {draws} draws",
    )  # fmt: skip


@checks(fedau.C6_markov, mutants=[put("leave", 1 - p, 1), plus("lag-one correlation", Rational(1, 100)), put("leave", p, p**2)])
def chain_keeps_its_rate(claim: Claim, depth: Depth) -> Evidence:
    """One step from the stationary law keeps it; the correlation follows from P(on, then on)."""
    tally = Tally()
    for rate in (F(1, 50), F(1, 10), F(3, 10), F(527, 1000), F(9, 10)):
        a = min(F(1, 20), rate / (1 - rate))
        b = at(claim.formulas["leave"], enter=a, rate=rate)
        tally.equal(rate * (1 - b) + (1 - rate) * a, rate, p=rate, quantity="rate of the next round")
        correlation = (rate * (1 - b) - rate**2) / (rate * (1 - rate))
        form = at(claim.formulas["lag-one correlation"], enter=a, leave=b)
        tally.equal(correlation, form, p=rate, quantity="lag-one correlation")
    return tally.evidence("exact", "exact rationals", "Stationary, with the stated correlation.",
                          domain="p in {.02, .1, .3, .527, .9}, a = min(.05, p/(1-p))")  # fmt: skip
