"""The rate of FAST's Corollary 2 along its own step size, on the family of `floor`; ours, exact."""

from __future__ import annotations

import math

import numpy as np

from analysis.checks.fast.family import Family
from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import LINES, Picture, house_style, new_figure

ROUNDS = np.geomspace(1e2, 1e10, 49)
RATES, STEPS = (0.5, 0.9, 0.99, 1.0), (1, 4, 16, 64)  # q with K = 1, K with q = 1

figures: dict[str, Exhibit] = {}


def scaled(q: float, steps: int, rounds: int) -> float:
    """The average over the rounds of E|grad F|^2 from the minimum of F, times sqrt(m K R); one of two clients a round.

    Snapshots by a coin, arbitrary rounds ask the first client; the step size is 1/sqrt(R K), as s = 1 for m = n = 1.
    """
    root = math.sqrt(steps * rounds)
    return root * float(Family(1 / root, steps, m=1).average_with_coins(q, 0.0, rounds))


def least_rounds(steps: int) -> int:
    """R from which the corollary speaks: (m K)^3, and 64 K, from which on its step size is at most 1/(8 L K)."""
    return max(steps**3, 64 * steps)


@enter(
    figures,
    "cor2",
    "Ours: the rate of FAST's Corollary 2 holds for q = 1 alone, and grows with K there",
    claims=["fast.rem1", "fast.table1"],
)
def rates(given: Given) -> Picture:
    """If the order were 1/sqrt(m K R), all lines would stay below one height."""
    cases = {
        "local steps $K = 1$": {f"$q = {q:g}$": (q, 1) for q in RATES},
        "only snapshots, $q = 1$": {f"$K = {K}$": (1.0, K) for K in STEPS},
    }
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.6)
        for axes, (title, lines) in zip(figure.subplots(1, 2, sharey=True), cases.items(), strict=True):
            for (name, (q, steps)), (color, dashes) in zip(lines.items(), LINES, strict=False):
                rounds = [round(R) for R in ROUNDS[least_rounds(steps) <= ROUNDS].tolist()]
                values = [scaled(q, steps, R) for R in rounds]
                axes.plot(rounds, values, color=color, linestyle=dashes, label=name)
                rows += [
                    {"q": q, "K": steps, "R": R, "scaled average": value}
                    for R, value in zip(rounds, values, strict=True)
                ]
            axes.set(xscale="log", yscale="log", xlabel="rounds $R$", title=title)
            axes.legend(loc="upper left", ncols=2)
        figure.axes[0].set_ylim(top=figure.axes[0].get_ylim()[1] * 8)  # room for the legends
        what = r"average of $E|\nabla F|^2$, times $(mKR)^{1/2}$"  # a browser sets a root of an SVG without its line
        figure.axes[0].set_ylabel(f"{what}\n(loss$^2$/param.$^2$)")
    notes = [
        "Two clients, (x - 1)²/2 and (x + 1)²/2, one of them a round; without a snapshot it is the first. From x = 0",
        "Each line begins where the corollary does: R ≥ max(K³, 64 K), so later for K > 1",
    ]
    return Picture(figure, rows, notes=notes)
