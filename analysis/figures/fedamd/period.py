"""Where Theorem 4.4 of FedAMD fails: ours, the paper has no such figure."""

from __future__ import annotations

import numpy as np

from analysis.checks.fedamd import full
from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import BLUE, GREEN, GREY, ORANGE, Picture, house_style, new_figure
from analysis.trials import Point
from fltheory.papers import fedamd
from sims.algorithms import fedamd as algorithms
from sims.exact import Engine, Setting
from sims.problems.base import full_gradient
from sims.problems.noise import Additive
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import roles, schedule

LOCAL, PRODUCT = 0.001, 0.068  # eta_l K L; eta_s eta_l K L tau, allowed up to 1/(6 sqrt(6)) = 0.06804
CYCLES = 10**6  # so many that the term with F(x_0) - F_* is nothing
PERIODS = np.unique([*np.geomspace(2, 3000, 40).astype(int), 64, 65, 66]).tolist()
BY_ENGINE = (2, 6, 20, 60, 200)
CASES = {  # what is said of which gradients -> claim and how both of its sides are computed
    "average over t, as the proof ends, (80)": (fedamd.thm44_proof, full.quadratics_with_cycles_on_average),
    "smallest over t, Theorem 4.4, (47)": (fedamd.thm44, full.quadratics_with_cycles),
    "average over miner rounds, repaired": (fedamd.thm44_repaired, full.quadratics_with_cycles_over_miners),
}

figures: dict[str, Exhibit] = {}


def point(period: int) -> Point:
    """F = x^2/2, one client, K = 1, unit anchor noise, the largest steps, from the model's stationary law."""
    moved = PRODUCT * (period - 1) / period
    return {
        "anchor_period": period, "cycles": CYCLES, "curvatures": (1.0,), "local_steps": 1, "local": LOCAL,
        "product": PRODUCT, "start": (moved / (2 - moved)) ** 0.5, "noise": "anchors", "noise_size": 2.0,
        "anchor_batch": 4,
    }  # fmt: skip


def average_by_engine(period: int) -> float:
    """The average of E|grad F|^2 over a cycle of the limit cycle, by the exact moments of the library's FedAMD."""
    hyper = algorithms.Hyper(LOCAL, PRODUCT / (period * LOCAL), 1, 1)
    problem = DiagonalQuadratic([1.0], 0.0, Additive(1.0))
    scenario = roles(schedule([[True]]), [1] + [0] * (period - 1))
    engine = Engine(Setting(algorithms.fedamd, problem, hyper, [0.0]), scenario)
    square = engine.quadratic(lambda state: (full_gradient(problem, state["x"]) ** 2).sum(axis=-1))
    return float(np.mean([moments.expected(square) for moments in engine.limit_cycle()]))


@enter(
    figures,
    "ratio_over_period",
    "Ours: Theorem 4.4's two sides against the period tau of the anchors, exact",
    claims=["fedamd.thm44", "fedamd.thm44.repaired"],
)
def ratio_over_period(given: Given) -> Picture:
    """The noise of an anchor round moves the model until the next one, so the gradients do not fall with tau, as the
    printed noise term does. At tau = 2, which the paper recommends, it is far above them."""
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.9)
        sides, ratios = figure.subplots(1, 2)
        for (name, (claim, trial)), color, dashes in zip(
            CASES.items(), (BLUE, ORANGE, GREEN), ("-", "--", "-."), strict=True
        ):
            both = [trial.evaluate(claim, point(period)) for period in PERIODS]
            left, right = [float(one.left) for one in both], [float(one.right) for one in both]
            ratio = np.divide(left, right)
            ratios.plot(PERIODS, ratio, linestyle=dashes, color=color, label=name)
            rows += [
                {"claim": claim.id, "tau": period, "left": a, "right": b, "ratio": r}
                for period, a, b, r in zip(PERIODS, left, right, ratio.tolist(), strict=True)
            ]
            if claim is fedamd.thm44_proof:
                sides.plot(PERIODS, left, color=BLUE, label="average of $E|\\nabla F(x_t)|^2$, exact")
                sides.plot(PERIODS, right, color=GREY, linestyle="--", label="bound (47) after $10^6$ cycles")
                engine = [average_by_engine(period) for period in BY_ENGINE]
                sides.plot(
                    BY_ENGINE, engine, "o", ms=4, mfc="none", color=BLUE, label="this average, by the moment engine"
                )
                rows += [
                    {"claim": claim.id, "tau": period, "left by the engine": value}
                    for period, value in zip(BY_ENGINE, engine, strict=True)
                ]
        ratios.axhline(1, color="black", lw=0.7, ls=":")
        ratios.set_title("left over right; above 1 the statement fails")
        sides.set_title("$F = x^2/2$, $\\sigma^2/(Mb) = 1$, largest steps allowed")
        for axes in (sides, ratios):
            axes.set(xscale="log", yscale="log", xlabel="rounds $\\tau$ from anchors to anchors")
        ratios.set_ylim(top=3e3)
        sides.set_ylim(top=30)  # room for the legends
        sides.legend(loc="upper right")
        ratios.legend(loc="upper left")
        sides.set_ylabel("in units of $\\sigma^2/(Mb)$")
        ratios.set_ylabel("ratio (no unit)")
    return Picture(figure, rows)
