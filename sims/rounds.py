"""The round loop, the only one: availability -> selection -> dropout -> local updates -> server update, recorded.

All replicates move at once: models are (R, d), availability is (R, N), and a cohort has as many slots as the
largest of the round. Random numbers come from streams of their own for each purpose, so that algorithms compared
under one generator see the same traces, whatever else they draw (common random numbers).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import device, is_array_api_obj, is_numpy_array

from fltheory.errors import InputError, count, probabilities
from fltheory.participation import ParticipationProcess
from sims.algorithms.arguments import of_one_kind
from sims.algorithms.protocol import Algorithm, Cohort, Local, State
from sims.arrays import Array, array_namespace, is_exact, on_host, overwriting, require_exact, tables_from
from sims.availability import Reactive, availability
from sims.costs import Costs
from sims.divergence import Diverged, Stopped, not_finite
from sims.problems.base import Problem
from sims.problems.local import local_update
from sims.recorder import Moment, Record
from sims.roles import Roles
from sims.schedules import Schedule, constant, name_of, scheduled
from sims.selection import Selection, all_available, strength_of
from sims.weighting import Rule, require_rule

BoolArray = npt.NDArray[np.bool_]

STREAMS = ("availability", "selection", "dropout", "roles", "noise")


@dataclass(frozen=True)
class Setup:
    """What is run.

    process     availability: oblivious, sampled once a replicate, or `Reactive`
    rule        aggregation weights, for algorithms that use them
    selection   who of the available is asked (`sims.selection`)
    dropout     probability that a client that was asked fails to answer
    roles       which part each client plays, for algorithms with roles (`sims.roles`)
    schedule    factor of local_lr in each round (`sims.schedules`)
    warm        begin with a round of all clients that fills what the server remembers of them and leaves the model
                where it is; it is none of the T rounds, but part of what they cost

    Raises InputError for a process and a problem of different size, a rule that is none, a bad dropout, a schedule
    without a local_lr, and a warm start of what has no caches.
    """

    problem: Problem
    algorithm: Algorithm
    hyper: Any
    process: ParticipationProcess | Reactive
    rule: Rule | None = None
    selection: Selection = field(default_factory=all_available)
    dropout: float = 0.0
    roles: Roles | None = None
    schedule: Schedule = field(default_factory=constant)
    warm: bool = False

    def __post_init__(self) -> None:
        require_clients(self.process.n_clients, self.problem.n_clients)
        if self.rule is not None:
            require_rule(self.rule)
        if not _is_below_one(self.dropout):
            raise InputError("dropout", self.dropout, "a probability in [0, 1)")
        if self.schedule is not constant() and not hasattr(self.hyper, "local_lr"):
            raise InputError("schedule", name_of(self.schedule), f"constant, as {self.algorithm.name} has no local_lr")
        if self.warm and self.algorithm.warm_role is None:
            raise InputError("warm", True, f"false for {self.algorithm.name}, which has no caches to fill")

    @cached_property
    def rates(self) -> npt.NDArray[np.float64] | None:
        """Exact participation rates (N,); None if selection or a reactive process makes them unknown."""
        if self.selection is not all_available() or not isinstance(self.process, ParticipationProcess):
            return None
        return self.process.rate * (1 - self.dropout)


def _is_below_one(value: Any) -> bool:
    """Whether it is one number in [0, 1)."""
    try:
        return probabilities("dropout", value, zero=True).ndim == 0 and value < 1
    except InputError:
        return False


def require_clients(of_the_process: int, of_the_problem: int) -> None:
    """Raise InputError unless there are as many of the one as of the other."""
    if of_the_process != of_the_problem:
        allowed = f"{of_the_problem}, as many as the problem has"
        raise InputError("number of clients of the process", of_the_process, allowed)


class Simulation:
    """R replicates of a setup, round by round.

    start    models (R, d) before round 0, of numpy or torch; the run is exact if they are
    rounds   T
    rng      the source of all random numbers of these replicates
    record   what to keep; nothing if it is None

    Raises InputError for a start of another shape, for parameters of another kind than the start (an exact run knows no
    floats, a schedule or weights among them), and for a selection that adapts to accuracies which the problem lacks.

    >>> from sims.algorithms.fedavg import Hyper, fedavg
    >>> from sims.problems.quadratic import DiagonalQuadratic
    >>> from fltheory.participation import Bernoulli
    >>> from sims.weighting import AverageAll
    >>> setup = Setup(DiagonalQuadratic([1, 1], [0, 2]), fedavg, Hyper(0.5), Bernoulli([1, 1]), AverageAll())
    >>> record = Record(("objective_gap",), every=1, rounds=3)
    >>> Simulation(setup, np.zeros((1, 1)), 3, np.random.default_rng(0), record).advance()
    >>> record.arrays()["objective_gap"]
    array([[0.5      , 0.125    , 0.03125  , 0.0078125]])
    """

    def __init__(
        self, setup: Setup, start: Array, rounds: int, rng: np.random.Generator, record: Record | None = None
    ) -> None:
        self.setup, self.rounds = setup, count("rounds", rounds)
        getattr(setup.problem, "put_back", lambda: None)()  # what an earlier run may have left in it
        self.record = record or Record((), self.rounds, self.rounds)
        allowed = f"of shape (replicates, {setup.problem.dimension})"
        if not is_array_api_obj(start):
            raise InputError("start", start, f"a numpy or torch array {allowed}")
        if start.ndim != 2 or start.shape[0] < 1 or start.shape[1] != setup.problem.dimension:
            raise InputError("start", start.shape, allowed)
        if (strength := strength_of(setup.selection)) and not hasattr(setup.problem, "train_accuracy"):
            raise InputError("selection.strength", strength, "0: this problem has no accuracy to adapt to")
        start = _in_floats(start)
        _require_numbers(start)
        self._exact = is_exact(start)
        _require_one_kind(setup, start)
        self.replicates, self.n_clients = start.shape[0], setup.problem.n_clients
        shape = (self.replicates, self.n_clients)
        self.streams = dict(zip(STREAMS, rng.spawn(len(STREAMS)), strict=True))
        self._availability = availability(setup.process, self.rounds, self.replicates, self.streams["availability"])
        self._weights = setup.rule.start(*shape, setup.rates) if setup.rule else None
        self._memory: dict[str, Any] = {}  # of the selection
        self._last = np.full(shape, -1, dtype=np.int64)
        self.costs = Costs(setup.algorithm, *shape)
        with tables_from(getattr(setup.problem, "table", None)):
            self.state = setup.algorithm.init(setup.hyper, start, self.n_clients)
        if setup.warm:
            self._warm_up()
        self.round = 0

    def advance(self, until: int | None = None) -> None:
        """Go on until round `until` is the next, by default to the end.

        Raises Diverged at the first number that is not finite, of the model, an update or a recorded metric, and
        Stopped for what else ends a run, such as a module that fails.
        """
        until = self.rounds if until is None else count("until", until, least=0)
        if until > self.rounds:
            raise InputError("until", until, f"at most the number of rounds, {self.rounds}")
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is found and named
            try:
                while self.round < until:
                    self._step()
                if self.round == self.rounds and self.record.due(self.round):
                    self._take(np.zeros((self.replicates, self.n_clients), dtype=np.bool_))
            except Diverged:
                raise
            except Stopped as error:  # of the problem, which does not know the round
                raise Stopped(f"round {self.round}: {error}") from error

    def _warm_up(self) -> None:
        setup, everybody = self.setup, np.ones((self.replicates, self.n_clients), dtype=np.bool_)
        clients = np.broadcast_to(np.arange(self.n_clients), everybody.shape).copy()
        role = np.full(everybody.shape, setup.algorithm.warm_role)
        cohort = _placed(Cohort(clients, everybody, self.n_clients, role=role), self.state.linear["x"])
        work = replace(setup.algorithm.work(self.state, cohort, setup.hyper), steps=0, direction=None)
        local = local_update(setup.problem, work, cohort, setup.problem.draw(self.streams["noise"], cohort, work))
        with overwriting():
            self.state = setup.algorithm.apply(self.state, cohort, local, setup.hyper)
        self.costs.update(work, cohort, everybody)

    def _step(self) -> None:
        setup = self.setup
        cohort, participated = self._cohort()
        if self.record.due(self.round):
            self._take(participated)
        hyper = self._hyper()
        work = setup.algorithm.work(self.state, cohort, hyper)
        local = local_update(setup.problem, work, cohort, setup.problem.draw(self.streams["noise"], cohort, work))
        with overwriting():  # the old state is not looked at again
            after = setup.algorithm.apply(self.state, cohort, local, hyper)
        if self._exact:
            require_exact(after.linear)
        elif is_exact(after.linear["x"]):
            raise InputError("hyper", hyper, "without Fractions, as the model is in floats")
        else:
            self._refuse_infinite(cohort, local, after, hyper)
        self.state = after
        if self._weights is not None:
            self._weights.update(participated)
        self._last[participated] = self.round
        self.costs.update(work, cohort, participated)
        self._availability.update(self.round, participated)
        self.round += 1

    def _cohort(self) -> tuple[Cohort, BoolArray]:
        """Who takes part in this round, with weights and roles; and as a mask (R, N)."""
        setup, streams = self.setup, self.streams
        available = self._availability.available(self.round)
        if self.round and strength_of(setup.selection):
            accuracy = setup.problem.train_accuracy(self.state.linear["x"])  # type: ignore[attr-defined]
            self._memory = self._memory | {"accuracy": accuracy}
        cohort, self._memory = setup.selection(available, self.state, self._memory, streams["selection"])
        clients, valid = cohort.clients, cohort.valid
        if setup.dropout:
            answers = streams["dropout"].random(available.shape) >= setup.dropout
            valid = valid & np.take_along_axis(answers, clients, axis=-1)
        participated = np.zeros_like(available)
        participated[np.nonzero(valid)[0], clients[valid]] = True
        cohort = replace(cohort, valid=valid)
        if self._weights is not None:
            cohort = replace(cohort, weight=np.take_along_axis(self._weights.weights(participated), clients, axis=-1))
        if setup.roles is not None:
            cohort = replace(cohort, role=setup.roles(self.round, cohort, streams["roles"]))
        return _placed(cohort, self.state.linear["x"]), participated

    def _hyper(self) -> Any:
        setup = self.setup
        if setup.schedule is constant():
            return setup.hyper
        local_lr = scheduled(setup.schedule, setup.hyper.local_lr, self.round, self.rounds)
        return replace(setup.hyper, local_lr=local_lr)

    def _moment(self, participated: BoolArray) -> Moment:
        setup = self.setup
        weights = self._weights.weights(participated) if self._weights else None
        return Moment(
            setup.problem,
            self.round,
            self.state,
            participated,
            weights,
            self._last,
            setup.rates,
            self.costs,
            self._memory,
        )

    def _take(self, participated: BoolArray) -> None:
        """Record the moment. Raises Diverged, after it is kept, if a metric is infinite, or NaN where it exists."""
        before = self.record.taken
        self.record.take(self._moment(participated))
        if self._exact or self.record.taken == before:
            return
        bad = not_finite({name: values[:, -1] for name, values in self.record.arrays().items()})
        if bad is not None:
            raise Diverged.at_the_start(bad) if self.round == 0 else self._diverged(bad, self._hyper())

    def _diverged(self, what: str, hyper: Any) -> Diverged:
        setup, everybody = self.setup, np.ones((self.replicates, self.n_clients), dtype=np.bool_)
        largest = float(self._weights.weights(everybody).max()) if self._weights is not None else 1.0
        return Diverged.at(self.round, what, hyper, setup.problem, setup.algorithm, largest)

    def _refuse_infinite(self, cohort: Cohort, local: Local, after: State, hyper: Any) -> None:
        """Raise Diverged if the model or what a client sends is infinite or NaN, or so large that its square is.

        Memories and caches hold nothing else than these.
        """
        x, sent = after.linear["x"], [part for part in (local.delta, local.gradient) if part is not None]
        if _is_finite(x) and all(map(_is_finite, sent)):
            return
        for part in sent:
            bad = np.argwhere(_infinite_rows(part) & on_host(cohort.valid)).tolist()
            if bad:
                replicate, slot = bad[0]
                raise self._diverged(f"the update of client {int(cohort.clients[replicate, slot])}", hyper)
        if _infinite_rows(x).any():
            raise self._diverged("the model", hyper)

    def _about(self) -> str:
        return f"{self.setup.algorithm.name} with {self.setup.hyper} for {self.rounds} rounds"

    def state_dict(self, *, copy: bool = True) -> dict[str, npt.NDArray[Any]]:
        """All that changes over time, as plain arrays; generators as text. Traces are made again from their seeds.

        copy   if not, tables of clients may be the run's own, and change when it goes on
        """
        parts = {
            "linear": self.state.linear,
            "discrete": self.state.discrete,
            "memory": self._memory,
            "availability": self._availability.state_dict(),
            "weights": self._weights.state_dict() if self._weights else {},
            "costs": self.costs.state_dict(),
            "record": self.record.state_dict(),
        }
        state = {f"{part}.{name}": on_host(array) for part, arrays in parts.items() for name, array in arrays.items()}
        generators = {name: rng.bit_generator.state for name, rng in self.streams.items()}
        state |= {
            "last": self._last,
            "round": np.array(self.round),
            "about": np.array(self._about()),
            "taken": np.array(self.record.taken),
        }
        state["streams"] = np.array(json.dumps(generators))
        tables = {f"linear.{name}" for name in self._tables()} if not copy else set()
        return {name: array if name in tables else array.copy() for name, array in state.items()}

    def _tables(self) -> list[str]:
        """What of the linear state has a row for each client."""
        shape = (self.replicates, self.n_clients, self.setup.problem.dimension)
        return [name for name, array in self.state.linear.items() if tuple(array.shape) == shape]

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from the `state_dict` of a simulation of the same setup, start, rounds, generator and record.

        Raises InputError for a state of another kind.
        """
        if str(state["about"]) != self._about():
            raise InputError("checkpoint", str(state["about"]), f"one of {self._about()}")
        x = self.state.linear["x"]
        for part in ("linear", "discrete"):
            ours = {name: tuple(array.shape) for name, array in getattr(self.state, part).items()}
            theirs = {name: array.shape for name, array in _part(state, part).items()}
            if ours != theirs:
                raise InputError("checkpoint", theirs, f"one with the {part} state {ours}")
        tables = {name: _refilled(self.state.linear[name], state[f"linear.{name}"]) for name in self._tables()}
        linear = {n: tables[n] if n in tables else _like(a, x) for n, a in _part(state, "linear").items()}
        self.state = State(linear, {n: _like(a, x) for n, a in _part(state, "discrete").items()})
        self._memory = {name: array[()] for name, array in _part(state, "memory").items()}
        self._availability.load_state_dict(_part(state, "availability"))
        if self._weights is not None:
            self._weights.load_state_dict(_part(state, "weights"))
        self.costs.load_state_dict(_part(state, "costs"))
        self.record.load_state_dict(_part(state, "record"), int(state["taken"]))
        self.round, self._last = int(state["round"]), state["last"].copy()
        for name, generator in json.loads(str(state["streams"])).items():
            self.streams[name].bit_generator.state = generator


