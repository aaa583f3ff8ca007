"""Whole runs on quadratics with a constant anchor probability, and the points at which they are looked at."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

from analysis.checks import Depth
from analysis.checks.fedamd.moments import Quadratics, accumulating, after
from analysis.checks.fedamd.searching import (
    SMALLER_BATCHES,
    met_at,
    noise_of,
    require_bounded_below,
    smaller_batches,
)
from analysis.domains import Choice, Domain, Real, Several, Whole
from analysis.trials import Point
from fltheory.errors import InputError

SPACE: dict[str, Domain] = {
    "curvatures": Several(Real(-1, 1), 1, 3),
    "cohort_size": Whole(1, 3),
    "anchor_probability": Real("1/50", "49/50"),
    "local_steps": Whole(1, 8),
    "local": Real("1/1000", "1/2", log=True),  # eta_l K L
    "move": Real("1/10000", 1, log=True),  # eta_s eta_l K L
    "rounds": Whole(1, 300),
    "start": Real(0, 10),
    "noise": Choice(("anchors", "samples")),
    "noise_size": Real(0, 3),
    "anchor_batch": Whole(2, 4),
}


class Run:
    """A run with caches started by all clients: its constants, and E x^2 at its end and in sum."""

    def __init__(self, point: Point) -> None:
        curvatures, size = point["curvatures"], point["cohort_size"]
        n, smoothness = len(curvatures), max(map(abs, curvatures))
        if smoothness == 0 or size > n:
            raise InputError("curvatures", curvatures, "not all zero, and at least as many as clients take part")
        require_bounded_below(curvatures)
        noise = noise_of(point)
        one, steps = point["move"] * 0 + 1, point["local_steps"]
        local_lr = point["local"] / (steps * smoothness)
        step = point["move"] / (steps * smoothness)
        variance = noise["subsampled"] * noise["noise_std"] ** 2 / (one * noise["anchor_batch"])
        sampled = one * noise["noise_smoothness"] ** 2
        self.quadratics = Quadratics([one * h for h in curvatures], size, local_lr, steps, step, variance, sampled)
        self.curvature = self.quadratics.curvature
        self.model = self.quadratics.form(self.quadratics.vector(model=1))
        self.begin = self.quadratics.start(one * point["start"])[1]
        gap = self.curvature * point["start"] ** 2 / 2
        self.constants = {
            "smoothness": smoothness, "n_clients": n, "cohort_size": size, "local_steps": steps,
            "local_lr": local_lr, "global_lr": step / local_lr, "rounds": point["rounds"], "initial_gap": gap, **noise,
        }  # fmt: skip
        if "anchor_probability" in point:
            self.constants["anchor_probability"] = point["anchor_probability"]
        self.facts = {
            "the objective is bounded below": bool(self.curvature > 0),
            SMALLER_BATCHES: smaller_batches(self.constants),
        }
        self.met = met_at(point, self.constants)

    def after(self, probability: Any, rounds: int) -> tuple[Any, Any]:
        """E x^2 after so many rounds, and its sum over them."""
        _, second = self.quadratics.round(probability)
        summed = accumulating(second, self.model)
        state = after(with_zero(self.begin), [(summed, rounds)])
        return self.model @ state[:-1], state[-1]

    def average(self, point: Point) -> Any:
        """Average of E|grad F|^2 over the rounds."""
        total = self.after(point["anchor_probability"], point["rounds"])[1]
        return self.curvature**2 * total / point["rounds"]

    def last(self, point: Point) -> Any:
        """E F(x_T) - F_*."""
        return self.curvature * self.after(point["anchor_probability"], point["rounds"])[0] / 2


def with_zero(vector: Any) -> Any:
    """The vector with a running sum that starts at zero."""
    wide = vector.copy()
    wide.resize(len(vector) + 1, refcheck=False)
    wide[-1] = vector[0] * 0
    return wide


def points(depth: Depth, move: Any, **fixed: Any) -> list[Point]:
    """Equal and unequal clients; the initial gap alone, anchor noise alone, curvature noise; short and long runs.

    move: (curvatures, cohort size, p) -> eta_s eta_l K L.
    """
    cases = [
        ((1,), 1, F(9, 10)), ((1,), 1, F(1, 20)), ((1, F(-1, 2)), 1, F(1, 2)), ((1, 1, F(-1, 2)), 2, F(2, 3)),
        ((1, F(-19, 20)), 1, F(1, 10)),
    ]  # fmt: skip
    kinds = [
        {"start": 1, "noise": "anchors", "noise_size": 0}, {"start": 0, "noise": "anchors", "noise_size": 2},
        {"start": 1, "noise": "samples", "noise_size": F(1, 8)},
    ]  # fmt: skip
    lengths = (1, 30) if depth == "quick" else (1, 10, 100)
    steps = ((1, F(1, 10)), (4, F(1, 5))) if depth != "quick" else ((3, F(1, 5)),)
    return [
        {
            "curvatures": h, "cohort_size": size, "anchor_probability": p, "local_steps": k, "local": local,
            "move": move(h, size, p), "rounds": rounds, "anchor_batch": 4, **kind, **fixed,
        }
        for h, size, p in cases for kind in kinds for rounds in lengths for k, local in steps
    ]  # fmt: skip


def within(limit: float) -> F:
    """A rational number below a positive one and near it, with a small denominator: exact runs stay short."""
    return F(int(limit * 20), 20) if limit > 1 / 4 else F(1, int(1 / limit) + 1)


def ratio(size: int, n: int, p: Any) -> float:
    """a = (M/(Ap)) sqrt(1 - p^A)."""
    return math.sqrt(1 - p**size) * n / float(size * p)
