"""FedLaAvg when availability looks at the latest gradient noise: exact moments over the joint chain.

N clients with the same loss x^2/2, continued linearly outside the region that the iterates stay in (so L = 1 and the
gradients are bounded), and gradient noise +-1: by choice of units nothing else is free. After each iteration a policy
says, from the signs of everybody's latest noise, who is wanted as available next; clients that are due by Assumption 4
are added, and the first ones until K are available. The selection is that of Algorithm 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

BITS = 256
DIGITS = 10**12
SQUARING = 40  # multiplications of dense matrices in the time of one of a sparse matrix with a vector


class Node(NamedTuple):
    """Signs of the latest noise (0 before the first), ages, iterations since last available; one entry a client."""

    signs: tuple[int, ...]
    ages: tuple[int, ...]
    missed: tuple[int, ...]


@dataclass(frozen=True)
class Chain:
    """The joint chain of availability, selection and noise.

    policy   bit mask of wanted clients for each pattern of signs, in which bit i stands for a positive client i
    """

    n_clients: int
    cohort_size: int
    window: int
    policy: tuple[int, ...]

    @property
    def start(self) -> Node:
        zero = (0,) * self.n_clients
        return Node(zero, zero, zero)

    def available(self, node: Node) -> list[int]:
        """Who is available next."""
        positive = sum(1 << i for i, sign in enumerate(node.signs) if sign > 0)
        wanted = self.policy[positive % len(self.policy)]
        here = [bool(wanted >> i & 1) or node.missed[i] == self.window - 1 for i in range(self.n_clients)]
        for i in range(self.n_clients):
            here[i] = here[i] or sum(here) < self.cohort_size
        return [i for i in range(self.n_clients) if here[i]]

    def moves(self, node: Node) -> Iterator[tuple[tuple[int, ...], Node]]:
        """(who takes part, next node), all equally likely."""
        here = self.available(node)
        chosen = tuple(sorted(sorted(here, key=lambda i: (-node.ages[i], i))[: self.cohort_size]))
        ages = tuple(0 if i in chosen else age + 1 for i, age in enumerate(node.ages))
        missed = tuple(0 if i in here else m + 1 for i, m in enumerate(node.missed))
        for drawn in itertools.product((-1, 1), repeat=len(chosen)):
            fresh = dict(zip(chosen, drawn, strict=True))
            yield chosen, Node(tuple(fresh.get(i, s) for i, s in enumerate(node.signs)), ages, missed)

    def laws(self, iterations: int) -> Iterator[dict[Node, Fraction]]:
        """The law of the node after 0, 1, ... iterations."""
        law = {self.start: Fraction(1)}
        yield law
        for _ in range(iterations):
            after: dict[Node, Fraction] = {}
            for node, mass in law.items():
                moves = list(self.moves(node))
                for _, following in moves:
                    after[following] = after.get(following, Fraction(0)) + mass / len(moves)
            law = after
            yield law

    @cached_property
    def graph(self) -> tuple[list[Node], list[tuple[int, int, tuple[int, ...], tuple[int, ...], int]]]:
        """All nodes, the start first, and moves (from, to, who, signs, number of moves from there)."""
        number, pending, moves = {self.start: 0}, [self.start], []
        while pending:
            node = pending.pop()
            found = list(self.moves(node))
            for who, target in found:
                if target not in number:
                    number[target] = len(number)
                    pending.append(target)
                moves.append((number[node], number[target], who, target.signs, len(found)))
        return list(number), moves

    @cached_property
    def longest_wait(self) -> int:
        """The most iterations in a row in which a client can be unavailable."""
        return max(max(node.missed) for node in self.graph[0])


@lru_cache(maxsize=64)
def chain(n_clients: int, cohort_size: int, window: int, policy: tuple[int, ...]) -> Chain:
    return Chain(n_clients, cohort_size, window, policy)


def reach(start: Any, step: Any, staleness: int) -> Any:
    """A bound on |x| over all paths, or None if (I + 1) gamma is too large for this argument.

    Where x >= max(|x0|, 1) + I gamma G, with G = reach + 1, every gradient in use is nonnegative and x falls.
    """
    behind = (staleness + 1) * step
    return (max(abs(start), 1) + behind) / (1 - behind) if behind < 1 else None


def _basis(n_clients: int) -> list[tuple[int, int]]:
    """Pairs of (1, x, h_1, ..., h_N) whose products are followed."""
    return list(itertools.combinations_with_replacement(range(n_clients + 2), 2))


def _rows(chain: Chain, who: Sequence[int], signs: Sequence[int], step: Any) -> list[dict[int, Any]]:
    """The linear map of (1, x, h) in an iteration, row by row as {column: coefficient}."""
    fresh = {i + 2: {1: 1, 0: signs[i]} for i in who}
    rows: list[dict[int, Any]] = [{0: 1}, {1: 1}]
    rows += [fresh.get(i + 2, {i + 2: 1}) for i in range(chain.n_clients)]
    moved: dict[int, Any] = {1: 1}
    for row in rows[2:]:
        for column, value in row.items():
            moved[column] = moved.get(column, 0) - step * value / chain.n_clients
    return [rows[0], moved, *rows[2:]]


def mean_square(chain: Chain, start: Any, step: Any, iterations: int) -> Any:
    """(1/T) sum over t <= T of E|grad f(x^(t-1))|^2; a certified lower bound for Fractions, a number for floats."""
    if isinstance(step, float) or isinstance(start, float):
        return _in_floats(chain, float(start), float(step), iterations)
    return _exactly(chain, Fraction(start), Fraction(step), iterations)


def _in_floats(chain: Chain, start: float, step: float, iterations: int) -> float:
    nodes, moves = chain.graph
    pairs = _basis(chain.n_clients)
    place = {pair: k for k, pair in enumerate(pairs)}
    width = len(pairs)
    size = len(nodes) * width + 1  # the last entry sums E x^2
    matrix = np.zeros((size, size))
    matrix[-1, -1] = 1
    for node in range(len(nodes)):
        matrix[-1, node * width + place[1, 1]] = 1
    for source, target, who, signs, ways in moves:
        rows = _rows(chain, who, signs, step)
        for k, (a, b) in enumerate(pairs):
            for i, left in rows[a].items():
                for j, right in rows[b].items():
                    pair = place[(i, j) if i <= j else (j, i)]
                    matrix[target * width + k, source * width + pair] += left * right / ways
    vector = np.zeros(size)
    first = [1.0, start, *[0.0] * chain.n_clients]
    vector[:width] = [first[a] * first[b] for a, b in pairs]
    if size**3 * math.log2(iterations + 1) > SQUARING * iterations * np.count_nonzero(matrix):
        sparse = csr_array(matrix)
        for _ in range(iterations):
            vector = np.asarray(sparse @ vector)
        return float(vector[-1] / iterations)
    left = iterations
    while left:
        if left & 1:
            vector = matrix @ vector
        left >>= 1
        if left:
            matrix = matrix @ matrix
    return float(vector[-1] / iterations)


def _exactly(chain: Chain, start: Fraction, step: Fraction, iterations: int) -> Fraction:
    """A rational a little below the value: whole multiples of 2^-BITS, rounded in every iteration.

    An iteration enlarges an error of the moments by at most (1 + 2 step)^2 and adds roundings of at most 2^-BITS an
    entry; all of it together stays below the margin that is taken off in the end.
    """
    _, moves = chain.graph
    pairs = _basis(chain.n_clients)
    place = {pair: k for k, pair in enumerate(pairs)}
    scale = (step / chain.n_clients).denominator
    factors = []
    for source, target, who, signs, ways in moves:
        rows = [{c: int(v * scale) for c, v in row.items()} for row in _rows(chain, who, signs, step)]
        entries = [
            [(place[(i, j) if i <= j else (j, i)], u * v) for i, u in rows[a].items() for j, v in rows[b].items()]
            for a, b in pairs
        ]
        factors.append((source, target, scale * scale * ways, [_merged(entry) for entry in entries]))
    first = [Fraction(1), start, *[Fraction(0)] * chain.n_clients]
    tables = {0: [math.floor(first[a] * first[b] * 2**BITS) for a, b in pairs]}
    total = 0
    for t in range(iterations):
        total += sum(table[place[1, 1]] for table in tables.values())
        if t + 1 < iterations:
            after: dict[int, list[int]] = {}
            for source, target, divisor, entries in factors:
                if source in tables:
                    table = tables[source]
                    moved = [sum(u * table[k] for k, u in entry) // divisor for entry in entries]
                    known = after.get(target)
                    after[target] = moved if known is None else [a + b for a, b in zip(known, moved, strict=True)]
            tables = after
    growth = (1 + 2 * float(step)) ** (2 * iterations)
    margin = math.ceil(growth * iterations * len(moves) * len(pairs))
    below = Fraction(total - margin * iterations, iterations * 2**BITS)
    return Fraction(math.floor(below * DIGITS), DIGITS)  # short enough to be read


def _merged(entry: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: dict[int, int] = {}
    for k, value in entry:
        merged[k] = merged.get(k, 0) + value
    return [(k, v) for k, v in merged.items() if v]


def constants(chain: Chain, start: Any, step: Any, iterations: int) -> dict[str, Any] | None:
    """Code names; None where the reach of the iterates is not known."""
    age = math.ceil(chain.n_clients / chain.cohort_size) * chain.window - 1
    far = reach(start, step, age)
    if far is None:
        return None
    return {
        "n_clients": chain.n_clients,
        "cohort_size": chain.cohort_size,
        "window": chain.window,
        "staleness": age,
        "smoothness": 1,
        "noise_std": 1,
        "gradient_bound": rounded_root(far * far + 1),
        "local_lr": step,
        "iterations": iterations,
        "initial_gap": start * start / 2,
    }


def met(chain: Chain, start: Any, where: Mapping[str, Any]) -> dict[str, bool]:
    """Assumptions 1 to 5 at constants as above: curvature 1, noise +-1, |x| within reach, and who waits how long."""
    far = reach(start, where["local_lr"], where["staleness"])
    square, room = far * far + 1, 1e-12 if isinstance(far, float) else 0
    here = chain.longest_wait < where["window"]
    return {
        "ass1": where["smoothness"] >= 1,
        "ass2": where["noise_std"] >= 1,
        "ass3": bool(square <= where["gradient_bound"] ** 2 * (1 + room)),
        "ass4": here,
        "ass5": here,
    }


def rounded_root(square: Any) -> Any:
    """A number at least the square root, rational for a Fraction: a larger G makes no bound smaller."""
    if isinstance(square, float):
        return math.sqrt(square)
    size = 10**6
    return Fraction(math.isqrt(math.floor(square * size * size)) + 1, size)
