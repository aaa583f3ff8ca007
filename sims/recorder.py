"""What a run records, and how often."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from sims.algorithms.protocol import State
from sims.arrays import Array, array_namespace, on_host
from sims.costs import Costs
from sims.problems.base import Problem, full_gradient
from sims.training.estimates import ESTIMATES, Trace, survey
from sims.training.survey import Survey

FloatArray = npt.NDArray[np.float64]

TRACE = "trace."  # in a checkpoint, before the names of what is followed


@dataclass(frozen=True)
class Moment:
    """What can be seen at the beginning of a round, with R replicates of N clients.

    participated   (R, N) who takes part in the round; nobody after the last round
    weights        (R, N) the aggregation weights of the round; None if the algorithm uses none
    last           (R, N) the latest round before in which each client took part, -1 if there is none
    rates          (N,) exact participation rates, None where nobody knows them
    costs          what the rounds before have cost
    memory         what the selection remembers, this round's choice included
    trace          all rounds before, where a metric needs them
    """

    problem: Problem
    round: int
    state: State
    participated: npt.NDArray[np.bool_]
    weights: FloatArray | None
    last: npt.NDArray[np.int64]
    rates: FloatArray | None
    costs: Costs
    memory: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace | None = None

    @cached_property
    def survey(self) -> Survey:
        """The gradients of all clients at the model, for all metrics that look at them."""
        return survey(self)


@dataclass(frozen=True)
class Metric:
    """A number (or a vector) for each replicate.

    about        in words
    compute      of a moment, (R,) or (R, d)
    of_a_round   it describes a round and not just the state, so there is none after the last round
    trains       it is there for training alone (`sims.training.evaluation.Evaluation`)
    follows      it needs all rounds before (`Moment.trace`), recorded or not
    needs_rates  it needs exact participation rates
    per_client   it is a vector with a number for each client
    """

    about: str
    compute: Callable[[Moment], Array]
    of_a_round: bool = False
    trains: bool = False
    follows: bool = False
    needs_rates: bool = False
    per_client: bool = False

    def columns(self, problem: Problem) -> int:
        """Numbers that it is for one replicate."""
        if self.per_client:
            return problem.n_clients
        return problem.dimension if self is METRICS["model"] else 1


def _objective(now: Moment) -> Array:
    return now.problem.objective(now.state.linear["x"])


def _squared_gradient(now: Moment) -> Array:
    if hasattr(now.problem, "evaluation"):  # of training, too large for all clients' gradients at once
        return now.survey.mean_square
    gradient = full_gradient(now.problem, now.state.linear["x"])
    return array_namespace(gradient).sum(gradient * gradient, axis=-1)


def _squared_distance(now: Moment) -> Array:
    x = now.state.linear["x"]
    minimiser = np.asarray(now.problem.constants.minimiser, dtype=np.float64)
    away = x - array_namespace(x).asarray(minimiser, device=x.device)
    return array_namespace(x).sum(away * away, axis=-1)


def _weight_error(now: Moment) -> FloatArray:
    if now.weights is None:
        return np.full(now.participated.shape[0], np.nan)
    assert now.rates is not None  # checked before the run
    return np.asarray(((now.rates * now.weights - 1) ** 2).mean(axis=-1))


def _rounds(now: Moment) -> npt.NDArray[np.int64]:
    return now.costs.participations


def _snapshot_probability(now: Moment) -> FloatArray:
    return np.broadcast_to(np.asarray(now.memory.get("probability", np.nan), dtype=np.float64), len(now.participated))


def _arbitrary_share(now: Moment) -> FloatArray:
    snapshots = np.asarray(now.memory.get("snapshots", 0), dtype=np.float64)
    return np.broadcast_to(1 - snapshots / max(now.memory.get("round", 0), 1), len(now.participated))


def _evaluated(name: str, about: str) -> Metric:
    def compute(now: Moment) -> Array:
        evaluation: Any = now.problem.evaluation  # type: ignore[attr-defined]
        return getattr(evaluation(now.state.linear["x"]), name)

    return Metric(about, compute, trains=True, per_client=name in PER_CLIENT)


PER_CLIENT = ("client_losses", "client_accuracies", "client_test_accuracies")

EVALUATED = {
    "train_loss": "mean loss over all training samples",
    "train_accuracy": "share of all training samples whose class is right",
    "client_loss": "mean over clients of the mean loss on their data",
    "client_accuracy": "mean over clients of the accuracy on their data",
    "client_loss_std": "standard deviation over clients of the mean loss on their data",
    "client_accuracy_std": "standard deviation over clients of the accuracy on their data",
    "worst_client_accuracy": "least accuracy of a client on its data",
    "test_loss": "mean loss over all test samples",
    "test_accuracy": "share of all test samples whose class is right",
    "client_test_accuracy_std": "standard deviation over clients of client_test_accuracies",
    "client_losses": "mean loss of each client on its data",
    "client_accuracies": "accuracy of each client on its data",
    "client_test_accuracies": "accuracy for each client on test samples, classes counted as in its data",
}

METRICS: Mapping[str, Metric] = {
    **{name: _evaluated(name, about) for name, about in EVALUATED.items()},
    "objective": Metric("f(x)", _objective),
    "objective_gap": Metric("f(x) - f*", lambda now: _objective(now) - float(now.problem.constants.minimum)),
    "squared_gradient": Metric("||grad f(x)||^2", _squared_gradient),
    "squared_distance": Metric("||x - x*||^2", _squared_distance),
    "model": Metric("x", lambda now: now.state.linear["x"]),
    "cohort_size": Metric(
        "number of participating clients", lambda now: now.participated.sum(axis=-1), of_a_round=True
    ),
    "weight_error": Metric("(1/N) sum_n (p_n w_n - 1)^2", _weight_error, of_a_round=True, needs_rates=True),
    "staleness": Metric(
        "mean over clients of the rounds since they last took part", lambda now: (now.round - now.last).mean(axis=-1)
    ),
    "largest_staleness": Metric(
        "largest number of rounds since a client last took part", lambda now: (now.round - now.last).max(axis=-1)
    ),
    "snapshot_probability": Metric(
        "q of FAST: probability of a snapshot in the round, where a coin decides",
        _snapshot_probability,
        of_a_round=True,
    ),
    "arbitrary_share": Metric(
        "FAST's ratio: share of the rounds so far, the recorded one included, that were no snapshots", _arbitrary_share
    ),
    "participations": Metric("clients that took part so far, over all rounds", lambda now: _rounds(now).sum(axis=-1)),
    "fewest_participations": Metric("rounds of the client that took part least", lambda now: _rounds(now).min(axis=-1)),
    "most_participations": Metric("rounds of the client that took part most", lambda now: _rounds(now).max(axis=-1)),
    "gradient_samples": Metric(
        "gradients of single samples that the clients computed so far", lambda now: now.costs.samples(now.problem)
    ),
    "vectors_sent": Metric("parameter vectors sent to and from clients so far", lambda now: now.costs.vectors()),
    **{
        name: Metric(
            f"{one.about} ({one.kind})",
            one.compute,
            one.of_a_round,
            follows=one.follows,
            needs_rates=one.needs_rates,
        )
        for name, one in ESTIMATES.items()
    },
}


def check_metrics(what: tuple[str, ...], problem: Problem, rates: FloatArray | None) -> None:
    """Raise InputError unless all of it can be computed."""
    for name in what:
        if name not in METRICS:
            raise InputError("record.what", name, f"one of {', '.join(METRICS)}")
        if METRICS[name].trains and not hasattr(problem, "evaluation"):
            raise InputError("record.what", name, "something else: it is for training")
        if METRICS[name].trains and (why := problem.unmeasured(name)):  # type: ignore[attr-defined]
            raise InputError("record.what", name, f"something else: {why}")
        if METRICS[name].needs_rates and rates is None:
            raise InputError("record.what", name, "something else: participation rates are not known here")
    minimum, minimiser = problem.constants.minimum, problem.constants.minimiser
    if "objective_gap" in what and (minimum is None or not math.isfinite(minimum)):
        why = "has no known minimum" if minimum is None else "is unbounded below"
        raise InputError("record.what", "objective_gap", f"something else: this problem {why}")
    if "squared_distance" in what and minimiser is None:
        raise InputError("record.what", "squared_distance", "something else: this problem has no known minimiser")


def recorded(rounds: int, every: int) -> int:
    """How many rounds are recorded: 0, every, 2 every, ... below `rounds`, and after the last one."""
    return -(-rounds // every) + 1


class Record:
    """Metrics at rounds 0, every, 2 every, ... and after the last one.

    A moment of round t shows the model x_t before the round moves it and the weights that the round uses. Metrics
    of a round are NaN after the last one, and the weight error where there are no weights. Where a metric needs all
    rounds, `take` wants to see every one of them, and keeps those it has to.

    `seconds` tells what it took to evaluate models on data, and to compute everything else that is recorded.
    """

    def __init__(self, what: tuple[str, ...], every: int, rounds: int) -> None:
        self.what, self.every = what, count("every", every)
        self.seconds = {"evaluation": 0.0, "estimates": 0.0}
        self.last_round = count("rounds", rounds)
        self.size = recorded(self.last_round, self.every)
        self._taken: int = 0
        self._values: dict[str, FloatArray] = {}
        self._trace = Trace() if any(name in METRICS and METRICS[name].follows for name in what) else None

    def due(self, round: int) -> bool:
        """Whether this round is to be recorded, or at least seen."""
        return self._keeps(round) or (self._trace is not None and round < self.last_round)

    def _keeps(self, round: int) -> bool:
        return self._taken < self.size and min(self._taken * self.every, self.last_round) == round

    def take(self, now: Moment) -> None:
        """Record a moment, if it is to be; the rounds must come in their order."""
        if self._trace is None:
            self._keep(now)
            return
        keeps = self._keeps(now.round)
        with self._timed("estimates"):
            self._trace.begin(now, keeps)
        if keeps:
            self._keep(replace(now, trace=self._trace))
        if now.round < self.last_round:
            with self._timed("estimates"):
                self._trace.add(now)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - began

    def _keep(self, now: Moment) -> None:
        last = now.round == self.last_round
        for name in self.what:
            metric = METRICS[name]
            if last and metric.of_a_round:
                self._values[name][self._taken] = np.nan
                continue
            with self._timed("evaluation" if metric.trains else "estimates"):
                value = on_host(metric.compute(now))
            if name not in self._values:
                self._values[name] = np.full((self.size, *value.shape), np.nan)
            self._values[name][self._taken] = value
        self._taken += 1

    @property
    def taken(self) -> int:
        """How many rounds were recorded."""
        return self._taken

    @property
    def rounds(self) -> npt.NDArray[np.int64]:
        """The rounds recorded so far, (k,)."""
        return np.minimum(np.arange(self._taken, dtype=np.int64) * self.every, self.last_round)

    def arrays(self) -> dict[str, FloatArray]:
        """Metric -> values so far, (R, k) or (R, k, d)."""
        return {name: np.moveaxis(values[: self._taken], 0, 1) for name, values in self._values.items()}

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """All that was recorded."""
        kept: dict[str, npt.NDArray[Any]] = {name: values[: self._taken] for name, values in self._values.items()}
        trace = self._trace.state_dict() if self._trace is not None else {}
        return kept | {f"{TRACE}{name}": array for name, array in trace.items()}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]], taken: int) -> None:
        """Continue from there."""
        self._taken = taken
        self._values = {}
        for name in self.what:
            if name in state:
                self._values[name] = np.full((self.size, *state[name].shape[1:]), np.nan)
                self._values[name][:taken] = state[name]
        if self._trace is not None:
            trace = {name.removeprefix(TRACE): array for name, array in state.items() if name.startswith(TRACE)}
            self._trace.load_state_dict(trace)
