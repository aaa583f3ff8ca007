"""`check_weight_estimator`: everything that an estimator of participation weights must do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from fltheory.participation.runs import BoolArray, FloatArray
from fltheory.streams import stream
from fltheory.testing import battery
from fltheory.testing.battery import drawn, smallest
from fltheory.testing.strategies import participation_histories
from fltheory.testing.weight_laws import Law, Stream, family_checks

HISTORIES = participation_histories(min_rounds=0)
ROUNDING = 8 * np.finfo(np.float64).eps  # of a few operations; times the number of terms


class WeightEstimator(Protocol):
    """What is checked: `weights` (n_clients,) of the coming round, and `update`, called once a round.

    `update(participated)` takes in a bool array (n_clients,) and returns the weights of the NEXT round.
    """

    @property
    def weights(self) -> FloatArray: ...

    def update(self, participated: BoolArray, /) -> FloatArray: ...


Factory = Callable[[int], Any]
Whole = Callable[[BoolArray], npt.ArrayLike]


def check_weight_estimator(
    factory: Factory,
    *,
    whole: Whole | None = None,
    law: Law | None = None,
    largest: float | None = None,
    expected_failures: Mapping[str, str] | None = None,
) -> None:
    """Run the whole battery on an estimator; raise CheckFailed with every failure and its minimal example.

    factory             factory(n_clients) makes a fresh estimator (`WeightEstimator`), such as
                        `lambda n: FedAUWeights(n, cutoff=50)`
    whole               the same weights from a whole history: (rounds, clients) -> (rounds, clients)
    law                 what the weights are meant to be: law(process, rounds) has arrays `mean` and `error`, the
                        E[w_t] and E[(rate w_t - 1)^2] for t < rounds of a process of one client, such as
                        `lambda process, rounds: exact_weight_law(process, 50, rounds)`. Without it they are meant
                        to estimate 1 / rate: after 1,024 rounds, to a quarter (root mean square), at rates of
                        0.5, 0.25 and about 0.1; nothing is looked at for smaller rates
    largest             no weight is larger; without it, that of round t is at most t + 1
    expected_failures   name of a check -> why it is right that it fails; then it must fail

    The checks: `interface` (shapes, finite numbers, an argument that stays as it was, weights before the first
    round), `repeatable`, `history only` (the weight of round t depends on rounds before t alone, and stays what it
    was), `positive`, `bounded`, `permutation` (of clients), `other clients` (a newcomer changes nobody else's),
    `whole history`, `memory` (constant), `serialisation` (`state_dict` and `load_state_dict`, or pickle: goes on
    bit for bit), all of them on small histories and most on `late_history`; `always on` (weight 1 in rounds 130 to
    1,023), and `Bernoulli`, `Markov`, `cyclic`: mean and error, exact over all histories of 7 rounds (for `cyclic` also
    of 1,024 rounds with gaps of 300) and by simulation in rounds 16 to 129 (false alarm 1e-7 a comparison, fixed
    seeds).

    >>> from fltheory.weights import FedAUWeights, exact_weight_law, fedau_weights
    >>> check_weight_estimator(
    ...     lambda n: FedAUWeights(n, cutoff=3),
    ...     whole=lambda history: fedau_weights(history, 3),
    ...     law=lambda process, rounds: exact_weight_law(process, 3, rounds),
    ...     largest=3,
    ... )
    """
    if not callable(factory):
        raise InputError("factory", factory, "a function of the number of clients that makes an estimator")

    def weights_of(history: BoolArray) -> FloatArray:
        return streamed(factory, history)

    def on_histories(wrong: Callable[[BoolArray], str | None], late: bool = True) -> battery.Check:
        return lambda: smallest(HISTORIES, _examples(), wrong) or (_late(wrong) if late else None)

    checks: dict[str, battery.Check] = {
        "interface": on_histories(lambda h: _interface(factory, h)),
        "repeatable": on_histories(
            lambda h: _differ(h, weights_of(h), weights_of(h), "two fresh estimators", exact=True)
        ),
        "history only": on_histories(
            lambda h: _kept(factory, h) or (_looks_ahead(whole, h) if whole else None), late=False
        ),
        "positive": on_histories(lambda h: _each(h, weights_of(h), lambda w, t: w > 0, "above 0")),
        "bounded": on_histories(lambda h: _bounded(h, weights_of(h), largest)),
        "permutation": on_histories(lambda h: _permuted(weights_of, h)),
        "other clients": on_histories(lambda h: _alone(weights_of, h)),
        "memory": lambda: _memory(factory),
        "serialisation": on_histories(lambda h: _continued(factory, h)),
    }
    if whole is not None:
        checks["whole history"] = on_histories(
            lambda h: _differ(h, weights_of(h), np.asarray(whole(h)), "streaming and `whole`")
        )
    checks |= family_checks(weights_of, law, largest)
    battery.run(f"the estimator of {_name(factory)}", checks, expected_failures or {})


@cache
def late_history() -> BoolArray:
    """Participation (1,024 rounds, 16 clients) with absences of up to all rounds: what small examples do not show."""
    rounds, rates = 1024, (0.9, 0.5, 0.3, 0.1, 0.05, 0.02, 0.01)
    t = np.arange(rounds)
    fixed = [t < 0, t == 0, t % 700 == 0, t % 300 == 7, t % 150 == 149, t < 400, t >= 500, t >= 0, t % 256 == 255]
    drawn_ = stream(0, "testing.late").random((len(rates), rounds)) < np.array(rates)[:, None]
    return np.stack([*fixed, *drawn_], axis=1)


def _late(wrong: Callable[[BoolArray], str | None]) -> str | None:
    told = battery.outcome(lambda: wrong(late_history()))
    return told and f"{told}, `fltheory.testing.estimators.late_history`"


@cache
def _examples() -> list[BoolArray]:
    return battery.examples_of(HISTORIES)


def streamed(factory: Factory, history: BoolArray) -> FloatArray:
    """The weights (rounds, clients) in which each round is used, one update after another."""
    estimator = factory(history.shape[1])
    weights = [np.array(estimator.weights, dtype=np.float64)]
    weights += [np.array(estimator.update(seen.copy()), dtype=np.float64) for seen in history[:-1]]
    return np.stack(weights)[: len(history)]


def _name(factory: Factory) -> str:
    made = type(factory(1)).__name__
    return made if made != "function" else repr(factory)


def _interface(factory: Factory, history: BoolArray) -> str | None:
    n_clients = history.shape[1]
    estimator = factory(n_clients)
    given = [("before the first round", estimator.weights)]
    for t, seen in enumerate(history):
        argument = seen.copy()
        given.append((f"after round {t}", estimator.update(argument)))
        if not np.array_equal(argument, seen):
            return f"`update` writes into its argument in round {t} ({drawn(history)})"
        if not np.array_equal(np.asarray(given[-1][1]), np.asarray(estimator.weights), equal_nan=True):
            return f"`update` does not return `weights` in round {t} ({drawn(history)})"
    for when, weights in given:
        array = np.asarray(weights)
        if array.shape != (n_clients,) or array.dtype.kind not in "fiu":
            return f"the weights {when} have shape {array.shape} and type {array.dtype}, not numbers ({n_clients},)"
        if not np.isfinite(array).all():
            return f"the weights {when} are {array}, not finite ({drawn(history)})"
    return None


def _kept(factory: Factory, history: BoolArray) -> str | None:
    estimator = factory(history.shape[1])
    handed_out = [estimator.weights]
    kept = [np.array(handed_out[0])]
    for seen in history:
        handed_out.append(estimator.update(seen.copy()))
        kept.append(np.array(handed_out[-1]))
    for t, (now, then) in enumerate(zip(handed_out, kept, strict=True)):
        if not np.array_equal(now, then, equal_nan=True):
            return f"the weights handed out for round {t} changed later, from {then} to {now} ({drawn(history)})"
    return None


def _looks_ahead(whole: Whole, history: BoolArray) -> str | None:
    weights = np.asarray(whole(history.copy()))
    for t in range(len(history)):
        changed = history.copy()
        changed[t:] = ~changed[t:]
        other = np.asarray(whole(changed))
        if not np.array_equal(weights[: t + 1], other[: t + 1], equal_nan=True):
            return f"weights up to round {t} change when participation from round {t} on does ({drawn(history)})"
    return None


def _each(history: BoolArray, weights: FloatArray, holds: Callable[[Any, int], Any], allowed: str) -> str | None:
    for t, row in enumerate(weights):
        bad = np.flatnonzero(~np.asarray(holds(row, t), dtype=np.bool_))
        if bad.size:
            return f"client {bad[0]} has weight {row[bad[0]]} in round {t}, not {allowed} ({drawn(history)})"
    return None


def _bounded(history: BoolArray, weights: FloatArray, largest: float | None) -> str | None:
    if largest is not None:
        return _each(history, weights, lambda w, t: w <= largest, f"at most {largest}")
    return _each(history, weights, lambda w, t: w <= t + 1, "at most t + 1")


def _differ(history: BoolArray, a: FloatArray, b: FloatArray, which: str, exact: bool = False) -> str | None:
    """Where two arrays of weights (rounds, clients) differ by more than the rounding of as many terms as there are."""
    if a.shape != b.shape:
        return f"{which} give shapes {a.shape} and {b.shape} ({drawn(history)})"
    allowed = 0.0 if exact else ROUNDING * max(a.size, 1)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= allowed * np.maximum(np.abs(a), np.abs(b))
    bad = np.argwhere(~((a == b) | near))  # NaN differs from everything
    if len(bad) == 0:
        return None
    t, client = bad[0]
    return f"{which} differ: {a[t, client]} and {b[t, client]} for client {client} in round {t} ({drawn(history)})"


def _permuted(weights_of: Stream, history: BoolArray) -> str | None:
    clients = np.arange(history.shape[1])
    for order in (clients[::-1], np.roll(clients, 1)):
        before, after = weights_of(history)[:, order], weights_of(history[:, order])
        which = f"weights of the clients in the order {order.tolist()}, and weights brought into that order,"
        wrong = _differ(history[:, order], after, before, which)
        if wrong:
            return wrong
    return None


def _alone(weights_of: Stream, history: BoolArray) -> str | None:
    n_clients = history.shape[1]
    for fewer in sorted({1, n_clients // 2, n_clients - 1} - {0, n_clients}):
        which = f"the weights of {fewer} clients with the others and without"
        wrong = _differ(history, weights_of(history)[:, :fewer], weights_of(history[:, :fewer]), which)
        if wrong:
            return wrong
    return None


def _state(estimator: Any) -> Any:
    return estimator.state_dict() if hasattr(estimator, "state_dict") else estimator


def _memory(factory: Factory) -> str | None:
    n_clients, few, more = 3, 128, 2048
    history = stream(0, "testing.memory").random((few + more, n_clients)) < 0.3
    estimator = factory(n_clients)
    sizes = []
    for t, seen in enumerate(history):
        if t == few:
            sizes.append(len(pickle.dumps(_state(estimator))))
        estimator.update(seen)
    sizes.append(len(pickle.dumps(_state(estimator))))
    if sizes[1] > sizes[0] + 64 + 16 * n_clients:  # counters may gain digits; a bit a round would be 768 bytes
        return f"its state grows from {sizes[0]} to {sizes[1]} bytes over {more} rounds of {n_clients} clients"
    return None


def _continued(factory: Factory, history: BoolArray) -> str | None:
    for split in {0, len(history) // 2, len(history)}:
        first = factory(history.shape[1])
        for seen in history[:split]:
            first.update(seen.copy())
        if hasattr(first, "state_dict"):
            second, how = factory(history.shape[1]), "`load_state_dict` of its `state_dict`"
            second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
        else:
            second, how = pickle.loads(pickle.dumps(first)), "pickle"
        for t in range(split, len(history) + 1):
            if not np.array_equal(np.asarray(first.weights), np.asarray(second.weights), equal_nan=True):
                told = f"{second.weights} in place of {first.weights}"
                return f"split after {split} rounds by {how}, it gives {told} in round {t} ({drawn(history)})"
            if t < len(history):
                first.update(history[t].copy())
                second.update(history[t].copy())
    return None
