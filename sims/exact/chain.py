"""A finite chain of joint states with an affine map on every move: what it settles at, and how far it gets.

In each joint state the linear state (1, s) stays in a subspace, its reach, since the maps are few: a running average
equals the average of what it runs over, the memory of a client that never takes part stays as it was. Everything is
computed in coordinates of the reach. A stationary solution is unique there where it would not be in all of space,
and the systems are small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fltheory.errors import InputError
from sims.arrays import Array, is_exact
from sims.exact.affine import Map
from sims.exact.moments import unit_vectors
from sims.linear_algebra import Span, solve

_ROUNDING = 1e-13  # what floats cannot tell from no difference between a growth and 1
_CONSERVED = 1e-14  # of the numbers of a map: what rounding changes in a round of what the map leaves as it is


@dataclass(frozen=True)
class Move:
    """From joint state `source` to `target`, with this probability and by this map."""

    source: int
    target: int
    probability: Any
    map: Map


class Chain:
    """Moments E[(1, s)(1, s)'; joint state] under the moves of a chain, flattened in coordinates of the reach.

    start   joint state -> E[(1, s)(1, s)'; that state] at the beginning, where it is not zero

    What concerns the long run raises InputError unless the chain always ends up in one and the same set of states.
    """

    def __init__(self, moves: Sequence[Move], start: Mapping[int, Array]) -> None:
        self._moves, self._start = moves, start
        self._like = next(iter(start.values()))
        self._reach = self._reached(1 + max(move.source for move in moves))

    def stationary(self) -> dict[int, Array]:
        """E[(1, s)(1, s)'; joint state] in the long run, averaged over the period if the chain has one.

        Raises InputError if second moments do not settle. Let L be the map of second moments in a round. Their sum
        X = I + L(I) + L(L(I)) + ... is finite, hence X = I + L(X) has a positive definite solution, if and only if
        they settle (L maps positive matrices to positive ones); X is solved for along with the moments.
        """
        states = self._states()
        operator, order = self._operator(states)
        second, known = np.flatnonzero(order == 2), np.flatnonzero(order < 2)
        identities = {k: unit_vectors(len(self._reach[k].pivots), self._like) for k in states}
        try:
            solution = self._mean(operator, order)
            right = operator[np.ix_(second, known)] @ solution[known]
            identity = self._flatten(identities, states)[second]
            flow = unit_vectors(len(second), self._like) - operator[np.ix_(second, second)]
            solution[second], sums = solve(flow, np.stack([right, identity], axis=1)).T
        except InputError:
            raise self._unsettled(2) from None
        self._require_positive(states, order, second, sums)
        return self._tables(solution, states)

    def mean(self) -> Array:
        """E[(1, s)] in the long run, which may settle where second moments grow.

        Raises InputError if it does not, by the spectral radius of its map, in floats.
        """
        states = self._states()
        operator, order = self._operator(states)
        if self.growth(1) >= 1 - _ROUNDING:
            raise self._unsettled(1)
        solution = self._mean(operator, order)
        tables = self._unflatten(solution, states)
        return sum(self._reach[k].basis @ table[:, 0] for k, table in tables.items())

    def _mean(self, operator: Array, order: Array) -> Array:
        """The flattened moments in the long run, with those of order 2 left at zero."""
        zeroth, first = np.flatnonzero(order == 0), np.flatnonzero(order == 1)
        flow = unit_vectors(len(order), self._like) - operator
        balance, one = flow[np.ix_(zeroth, zeroth)], 0 * flow[zeroth, 0]
        balance[0], one[0] = 0 * balance[0] + 1, one[0] + 1  # any one of the equations follows from the others
        solution = 0 * flow[:, 0]
        solution[zeroth] = solve(balance, one)
        solution[first] = solve(flow[np.ix_(first, first)], operator[np.ix_(first, zeroth)] @ solution[zeroth])
        return solution

    def after(self, rounds: int) -> tuple[dict[int, Array], dict[int, Array]]:
        """E[(1, s)(1, s)'; joint state] before round `rounds`, and its average over the rounds before that.

        By repeated squaring: log2(rounds) products of matrices.
        """
        states = range(len(self._reach))
        power, _ = self._operator(states)
        start = {k: self._coordinates(self._start.get(k, 0 * self._like), k) for k in states}
        last = self._flatten(start, states)
        total, run = 0 * last, unit_vectors(len(last), self._like)  # run: sum of the powers below 2^bit
        for bit in range(rounds.bit_length()):
            if rounds >> bit & 1:
                total, last = total + run @ last, power @ last
            if rounds >> bit + 1:
                run, power = run + power @ run, power @ power
        return self._tables(last, states), self._tables(total / rounds, states)

    def growth(self, degree: int) -> float:
        """Factor by which moments of order 1 or 2 grow in a round in the long run: the spectral radius of their map."""
        operator, order = self._operator(range(len(self._reach)))
        these = np.flatnonzero(order == degree)
        block = operator[np.ix_(these, these)].astype(np.float64)
        return float(np.abs(np.linalg.eigvals(block)).max(initial=0))

    # ---- reach and recurrence ----------------------------------------------------------------------------

    def _reached(self, n_states: int) -> list[Span]:
        vanish = None if is_exact(self._like) else _conserved(self._moves, list(self._start.values()))
        spans = [Span(self._like.shape[0], vanish) for _ in range(n_states)]
        leaving: list[list[Move]] = [[] for _ in spans]
        for move in self._moves:
            leaving[move.source].append(move)
        pending = deque((state, column, 0.0) for state, table in self._start.items() for column in table.T)
        pending.extend((move.target, column, 0.0) for move in self._moves for column in move.map.covariance.T)
        while pending:
            state, vector, scale = pending.popleft()
            if (new := spans[state].add(vector, scale)) is not None:
                for move in leaving[state]:
                    matrix = move.map.matrix
                    pending.append((move.target, matrix @ new, float((np.abs(matrix) @ np.abs(new)).max())))
        return spans

    def _states(self) -> Sequence[int]:
        """All joint states, those it leaves for ever too: moments may not settle because of how they grow there."""
        edges = [move.source for move in self._moves], [move.target for move in self._moves]
        graph = coo_array((np.ones(len(self._moves)), edges), shape=(len(self._reach), len(self._reach)))
        count, component = connected_components(graph, connection="strong")
        left = {component[move.source] for move in self._moves if component[move.source] != component[move.target]}
        if len(left) < count - 1:
            ends = f"{count - len(left)} sets of states to end up in"
            raise InputError("scenario", ends, "one with a single long run")
        return range(len(self._reach))

    # ---- the linear operator on moments ------------------------------------------------------------------

    def _operator(self, states: Sequence[int]) -> tuple[Array, Array]:
        """The matrix of a round on the flattened moments of these joint states, and the order (0, 1, 2) of each."""
        entries = {k: np.triu_indices(len(self._reach[k].pivots)) for k in states}
        first = np.cumsum([0, *(len(rows) for rows, _ in entries.values())]).tolist()
        place = {k: slice(first[i], first[i + 1]) for i, k in enumerate(states)}
        order = np.concatenate([(rows > 0).astype(int) + (columns > 0) for rows, columns in entries.values()])
        operator = np.zeros_like(self._like, shape=(len(order), len(order)))
        for move in self._moves:
            if move.source in place and move.target in place:
                ahead = self._reach[move.target].pivots
                matrix = (move.map.matrix @ self._reach[move.source].basis)[ahead]
                noise = move.map.covariance[np.ix_(ahead, ahead)]
                columns = range(first[-1])[place[move.source]]
                for column, (a, b) in zip(columns, zip(*entries[move.source], strict=True), strict=True):
                    image = np.multiply.outer(matrix[:, a], matrix[:, b])
                    image = image if a == b else image + image.T
                    if b == 0:
                        image = image + noise
                    operator[place[move.target], column] += move.probability * image[entries[move.target]]
        return operator, order

    def _coordinates(self, table: Array, state: int) -> Array:
        pivots = self._reach[state].pivots
        return table[np.ix_(pivots, pivots)]

    def _flatten(self, tables: Mapping[int, Array], states: Sequence[int]) -> Array:
        return np.concatenate([tables[k][np.triu_indices(len(tables[k]))] for k in states])

    def _unflatten(self, flat: Array, states: Sequence[int]) -> dict[int, Array]:
        tables, first = {}, 0
        for k in states:
            size = len(self._reach[k].pivots)
            table = np.zeros_like(flat, shape=(size, size))
            rows, columns = np.triu_indices(size)
            table[rows, columns] = table[columns, rows] = flat[first : first + len(rows)]
            tables[k], first = table, first + len(rows)
        return tables

    def _tables(self, flat: Array, states: Sequence[int]) -> dict[int, Array]:
        reach = self._reach
        return {k: reach[k].basis @ table @ reach[k].basis.T for k, table in self._unflatten(flat, states).items()}

    # ---- does it settle ----------------------------------------------------------------------------------

    def _require_positive(self, states: Sequence[int], order: Array, second: Array, sums: Array) -> None:
        flat = 0 * np.zeros_like(sums, shape=len(order))
        flat[second] = sums
        if not is_exact(flat) and np.abs(flat).max(initial=0) > 1 / _ROUNDING:
            raise self._unsettled(2)
        if not all(positive_definite(table[1:, 1:]) for table in self._unflatten(flat, states).values()):
            raise self._unsettled(2)

    def _unsettled(self, degree: int) -> InputError:
        growth = f"moments of order {degree} times {self.growth(degree):.9g} a round"
        return InputError("setting", growth, "one whose moments settle (in floats clearly so)")


def _conserved(moves: Sequence[Move], start: Sequence[Array]) -> Array:
    """Orthonormal rows of the linear functions of (1, s), in floats, that are 0 at the start and that no round changes.

    SCAFFOLD's server variate less the mean of those of its clients is one. A direction of the reach that is left over
    when large numbers cancel carries their rounding errors, relative to it as large as the cancellation, and the next
    direction carries those of this one: after a few, what is left over is made of them. No tolerance can tell that
    from a small direction, and taken for one it would break a law that holds; its growth, 1, would be that of the
    chain. The laws are read off the maps themselves, where nothing cancels.
    """
    maps = {id(move.map): move.map for move in moves}.values()
    parts = [(one.matrix.T - np.eye(len(one.matrix)), one.matrix) for one in maps]
    parts += [(table, table) for table in (*(one.covariance for one in maps), *start)]
    found = parts[0][0][:0]
    for rows, numbers in parts:
        found = np.linalg.qr(np.concatenate([found, rows / (np.abs(numbers).max() or 1)]), mode="r")
    if not np.isfinite(found).all():  # nor will anything settle
        return found[:0]
    values, functions = np.linalg.svd(found)[1:]
    return functions[values <= _CONSERVED]


def positive_definite(matrix: Array) -> bool:
    """Whether a symmetric matrix is positive definite, by elimination without exchanges: all pivots are positive."""
    left = matrix
    while left.size:
        if not left[0, 0] > 0:  # so that NaN is not
            return False
        left = left[1:, 1:] - np.multiply.outer(left[1:, 0], left[0, 1:]) / left[0, 0]
    return True
