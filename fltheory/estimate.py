"""An estimate is never a bare number: it says how uncertain it is and how that was computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value with its uncertainty.

    value            the point estimate
    standard_error   its standard error (NaN where the method gives an interval only)
    low, high        interval that covers the truth with probability at least `level`
    level            e.g. 0.95
    n                number of independent observations behind it
    method           how the interval was made, in words
    """

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    n: int
    method: str

    def covers(self, truth: float) -> bool:
        """Whether `truth` lies in the interval."""
        return bool(self.low <= truth <= self.high)

    def __str__(self) -> str:
        return f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}] ({self.level:.5g}, n={self.n}, {self.method})"
