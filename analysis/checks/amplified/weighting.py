"""Participation weights of a schedule, and what (5), (6), (7) are when gradients differ by constants only.

A schedule is a cycle of bit masks over the clients and an emphasis of each client: whoever takes part in a round has
a weight proportional to its emphasis. With F_n(x) = phi(x) + a_n x the divergences are those of the slopes a_n at
every x, so that the smallest constants of Assumption 3' are known exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from analysis.domains import Real, Several, Whole

MOST_CLIENTS = 5
ROOM = 1e-12  # for the square of a square root in floats
SLOPES = Several(Real(-4, 4), 1, MOST_CLIENTS)
MASKS = Several(Whole(1, 2**MOST_CLIENTS - 1), 1, 8)
EMPHASIS = Several(Real("1/10", 1), 1, MOST_CLIENTS)

Row = tuple[Any, ...]


def centred(slopes: Sequence[Any]) -> list[Any]:
    """The slopes less their mean: the divergences grad F_n - grad f."""
    mean = sum(slopes) / one(slopes[0], len(slopes))
    return [slope - mean for slope in slopes]


def one(like: Any, number: int) -> Any:
    """A whole number that divides without leaving the kind of `like`."""
    return float(number) if isinstance(like, float) else Fraction(number)


def schedule(masks: Sequence[int], emphasis: Sequence[Any], n_clients: int, rounds: int) -> list[Row]:
    """The weights of each round; a mask without any client means everybody."""
    cycle = [_row(mask, emphasis, n_clients) for mask in masks[:rounds]]
    return [cycle[t % len(cycle)] for t in range(rounds)]


def _row(mask: int, emphasis: Sequence[Any], n_clients: int) -> Row:
    bits = mask & (2**n_clients - 1) or 2**n_clients - 1
    shares = [emphasis[n % len(emphasis)] if bits >> n & 1 else 0 for n in range(n_clients)]
    total = sum(shares)
    total = total if isinstance(total, float) else Fraction(total)
    return tuple(share / total for share in shares)


def slopes_met(slopes: Sequence[Any], constants: Mapping[str, Any]) -> dict[str, bool]:
    """Assumption 3 for gradients that differ by these slopes."""
    room = ROOM if any(isinstance(a, float) for a in slopes) else 0
    return {"ass3": bool(max(a * a for a in slopes) <= constants["heterogeneity"] ** 2 * (1 + room))}


class Divergences(NamedTuple):
    """Smallest constants, squared: rho^2 of the weights, beta^2 of (5), nu^2 of (6), delta^2 of (7), d^2 of (4)."""

    rho2: Any
    beta2: Any
    nu2: Any
    delta2: Any
    d2: Any


def divergences(slopes: Sequence[Any], weights: Sequence[Row], interval: int) -> Divergences:
    """What Assumptions 3 and 3' ask for; (7) over the whole intervals that start at multiples of P."""
    distinct = set(weights)
    means = {row: sum(q * a for q, a in zip(row, slopes, strict=True)) for row in distinct}
    spreads = [sum(q * (a - means[row]) ** 2 for q, a in zip(row, slopes, strict=True)) for row in distinct]
    starts = range(0, len(weights) - interval + 1, interval)
    sums = [sum(means[row] for row in weights[t : t + interval]) for t in starts]
    return Divergences(
        rho2=max(sum(q * q for q in row) for row in distinct),
        beta2=max(mean * mean for mean in means.values()),
        nu2=max(spreads),
        delta2=max((s * s for s in sums), default=0) / one(slopes[0], interval**2),
        d2=max(a * a for a in slopes),
    )