def _in_floats(start: Array) -> Array:
    """A start in whole numbers as one in floats: memories and caches would be whole numbers too."""
    if is_numpy_array(start):
        return start.astype(np.float64) if start.dtype.kind in "iu" else start
    xp = array_namespace(start)
    return xp.astype(start, xp.float64) if xp.isdtype(start.dtype, "integral") else start


def _require_numbers(start: Array) -> None:
    """Raise InputError for a start that is not of finite floats, with finite squares, or of Fractions."""
    if is_exact(start):
        return
    xp = array_namespace(start)
    if (is_numpy_array(start) and start.dtype.kind in "US") or not xp.isdtype(start.dtype, "real floating"):
        raise InputError("start", str(start.dtype), "of floats, whole numbers or, in numpy, Fractions")
    if not bool(xp.all(xp.isfinite(start))):
        raise InputError("start", on_host(start), "finite")
    with np.errstate(over="ignore"):
        if not bool(xp.all(xp.isfinite(start * start))):
            raise InputError("start", on_host(start), "of numbers whose squares are finite")


def _require_one_kind(setup: Setup, start: Array) -> None:
    of_one_kind(setup.hyper, start)
    if is_exact(start) and setup.rule is not None:
        raise InputError("weighting", type(setup.rule).__name__, "left out for an exact start: its weights are floats")
    if is_exact(start) and setup.schedule is not constant():
        raise InputError("schedule", name_of(setup.schedule), "constant for an exact start: its factors are floats")


