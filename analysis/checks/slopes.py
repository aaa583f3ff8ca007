"""Rates: the exponents with which errors fall or grow in a letter (T, N, S, I, P, ...), against the published ones.

The error of a run is computed exactly on a geometric grid of one letter, at the step sizes that the statement gives.
Its slopes in log-log coordinates between neighbours tend to the exponent. The interval that is reported is the range
of the last three of them and of what they extrapolate to, if their differences go on shrinking as they do: it says
how far the slope is settled on the grid, and is no proof about the limit.

Where there is no exact error, runs are simulated; then the interval is one of confidence, and the word `supported`.

The exponent of an explicit bound is read off a log-ratio at 10^1000 and its square. A logarithm changes that by less
than 1/1000, so exponents are up to logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath  # type: ignore[import-untyped]  # comes with sympy
import numpy as np
import sympy
from scipy.stats import t as student

from analysis.checks.tools import SLACK
from analysis.evidence import Evidence, Tally
from analysis.letters import plain
from fltheory.ledger import Claim

FAR = mpmath.mpf(10) ** 1000
VERY_FAR = mpmath.mpf(10) ** 20_000  # for a letter that is large beside another one which is large
_DIGIT = 1e-3  # the last one that is told of a slope
_SETTLED = 1 / 8  # the widest interval that tells one exponent from the next, a half apart


@dataclass(frozen=True)
class Slope:
    """Slopes in log-log coordinates between the neighbours of a grid, of at least three of them.

    >>> grid = [4**k for k in range(8)]
    >>> print(Slope.of(grid, [n**-0.5 + n**-1.0 for n in grid]))
    -.500 (-.522 to -.500)
    """

    local: tuple[float, ...]

    @classmethod
    def of(cls, grid: Sequence[float], values: Sequence[float]) -> Slope:
        """The slopes of positive values; nan where one is not positive, which fits no exponent."""
        steps = [math.log(after / before) for before, after in pairwise(grid)]
        rises = [math.log(b) - math.log(a) if a > 0 and b > 0 else math.nan for a, b in pairwise(values)]
        return cls(tuple(rise / step for rise, step in zip(rises, steps, strict=True)))

    @property
    def limit(self) -> float:
        """Where the last three are headed, if their differences shrink by a constant factor; else the last."""
        before, last = self.local[-2] - self.local[-3], self.local[-1] - self.local[-2]
        if abs(last) >= abs(before) or abs(last) < _DIGIT:
            return self.local[-1]
        return self.local[-1] + last**2 / (before - last)

    @property
    def low(self) -> float:
        return min(*self.local[-3:], self.limit)

    @property
    def high(self) -> float:
        return max(*self.local[-3:], self.limit)

    @property
    def room(self) -> float:
        """What is granted on either side of the interval: as much as it is wide, and a digit."""
        return self.high - self.low + _DIGIT if all(map(math.isfinite, self.local)) else math.nan

    def tends_to(self, exponent: float | Fraction) -> bool:
        """Whether the slope is settled, and on this exponent."""
        return self.room <= _SETTLED and self.low - self.room <= exponent <= self.high + self.room

    def is_at_most(self, exponent: float | Fraction) -> bool:
        """Whether the quantity falls at least as fast, or grows at most as fast, as that."""
        return self.room > 0 and self.high <= exponent + min(self.room, _SETTLED)

    def __str__(self) -> str:
        return f"{_short(self.limit)} ({_short(self.low)} to {_short(self.high)})"


def exponent(expression: Any, letter: Any, at: Mapping[str, Any]) -> Fraction | None:
    """The power of a large letter that a formula is of the order of, up to logarithms; None if there is none.

    at   name -> value of the other letters; one that is to be larger still is `VERY_FAR`
    """
    if letter not in expression.free_symbols:
        return Fraction(0)
    names = sorted(expression.free_symbols, key=str)
    function = sympy.lambdify(names, expression, "mpmath")

    def value(x: Any) -> Any:
        return function(*(x if name == letter else _mpf(at[name.name]) for name in names))

    with mpmath.workdps(60):
        first, second = value(FAR), value(FAR**2)
        if not (first > 0 and second > 0 and mpmath.isfinite(second)):
            return None
        found = mpmath.log(second / first) / mpmath.log(FAR)
    nearest = Fraction(float(found)).limit_denominator(8)
    return nearest if abs(found - float(nearest)) < 1e-2 else None


@dataclass(frozen=True)
class Run:
    """A computed error, and the constants of the statement there; none if it is not held against a bound."""

    error: float
    constants: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rate:
    """The exponent of one letter, as published, or ours.

    letter      a symbol of the formula
    published   the exponent as printed, or as we have it
    formula     the explicit bound, or one of its terms
    at          what the other letters are while its exponent is read off
    grid, run   the letter's values, and the error there; without them the formula alone is looked at
    attained    whether the errors are to have that very exponent; otherwise they may fall faster
    ours        whether it is not printed, but follows by a substitution of ours or from our repair
    """

    letter: Any
    published: Any
    formula: Any
    at: Mapping[str, Any]
    grid: Sequence[int] = ()
    run: Callable[[int], Run] | None = None
    attained: bool = True
    name: str = ""
    ours: bool = False


@dataclass(frozen=True)
class Estimated:
    """The slope of simulated means between the ends of a grid, with an interval at a stated level.

    The intervals of both ends are Student's, for the means of independent runs, at half of 1 - level each.
    """

    slope: float
    low: float
    high: float
    level: float

    @classmethod
    def of(cls, grid: Sequence[float], samples: Sequence[Sequence[float]], level: float) -> Estimated:
        """From the errors of independent runs, at least two, at each place of the grid; their means are positive."""
        width = math.log(grid[-1] / grid[0])
        (first, before), (last, after) = (_mean(errors, (1 - level) / 2) for errors in (samples[0], samples[-1]))
        low = math.log((last - after) / (first + before)) if last > after else -math.inf
        high = math.log((last + after) / (first - before)) if first > before else math.inf
        return cls(math.log(last / first) / width, low / width, high / width, level)

    def allows(self, exponent: float | Fraction) -> bool:
        """Whether errors may fall as fast as that; not if they surely fall more slowly."""
        return self.low <= exponent

    def tells(self, exponent: float | Fraction) -> bool:
        """Whether errors surely fall faster than with an exponent larger by 1/4."""
        return self.high < exponent + 0.25

    def __str__(self) -> str:
        return f"{_short(self.slope)} ({_short(self.low)} to {_short(self.high)} at level {self.level:.6g})"


def _mean(errors: Sequence[float], doubt: float) -> tuple[float, float]:
    """Mean of independent errors, and the half-width of its interval."""
    n = len(errors)
    spread = float(np.std(errors, ddof=1)) / math.sqrt(n)
    return float(np.mean(errors)), spread * float(student.ppf(1 - doubt / 2, n - 1))


def powers(base: int, first: int, last: int) -> list[int]:
    """base^first, ..., base^last."""
    return [base**k for k in range(first, last + 1)]


def rates(claim: Claim, lines: Iterable[Rate], *, domain: str) -> Evidence:
    """Whether the statement's formulas have the published exponents and exact errors keep to them.

    `inconsistent` where a formula has another exponent than the one printed, `refuted` where an error exceeds the
    bound or falls more slowly, `not checked` where a slope is not settled, or steeper though said to be attained.
    """
    tally = Tally(slack=SLACK)
    told: list[str] = []
    ours: list[str] = []
    alone: list[str] = []
    for line in lines:
        label, published = line.name or name_of(claim, line.letter), Fraction(line.published)
        found = exponent(line.formula, line.letter, line.at)
        if found != published:
            said = f"The formula is of order {label}^({found}), the published exponent is {published}."
            return Evidence("inconsistent", "log-ratio", said, cases=1, witness={"letter": label, "exponent": found})
        tally.holds(True)
        if line.run is None:
            alone.append(f"{label}: {published}")
            continue
        runs = [line.run(x) for x in line.grid]
        for x, run in zip(line.grid, runs, strict=True):
            if run.constants and claim.bound is not None:
                failed = [name for name, c in claim.conditions.items() if not _holds(c, run.constants)]
                if failed:
                    return Evidence("not checked", "exact slopes", f"conditions fail at {label} = {x}: {failed}")
                tally.at_most(run.error, claim.bound.at(**run.constants), letter=label, value=x)
        slope = Slope.of(line.grid, [run.error for run in runs])
        kept = slope.is_at_most(published)
        if slope.room > _SETTLED if not kept else line.attained and not slope.tends_to(published):
            said = f"The slope in {label} is {slope}: faster than published, or not settled."
            return Evidence("not checked", "exact slopes", said, domain)
        tally.holds(kept, letter=label, published=str(published), slope=str(slope))
        (ours if line.ours else told).append(
            f"{label}: {published}, measured {slope}{'' if line.attained else ', faster'}"
        )
    parts = {
        "Exponents, published and measured": told,
        "Exponents of ours and measured": ours,
        "Exponents of the formula": alone,
    }
    summary = " ".join(f"{head}: {'; '.join(found)}." for head, found in parts.items() if found)
    return tally.evidence("exact", "exact slopes", summary, domain=domain)


def name_of(claim: Claim, letter: sympy.Symbol) -> str:
    """A letter of the paper as plain text."""
    return plain(claim.letters.get(letter.name, letter.name))


def floor(tally: Tally, grid: Sequence[int], values: Sequence[float], least: float, **where: Any) -> Slope:
    """Record whether values settle at `least`: their slope tends to 0, and what exceeds it keeps falling."""
    slope, excess = Slope.of(grid, values), Slope.of(grid, [abs(value - least) for value in values])
    tally.holds(slope.tends_to(0), **where, slope=str(slope))
    tally.holds(excess.high < -_SETTLED, **where, floor=least, last=values[-1], excess=str(excess))
    return slope


def average_square(loss: float, fresh: float, start: float, rounds: int) -> float:
    """The average of s_0, ..., s_{T-1} if s_{t+1} = (1 - loss) s_t + fresh, 0 < loss <= 1 unless s grows."""
    settled, power = fresh / loss, rounds * math.log1p(-loss) if loss < 1 else -math.inf
    if power > 700:  # beyond the floats
        return math.inf
    return settled - (start - settled) * math.expm1(power) / (loss * rounds)


def _holds(condition: Any, constants: Mapping[str, Any]) -> bool:
    return bool(condition.subs({s: constants[s.name] for s in condition.free_symbols}))


def _mpf(value: Any) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpmath.mpf(value)


def _short(value: float) -> str:
    told = f"{round(value, 3) + 0.0:.3f}"
    return told.replace("0.", ".", 1) if abs(value) < 0.9995 else told
