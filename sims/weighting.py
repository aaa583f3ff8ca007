"""Weight rules by name: what the round loop multiplies each update with, for all replicates at once.

A rule is a small frozen dataclass of its parameters; `start` gives the object that follows one run. The weights of
a round depend on participation before that round alone, except for average_participating, which needs the size of
the cohort by definition. The estimators are those of `fltheory.weights`: R replicates of N clients are R N clients.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from fltheory.errors import cutoff as checked_cutoff
from fltheory.weights import ExponentialAverageWeights, FedAUWeights, average_participating, known_rates
from fltheory.weights.inputs import probability

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Weights(Protocol):
    """The weights of one run, followed round by round."""

    def weights(self, participated: BoolArray) -> FloatArray:
        """The weights (R, N) of the round in which `participated` (R, N) take part."""

    def update(self, participated: BoolArray) -> None:
        """Take in who took part (R, N) in the round that is over."""

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """All that changes over time."""

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from there."""


class Rule(Protocol):
    """How updates are weighted."""

    def start(self, replicates: int, n_clients: int, rates: npt.ArrayLike | None) -> Weights:
        """The weights of a new run; `rates` (N,) are the exact participation rates, None where nobody knows them."""


@dataclass(frozen=True)
class AverageParticipating:
    """N / (size of the cohort): the plain average of the updates that arrive."""

    def start(self, replicates: int, n_clients: int, rates: npt.ArrayLike | None) -> Weights:
        return _OfTheCohort()


@dataclass(frozen=True)
class AverageAll:
    """1: the average over all clients, absent ones counting as zero."""

    def start(self, replicates: int, n_clients: int, rates: npt.ArrayLike | None) -> Weights:
        return _Constant(np.ones((replicates, n_clients)))


@dataclass(frozen=True)
class KnownRates:
    """1 / (participation rate). Raises InputError at the start if the rates are not known or one of them is 0."""

    def start(self, replicates: int, n_clients: int, rates: npt.ArrayLike | None) -> Weights:
        if rates is None:
            raise InputError("weighting", "known_rates", "another rule: the rates of participation are not known here")
        return _Constant(np.broadcast_to(known_rates(rates), (replicates, n_clients)))


@dataclass(frozen=True)
class FedAU:
    """FedAU's average interval with this cutoff (Algorithm 2)."""

    cutoff: float

    def __post_init__(self) -> None:
        checked_cutoff("cutoff", self.cutoff)

    def start(self, replicates: int, n_clients: int, rates: npt.ArrayLike | None) -> Weights:
        return _Estimated(FedAUWeights(replicates * n_clients, self.cutoff), (replicates, n_clients))


@dataclass(frozen=True)
class ExponentialAverage:
    """FedAU's intervals, averaged with more weight on recent ones."""

    smoothing: float
    cutoff: float = math.inf

    def __post_init__(self) -> None:
        checked_cutoff("cutoff", self.cutoff)
        probability("smoothing", self.smoothing)

    def start(self, replicates: int, n_clients: int, rates: npt.ArrayLike | None) -> Weights:
        estimator = ExponentialAverageWeights(replicates * n_clients, self.cutoff, self.smoothing)
        return _Estimated(estimator, (replicates, n_clients))


_METHODS = {"update": 1, "state_dict": 0, "load_state_dict": 1}  # and the number of their arguments


@dataclass(frozen=True)
class FromEstimator:
    """An estimator of your own: `make(n_clients)` has the interface of those of `fltheory.weights`, state included.

    All replicates share one, so a client may change no other's weight (`fltheory.testing.check_weight_estimator`).
    A run raises InputError for what is no estimator, for weights that are not finite, below 0 or not one a client, and
    for a state that is no mapping of names to arrays.
    """

    make: Callable[[int], Any]

    def __post_init__(self) -> None:
        if not callable(self.make) or not _takes(self.make, 1):
            raise InputError("make", self.make, "a function of the number of clients")

    def start(self, replicates: int, n_clients: int, rates: npt.ArrayLike | None) -> Weights:
        made = self.make(replicates * n_clients)
        if isinstance(made, type):
            raise InputError("what make gives", made, "an estimator, not the class of one")
        missing = [] if hasattr(made, "weights") else ["weights"]
        missing += [name for name in _METHODS if not callable(getattr(made, name, None))]
        if missing:
            raise InputError("what make gives", made, f"an estimator that also has {', '.join(missing)}")
        for name, arguments in _METHODS.items():
            if not _takes(getattr(made, name), arguments):
                allowed = f"a method that is called with {('nothing', 'one argument')[arguments]}"
                raise InputError(f"{name} of {type(made).__name__}", getattr(made, name), allowed)
        return _Foreign(made, (replicates, n_clients))


