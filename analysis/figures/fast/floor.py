"""Theorem 1 of FAST refuted: the gradient settles at a floor that the printed bound falls below. Ours, exact.

Two clients with (x - 1)^2/2 and (x + 1)^2/2, all of both in snapshots, the first alone in other rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.checks.fast.family import Family
from analysis.checks.fast.nonconvex import largest_step, plus_minus_one_family
from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import BLACK, GREEN, LINES, ORANGE, Picture, house_style, new_figure
from analysis.trials import Judgement, judge, right_side
from fltheory.papers import fast

RUNS = {2: (-0.43, 0.03), 5: (-0.442, 0.0405), 10: (-0.472, 0.043)}  # interval -> x_0, eta
LONGEST = 1500  # rounds
STEP, FOREVER = 0.01, 10**12  # eta of the right panel; rounds after which the start no longer counts

LABELS = {"corrected": "corrected, thm1.repaired-B", "exact": "exact", "Theorem 1": "Theorem 1"}

figures: dict[str, Exhibit] = {}


def judged(interval: int, rounds: int) -> Judgement:
    """Both sides of the printed theorem after some rounds, and whether all of its conditions hold."""
    start, lr = RUNS[interval]
    share = lr / largest_step({"steps": 1}, 1 / interval, 2, 1)
    point = {"interval": interval, "cycles": rounds // interval, "steps": 1, "start": start, "step_share": share}
    return judge(plus_minus_one_family, fast.thm1, {**point, "who": (1,), "sampled": 2})


def settled(q: float) -> dict[str, float]:
    """With coins and R to infinity: the exact average, and what Theorem 1 and its correction say at most."""
    family = Family(STEP, 1)
    mean, variance = family.coins(q)
    constants: dict[str, Any] = {
        "smoothness": 1, "heterogeneity": 1, "noise_std": 0, "local_lr": STEP, "local_steps": 1, "rounds": FOREVER,
        "snapshot_rate": q, "snapshot_clients": 2, "arbitrary_clients": 1, "n_clients": 2, "initial_gap": 0,
    }  # fmt: skip
    return {
        "exact": mean**2 + variance,
        "Theorem 1": float(right_side(fast.thm1.bound, constants)),
        "corrected": float(right_side(fast.thm1_repaired_B.bound, constants)),
    }


@enter(
    figures,
    "thm1",
    "Ours: FAST settles at a floor, below which Theorem 1 puts it",
    claims=["fast.law.floor", "fast.law.lower_bounds"],
)
def floor(given: Given) -> Picture:
    """Left runs with a snapshot every I rounds; a point is where all conditions of the theorem hold and its bound does
    not. Right what coins come to, by the share of arbitrary rounds; the condition on q depends on the coins there."""
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(3.7)
        left, right = figure.subplots(1, 2)
        for interval, (color, _) in zip(RUNS, LINES, strict=False):
            cycles = np.unique(np.geomspace(1, LONGEST // interval, 40).astype(int))
            found = {int(c) * interval: judged(interval, int(c) * interval) for c in cycles}
            rounds = list(found)
            exact, bound = (
                np.array([float(getattr(one.sides, side)) for one in found.values()]) for side in ("left", "right")
            )
            broken = [one.violated for one in found.values()]
            name = f"$I = {interval}$"
            left.plot(rounds, exact, color=color, label=f"exact, {name}")
            left.plot(rounds, bound, color=color, linestyle="--", lw=1, label=f"Theorem 1, {name}")
            marked = [t for t, one in zip(rounds, broken, strict=True) if one]
            left.plot(marked, exact[broken], "o", color=color, ms=3, label=f"refuted, {name}")
            rows += [
                {
                    "panel": "rounds",
                    "interval": interval,
                    "R": t,
                    "exact": a,
                    "Theorem 1": b,
                    "conditions": one.admitted,
                }
                for t, a, b, one in zip(rounds, exact.tolist(), bound.tolist(), found.values(), strict=True)
            ]
        left.set(xscale="log", yscale="log", xlabel="rounds $R$", title="a snapshot every $I$ rounds")
        left.set_ylabel(r"average of $|\nabla F(x_r)|^2$ (loss$^2$/param.$^2$)")
        arbitrary = np.geomspace(1e-3, 0.999, 60)
        ends = [settled(1 - share) for share in arbitrary.tolist()]
        for what, (color, dashes) in {
            "corrected": (GREEN, (0, (4, 1, 1, 1))), "exact": (BLACK, "-"), "Theorem 1": (ORANGE, "--"),
        }.items():  # fmt: skip
            right.plot(arbitrary, [one[what] for one in ends], color=color, linestyle=dashes, label=LABELS[what])
        rows += [{"panel": "coins", "1 - q": share, **one} for share, one in zip(arbitrary.tolist(), ends, strict=True)]
        right.set(xscale="log", yscale="log", xlabel="share of arbitrary rounds $1 - q$")
        right.set_title(f"snapshots by a coin, $R \\to \\infty$, $\\eta = {STEP}$")
        right.legend(loc="upper left")
        left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3, fontsize=7, columnspacing=1)
    started = "; ".join(f"I = {interval}: x₀ = {start:g}, η = {lr:g}" for interval, (start, lr) in RUNS.items())
    notes = [
        "Two clients, (x - 1)²/2 and (x + 1)²/2, one local step; a snapshot asks both, any other round the first alone",
        f"Left, {started}",
        "Left, exact: the smaller of two averages, over r = 0, ..., R - 1 and over r = 1, ..., R, either of which may "
        "be meant",
        "Right, Theorem 1's condition on q is not checked (it depends on the coins): its line below the exact one "
        "refutes nothing by itself",
    ]
    return Picture(figure, rows, notes=notes)
