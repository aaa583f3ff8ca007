"""A hypothesis strategy of small federated problems whose constants are known exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fltheory.errors import count
from sims.problems import problems
from sims.problems.analytic import Analytic
from sims.problems.noise import Additive, Noise

KINDS = ("quadratic", "log-cosh", "pseudo-huber", "cosine", "geman-mcclure", "pl-sine")


@st.composite
def federated_problems(draw: DrawFn, max_clients: int = 4, max_dimension: int = 2) -> Analytic:
    """Problems of six families (quadratics, bounded gradients, nonconvex, PL), with and without noise.

    `problem.constants` are smoothness, strong convexity, heterogeneity, bounds of gradients and noise, minimum.
    Numbers are quarters between -2 and 2, curvatures between 1/4 and 2. Shrinks towards one client, one
    parameter and no noise.
    """
    clients = draw(st.integers(1, count("max_clients", max_clients)))
    dimension = draw(st.integers(1, count("max_dimension", max_dimension)))
    kind = draw(st.sampled_from(KINDS))

    def table(rows: int, least: int = -8) -> list[list[Fraction]]:
        row = st.lists(st.integers(least, 8).map(lambda q: Fraction(q, 4)), min_size=dimension, max_size=dimension)
        return draw(st.lists(row, min_size=rows, max_size=rows))

    noise = draw(_noise())
    make: Any = problems[kind]
    if kind == "quadratic":
        return make(curvature=table(clients, least=1), centre=table(clients), noise=noise)  # type: ignore[no-any-return]
    if kind in ("log-cosh", "pseudo-huber"):
        return make(centres=table(clients), noise=noise)  # type: ignore[no-any-return]
    slopes = table(clients - 1)  # those of all clients add up to 0
    slopes.append([-sum(column, Fraction(0)) for column in zip(*slopes, strict=True)] or [Fraction(0)] * dimension)
    return make(slopes=slopes, noise=noise)  # type: ignore[no-any-return]


def _noise() -> st.SearchStrategy[Noise | None]:
    kinds = st.sampled_from(["gaussian", "rademacher", "uniform"])
    return st.none() | st.builds(Additive, st.sampled_from(["1/2", 1, 2]), kinds)