def _takes(function: Callable[..., Any], arguments: int) -> bool:
    """Whether it can be called with so many arguments; what tells no signature is believed to be."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*[None] * arguments)
    except TypeError:
        return False
    return True


def require_rule(rule: Any) -> None:
    """Raise InputError for what is no rule, such as an estimator that stands by itself, or the class of a rule."""
    if isinstance(rule, type) or not callable(getattr(rule, "start", None)):
        own = "for an estimator of your own FromEstimator(make), where make(n_clients) gives it"
        raise InputError("rule", rule, f"a rule of sims.weighting, such as FedAU(50), or {own}")


RULES: Mapping[str, type[Rule]] = {
    "average_all": AverageAll,
    "average_participating": AverageParticipating,
    "exponential_average": ExponentialAverage,
    "fedau": FedAU,
    "known_rates": KnownRates,
}


class _Stateless:
    def update(self, participated: BoolArray) -> None:
        pass

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        pass


class _OfTheCohort(_Stateless):
    def weights(self, participated: BoolArray) -> FloatArray:
        return average_participating(participated)


class _Constant(_Stateless):
    def __init__(self, weights: FloatArray) -> None:
        self._weights = weights

    def weights(self, participated: BoolArray) -> FloatArray:
        return self._weights


class _Estimated:
    def __init__(self, estimator: Any, shape: tuple[int, int]) -> None:
        self._estimator, self._shape = estimator, shape
        self._weights = self._shaped(estimator.weights)

    def weights(self, participated: BoolArray) -> FloatArray:
        return self._weights

    def update(self, participated: BoolArray) -> None:
        self._weights = self._shaped(self._estimator.update(participated.reshape(-1)))

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        return dict(self._estimator.state_dict())

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        self._estimator.load_state_dict(state)
        self._weights = self._shaped(self._estimator.weights)

    def _shaped(self, weights: Any) -> FloatArray:
        return np.reshape(weights, self._shape)


class _Foreign(_Estimated):
    """An estimator that is not known to be right: it gets a copy, and what it gives is looked at."""

    def __init__(self, estimator: Any, shape: tuple[int, int]) -> None:
        super().__init__(estimator, shape)
        self.state_dict()  # a run of hours should not end at its first checkpoint

    def update(self, participated: BoolArray) -> None:
        super().update(participated.copy())

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        given, about = self._estimator.state_dict(), f"state_dict() of {type(self._estimator).__name__}"
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise InputError(about, given, "a mapping of names to arrays of numbers")
        state = {}
        for name, value in given.items():
            try:
                state[name] = np.asarray(value)
            except (TypeError, ValueError):  # lists of unequal length
                state[name] = np.array(None)
            if state[name].dtype.hasobject:
                raise InputError(f"{name} in {about}", value, "an array of numbers")
        return state

    def _shaped(self, weights: Any) -> FloatArray:
        """A bad weight would be taken for a step that is too long."""
        n = math.prod(self._shape)
        try:
            given = np.asarray(weights)
        except (TypeError, ValueError):
            given = np.array(math.nan)
        given = given.astype(np.float64) if given.dtype.kind in "iuf" else np.array(math.nan)
        if given.shape != (n,) or not (np.isfinite(given) & (given >= 0)).all():
            name = type(self._estimator).__name__
            raise InputError(f"weights of {name}", weights, f"{n} finite numbers of at least 0, one a client")
        return super()._shaped(given)
