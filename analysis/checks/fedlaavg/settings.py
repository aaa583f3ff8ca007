"""Points of runs with availability given in advance: their space, a declared grid, and how a point is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction as F
from functools import lru_cache
from itertools import product
from typing import Any

from analysis.checks import Depth
from analysis.checks.fedlaavg import model
from analysis.checks.tools import SLACK
from analysis.domains import Choice, Domain, Real, Several, Whole
from analysis.trials import Point

SPACE: dict[str, Domain] = {
    "centres": Several(Real(-3, 3), 1, 64),
    "caps": Several(Real("1/10", 3), 1, 4),
    "signs": Several(Choice((1, -1)), 1, 4),
    "start": Real(-3, 3),
    "local_lr": Real("1/100000", "3/5", log=True),
    "noise": Choice((0, F(1, 2), 1, 2)),
    "cohort_size": Whole(1, 4),
    "window": Whole(1, 4),
    "wish": Several(Whole(0, 15), 1, 12),
    "rounds": Whole(1, 60),
}
READING: dict[str, Domain] = {"x^(-1)": Choice(("x^0", "gradient 0"))}
LOCAL: dict[str, Domain] = {"local_steps": Whole(1, 60)}


@dataclass(frozen=True)
class Run:
    """A point that was run: all paths, and what the claims need to know."""

    clients: model.Clients
    participation: model.Participation
    paths: list[model.Trace]
    constants: dict[str, Any]
    facts: dict[str, bool]
    met: dict[str, bool]
    known: dict[tuple[int, bool], model.Terms] = field(default_factory=dict)

    @property
    def bounded(self) -> bool:
        """Whether there are paths, and an initial gap for a bound to speak of."""
        return bool(self.paths) and self.facts["f has a minimum"]

    def terms(self, t: int, *, zero: bool = False) -> model.Terms:
        """The expectations at iteration t, computed once."""
        if (t, zero) not in self.known:
            self.known[t, zero] = model.terms(self.clients, self.paths, t, self.constants["local_lr"], zero=zero)
        return self.known[t, zero]


def run(point: Point) -> Run:
    """All paths of a point; none of them where there are too many."""
    names = ("centres", "caps", "signs", "start", "local_lr", "noise", "cohort_size", "window", "wish", "rounds")
    return _run(*(point[name] for name in names), point.get("local_steps", 1))


@lru_cache(maxsize=4096, typed=True)  # 0.5 and 1/2 are equal: a step of another type is another run
def _run(
    centres: Any, caps: Any, signs: Any, start: Any, step: Any, noise: Any,
    size: int, window: int, wish: Any, rounds: int, local_steps: int,
) -> Run:  # fmt: skip
    n = len(centres)
    clients = model.Clients(centres, [caps[i % len(caps)] for i in range(n)], [signs[i % len(signs)] for i in range(n)])
    who = model.take_part(wish, rounds, n, size, window)
    draws = sum(map(len, who.chosen)) * local_steps if noise else 0
    few = draws <= model.MOST_DRAWS
    paths = list(model.traces(clients, start, step, noise, who.chosen, local_steps)) if few else []
    if isinstance(step, float):
        noise = float(noise)
    known = model.constants(clients, noise, step, size, window, start)
    known |= {"local_steps": local_steps, "rounds": rounds, "iterations": rounds * local_steps}
    facts = {
        "cohort_size <= n_clients": size <= n,
        f"at most {model.MOST_DRAWS} stochastic gradients": few,
        "f has a minimum": clients.minimum is not None,
    }
    here, square = who.within(window), max(clients.caps) ** 2 + noise**2
    met = {
        "ass1": max(map(abs, clients.signs)) <= known["smoothness"],
        "ass2": noise <= known["noise_std"],
        "ass3": bool(square <= known["gradient_bound"] ** 2 * (1 + SLACK if isinstance(square, float) else 1)),
        "ass4": here,
        "ass5": here,
    }
    return Run(clients, who, paths, known, facts, met)


def _kept(point: dict[str, Any]) -> bool:
    draws = point["rounds"] * point["cohort_size"] * point.get("local_steps", 1)
    return point["cohort_size"] <= len(point["centres"]) and (not point["noise"] or draws <= model.MOST_DRAWS)


# centres, caps, signs, start: heterogeneity; one start far away; a nonconvex client; no heterogeneity
PROBLEMS: tuple[tuple[Any, ...], ...] = (
    ((-1.0, 1.0), (1.0,), (1,), 0.5),
    ((0.0, 0.0, 0.0), (1.0,), (1,), 3.0),
    ((0.0, 2.0, -1.0, 0.0), (0.5, 2.0), (1,), -2.0),
    ((0.0, 1.0, 0.0), (1.0, 0.5, 1.0), (1, -1, 1), 1.0),
    ((0.0, 0.0), (1.0,), (1,), 0.0),
)
# cohort size, window, wish
AVAILABILITY = (
    (1, 1, (15,)),
    (3, 1, (15,)),
    (2, 2, (3, 0, 5)),
    (1, 2, (1, 2)),
    (2, 1, (15,)),
    (1, 3, (1,)),
    (4, 2, (0,)),
)


def grid(depth: Depth, *, local_steps: tuple[int, ...] = (1,)) -> Iterator[dict[str, Any]]:
    """A declared grid of the space, and a few longer steps than conditions allow: a claim without them fails there."""
    problems, patterns = (PROBLEMS[1:4], AVAILABILITY[:5]) if depth == "quick" else (PROBLEMS, AVAILABILITY)
    steps = {"quick": (0.02, 0.45), "default": (0.02, 0.2, 0.45), "deep": (0.002, 0.02, 0.1, 0.3, 0.45)}[depth]
    lengths = {"quick": (1, 2, 6), "default": (1, 3, 6), "deep": (1, 2, 3, 4, 6, 8, 20, 40)}[depth]
    for problem, here, step, noise, length, local in product(
        problems, patterns, steps, (0.0, 1.0), lengths, local_steps
    ):
        point = dict(zip(("centres", "caps", "signs", "start"), problem, strict=True))
        point |= dict(zip(("cohort_size", "window", "wish"), here, strict=True))
        point |= {"local_lr": step, "noise": noise, "rounds": length}
        if local_steps != (1,):
            point["local_steps"] = local
        if _kept(point):
            yield point
    for problem, here in product(PROBLEMS[1:3], AVAILABILITY[:2]):
        point = dict(zip(("centres", "caps", "signs", "start"), problem, strict=True))
        point |= dict(zip(("cohort_size", "window", "wish"), here, strict=True))
        yield (
            point
            | {"local_lr": 0.55, "noise": 0.0, "rounds": 6}
            | ({} if local_steps == (1,) else {"local_steps": local_steps[0]})
        )


GRID = (
    "2 to 4 clients with f_i' = sign_i clip(x - centre_i, -cap_i, cap_i), one of them nonconvex, 7 patterns of "
    "availability, steps up to .45/L, with and without noise, all noise paths"
)