def _placed(cohort: Cohort, model: Array) -> Cohort:
    """The cohort as arrays of the kind of the model, on its device."""
    if is_numpy_array(model):
        return cohort
    arrays = {name: getattr(cohort, name) for name in ("clients", "valid", "weight", "role")}
    return replace(cohort, **{name: _like(array, model) for name, array in arrays.items() if array is not None})


def _like(array: npt.NDArray[Any], model: Array) -> Array:
    """A numpy array as one of the kind of the model; floats in its precision."""
    xp = array_namespace(model)
    kind = model.dtype if array.dtype.kind == "f" else None
    return xp.asarray(np.array(array), dtype=kind, device=device(model))


def _refilled(table: Array, array: npt.NDArray[Any]) -> Array:
    """A table (R, N, d), or a new one in numpy, with these numbers; where it is, and row by row of clients."""
    if is_numpy_array(table):
        return np.array(array)
    for client in range(table.shape[1]):
        table[:, client] = _like(array[:, client], table)
    return table


def _part(state: Mapping[str, npt.NDArray[Any]], part: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(f"{part}."): array for name, array in state.items() if name.startswith(f"{part}.")}


def _is_finite(array: Array) -> bool:
    flat = array.reshape(-1)
    return math.isfinite(float(flat @ flat))


def _infinite_rows(array: Array) -> BoolArray:
    """Where a vector, along the last axis, is not finite or has a square that is not."""
    bad: BoolArray = ~np.isfinite(on_host(array * array)).all(axis=-1)
    return bad
