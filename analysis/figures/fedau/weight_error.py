"""Figures on how well FedAU knows its weights; both are our own, the paper has none of this kind."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.lines import Line2D

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, Picture, house_style, new_figure
from fltheory.weights import WeightLaw, best_cutoff, corollary4_cutoff, exact_weight_law, weight_error_bound
from fltheory.weights.inputs import FloatArray
from sims.montecarlo import weight_error

BOUNDS: dict[Literal["theorem3", "repaired", "improved"], tuple[str, str, str]] = {
    "theorem3": (ORANGE, "--", "Theorem 3"),
    "repaired": (GREEN, "-.", "per round, thm3.repaired"),
    "improved": (PURPLE, ":", "improved, thm3.improved"),
}
REPLICATES = 50_000

figures: dict[str, Exhibit] = {}


THEOREM_3 = ("fedau.thm3", "fedau.thm3.repaired", "fedau.thm3.improved")


@enter(
    figures,
    "weight_error_over_time",
    "Ours: the exact weight error, Monte Carlo, and Theorem 3 with two others",
    claims=THEOREM_3,
)
def weight_error_over_time(given: Given) -> Picture:
    """Exact weight error after T rounds and on average over them, Monte Carlo with its intervals, the three bounds."""
    cutoff, rounds = 50, 10_000
    horizons = np.unique([*np.geomspace(2, rounds, 60).astype(int), cutoff - 1, cutoff])  # it jumps in round K
    simulated = (10, 30, 100, 300, 1000, 3000, 10_000)
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.9)
        for axes, p in zip(figure.subplots(1, 2, sharey=True), (0.02, 0.1), strict=True):
            error = exact_weight_law(p, cutoff, rounds + 1).error
            average = np.cumsum(error) / np.arange(1, rounds + 2)
            lines = {"exact, round t = T": error[horizons], "exact, average": average[horizons - 1]}
            axes.plot(horizons, lines["exact, round t = T"], color=GREY, lw=1, label="exact, round $t = T$")
            axes.plot(horizons, lines["exact, average"], color=BLACK, label="exact, average over $t < T$")
            for which, (color, dashes, label) in BOUNDS.items():
                lines[which] = np.array([weight_error_bound(p, cutoff, int(T), which) for T in horizons])
                axes.plot(horizons, lines[which], dashes, color=color, lw=1.1, label=f"bound: {label}")
            estimates = [weight_error(p, cutoff, T, REPLICATES).average for T in simulated]
            values = np.array([e.value for e in estimates])
            spread = [values - [e.low for e in estimates], [e.high for e in estimates] - values]
            axes.errorbar(
                simulated, values, spread, fmt="o", ms=3, capsize=2, color=BLUE,
                label=f"Monte Carlo, {estimates[0].n:,} runs, {estimates[0].level:.1%} interval",
            )  # fmt: skip
            axes.set(xscale="log", yscale="log", xlabel="rounds $T$", title=f"$p = {p}$, $K = {cutoff}$")
            axes.set_xlim(1.8, 1.2 * rounds)
            axes.set_ylim(5e-4, 3e2)
            rows += [
                {"p": p, "K": cutoff, "T": T, "what": what, "value": value}
                for what, series in lines.items()
                for T, value in zip(horizons.tolist(), series.tolist(), strict=True)
            ]
            rows += [
                {"p": p, "K": cutoff, "T": T, "what": "Monte Carlo", "value": e.value, "low": e.low, "high": e.high}
                for T, e in zip(simulated, estimates, strict=True)
            ]
        figure.axes[0].set_ylabel(r"weight error $E[(p\,\omega - 1)^2]$ (no unit)")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Picture(figure, rows)


def _variance(law: WeightLaw, p: float) -> FloatArray:
    """Var[p w_t], about whichever of 1 and 0 loses fewer digits: for a short cutoff p w_t is far from 1, always."""
    about_zero = p * p * law.second_moment
    about_one = law.error - (p * law.mean - 1) ** 2
    return np.where(about_zero < law.error, about_zero - (p * law.mean) ** 2, about_one)


@enter(
    figures,
    "bias_and_variance_over_cutoff",
    "Ours: squared bias and variance of the weight against the cutoff K",
    claims=("fedau.thm3", "fedau.thm3.improved"),
)
def bias_and_variance_over_cutoff(given: Given) -> Picture:
    """Squared bias and variance of p w, averaged over t < T, against the cutoff K; exact."""
    rounds, usual = 1000, 50
    cutoffs = np.unique(np.geomspace(1, rounds, 45).astype(int))
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.7)
        for axes, p in zip(figure.subplots(1, 3, sharey=True), (0.02, 0.1, 0.5), strict=True):
            bias, variance = np.empty(cutoffs.size), np.empty(cutoffs.size)
            for i, cutoff in enumerate(cutoffs.tolist()):
                law = exact_weight_law(p, cutoff, rounds)
                bias[i] = np.mean((p * law.mean - 1) ** 2)
                variance[i] = np.mean(_variance(law, p)) if cutoff > 1 else 0  # K = 1: the weight is constant
            axes.plot(cutoffs, bias, color=ORANGE, linestyle=(0, (4, 2)), label="squared bias")
            axes.plot(cutoffs[variance > 0], variance[variance > 0], "-.", color=BLUE, label="variance")
            error = bias + variance
            axes.plot(cutoffs, error, color=BLACK, label="weight error")
            marks = {
                "best $K$": (best_cutoff(p, rounds), {"color": GREEN, "lw": 4, "alpha": 0.4}),
                "$K$ of Corollary 4": (corollary4_cutoff(p, rounds), {"color": BLACK, "lw": 1, "ls": "--"}),
                "$K = 50$": (usual, {"color": GREY, "lw": 1, "ls": ":"}),
            }
            for label, (cutoff, style) in marks.items():
                axes.axvline(cutoff, label=label, zorder=0, **style)
                rows.append({"p": p, "T": rounds, "K": cutoff, "what": label.replace("$", "")})
            axes.set(xscale="log", yscale="log", xlabel="cutoff $K$ (rounds)", title=f"$p = {p}$, $T = {rounds}$")
            axes.set_ylim(1e-6, 2)
            for what, series in (("squared bias", bias), ("variance", variance), ("weight error", error)):
                rows += [
                    {"p": p, "T": rounds, "K": K, "what": what, "value": value}
                    for K, value in zip(cutoffs.tolist(), series.tolist(), strict=True)
                ]
        figure.axes[0].set_ylabel(r"of $p\,\omega_t$, average over $t < T$ (no unit)")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return Picture(figure, rows)


@enter(
    figures,
    "bounds_over_cutoff",
    "Ours: Theorem 3, its improvement and the exact weight error against the cutoff K",
    claims=("fedau.thm3", "fedau.thm3.improved"),
)
def bounds_over_cutoff(given: Given) -> Picture:
    """Averages over t < T; a ring marks the least value shown, the cutoff that a bound would have one choose."""
    rounds = 1000
    cutoffs = np.unique([*range(1, 11), *np.geomspace(10, rounds, 18).astype(int)])
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.9)
        for axes, p in zip(figure.subplots(1, 3, sharey=True), (0.02, 0.1, 0.5), strict=True):
            lines = {"exact": np.array([exact_weight_law(p, K, rounds).error.mean() for K in cutoffs.tolist()])}
            axes.plot(cutoffs, lines["exact"], color=BLACK, label="exact")
            for which, (color, dashes, label) in BOUNDS.items():
                lines[which] = np.array([weight_error_bound(p, K, rounds, which) for K in cutoffs.tolist()])
                axes.plot(cutoffs, lines[which], dashes, color=color, lw=1.1, label=f"bound: {label}")
            for (what, series), line in zip(lines.items(), list(axes.lines), strict=True):
                least = int(np.argmin(series))
                axes.plot(cutoffs[least], series[least], "o", ms=5, mfc="none", color=line.get_color())
                rows += [
                    {"p": p, "T": rounds, "K": K, "what": what, "value": value, "least": k == least}
                    for k, (K, value) in enumerate(zip(cutoffs.tolist(), series.tolist(), strict=True))
                ]
            axes.set(xscale="log", yscale="log", xlabel="cutoff $K$ (rounds)", title=f"$p = {p}$, $T = {rounds}$")
        figure.axes[0].set_ylabel(r"average of $E[(p\,\omega_t - 1)^2]$ (no unit)")
        handles, named = figure.axes[0].get_legend_handles_labels()
        ring = Line2D([], [], ls="", marker="o", ms=5, mfc="none", color=GREY)
        figure.legend([*handles, ring], [*named, "least value of a line"], loc="outside lower center", ncols=3)
    return Picture(figure, rows)
