"""Checks of Lemmas 1 and 5 and of what is said of periods: all patterns of small systems, trials of more."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from analysis.checks import CheckBook, Depth, mutate, plus, put, times
from analysis.checks.fedlaavg.model import take_part
from analysis.checks.points import facts_of
from analysis.domains import Choice, Domain, Several, Whole
from analysis.evidence import Evidence, Tally, conditional
from analysis.trials import Point, Sides, exact_value, judge, right_side
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import by_rounds, experiments, iterations, setting
from fltheory.papers.fedlaavg.letters import E, K, N, iteration
from sims.adversary import Rule, worst_staleness

checks = CheckBook()

# (clients, cohort size, window), all of whose availability patterns are gone through
TRIPLES = (
    (1, 1, 1), (1, 1, 3), (2, 1, 1), (2, 1, 2), (2, 1, 3), (2, 2, 1), (2, 2, 3), (3, 1, 1), (3, 1, 2), (3, 2, 1),
    (3, 2, 2), (3, 2, 3), (3, 3, 2), (4, 1, 1), (4, 2, 2), (4, 3, 2), (4, 4, 2),
)  # fmt: skip
MORE = ((3, 1, 3), (4, 1, 2), (4, 3, 3), (5, 2, 1), (5, 4, 2))
MOST = ((2, 1, 4), (4, 2, 3), (5, 2, 2), (5, 3, 2))


def triples(depth: Depth) -> tuple[tuple[int, int, int], ...]:
    return {"quick": TRIPLES, "default": TRIPLES + MORE, "deep": TRIPLES + MORE + MOST}[depth]


# Too many patterns to go through: here one pattern each, of which the proof says that it attains the bound.
LARGER = tuple((n, size, window) for n in range(1, 13) for size in range(1, n + 1) for window in (1, 2, 3))
ONE_PATTERN = "N up to 12, K up to N, E up to 3, the worst pattern known"


@lru_cache(maxsize=1024)
def age_of_the_last(n: int, size: int, window: int, *, full: bool = False) -> int:
    """The largest age where everybody is available together, in every `window`-th iteration, and the last client is
    asked after all others. `full`: with K clients available in between, those who were asked last."""
    turns, everybody = -(-n // size), 2**n - 1
    if not full:
        who = take_part((0,), turns * window, n, size, window)
    else:
        groups = [(2**size - 1) << size * turn for turn in range(turns)]
        wish = [everybody if k == 0 else group & everybody for group in groups for k in range(window)]
        who = take_part(wish, max(1, (turns - 1) * window), n, size, window, least=size)
        assert who.available.sum(axis=1).min() >= size
    assert who.within(window)
    return who.largest_age


def longest(depth: Depth, *, full: bool = False) -> Iterator[tuple[tuple[int, int, int], float]]:
    """Systems and the largest age in them: over all patterns and ties of the small ones, of one pattern of others."""
    for triple in triples(depth):
        yield triple, worst_staleness(*triple, least=triple[1] if full else 0).staleness
    for triple in LARGER:
        yield triple, age_of_the_last(*triple, full=full)


READINGS = ("take all", "skip")  # of iterations in which fewer than K clients are available
TAKEN = "all available clients are taken when they are fewer than K"
SYSTEM: dict[str, Domain] = {
    "n_clients": Whole(1, 8),
    "cohort_size": Whole(1, 8),
    "window": Whole(1, 5),
    "rounds": Whole(1, 60),
}
WISH: dict[str, Domain] = {"wish": Several(Whole(0, 255), 1, 20)}


def named(triple: Sequence[int]) -> dict[str, int]:
    return dict(zip(("n_clients", "cohort_size", "window"), triple, strict=True))


def _aged(claim: Claim, point: Point, *, least: int, skip: bool) -> Sides:
    system = {name: point[name] for name in ("n_clients", "cohort_size", "window")}
    n, size, window = system.values()
    who = take_part(point["wish"], point["rounds"], n, size, window, least=least, skip=skip)
    facts = {"cohort_size <= n_clients": size <= n}
    here = who.within(window)
    return Sides(who.largest_age, right_side(claim.bound, system), system, facts, {"ass4": here, "ass5": here})


def lemma_trial(claim: Claim) -> Any:
    @checks.trial(claim, {**SYSTEM, **WISH, "when fewer than K": Choice(READINGS)})
    def ages_of_a_pattern(claim: Claim, point: Point) -> Sides:
        """Both readings of Algorithm 1 for iterations in which fewer than K clients are available.

        `wish` has a number for each of the `rounds` iterations, over again: who is wanted as available, bit i for
        client i + 1, besides those whom E = `window` asks for. The left side is the largest t - T_i^t.
        """
        return _aged(claim, point, least=0, skip=point["when fewer than K"] == "skip")

    return ages_of_a_pattern


of_lemma_1 = lemma_trial(iterations.lem1)
of_lemma_5 = lemma_trial(by_rounds.lem5)


@checks.trial(iterations.lem1_full, {**SYSTEM, **WISH})
def ages_with_k_available(claim: Claim, point: Point) -> Sides:
    """At least K clients are available in every iteration."""
    return _aged(claim, point, least=point["cohort_size"], skip=False)


def exhausted(claim: Claim, depth: Depth, *, full: bool = False) -> Tally:
    """The largest ages against the bound."""
    tally = Tally()
    for triple, age in longest(depth, full=full):
        tally.at_most(age, exact_value(claim.bound.rhs, named(triple)), **named(triple))  # type: ignore[union-attr]
    return tally


ATTAINED = "No pattern of {} systems exceeds it, whatever the ties; attained in each (largest ratio found {:.3g})."
AGE_MUTANTS = [
    plus("bound", -1),
    put("bound", E, E + 1),
    mutate("bound", "floor of N/K", lambda e: e.subs(sympy.ceiling(N / K), sympy.floor(N / K))),
    put("bound", N, N * sympy.Rational(5, 6)),  # no different before N = 6
]


def _tight(tally: Tally, claim: Claim, depth: Depth, full: bool) -> Tally:
    """A bound that is not attained would be another statement."""
    attained = all(
        age == exact_value(claim.bound.rhs, named(triple))  # type: ignore[union-attr]
        for triple, age in longest(depth, full=full)
    )
    tally.holds(attained, tightness="attained in every system")
    return tally


def _lemma(trial: Any, claim: Claim, depth: Depth) -> Evidence:
    stated = Tally()
    point = {
        "n_clients": 2, "cohort_size": 2, "window": 2, "rounds": 5, "wish": (1, 2), "when fewer than K": "skip",
    }  # fmt: skip
    found = judge(trial, claim, point)
    facts = facts_of(point, found)
    stated.at_most(facts.pop("left"), facts.pop("right"), **facts)
    tally = _tight(exhausted(claim, depth), claim, depth, full=False)
    return conditional(
        stated, tally, TAKEN, "enumeration",
        ATTAINED.format(len(triples(depth)), tally.largest),
        domain=f"(N, K, E) in {triples(depth)}, all availability patterns, all ties; {ONE_PATTERN}",
    )  # fmt: skip


@checks(iterations.lem1, mutants=AGE_MUTANTS)
def lemma_1(claim: Claim, depth: Depth) -> Evidence:
    """All patterns, if all available clients are taken; the other reading has no bound."""
    return _lemma(of_lemma_1, claim, depth)


@checks(by_rounds.lem5, mutants=AGE_MUTANTS)
def lemma_5(claim: Claim, depth: Depth) -> Evidence:
    """The same in rounds."""
    return _lemma(of_lemma_5, claim, depth)


@checks(iterations.lem1_full, mutants=[AGE_MUTANTS[0], *AGE_MUTANTS[2:], put("bound", E, E - 1)])
def lemma_1_with_k_available(claim: Claim, depth: Depth) -> Evidence:
    """All patterns with at least K available; trials of longer ones."""
    tally = _tight(exhausted(claim, depth, full=True), claim, depth, full=True)
    for wish in itertools.product(range(1, 8), repeat=2 if depth == "quick" else 3):
        point = {"n_clients": 3, "cohort_size": 1, "window": 4, "rounds": 30, "wish": wish}
        found = judge(ages_with_k_available, claim, point)
        tally.at_most(found.sides.left, found.sides.right, **point)
    return tally.evidence(
        "exact", "enumeration", ATTAINED.format(len(triples(depth)), tally.largest), ratio=True,
        domain=f"(N, K, E) in {triples(depth)}, all patterns with at least K available, all ties; {ONE_PATTERN}",
    )  # fmt: skip


@checks(iterations.lem1_skip, mutants=[times("age", "1/2"), plus("age", 1)])
def skipped_for_ever(claim: Claim, depth: Depth) -> Evidence:
    """Two clients in turn, K = 2: nobody ever takes part."""
    tally = Tally()
    for t in range(1, 101):
        who = take_part((1, 2), t, 2, 2, 2, skip=True)
        tally.equal(t - min(who.latest[-1]), exact_value(claim.formulas["age"], {"iteration": t}), t=t)
    return tally.evidence("exact", "run", "It grows with t.", domain="N = K = 2, E = 2, t <= 100")


def any_of_them(ages: Sequence[int], available: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Uniform sampling: any subset may come up."""
    yield from itertools.combinations(available, min(size, len(available)))


