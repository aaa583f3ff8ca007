"""Example 1 of FedLaAvg: what FedAvg settles at (Theorem 1), and FedLaAvg beside its bound (Theorem 2); ours, exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.checks.fedlaavg.orbits import averages_at_the_stated_step, orbit
from analysis.checks.tools import at
from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import BLACK, COLUMN, GREY, LINES, Picture, house_style, new_figure
from analysis.trials import judge
from fltheory.papers.fedlaavg import example1 as paper
from fltheory.weights.inputs import FloatArray
from sims.algorithms import fedavg, fedlaavg
from sims.algorithms.protocol import Algorithm
from sims.exact import Engine, Setting
from sims.problems.quadratic import example_1
from sims.scenarios import average_participating, schedule, weighted

CENTRES, BLOCKS = (0.0, 10.0), (10, 30)  # e_1, e_2; t_1, t_2
BEST = sum(CENTRES) / 2
HALF = (CENTRES[0] - CENTRES[1]) / 2
LIMIT = (BLOCKS[0] * CENTRES[0] + BLOCKS[1] * CENTRES[1]) / sum(BLOCKS)
STEP, START, ROUNDS = 0.02, 10.0, 400
EXAMPLE = {"first_mean": CENTRES[0], "second_mean": CENTRES[1], "first_block": BLOCKS[0], "second_block": BLOCKS[1]}
SETTLED = 100  # periods, of FedLaAvg
AVERAGED = ((1, 1), (3, 1), (5, 20))  # blocks of the clients

figures: dict[str, Exhibit] = {}


def run(algorithm: Algorithm, hyper: Any, rounds: int) -> FloatArray:
    """The library's algorithm on Example 1: x after 0, ..., `rounds` rounds."""
    who = schedule([[True, False]] * BLOCKS[0] + [[False, True]] * BLOCKS[1])
    averaging: Any = average_participating
    engine = Engine(Setting(algorithm, example_1(CENTRES), hyper, [START]), weighted(who, averaging))
    return np.array([float(moments.mean("x")[0]) for moments in engine.moments(rounds)])


@enter(
    figures,
    "thm1",
    "Ours: Example 1, on which FedAvg keeps away from the minimum and FedLaAvg with small steps does not",
    claims=["fedlaavg.ex1", "fedlaavg.thm1.limit", "fedlaavg.thm2.O", "fedlaavg.E23"],
)
def orbits(given: Given) -> Picture:
    """Left both algorithms with one step size, right what they settle at with others: the range of x over a period."""
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.9)
        left, right = figure.subplots(1, 2, sharey=True)
        followed = {
            "FedAvg": run(fedavg.fedavg, fedavg.Hyper(STEP), ROUNDS),
            "FedLaAvg": run(fedlaavg.fedlaavg, fedlaavg.Hyper(STEP), ROUNDS),
        }
        for (name, x), (color, dashes) in zip(followed.items(), LINES, strict=False):
            left.plot(x, color=color, linestyle=dashes, label=name)
            rows += [
                {"panel": "rounds", "algorithm": name, "step": STEP, "round": t, "x": value}
                for t, value in enumerate(x.tolist())
            ]
        steps = np.geomspace(1e-3, 0.5, 40)
        limits = np.array([at(paper.X, example_lr=step, **EXAMPLE) for step in steps.tolist()], dtype=float)
        ranges = {
            "FedAvg": [cycle(step, X) for step, X in zip(steps.tolist(), limits.tolist(), strict=True)],
            "FedLaAvg": [last_period(step) for step in steps.tolist()],
        }
        for (name, ends), (color, _) in zip(ranges.items(), LINES, strict=False):
            low, high = np.array(ends).T
            right.fill_between(steps, low, high, color=color, alpha=0.3, linewidth=0.8, label=f"{name}, a period")
            rows += [
                {"panel": "step sizes", "algorithm": name, "step": step, "lowest": a, "highest": b}
                for step, a, b in zip(steps.tolist(), low.tolist(), high.tolist(), strict=True)
            ]
        right.plot(steps, limits, color=BLACK, lw=1.1, label="$X$, FedAvg after a period")
        rows += [
            {"panel": "step sizes", "algorithm": "FedAvg, X", "step": step, "x": value}
            for step, value in zip(steps.tolist(), limits.tolist(), strict=True)
        ]
        for axes in (left, right):
            axes.axhline(
                LIMIT, color=GREY, linestyle="--", lw=1, label=f"Theorem 1: $X$ as $\\gamma \\to 0$, {LIMIT:g}"
            )
            axes.axhline(BEST, color=BLACK, linestyle=":", lw=1, label=f"minimum $x^*$, {BEST:g}")
        left.set(
            xlabel="round", ylabel="$x$ (unit of the parameter)", title=f"$\\gamma = {STEP}$, from $x^0 = {START:g}$"
        )
        right.set(xscale="log", xlabel="step size $\\gamma$", title=f"settled (FedLaAvg: after {SETTLED} periods)")
        handles = {str(h.get_label()): h for axes in (left, right) for h in (*axes.lines, *axes.collections)}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
        figure.suptitle(
            f"$f_1 = x^2$ for {BLOCKS[0]} rounds, then $f_2 = (x - {CENTRES[1]:g})^2$ for {BLOCKS[1]}, over and over",
            fontsize=8,
        )
    return Picture(figure, rows)


