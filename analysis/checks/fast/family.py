"""FedAvg with snapshots on half the clients at (x - 1)^2/2, half at (x + 1)^2/2: L = sigma_G = 1, F = x^2/2 + 1/2.

A round moves x a part `pull` of the way to the mean centre of its cohort, so that mean and variance of x follow a
scalar recursion, cheap in floats and exact in Fractions. Arbitrary rounds ask clients of one side, whose centre is the
round's target; snapshots, whose target is None, draw m of M, which adds variance. A test holds the recursion against
`sims.exact` on the library's FedAvg.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from fltheory.errors import InputError

MOST_ROUNDS = 1500  # of a run that is followed round by round
DIGITS = 10**40  # of an exact number that would be long
AWAY = 0  # in the place of a target: the side that pulls x away from the minimum of F
Target = Any  # 1, -1, AWAY, or None for a snapshot


@dataclass(frozen=True)
class Family:
    """Step size, local steps, noise variance; m of M clients (M even) in snapshots, n of one side otherwise."""

    lr: Any
    steps: int
    variance: Any = 0
    m: int = 2
    n: int = 1
    clients: int = 2

    def __post_init__(self) -> None:
        if self.clients % 2 or self.m > self.clients or 2 * self.n > self.clients:
            raise InputError("m, n and M", (self.m, self.n, self.clients), "m <= M and n <= M/2, with M even")

    def share(self, part: int, whole: int) -> Any:
        """part/whole in the kind of numbers of the step size."""
        return part / whole if isinstance(self.lr, float) else Fraction(part, whole)

    @cached_property
    def keep(self) -> Any:
        """The part of the way to a client's minimum that is left after its local steps."""
        return (1 - self.lr) ** self.steps

    @cached_property
    def pull(self) -> Any:
        """The part of the way that local steps go."""
        return 1 - self.keep

    @cached_property
    def summed(self) -> Any:
        """A client's local gradients add up to this times x less its centre, plus noise."""
        return self.pull / self.lr

    @cached_property
    def scatter(self) -> Any:
        """Variance of the mean centre of m of M clients."""
        return self.share(self.clients - self.m, self.m * (self.clients - 1))

    @cached_property
    def reach(self) -> Any:
        """Largest mean centre of m of M clients."""
        return self.share(min(self.m, self.clients - self.m), self.m)

    @cached_property
    def noise(self) -> Any:
        """Variance that noise adds to the update of one client."""
        return self.lr**2 * self.variance * sum((1 - self.lr) ** (2 * k) for k in range(self.steps))

    @cached_property
    def noise_in_sum(self) -> Any:
        """Variance that noise adds to the sum of the local gradients of one client."""
        return self.variance * sum((1 - (1 - self.lr) ** k) ** 2 for k in range(self.steps))

    def moments(self, start: Any, targets: Sequence[Target]) -> list[tuple[Any, Any]]:
        """Mean and variance of x before each round and after the last."""
        mean, variance = start, 0 * self.lr
        squared, drawn = self.keep**2, self.pull**2 * self.scatter + self.noise * self.share(1, self.m)
        asked = self.noise * self.share(1, self.n)
        found = [(mean, variance)]
        for target in targets:
            if target is None:
                mean, variance = self.keep * mean, squared * variance + drawn
            else:
                mean = self.keep * mean + self.pull * centre(target, mean)
                variance = squared * variance + asked
            found.append((mean, variance))
        return found

    def coins(self, q: Any) -> tuple[Any, Any]:
        """Limits of mean and variance if a coin decides on snapshots and the others ask the side of +1."""
        drawn = q * self.scatter + q * (1 - q)
        noise = self.noise * (q * self.share(1, self.m) + (1 - q) * self.share(1, self.n))
        return 1 - q, (self.pull**2 * drawn + noise) / (1 - self.keep**2)

    def average_with_coins(self, q: Any, start: Any, rounds: int) -> Any:
        """The average of E x^2 over rounds 0, ..., R - 1, in closed form."""
        mean, variance = self.coins(q)
        once, twice = ((1 - k**rounds) / (1 - k) for k in (self.keep, self.keep**2))
        away = start - mean
        return mean**2 + variance + (2 * mean * away * once + (away**2 - variance) * twice) * self.share(1, rounds)


def centre(target: Target, mean: Any) -> int:
    """The mean centre of the clients asked in an arbitrary round."""
    if target == AWAY:
        return 1 if mean >= 0 else -1
    return int(target)


def periodic(interval: int, rounds: int, who: Sequence[Target], most: int = MOST_ROUNDS) -> list[Target]:
    """Snapshots in rounds 0, I, 2 I, ..., between them the given targets in turn."""
    if rounds > most:
        raise InputError("rounds", rounds, f"at most {most}")
    turn: Iterator[int] = iter(range(rounds))
    return [None if r % interval == 0 else who[next(turn) % len(who)] for r in range(rounds)]


def average_square(found: Sequence[tuple[Any, Any]], family: Family) -> tuple[Any, Any]:
    """The averages of E|grad F|^2 over rounds 0, ..., R - 1 and over rounds 1, ..., R."""
    squares = [mean * mean + variance for mean, variance in found]
    share, total = family.share(1, len(squares) - 1), sum(squares[1:-1])
    return (squares[0] + total) * share, (total + squares[-1]) * share


def short(value: Any, up: bool = False) -> Any:
    """A Fraction of more than 40 digits rounded down, or up; any other number as it is."""
    if isinstance(value, float) or value.denominator <= DIGITS:
        return value
    return Fraction(-(-value * DIGITS // 1), DIGITS) if up else Fraction(value * DIGITS // 1, DIGITS)
