"""Estimators with one fault each, and the check that must find it. All but the fault is FedAU with a cutoff of 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fltheory.weights import FedAUWeights, exact_weight_law, fedau_weights

CUTOFF = 3


class Right(FedAUWeights):
    def __init__(self, n_clients: int) -> None:
        super().__init__(n_clients, CUTOFF)


class WritesIntoItsArgument(Right):
    def update(self, participated: Any) -> Any:
        weights = super().update(participated)
        participated[:] = False
        return weights


class DividesByNothing(Right):
    @property
    def weights(self) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self._completed == 0, np.divide(1.0, self._completed), super().weights)


class Flips(Right):
    generator = np.random.default_rng(0)

    @property
    def weights(self) -> Any:
        return super().weights * (1 + 1e-6 * self._noise)

    def __init__(self, n_clients: int) -> None:
        super().__init__(n_clients)
        self._noise = self.generator.random()


class CountsInBytes(Right):
    """Right for 255 rounds."""

    @property
    def weights(self) -> Any:
        counted = 1.0 if self._rounds < 256 else max(self._rounds % 256, 1e-3) / self._rounds
        return super().weights * counted

    def __init__(self, n_clients: int) -> None:
        super().__init__(n_clients)
        self._rounds = 0

    def update(self, participated: Any) -> Any:
        self._rounds += 1
        return super().update(participated)


class StopsLearning(Right):
    """After 200 rounds the weights stay as they are."""

    def update(self, participated: Any) -> Any:
        return super().update(participated) if self.rounds < 200 else self.weights


class Remembers(Right):
    """Has one more number a client, which its state has, too."""

    def __init__(self, n_clients: int) -> None:
        super().__init__(n_clients)
        self._more = np.zeros(n_clients, dtype=int)

    def state_dict(self) -> Any:
        return {**super().state_dict(), "more": self._more.copy()}

    def load_state_dict(self, state: Any) -> None:
        self._more = state["more"].copy()
        super().load_state_dict({name: value for name, value in state.items() if name != "more"})


class NegativeAfterAWhile(Remembers):
    """After 120 rounds away a weight is -1."""

    @property
    def weights(self) -> Any:
        return np.where(self._more > 120, -1.0, super().weights)

    def update(self, participated: Any) -> Any:
        self._more = np.where(participated, 0, self._more + 1)
        return super().update(participated)


class MeansOfMany(Right):
    """With more than ten clients all have the mean weight."""

    @property
    def weights(self) -> Any:
        weights = super().weights
        return np.full_like(weights, weights.mean()) if len(weights) > 10 else weights


class HandsOutItsOwnArray(Right):
    def __init__(self, n_clients: int) -> None:
        super().__init__(n_clients)
        self._own = np.ones(n_clients)

    @property
    def weights(self) -> Any:
        self._own[:] = super().weights
        return self._own


class NothingForTheUnseen(Right):
    @property
    def weights(self) -> Any:
        return np.where(self._completed == 0, 0.0, super().weights)


class CountsDouble(Right):
    @property
    def weights(self) -> Any:
        return 2 * super().weights


class FavoursTheFirst(Right):
    @property
    def weights(self) -> Any:
        weights = super().weights
        weights[0] = min(weights[0] * 1.01, CUTOFF)
        return weights


class Normalises(Right):
    @property
    def weights(self) -> Any:
        weights = super().weights
        return weights / weights.mean()


class KeepsTheHistory(Right):
    def __init__(self, n_clients: int) -> None:
        super().__init__(n_clients)
        self._history: list[bytes] = []

    def update(self, participated: Any) -> Any:
        self._history.append(np.packbits(participated).tobytes())
        return super().update(participated)

    def state_dict(self) -> Any:
        return {**super().state_dict(), "history": np.array(self._history)}


class ForgetsTheOpenInterval(Right):
    def load_state_dict(self, state: Any) -> None:
        super().load_state_dict(state)
        self._open = np.where(self._open > 0, self._open - 1, 0)


class CountsOffOnes(Remembers):
    """Takes a round with the client for one without, and conversely, once it has seen eight in a row."""

    def update(self, participated: Any) -> Any:
        self._more = np.where(participated, self._more + 1, 0)
        return super().update(np.where(self._more > 8, False, participated))


class OpenIntervalCounts(Right):
    """The usual mistake: the interval that has not ended yet is averaged in."""

    @property
    def weights(self) -> Any:
        ended = np.maximum(self._completed, 1)
        closed = (self.rounds * self._size - self._open) / ended
        return np.where(self._completed > 0, (closed * ended + self._open) / (ended + (self._open > 0)), 1.0)


class AfterAbsence:
    """1 over the rate among the rounds that follow an absence: right only where rounds are independent."""

    def __init__(self, n_clients: int) -> None:
        self._last = np.ones(n_clients, dtype=bool)
        self._tried, self._came = np.zeros(n_clients), np.zeros(n_clients)

    @property
    def weights(self) -> Any:
        return np.where(self._came > 0, self._tried / np.maximum(self._came, 1), 1.0)

    def update(self, participated: Any) -> Any:
        self._tried += ~self._last
        self._came += ~self._last & participated
        self._last = participated.copy()
        return self.weights


class NeverAboveFour:
    """1 / rate, as long as that is at most 4: right at rates of 1/2 and 1/4."""

    def __init__(self, n_clients: int) -> None:
        self._rounds, self._came = 0, np.zeros(n_clients)

    @property
    def weights(self) -> Any:
        return np.minimum((self._rounds + 1) / (self._came + 1), 4.0)

    def update(self, participated: Any) -> Any:
        self._rounds += 1
        self._came += participated
        return self.weights


def a_round_early(history: Any) -> Any:
    """The weights of round t, computed with the participation in it."""
    return fedau_weights(np.concatenate([history[1:], history[:1]]), CUTOFF)


def law_of_50(process: Any, rounds: int) -> Any:
    return exact_weight_law(process, 50, rounds)


def law(process: Any, rounds: int) -> Any:
    return exact_weight_law(process, CUTOFF, rounds)


@dataclass(frozen=True)
class Broken:
    """A fault: how the estimator is made, what else the battery is told, and the checks that fail."""

    factory: Callable[[int], Any]
    fails: set[str]
    told: dict[str, Any] = field(default_factory=dict)


FAMILIES = {"Bernoulli", "Markov", "cyclic"}
AS_FEDAU = {"law": law, "largest": CUTOFF}
AT_1_IN_4 = FAMILIES  # a cutoff of 3 is too small for the battery's rate 1/4, if 1 / rate is what is meant
BROKEN = {
    "writes into its argument": Broken(WritesIntoItsArgument, {"interface"}, AS_FEDAU),
    "divides by nothing": Broken(DividesByNothing, {"interface", "bounded"} | AT_1_IN_4),
    "hidden generator": Broken(
        Flips, {"repeatable", "bounded", "permutation", "other clients", "serialisation"} | AT_1_IN_4
    ),
    "hands out its own array": Broken(HandsOutItsOwnArray, {"history only"}, AS_FEDAU),
    "looks at the round": Broken(Right, {"history only", "whole history"}, {**AS_FEDAU, "whole": a_round_early}),
    "nothing for the unseen": Broken(NothingForTheUnseen, {"positive"} | FAMILIES, AS_FEDAU),
    "counts double": Broken(CountsDouble, {"bounded", "always on"} | FAMILIES, AS_FEDAU),
    "favours the first": Broken(FavoursTheFirst, {"permutation"} | FAMILIES, AS_FEDAU),
    "normalises": Broken(Normalises, {"other clients"} | FAMILIES, AS_FEDAU),
    "another whole history": Broken(
        Right, {"whole history"}, {**AS_FEDAU, "whole": lambda history: fedau_weights(history, 4)}
    ),
    "keeps the history": Broken(KeepsTheHistory, {"memory"}, AS_FEDAU),
    "forgets the open interval": Broken(ForgetsTheOpenInterval, {"serialisation"}, AS_FEDAU),
    "counts in bytes": Broken(CountsInBytes, {"always on", "cyclic", "serialisation"}, AS_FEDAU),
    "negative after a while": Broken(NegativeAfterAWhile, {"positive", "cyclic", "Markov"}, AS_FEDAU),
    "means of many": Broken(MeansOfMany, {"other clients"} | FAMILIES, AS_FEDAU),
    "means of many, without a law": Broken(MeansOfMany, {"other clients"} | AT_1_IN_4),
    "larger than said, late": Broken(
        lambda n: FedAUWeights(n, 50),
        {"bounded"},
        {"law": lambda process, rounds: exact_weight_law(process, 50, rounds), "largest": 40},
    ),
    "stops learning": Broken(StopsLearning, {"cyclic"}, AS_FEDAU),
    "counts off ones": Broken(CountsOffOnes, {"always on"} | AT_1_IN_4),
    "the open interval counts": Broken(OpenIntervalCounts, FAMILIES, AS_FEDAU),
    "right if independent": Broken(AfterAbsence, {"Markov", "cyclic"}),
    "never above four": Broken(NeverAboveFour, FAMILIES),
    "cut off a round early": Broken(
        lambda n: FedAUWeights(n, 49),
        {"cyclic"},
        {"law": lambda process, rounds: exact_weight_law(process, 50, rounds)},
    ),
}