def cycle(step: float, after: float) -> tuple[float, float]:
    """The ends of FedAvg's limit cycle: x moves to one mean, then to the other, up to where a period ends."""
    turn = CENTRES[0] + (1 - 2 * step) ** BLOCKS[0] * (after - CENTRES[0])
    return min(turn, after), max(turn, after)


def last_period(step: float) -> tuple[float, float]:
    """Smallest and largest x of FedLaAvg over a period, after many."""
    period = sum(BLOCKS)
    z = orbit(*BLOCKS, (START - BEST) / HALF, step, SETTLED * period).z[-period:]
    x = [BEST + HALF * value for value in z]
    return min(x), max(x)


@enter(
    figures,
    "thm2.final",
    "Ours: Theorem 2, FedLaAvg on Example 1 beside its bound, at the stated step sizes",
    claims=["fedlaavg.ex1", "fedlaavg.thm2.attained"],
)
def theorem_2(given: Given) -> Picture:
    """T a square, as the stated step is then rational; from x^0 = e_1, with means 1 and -1."""
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(3.0, COLUMN)
        axes = figure.subplots()
        for (first, second), (color, _) in zip(AVERAGED, LINES, strict=False):
            found = []
            for root in sorted({round(r) for r in np.geomspace(1, 100, 25)}):
                point = {"first_block": first, "second_block": second, "start": 1.0, "root": root}
                sides = judge(averages_at_the_stated_step, paper.thm2_final, point).sides
                found.append((root**2, float(sides.left), float(sides.right)))
            iterations, left, right = zip(*found, strict=True)
            blocks = f"$t_1 = {first}$, $t_2 = {second}$"
            axes.plot(iterations, left, color=color, label=f"exact, {blocks}")
            axes.plot(iterations, right, color=color, linestyle="--", lw=1, label=f"bound, {blocks}")
            rows += [{"t1": first, "t2": second, "T": T, "exact": a, "bound": b} for T, a, b in found]
        axes.set(xscale="log", yscale="log", xlabel="iterations $T$ ($\\gamma = T^{-1/2}/2$)")
        axes.set_ylabel(r"mean of $(x^{t-1} - x^*)^2$ (param.$^2$)")
        exact, bounds = axes.lines[::2], axes.lines[1::2]
        figure.legend(handles=[*exact, *bounds], loc="outside lower center", ncols=2)
    notes = ["Example 1 with f₁ = (x - 1)² for t₁ rounds, then f₂ = (x + 1)² for t₂, over and over; x⁰ = 1, x* = 0"]
    return Picture(figure, rows, notes=notes)
