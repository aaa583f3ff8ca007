"""One round of a run on quadratics from exact moments, and the points at which it is looked at."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

from analysis.checks import Depth
from analysis.checks.fedamd.moments import CACHES, MODEL, Quadratics, after
from analysis.checks.fedamd.searching import met_at, noise_of
from analysis.domains import Choice, Domain, Real, Several, Whole
from analysis.trials import Point
from fltheory.errors import InputError

SPACE: dict[str, Domain] = {
    "curvatures": Several(Real(-1, 1), 1, 3),
    "cohort_size": Whole(1, 3),
    "anchor_probability": Real("1/50", "49/50"),
    "local_steps": Whole(1, 6),
    "local": Real("1/1000", "1/2", log=True),  # eta_l K L
    "move": Real("1/1000", 4, log=True),  # eta_s eta_l K L, which no condition limits
    "round": Whole(0, 60),
    "noise": Choice(("anchors", "samples")),
    "noise_size": Real(0, 2),
    "anchor_batch": Whole(2, 4),
}
READINGS: dict[str, Domain] = {  # of E g_t; the virtual average drifts away late in a run only
    "reading": Choice(("mean", "conditional", "virtual")), "round": Whole(0, 300),
}  # fmt: skip


def _not_negative(value: Any) -> Any:
    return max(value, 0.0) if isinstance(value, float) else value


class Round:
    """What a round of a run from x_0 = 1 with caches started by all clients is judged by."""

    def __init__(self, point: Point, shadows: bool = False) -> None:
        curvatures = point["curvatures"]
        n, smoothness = len(curvatures), max(map(abs, curvatures))
        if smoothness == 0 or point["cohort_size"] > n:
            raise InputError("curvatures", curvatures, "not all zero, and at least as many as clients take part")
        noise = noise_of(point)
        one, steps = point["local"] * 0 + 1, point["local_steps"]
        local_lr = point["local"] / (steps * smoothness)
        step = point["move"] / (steps * smoothness)
        variance = noise["subsampled"] * noise["noise_std"] ** 2 / (one * noise["anchor_batch"])
        self.run = Quadratics(
            [one * h for h in curvatures], point["cohort_size"], local_lr, steps, step, variance,
            one * noise["noise_smoothness"] ** 2, shadows,
        )  # fmt: skip
        probability, first = point["anchor_probability"], point["round"]
        self.mean_map, self.map = self.run.round(probability)
        mean, start = self.run.start(one)
        self.before = after(start, [(self.map, first)])
        self.then = after(self.before, [(self.map, 1)])
        self.mean = after(mean, [(self.mean_map, first)])
        self.next_mean = self.mean_map @ self.mean
        self.constants = {
            "smoothness": smoothness, "n_clients": n, "cohort_size": point["cohort_size"], "local_steps": steps,
            "local_lr": local_lr, "global_lr": step / local_lr, "anchor_probability": probability, **noise,
        }  # fmt: skip
        self.met = met_at(point, self.constants)

    def expected(self, moments: Any, *vectors: Any) -> Any:
        """The sum of E (v z)^2, which rounding must not make negative."""
        return _not_negative(self.run.form(*vectors) @ moments)

    def gradient_square(self) -> Any:
        return self.expected(self.before, self.run.vector(model=self.run.curvature))

    def descent(self) -> Any:
        """E F(x_{t+1}) - E F(x_t)."""
        model = self.run.form(self.run.vector(model=1))
        return self.run.curvature * (model @ self.then - model @ self.before) / 2

    def move_square(self) -> Any:
        """E|x_{t+1} - x_t|^2: the variance of the multiple included, by letting a copy of x stand still."""
        x = self.run.form(self.run.vector(model=1))
        # E x'^2 - 2 E x x' + E x^2; E x x' = E x^2 - step E[multiple] E x g.
        pair = self.run.form(self.run.vector(model=1, caches=1)) - x - self.run.form(self.run.vector(caches=1))
        crossed = x @ self.before + self.mean_map[MODEL, CACHES] * self.run.n_clients * (pair @ self.before) / 2
        return _not_negative(x @ self.then - 2 * crossed + x @ self.before)

    def cache_error(self, moments: Any) -> Any:
        """E|g - grad F|^2."""
        return self.expected(moments, self.run.vector(model=-self.run.curvature, caches=1))

    def mean_error(self, reading: str, later: bool = False) -> Any:
        """E|E g - grad F|^2 with E g the mean, the conditional mean (g itself) or the virtual average."""
        moments, mean = (self.then, self.next_mean) if later else (self.before, self.mean)
        if reading == "virtual":
            return self.expected(moments, self.run.vector(model=-self.run.curvature, virtual=1))
        if reading == "conditional":
            return self.cache_error(moments)
        gradient, g = self.run.vector(model=self.run.curvature), self.run.vector(caches=1) @ mean
        return _not_negative(g**2 - 2 * g * (gradient @ mean) + self.expected(moments, gradient))


# ---- points ----------------------------------------------------------------------------------------------

ALONE: Point = {  # one client, no heterogeneity, no noise: F = x^2/2, p = 1/2, eta = 1/4
    "curvatures": (1,), "cohort_size": 1, "anchor_probability": F(1, 2), "local_steps": 1, "local": F(1, 10),
    "move": F(1, 4), "round": 2, "noise": "anchors", "noise_size": 0, "anchor_batch": 2,
}  # fmt: skip
UNEQUAL: Point = {**ALONE, "curvatures": (1, F(-49, 50)), "anchor_probability": F(1, 10), "local_steps": 2}


def some_rounds(depth: Depth, move: Any = None) -> list[Point]:
    """Rounds of runs with equal and unequal clients, with each kind of noise; `move` or a few global steps."""
    cases: list[dict[str, Any]] = [
        {"curvatures": (1,), "cohort_size": 1}, {"curvatures": (1, F(-9, 10)), "cohort_size": 1},
        {"curvatures": (1, F(-1, 2)), "cohort_size": 2}, {"curvatures": (1, F(1, 2), -1), "cohort_size": 2},
    ]  # fmt: skip
    noises = [
        {"noise": "anchors", "noise_size": 0}, {"noise": "anchors", "noise_size": 1, "anchor_batch": 2},
        {"noise": "samples", "noise_size": F(1, 4)},
    ]  # fmt: skip
    quick = depth == "quick"
    rounds = (3,) if quick else (0, 1, 6)
    chances = (F(1, 4),) if quick else (F(1, 10), F(3, 4))
    steps = (lambda *_: F(1, 2), lambda *_: F(2)) if move is None else (move,)
    return [
        {
            **ALONE, **case, **noise, "anchor_probability": p, "local_steps": 3, "local": F(1, 5), "round": t,
            "move": step(len(case["curvatures"]), case["cohort_size"], p),
        }
        for case in cases for noise in noises for t in rounds for p in chances for step in steps
    ]  # fmt: skip


def theorem48_step(n: int, size: int, p: F) -> F:
    """A rational number just within 1/(1 + 2a)."""
    a = float(1 - p**size) ** 0.5 * n / float(size * p)
    return F(1, int(1 + 2 * a) + 1)
