"""Evidence: what one check found about one claim, in a word that is never stronger than the finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.trials import exact_text
from fltheory.verdicts import Verdict

if TYPE_CHECKING:
    from fltheory.distributions.symbolic import Step


EVERYWHERE = "all parameters that the conditions admit"  # the domain of a proof
SAME = 1e-9  # a ratio this near to 1 is 1 up to the rounding of a computation


@dataclass(frozen=True)
class Evidence:
    """What a check found.

    verdict     one of `fltheory.verdicts.VERDICTS`
    method      how: "algebra", "enumeration", "exact grid", "simulation", ...
    summary     one sentence a reader can quote
    domain      over which parameters
    steps       of a proof: what was certified, in order
    cases       how many cases were decided
    largest     the largest left/right ratio found (a found value, never a supremum); None if no bound
    largest_at  name -> value of where that was, as far as it is known
    hypothesis  what a conditional statement needs
    reading     which customary reading of an assumption the evidence uses, where that is not printed
    witness     name -> value of every quantity of a violation, conditions included
    """

    verdict: Verdict
    method: str
    summary: str
    domain: str = ""
    cases: int = 0
    largest: float | None = None
    hypothesis: str = ""
    witness: Mapping[str, Any] = field(default_factory=dict)
    largest_at: Mapping[str, Any] = field(default_factory=dict)
    reading: str = ""
    steps: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary, empty fields left out, exact numbers and what is no number of JSON as strings."""
        kept = {k: v for k, v in vars(self).items() if v not in ("", 0, None, ()) and v != {}}
        if self.largest == math.inf:
            kept["largest"] = "inf"
        for name in ("witness", "largest_at"):
            if name in kept:
                kept[name] = {k: v if _is_plain(v) else _text(v) for k, v in kept[name].items()}
        return kept


@dataclass
class Tally:
    """Counts cases, keeps the largest left/right ratio and the first violation.

    A case is one left-hand side held against one right-hand side under named values. The comparison is exact
    for rationals; for floats `slack`, a relative error bound of the computation, is granted to the claim. `sides` says
    what is on the left and on the right, for the witness.
    """

    slack: float = 0.0
    cases: int = 0
    largest: float = 0.0
    witness: dict[str, Any] = field(default_factory=dict)
    largest_at: dict[str, Any] = field(default_factory=dict)
    sides: tuple[str, str] | None = None

    def at_most(self, left: Any, right: Any, **where: Any) -> None:
        """Record whether left <= right."""
        with np.errstate(over="ignore"):  # a ratio beyond all floats is infinite
            ratio = float(left / right) if right else (float("inf") if left > 0 else 0.0)
        self._record(left <= right * (1 + self.slack) if self.slack else left <= right, left, right, ratio, where)

    def equal(self, left: Any, right: Any, beside: Any = 0, **where: Any) -> None:
        """Record whether left == right; `slack` is of the right-hand side, or of terms of the size `beside` in it."""
        gap = abs(left - right)
        near = gap <= self.slack * max(abs(right), beside) if self.slack else gap == 0
        self._record(near, left, right, 1.0, where)

    def holds(self, condition: bool, **where: Any) -> None:
        """Record whether a condition is true."""
        self._record(bool(condition), condition, True, 1.0, where)

    def _record(self, good: bool, left: Any, right: Any, ratio: float, where: dict[str, Any]) -> None:
        self.cases += 1
        self.rate(ratio, where)
        if not good and not self.witness:
            told = zip(("the left side", "the right side"), self.sides or (), strict=False)
            self.witness = {**where, **dict(told), "left": left, "right": right}

    def rate(self, ratio: float, where: Mapping[str, Any]) -> None:
        """Keep the ratio if it is the largest so far, and its place if it is so by more than rounding."""
        if ratio > self.largest * (1 + 1e-9):
            self.largest_at = {name: _rounded(value) for name, value in where.items()}
        self.largest = max(self.largest, ratio)

    def evidence(self, good: Verdict, method: str, summary: str, *, domain: str, ratio: bool = False) -> Evidence:
        """`good` if no case violated the claim, `refuted` with the first violation, `not checked` without any case."""
        if not self.cases:
            return Evidence("not checked", method, "no case was decided", domain)
        if self.witness:
            return Evidence(
                "refuted",
                method,
                f"violated: {_facts(self.witness)}",
                domain,
                self.cases,
                witness=self.witness,
            )
        if not ratio:
            return Evidence(good, method, summary, domain, self.cases)
        return Evidence(good, method, summary, domain, self.cases, self.largest, largest_at=self.largest_at)


def ratio_text(ratio: float, form: str = ".3f") -> str:
    """A largest ratio in this form, with more digits where they tell it from 1; 1 but for rounding is 1.

    >>> ratio_text(0.98765), ratio_text(0.9995), ratio_text(0.99999996), ratio_text(1 - 1e-15), ratio_text(1.0004)
    ('0.988', '0.9995', '0.99999996', '1.000', '1.0004')
    >>> ratio_text(0.0123456, ".4g"), ratio_text(0.99999, ".4g"), ratio_text(1.0, ".4g")
    ('0.01235', '0.99999', '1')
    """
    if abs(ratio - 1) <= SAME:
        return format(1.0, form)
    digits, kind = int(form[1:-1]), form[-1]
    while float(text := f"{ratio:.{digits}{kind}}") == 1:
        digits += 1
    return text


def conditional(
    as_stated: Tally, with_hypothesis: Tally, hypothesis: str, method: str, summary: str, *, domain: str
) -> Evidence:
    """Judge a statement that may need a hypothesis.

    `refuted` if it fails even with the hypothesis, `exact` if it never fails, `conditional` if it fails as
    stated and holds with the hypothesis in every case.
    """
    if with_hypothesis.witness or not with_hypothesis.cases:
        return with_hypothesis.evidence("exact", method, "", domain=domain)
    cases = as_stated.cases + with_hypothesis.cases
    if not as_stated.witness:
        return Evidence("exact", method, "holds as stated in every case", domain, cases)
    return Evidence("conditional", method, summary, domain, cases, hypothesis=hypothesis, witness=as_stated.witness)


def algebra(
    steps: Iterable[Step],
    good: Verdict,
    summary: str,
    *,
    sample: Callable[[Any], Any] = lambda residual: residual,
) -> Evidence:
    """Judge a chain of steps, each a residual that must be exactly zero.

    A step that does not hold is a refutation only if `sample(residual)`, the residual at a rational point, is a
    number other than zero: the witness. Otherwise the chain is merely not checked.
    """
    done: list[str] = []
    for step in steps:
        if step.holds:
            done.append(step.statement)
            continue
        value = sample(step.residual)
        if not (value.is_number and value != 0):
            return Evidence("not checked", "algebra", f"not decided: {step.statement}", cases=len(done))
        witness = {"step": step.statement, "residual": value}
        return Evidence("refuted", "algebra", f"fails: {step.statement}", cases=len(done), witness=witness)
    return Evidence(good, "algebra", summary, EVERYWHERE, len(done), steps=tuple(done))


def _is_plain(value: Any) -> bool:
    """Whether JSON has it."""
    return isinstance(value, int | bool) or (isinstance(value, float) and math.isfinite(value))


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return f"({', '.join(map(_text, value))})" if isinstance(value, tuple) else exact_text(value)


def _rounded(value: Any) -> Any:
    """A float of six digits: the last ones differ between processors."""
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _facts(witness: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{k} = {float(v):.6g}" if isinstance(v, float) else f"{k} = {_text(v)}" for k, v in witness.items()
    )
