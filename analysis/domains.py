"""Where a coordinate of a trial lives: how to draw it, to step to a neighbour, and to make it simpler.

Searching works with floats, shrinking and witnesses with Fractions; whole numbers, choices and sequences are the
same in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from fltheory.errors import InputError


class Domain(Protocol):
    """The values that one coordinate may take."""

    def draw(self, rng: np.random.Generator) -> Any:
        """A value at random."""

    def near(self, value: Any, rng: np.random.Generator) -> Any:
        """A value at random near another."""

    def contains(self, value: Any) -> bool:
        """Whether a value of the right kind lies in the domain."""

    def exact(self, value: Any) -> Any:
        """The value without floats."""

    def simpler(self, value: Any) -> Iterator[Any]:
        """Simpler exact values near a given one, the simplest first."""


@dataclass(frozen=True)
class Whole:
    """Whole numbers low .. high, drawn evenly on a logarithmic scale."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InputError("low", self.low, f"at most high, {self.high}")

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def draw(self, rng: np.random.Generator) -> int:
        spread = math.log(self.high - self.low + 2)
        return min(self.high, self.low - 1 + int(math.exp(rng.uniform(0, spread))))

    def near(self, value: int, rng: np.random.Generator) -> int:
        if rng.random() < 0.3:
            return self.draw(rng)
        step = max(1, round(abs(value) * abs(rng.normal(0, 0.2))))
        return int(np.clip(value + rng.choice([-step, step]), self.low, self.high))

    def contains(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def exact(self, value: int) -> int:
        return int(value)

    def simpler(self, value: int) -> Iterator[int]:
        step = value - self.low
        while step >= 1:
            yield value - step
            step //= 2


@dataclass(frozen=True)
class Real:
    """Real numbers low .. high (ints, Fractions or strings such as "1/8"); `log` draws on a logarithmic scale."""

    low: Any
    high: Any
    log: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", Fraction(self.low))
        object.__setattr__(self, "high", Fraction(self.high))
        if not self.low < self.high:
            raise InputError("low", self.low, f"below high, {self.high}")
        if self.log and self.low <= 0:
            raise InputError("low", self.low, "positive for a logarithmic scale")

    def __str__(self) -> str:
        return f"a number from {self.low} to {self.high}"

    def draw(self, rng: np.random.Generator) -> float:
        if rng.random() < 0.1:
            return float(rng.choice([float(self.low), float(self.high)]))
        if self.log:
            return self._inside(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        return self._inside(rng.uniform(float(self.low), float(self.high)))

    def near(self, value: float, rng: np.random.Generator) -> float:
        if rng.random() < 0.2:
            return self.draw(rng)
        scale = 10.0 ** rng.uniform(-4, -0.3)
        if self.log:
            return self._inside(value * math.exp(rng.normal(0, scale)))
        return self._inside(value + rng.normal(0, scale) * float(self.high - self.low))

    def _inside(self, value: float) -> float:
        return float(min(max(value, float(self.low)), float(self.high)))

    def contains(self, value: Any) -> bool:
        if isinstance(value, float):  # as the ends round: 1e-6 is a little less than 1/1000000
            return float(self.low) <= value <= float(self.high)
        number = isinstance(value, int | Fraction) and not isinstance(value, bool)
        return number and self.low <= value <= self.high

    def exact(self, value: float) -> Fraction:
        near = Fraction(value).limit_denominator(10**6)
        return Fraction(min(max(near, self.low), self.high))

    def simpler(self, value: Fraction) -> Iterator[Fraction]:
        seen = {value}
        for end in (self.low, self.high):
            if _size(end) < _size(value) and end not in seen:
                seen.add(end)
                yield end
        for denominator in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32, 50, 64, 100, 1000, 10**4):
            if denominator >= value.denominator:
                return
            for numerator in (math.floor(value * denominator), math.ceil(value * denominator)):
                candidate = Fraction(numerator, denominator)
                if candidate not in seen and self.low <= candidate <= self.high:
                    seen.add(candidate)
                    yield candidate


@dataclass(frozen=True)
class Choice:
    """One of finitely many options (numbers, strings, tuples), the simplest first."""

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.options:
            raise InputError("options", self.options, "at least one")

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.options))}"

    def draw(self, rng: np.random.Generator) -> Any:
        return self.options[int(rng.integers(len(self.options)))]

    def near(self, value: Any, rng: np.random.Generator) -> Any:
        return self.draw(rng)

    def contains(self, value: Any) -> bool:
        return any(value == option and isinstance(value, bool) == isinstance(option, bool) for option in self.options)

    def exact(self, value: Any) -> Any:
        return value

    def simpler(self, value: Any) -> Iterator[Any]:
        yield from self.options[: self.options.index(value)]


@dataclass(frozen=True)
class Several:
    """Tuples of `least` .. `most` values of one domain: centres of clients, patterns of participation."""

    of: Domain
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise InputError("least", self.least, f"from 0 to most, {self.most}")

    def __str__(self) -> str:
        return f"{self.least} to {self.most} values, each {self.of}"

    def draw(self, rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(self.of.draw(rng) for _ in range(Whole(self.least, self.most).draw(rng)))

    def near(self, value: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        values = list(value)
        roll = rng.random()
        if roll < 0.15 and len(values) < self.most:
            values.insert(int(rng.integers(len(values) + 1)), self.of.draw(rng))
        elif roll < 0.3 and len(values) > self.least:
            values.pop(int(rng.integers(len(values))))
        elif values:
            i = int(rng.integers(len(values)))
            values[i] = self.of.near(values[i], rng)
        return tuple(values)

    def contains(self, value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and self.least <= len(value) <= self.most
            and all(self.of.contains(part) for part in value)
        )

    def exact(self, value: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.of.exact(part) for part in value)

    def simpler(self, value: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        if len(value) > self.least:
            for i in range(len(value)):
                yield (*value[:i], *value[i + 1 :])
        for i, part in enumerate(value):
            for candidate in self.of.simpler(part):
                yield (*value[:i], candidate, *value[i + 1 :])


def _size(value: Fraction) -> int:
    return abs(value.numerator) + value.denominator