def most_recently_used(ages: Sequence[int], available: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Those of the lowest ages."""
    yield tuple(sorted(sorted(available, key=lambda i: (ages[i], i))[:size]))


@checks(iterations.lem1_rule, mutants=[times("age", "1/2"), plus("age", 1), put("age", iteration, 1)])
def other_rules(claim: Claim, depth: Depth) -> Evidence:
    """Under either rule client 2 need never be selected although everybody is always available."""
    tally, rules = Tally(), {"any K": any_of_them, "most recently used": most_recently_used}
    for name, rule in rules.items():
        for t in (1, 2, 5, 20, 50):
            age = _age_after(rule, t)
            tally.equal(age, exact_value(claim.formulas["age"], {"iteration": t}), t=t, rule=name)
    return tally.evidence("exact", "enumeration", "It grows with t.", domain="N = 2, K = 1, E = 1, t <= 50")


def _age_after(rule: Rule, t: int) -> int:
    """The largest age after t iterations that the rule allows to two clients who are always there."""
    reached = {(0, 0)}
    for _ in range(t):
        reached = {
            tuple(0 if n in chosen else age + 1 for n, age in enumerate(ages))  # type: ignore[misc]
            for ages in reached
            for chosen in rule(ages, (0, 1), 1)
        }
    return max(map(max, reached))


@checks(
    iterations.lem1_proof,
    mutants=[plus("clients", -1), times("clients", "13/10"), plus("wait", -1), put("wait", E, E + 1),
             put("wait", N, N * sympy.Rational(5, 6))],
)  # fmt: skip
def distinct_clients(claim: Claim, depth: Depth) -> Evidence:
    """ceil(N/K) K + 1 > N on a grid, and the wait of (13) as the largest age plus one, attained, if all available
    clients are taken; two clients in turn, K = 2, of whom the other reading takes nobody."""
    skipped = Tally()
    two = (2, 2, 2)
    age, wait = take_part((1, 2), 5, *two, skip=True).largest_age, exact_value(claim.formulas["wait"], named(two))
    skipped.at_most(age + 1, wait)
    if skipped.witness:
        skipped.witness = {**named(two), "iterations in which nobody is taken": age, "wait, at least": age + 1,
                           "stated wait": wait}  # fmt: skip
    tally = Tally()
    for n in range(1, {"quick": 10, "default": 20, "deep": 60}[depth]):
        for size in range(1, n + 1):
            needed = exact_value(claim.formulas["clients"], {"n_clients": n, "cohort_size": size})
            others = -(-n // size) * size  # selected in its place, all different
            tally.equal(needed, others + 1, N=n, K=size)
            tally.holds(needed > n, N=n, K=size)
    for triple, oldest in longest(depth):
        tally.equal(oldest + 1, exact_value(claim.formulas["wait"], named(triple)), **named(triple))
    return conditional(
        skipped, tally, TAKEN, "enumeration", "More clients than there are; the longest wait is attained.",
        domain=f"N below 10, 20 or 60 by depth; (N, K, E) in {triples(depth)}; {ONE_PATTERN}",
    )  # fmt: skip


IN_TURN = (2, 1, 1)  # the plainest case: two clients in turn


def _period(claim: Claim, depth: Depth) -> tuple[int, dict[str, Any]]:
    """Cases, and the first system in which a client is not selected in `period` successive iterations."""
    systems = sorted(longest(depth), key=lambda found: found[0] != IN_TURN)
    for triple, longest_run in systems:
        period = exact_value(claim.formulas["period"], named(triple))
        if longest_run >= period:
            return 1, {**named(triple), "stated period": period, "iterations without being selected": longest_run}
    return len(systems), {}


@checks(
    setting.sec32_period, mutants=[plus("period", 1), plus("period", -1), put("period", E, E**2), put("period", N, K)]
)
def selected_in_a_period(claim: Claim, depth: Depth) -> Evidence:
    """The longest run of iterations without a client, which is the largest age, against the stated period, which is
    the I of the lemma that the sentence refers to."""
    cases, witness = _period(claim, depth)
    if not witness:
        return Evidence(
            "exact", "enumeration", "No longer run without a client.", f"{triples(depth)}; {ONE_PATTERN}", cases
        )
    assert iterations.lem1.bound is not None
    for triple in (*triples(depth), *LARGER):
        stated, of_lemma_1 = (
            exact_value(e, named(triple)) for e in (claim.formulas["period"], iterations.lem1.bound.rhs)
        )
        if stated != of_lemma_1:
            different = {**named(triple), "stated period": stated, "I of Lemma 1": of_lemma_1}
            summary = "A client is not selected, and the period is not the I of Lemma 1."
            return Evidence("refuted", "enumeration", summary, cases=cases, witness=different)
    return Evidence(
        "inconsistent", "enumeration", "The length is I + 1, as Lemma 1 implies.", cases=cases, witness=witness
    )


@checks(
    setting.sec32_period_repaired,
    mutants=[plus("period", -1), put("period", E, E - 1), put("period", N, N * sympy.Rational(5, 6))],
)
def selected_in_a_longer_period(claim: Claim, depth: Depth) -> Evidence:
    """The same for the repaired length."""
    cases, witness = _period(claim, depth)
    if witness:
        return Evidence("refuted", "enumeration", "A client is not selected.", cases=cases, witness=witness)
    domain = f"(N, K, E) in {triples(depth)}, all availability patterns, all ties; {ONE_PATTERN}"
    return Evidence("exact", "enumeration", "No longer run without a client, whatever the ties.", domain, cases)


@checks(experiments.exp_E, mutants=[plus("window", 1)])
def blocks_of_rounds(claim: Claim, depth: Depth) -> Evidence:
    """The longest gap of two groups in turn, from the pattern, against the stated window."""
    for length in (2, 1, 50, 100, 200):
        on = np.tile(np.repeat([True, False], length), 4)
        there = np.flatnonzero(on) + 1
        gap = int(np.diff(there).max())
        window = exact_value(claim.formulas["window"], {"window": length})
        if gap > window:
            return Evidence(
                "inconsistent", "enumeration", "Off for E rounds and on again: Assumption 5 holds with E + 1.",
                witness={"E": length, "gap between available rounds": gap, "window": window},
            )  # fmt: skip
        if gap < window:
            return Evidence("refuted", "enumeration", "a smaller window will do", witness={"E": length, "gap": gap})
    return Evidence("exact", "enumeration", "The smallest window.", "E in {1, 2, 50, 100, 200}", 5)
