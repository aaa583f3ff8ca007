"""Checks of the closed-form variances of participation weights, by enumeration of each scheme."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction as F

from analysis.checks import CheckBook, Depth, put, times
from analysis.checks.amplified.chances import correlations, mean_square_of_average
from analysis.checks.tools import at
from analysis.evidence import Evidence, Tally
from fltheory.ledger import Claim
from fltheory.papers import amplified
from fltheory.papers.amplified import N, P, S

checks = CheckBook()

Case = tuple[str, dict[str, F | int], F]  # scheme, its parameters, the variance by enumeration


def _variance(outcomes: Iterable[tuple[F, F]]) -> F:
    """Variance of (probability, value) pairs, probabilities summing to any total."""
    pairs = list(outcomes)
    total = sum(p for p, _ in pairs)
    mean = sum(p * x for p, x in pairs) / total
    return F(sum(p * (x - mean) ** 2 for p, x in pairs) / total)


def _even(values: Iterable[F]) -> F:
    return _variance((F(1), value) for value in values)


def _rounds(clients: int) -> Iterator[Case]:
    """Schemes of one round: the first client's weight in every outcome."""
    n = clients
    yield "one client", {"n_clients": n}, _even(F(k == 0) for k in range(n))
    for size in range(1, n + 1):
        known: dict[str, F | int] = {"n_clients": n, "cohort_size": size}
        subsets = itertools.combinations(range(n), size)
        yield "without replacement", known, _even(F(0 in subset, size) for subset in subsets)
        draws = itertools.product(range(n), repeat=size)
        yield "with replacement", known, _even(F(draw.count(0), size) for draw in draws)
    for rate in (F(1, 25), F(3, 10), F(1, 2), F(1)):
        chances = [
            (math.prod(rate if on else 1 - rate for on in who), who)
            for who in itertools.product((True, False), repeat=n)
            if any(who)
        ]
        total = sum(p for p, _ in chances)
        inverse = sum(p * F(1, sum(who)) for p, who in chances) / total
        coins = _variance((F(p), F(who[0], sum(who))) for p, who in chances)
        yield "coins", {"n_clients": n, "inverse_size": F(inverse)}, coins


def _token(clients: int, stay: F, length: int) -> F:
    moves = [stay, *[(1 - stay) / (clients - 1)] * (clients - 1)]
    weight = [F(k == 0) - F(1, clients) for k in range(clients)]
    return F(mean_square_of_average(list(correlations(weight, moves, length))))


def _long_run(enter: F, leave: F) -> F:
    """Variance plus twice the autocovariances of an on-off client: fifty of them, and the geometric rest."""
    rate = enter / (enter + leave)
    on, total, last = F(1), rate * (1 - rate), rate * (1 - rate)  # on: P(on in round k | on in round 0)
    for _ in range(50):
        on = on * (1 - leave) + (1 - on) * enter
        before, last = last, rate * on - rate**2
        total += 2 * last
    factor = last / before if before else F(0)
    return F(total + 2 * last * factor / (1 - factor))


def _turns(clients: int, size: int, length: int) -> F:
    """The first client's averaged weight, for every order of the permutation that the rounds end in."""
    cycle = clients // size
    whole, rest = divmod(length, cycle)
    orders = itertools.permutations(range(clients))
    return _even(F(whole + (0 in order[: rest * size]), size * length) for order in orders)


def _cases(depth: Depth) -> Iterator[Case]:
    most = {"quick": 4, "default": 5, "deep": 6}[depth]
    for n in range(2, most + 1):
        yield from _rounds(n)
        for stay, length in itertools.product((F(1, 10), F(1, 3), F(9, 10)), (1, 2, 10)):
            yield "token", {"n_clients": n, "stay": stay, "interval": length}, _token(n, stay, length)
    for enter, leave in ((F(1, 20), F(9, 20)), (F(1, 2), F(1, 2)), (F(9, 10), F(4, 5)), (F(1, 20), F(1, 180))):
        yield "on-off", {"enter": enter, "leave": leave}, _long_run(enter, leave)
    for clients, size in ((4, 2), (4, 1), (6, 2)) if depth != "quick" else ((4, 2), (4, 1)):
        for length in range(1, 2 * clients // size + 2):
            turns: dict[str, F | int] = {"n_clients": clients, "cohort_size": size, "interval": length}
            yield "permutation", turns, _turns(clients, size, length)


_NUMBERS: Sequence[tuple[str, dict[str, F | int], str]] = (
    ("without replacement", {"n_clients": 250, "cohort_size": 10}, "3.84e-04"),
    ("with replacement", {"n_clients": 250, "cohort_size": 10}, "3.98e-04"),
)


@checks(
    amplified.weights,
    mutants=[
        times("one client", 2), put("without replacement", N - S, N), put("with replacement", N - 1, N),
        put("coins", N, N + 1), put("token", P, P + 1), times("on-off", 2), put("permutation", S, S + 1),
        put("token", amplified.stay, amplified.stay / 2), put("on-off", amplified.leave, 2 * amplified.leave),
    ],
)  # fmt: skip
def every_outcome_of_each_scheme(claim: Claim, depth: Depth) -> Evidence:
    """Enumerated variances against the closed forms, in rationals."""
    tally = Tally()
    for scheme, known, variance in _cases(depth):
        tally.equal(variance, at(claim.formulas[scheme], **known), scheme=scheme, **known)
    for scheme, known, printed in _NUMBERS:
        tally.holds(f"{float(at(claim.formulas[scheme], **known)):.2e}" == printed, scheme=scheme, **known)
    return tally.evidence(
        "exact", "enumeration", "Equal for all seven schemes.",
        domain="up to six clients, exact rationals; the chains by autocovariances",
    )  # fmt: skip
