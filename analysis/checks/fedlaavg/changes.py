"""Checks of Lemma 4 and Corollary 2: how far a gradient moves between two iterates.

The derivation uses E|g_i^(T_i)|^2 <= G^2. That is Lemma 2 when availability is given in advance. When availability
looks at the samples, a client can be away while its latest gradient is large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from sympy import Symbol

from analysis.checks import CheckBook, Depth, put, times
from analysis.checks.fedlaavg import model, reactive
from analysis.checks.fedlaavg.descent import follows
from analysis.checks.fedlaavg.sampling import AWAY_WHILE_GOOD, HYPOTHESIS
from analysis.checks.fedlaavg.settings import GRID, SPACE, grid, run
from analysis.checks.points import tally_of
from analysis.checks.tools import SLACK
from analysis.domains import Domain, Real, Several, Whole
from analysis.evidence import Evidence, conditional
from analysis.trials import Point, Sides, right_side, root
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import iterations as paper
from fltheory.papers.fedlaavg.letters import G, L, gamma

checks = CheckBook()

# ---- availability given in advance -------------------------------------------------------------------------


def given_trial(claim: Claim, *, of_f: bool) -> Any:
    @checks.trial(claim, {**SPACE, "steps_back": Whole(0, 12)})
    def change_between_two_iterates(claim: Claim, point: Point) -> Sides:
        """From t0 = t - steps_back to the last iteration t, availability given in advance."""
        found, t, back = run(point), point["rounds"], point["steps_back"]
        where = found.constants | {"steps_back": back}
        facts = {k: v for k, v in found.facts.items() if k != "f has a minimum"} | {"t0 >= 1": back < t}
        if not found.paths or back >= t:
            return Sides(0, 0, where, facts, found.met)
        even = Fraction(1, len(found.paths))
        ends = ((path.x[t - back - 1], path.x[t - 1], even) for path in found.paths)
        return Sides(_change(found.clients, ends, of_f), right_side(claim.bound, where), where, facts, found.met)

    return change_between_two_iterates


def _change(clients: model.Clients, ends: Iterable[tuple[Any, Any, Fraction]], of_f: bool) -> Any:
    """E|grad(now) - grad(then)|^2 over (then, now, mass): of f, or the largest of a client."""
    slopes = [clients.gradient] if of_f else [lambda x, i=i: clients.slope(i, x) for i in range(len(clients))]
    sums = [0 * clients.centres[0] for _ in slopes]
    for then, now, mass in ends:
        weight = float(mass) if isinstance(now, float) else mass
        sums = [total + weight * (slope(now) - slope(then)) ** 2 for total, slope in zip(sums, slopes, strict=True)]
    return max(sums)


# ---- availability that looks at the samples ------------------------------------------------------------------

REACTING: dict[str, Domain] = {
    "window": Whole(1, 6),
    "policy": Several(Whole(0, 3), 1, 4),
    "centre": Real(-3, 3),
    "local_lr": Real("1/1000", "2/5", log=True),
    "iteration": Whole(1, 6),
    "steps_back": Whole(1, 5),
}


def reacting_trial(claim: Claim, *, of_f: bool) -> Any:
    @checks.trial(claim, REACTING)
    def change_while_availability_reacts(claim: Claim, point: Point) -> Sides:
        """Two clients with f_i' = clip(x - centre, -|centre|, |centre|), gradient noise +-1, x^0 = 0, one of them
        taken in every iteration, from t0 = t - steps_back to iteration t; availability reacts to the samples.
        `policy` says who is wanted next: entry number s (from 0, counted over again), where bit i of s is 1 if client
        i + 1's latest gradient noise is positive; bit i of the entry is 1 if client i + 1 is wanted. A policy of one
        entry does not look. Available are those wanted, those who were away in the last `window` - 1 iterations, and
        client 1 if nobody else is. Of them the one taken longest ago is taken, client 1 if neither was yet; a client
        not taken yet counts as gradient 0 in the mean of two. Both losses are the same Huber loss, quadratic up to
        |centre| from its minimum."""
        t, back, cap = point["iteration"], point["steps_back"], abs(point["centre"])
        system = reactive.chain(2, 1, point["window"], point["policy"])
        clients = model.Clients((point["centre"],) * 2, (cap,) * 2, (1, 1))
        square = cap**2 + 1
        where = {
            "gradient_bound": root(square), "smoothness": 1, "local_lr": point["local_lr"], "steps_back": back,
            "n_clients": 2, "cohort_size": 1, "noise_std": 1, "start": 0,
        }  # fmt: skip
        facts = {"t0 >= 1": back < t, "Assumption 4 with E = window": system.longest_wait < point["window"]}
        wide = 1 + SLACK if isinstance(square, float) else 1
        met = {"ass1": where["smoothness"] >= 1, "ass3": bool(square <= where["gradient_bound"] ** 2 * wide)}
        if not facts["t0 >= 1"]:
            return Sides(0, 0, where, facts, met)
        left = _change(clients, _ends(system, clients, point), of_f)
        return Sides(left, right_side(claim.bound, where), where, facts, met)

    return change_while_availability_reacts


def _ends(system: reactive.Chain, clients: model.Clients, point: Point) -> Iterator[tuple[Any, Any, Fraction]]:
    """(x^(t0-1), x^(t-1), mass) of every path of Algorithm 1."""
    zero = 0 * point["centre"]
    paths: list[tuple[reactive.Node, tuple[Any, ...], tuple[Any, ...], Fraction]]
    paths = [(system.start, (zero,), (zero, zero), Fraction(1))]
    for _ in range(point["iteration"] - 1):
        longer = []
        for node, xs, memory, mass in paths:
            moves = list(system.moves(node))
            for who, following in moves:
                fresh = tuple(
                    clients.slope(i, xs[-1]) + following.signs[i] if i in who else kept for i, kept in enumerate(memory)
                )
                longer.append((following, (*xs, xs[-1] - point["local_lr"] * sum(fresh) / 2), fresh, mass / len(moves)))
        paths = longer
    return ((xs[-1 - point["steps_back"]], xs[-1], mass) for _, xs, _, mass in paths)


# f_i'(x) = x + 2 on [-4, 0], so a sample at x^0 = 0 is 1 or 3. Client 1 takes part, then client 2, then one whose
# latest sample was the small one, or client 1 if there is none. As gamma vanishes the mean square of the step after
# that tends to 11/2 gamma^2, above G^2 gamma^2 = 5 gamma^2.
KNOWN = {
    "window": 3, "policy": AWAY_WHILE_GOOD, "centre": Fraction(-2), "local_lr": Fraction(1, 100), "iteration": 4,
    "steps_back": 1,
}  # fmt: skip


def without_a_look() -> Iterator[dict[str, Any]]:
    """The setting of the witness under policies of one mask."""
    for mask, back in product(range(4), (1, 2, 3)):
        yield {**KNOWN, "policy": (mask,), "steps_back": back}


of_a_client, of_everybody = given_trial(paper.lem4, of_f=False), given_trial(paper.cor2, of_f=True)
of_a_client_reacting = reacting_trial(paper.lem4, of_f=False)
of_everybody_reacting = reacting_trial(paper.cor2, of_f=True)


def _changed(given: Any, reacting: Any, claim: Claim, depth: Depth) -> Evidence:
    derived = (Symbol("steps_back", integer=True, nonnegative=True) * L * gamma * G) ** 2
    found = follows(claim, derived, "t - t0 steps of mean square at most gamma^2 G^2, by convexity")
    if found.verdict != "proved":
        return found
    stated = tally_of(reacting, claim, [KNOWN])
    rest = tally_of(given, claim, ({**p, "steps_back": b} for p in grid(depth) for b in range(min(p["rounds"], 4))))
    blind = tally_of(reacting, claim, without_a_look())
    rest.cases += blind.cases
    rest.largest = max(rest.largest, blind.largest)
    rest.witness = rest.witness or blind.witness
    return conditional(
        stated, rest, HYPOTHESIS, "algebra and enumeration",
        "By convexity and Lemma 2, which the proof uses at random iterations. Two clients with the same Huber loss, "
        "of which one is taken at a time, wanted only while their latest noise is not positive, reach "
        f"{stated.largest:.3g} times the bound. With availability given in advance the largest ratio found is "
        f"{rest.largest:.3g}. (Read for t0 >= 1: t0 = 0 would refer to x^(-1), which is not defined.)",
        domain=f"{GRID}; the witness: f_i' = clip(x + 2, -2, 2)",
    )  # fmt: skip


@checks(paper.lem4, mutants=[times("bound", "1/2"), put("bound", G, 1)])
def change_of_a_client(claim: Claim, depth: Depth) -> Evidence:
    """The derivation, then runs."""
    return _changed(of_a_client, of_a_client_reacting, claim, depth)


@checks(paper.cor2, mutants=[times("bound", "1/2"), put("bound", G, 1)])
def change_of_the_mean(claim: Claim, depth: Depth) -> Evidence:
    """The derivation, then runs."""
    return _changed(of_everybody, of_everybody_reacting, claim, depth)
