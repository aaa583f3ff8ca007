"""Whose data and whose turn: label mixes (Appendix B.1.2), cohorts under three laws (B.1.3); drawn, without runs."""

from __future__ import annotations

import numpy as np

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import BLACK, BLUE, COLUMN, GREY, Picture, house_style, new_figure
from fltheory.participation import WeightedDraws
from sims.training.partition import dirichlet

ALPHAS, HOLDERS = (0.05, 1.0), 30
CLASSES, OF_EACH = 10, 6000  # Fashion-MNIST has as many training images of each class
LAWS = {"beta": "Beta(1, 10)", "gamma": "Gamma(10, 0.01)", "weibull": "Weibull(10, 1)"}
N_CLIENTS, COHORT, ROUNDS = 100, 10, 1000
SEED = 1

figures: dict[str, Exhibit] = {}


@enter(figures, "fig1", "Figure 1: labels that 30 clients hold, Dirichlet mixes with equally many samples each")
def label_mixes(given: Given) -> Picture:
    """Of Fashion-MNIST's labels; areas in place of the paper's ten colours."""
    labels = np.repeat(np.arange(CLASSES), OF_EACH)
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(4.2, COLUMN)
        panels = figure.subplots(len(ALPHAS), 1, sharex=True)
        for axes, alpha in zip(panels, ALPHAS, strict=True):
            split = dirichlet(labels, HOLDERS, alpha=alpha, seed=SEED)
            counts, shares = split.label_counts, split.label_mix
            client, label = np.meshgrid(np.arange(1, HOLDERS + 1), np.arange(CLASSES), indexing="ij")
            axes.scatter(client, label, s=70 * shares, color=BLUE, linewidths=0)
            axes.set(ylabel="class", yticks=range(0, CLASSES, 3), ylim=(-0.7, CLASSES - 0.3))
            axes.set_title(f"$\\alpha = {alpha}$; area: share of the class in the client's data", pad=2)
            rows += [
                {
                    "alpha": alpha,
                    "seed": SEED,
                    "client": n + 1,
                    "class": k,
                    "samples": int(counts[n, k]),
                    "share": shares[n, k],
                }
                for n in range(HOLDERS)
                for k in range(CLASSES)
            ]
        axes.set_xlabel(f"client (n = {HOLDERS}, {len(labels) // HOLDERS:,} samples each, drawn with seed {SEED})")
    return Picture(figure, rows)


@enter(figures, "fig2", "Figure 2: how often each of 100 clients takes part in 1,000 rounds, by participation law")
def cohorts(given: Given) -> Picture:
    """As in the experiment files."""
    clients = np.arange(1, N_CLIENTS + 1)
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.4)
        panels = figure.subplots(1, len(LAWS), sharey=True)
        for axes, (law, title) in zip(panels, LAWS.items(), strict=True):
            process = WeightedDraws(law, n_clients=N_CLIENTS, cohort_size=COHORT)
            turns = process.sample(ROUNDS, SEED).sum(axis=0)
            expected = ROUNDS * process.rate
            axes.bar(clients, turns, width=1, color=BLUE, linewidth=0, alpha=0.6, label=f"one trace (seed {SEED})")
            axes.plot(clients, expected, color=BLACK, lw=1, label="expected, exact")
            axes.axhline(ROUNDS * COHORT / N_CLIENTS, color=GREY, linestyle="--", lw=1, label="uniform participation")
            axes.set(title=title, xlabel=f"client (n = {N_CLIENTS})", xlim=(0.5, N_CLIENTS + 0.5))
            rows += [
                {"law": title, "seed": SEED, "client": n, "rounds": int(a), "expected": b}
                for n, a, b in zip(clients.tolist(), turns.tolist(), expected.tolist(), strict=True)
            ]
        panels[0].set_ylabel(f"rounds with the client\n(of {ROUNDS:,})")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    notes = [f"Client n has the n-th of {N_CLIENTS} bins of the law, which is one reading of the paper"]
    return Picture(figure, rows, notes=notes)
