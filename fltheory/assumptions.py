"""What assumptions ask of a problem or of a participation process, as predicates that several papers share.

A problem states exact constants (`problem.constants`), a process its rates and gaps; a predicate reads them, and
says whether the assumption holds and with which constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fltheory.errors import InputError


@dataclass(frozen=True)
class Holding:
    """Whether an assumption holds: True, False, or None where the subject does not know; with which constants."""

    holds: bool | None
    constants: Mapping[str, Any]


Predicate = Callable[[Any], Holding]


def bounded(**names: str) -> Predicate:
    """Holds if constants of a problem are finite; code name of the theory -> name in `problem.constants`."""

    def predicate(problem: Any) -> Holding:
        values = {name: _constant(problem, source) for name, source in names.items()}
        if any(value is None for value in values.values()):
            return Holding(None, {})
        holds = all(value < math.inf for value in values.values())
        return Holding(holds, values if holds else {})

    return predicate


def positive(**names: str) -> Predicate:
    """Holds if constants of a problem are positive."""

    def predicate(problem: Any) -> Holding:
        values = {name: _constant(problem, source) for name, source in names.items()}
        if any(value is None for value in values.values()):
            return Holding(None, {})
        holds = all(value > 0 for value in values.values())
        return Holding(holds, values if holds else {})

    return predicate


def _constant(problem: Any, name: str) -> Any:
    constants = getattr(problem, "constants", None)
    if constants is None:
        raise InputError("problem", problem, "an object with `constants`, such as those of sims.problems")
    return getattr(constants, name)


smooth = bounded(smoothness="smoothness")
bounded_noise = bounded(noise_std="noise_std")
bounded_dissimilarity = bounded(heterogeneity="heterogeneity")
smooth_noise = bounded(noise_smoothness="noise_smoothness")
bounded_client_gradients = bounded(gradient_bound="client_gradient_bound")
strongly_convex = positive(strong_convexity="strong_convexity")
polyak_lojasiewicz = positive(polyak_lojasiewicz="polyak_lojasiewicz")


class _Unknown:
    """A problem of which nothing is known: predicates about objectives give None, others refuse it."""

    class _Nothing:
        def __getattr__(self, name: str) -> None:
            return None

    constants = _Nothing()


def about_participation(predicate: Predicate) -> bool:
    """Whether it asks for a participation process, and not for the constants of a problem."""
    try:
        predicate(_Unknown())
    except (InputError, AttributeError):
        return True
    return False


def bounded_gaps(process: Any) -> Holding:
    """Every client participates at least once in any `window` successive rounds; the smallest such window."""
    if not hasattr(process, "max_gap"):
        raise InputError("process", process, "a process of fltheory.participation")
    window = float(max(process.max_gap))
    return Holding(window < math.inf, {"window": int(window)} if window < math.inf else {})
