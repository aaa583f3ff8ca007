"""Exact moments of a setting under a scenario."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from fltheory.errors import InputError, count
from sims.arrays import Array
from sims.exact.affine import Discrete, Map, Reader, discrete_key
from sims.exact.chain import Chain, Move
from sims.exact.moments import JointState, Moments, close, quadratic
from sims.exact.setting import Setting
from sims.problems.rational import scalar
from sims.scenarios import Scenario

MOST_STATES = 20_000


class Engine:
    """E[s] and E[ss'] of the linear state s, over the joint chain of participation and the discrete state.

    ignore            discrete arrays that neither a round nor the scenario depends on, such as FedLaAvg's "age" where
                      the selection does not use it; without them there may be far fewer joint states
    enumerate_noise   take all values of the gradient noise one by one; otherwise that is done only for noise that is
                      not `Additive`, of which the variance is all that matters

    Raises InputError when a round turns out not to be affine, to depend on what is ignored, or when the scenario's
    probabilities do not add up to 1.
    """

    def __init__(
        self, setting: Setting, scenario: Scenario, *, enumerate_noise: bool = False, ignore: Collection[str] = ()
    ) -> None:
        self.setting, self.scenario = setting, scenario
        self._reader = Reader(setting, enumerate_noise, ignore)
        self.layout = self._reader.layout
        self._found: tuple[Chain, list[JointState]] | None = None

    def moments(self, rounds: int) -> Iterator[Moments]:
        """Moments before rounds 0, 1, ..., `rounds`. There may be infinitely many joint states."""
        now, discrete = self._start()
        for r in range(count("rounds", rounds, least=0) + 1):
            yield Moments(self.layout, now)
            if r < rounds:
                now, discrete = self._step(now, discrete)

    def after(self, rounds: int) -> tuple[Moments, Moments]:
        """Moments before round `rounds`, and their average over the rounds before that, in log2(rounds) steps."""
        chain, states = self._chain()
        last, average = chain.after(count("rounds", rounds))
        return self._named(last, states), self._named(average, states)

    def stationary(self) -> Moments:
        """What the moments settle at, by solving; their average over a period where they keep changing.

        Raises InputError if they do not settle, or there is more than one set of joint states to end up in.
        """
        chain, states = self._chain()
        return self._named(chain.stationary(), states)

    def stationary_mean(self) -> dict[str, Array]:
        """What the expected arrays of the state settle at, which they may do while second moments grow.

        Raises InputError if they do not settle; whether they do is decided in floats.
        """
        mean = self._chain()[0].mean()[1:]
        return {name: mean[self.layout.place(name)].reshape(shape) for name, shape in self.layout.shapes.items()}

    def growth(self) -> float:
        """Factor by which second moments grow in a round in the long run; below 1 they settle."""
        return self._chain()[0].growth(2)

    def limit_cycle(self) -> list[Moments]:
        """Moments in the rounds of the limit cycle of a scenario that leaves nothing to chance but additive noise.

        The joint states repeat from some round on; that is where the cycle starts, and it may take several periods
        of the schedule. Raises InputError if participation is random, if moments do not settle, or for noise whose
        values are taken one by one: multiplicative noise and minibatches, and all noise with `enumerate_noise`.
        """
        tables, discrete = self._start()
        (state, table), *more = tables.items()
        path: dict[JointState, Map] = {}
        while state not in path:
            (_, target, path[state]), *others = self._moves(state, discrete[state])
            if more or len([chance for chance, *_ in self.scenario.outcomes(state[0], discrete[state]) if chance]) > 1:
                raise InputError("scenario", self.scenario, "one with a single outcome in every round")
            if others:
                allowed = "additive and not enumerated in a limit cycle; `stationary` takes all noise"
                raise InputError("noise", self.setting.noise, allowed)
            state, discrete = target, {target: path[state].discrete}
        maps = list(path.values())
        begin = list(path).index(state)
        before, cycle = maps[:begin], maps[begin:]
        for one in before:
            table = one.push(table)
        whole = cycle[0]
        for one in cycle[1:]:
            whole = one.after(whole)
        settled = [Chain([Move(0, 0, 1, whole)], {0: table}).stationary()[0]]
        for one in cycle[:-1]:
            settled.append(one.push(settled[-1]))
        states = list(path)[begin:]
        return [Moments(self.layout, {key: table}) for key, table in zip(states, settled, strict=True)]

    def quadratic(self, function: Callable[[dict[str, Array]], Array]) -> Array:
        """A quadratic function of the linear state as a matrix for `Moments.expected`, read off its values.

        `function` takes the named arrays of the state, with a batch axis, to (batch,). Raises InputError if it is not
        quadratic.
        """
        return quadratic(self.layout, function, self.setting.x0)

    # ----------------------------------------------------------------------------------------------------------

    def _start(self) -> tuple[dict[JointState, Array], dict[JointState, Discrete]]:
        reader = self._reader
        point = np.concatenate([0 * reader.start[:1] + 1, reader.start])
        tables = {
            (process, discrete_key(reader.discrete)): np.multiply.outer(point, point) * self._number(probability)
            for process, probability in self.scenario.start.items()
            if probability
        }
        return tables, dict.fromkeys(tables, reader.discrete)

    def _step(
        self, now: dict[JointState, Array], discrete: dict[JointState, Discrete]
    ) -> tuple[dict[JointState, Array], dict[JointState, Discrete]]:
        tables: dict[JointState, Array] = {}
        reached: dict[JointState, Discrete] = {}
        for state, table in now.items():
            for probability, target, one in self._moves(state, discrete[state]):
                tables[target] = tables.get(target, 0) + probability * one.push(table)
                reached[target] = one.discrete
        return tables, reached

    def _moves(self, state: JointState, discrete: Discrete) -> Iterator[tuple[Any, JointState, Map]]:
        total = 0 * self.setting.x0[0]
        for chance, cohort, following in self.scenario.outcomes(state[0], discrete):
            total = total + self._number(chance)
            if chance:
                for share, one in self._reader.maps(discrete, cohort):
                    yield self._number(chance) * share, (following, discrete_key(one.discrete)), one
        if not close(total, 1, 0):
            raise InputError("scenario", total, "of probabilities that add up to 1 in every round")

    def _chain(self) -> tuple[Chain, list[JointState]]:
        if self._found is None:
            start, discrete = self._start()
            number = {state: k for k, state in enumerate(start)}
            moves, pending = [], list(start)
            while pending:
                state = pending.pop()
                for probability, target, one in self._moves(state, discrete[state]):
                    if target not in number:
                        number[target] = len(number)
                        discrete[target] = one.discrete
                        pending.append(target)
                    moves.append(Move(number[state], number[target], probability, one))
                if len(number) > MOST_STATES:
                    allowed = f"one with at most {MOST_STATES} joint states (see `ignore`)"
                    raise InputError("scenario", f"{len(number)} and more joint states", allowed)
            self._found = Chain(moves, {number[state]: table for state, table in start.items()}), list(number)
        return self._found

    def _named(self, tables: dict[int, Array], states: list[JointState]) -> Moments:
        return Moments(self.layout, {states[k]: table for k, table in tables.items()})

    def _number(self, value: Any) -> Any:
        return scalar("probability", value, self.setting.x0)
