"""FedAU's aggregation weights along a run, Appendix D.4, beside their exact law, which the paper does not have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.fedau.participation import (
    FLOOR,
    HIGH_RATE,
    MEAN_RATE,
    N_CLIENTS,
    RATE_ALPHA,
    SEED,
    label_mixes,
)
from analysis.figures.style import BLACK, BLUE, COLUMN, GREY, Picture, house_style, new_figure
from fltheory.participation import Bernoulli, Cyclic, ParticipationProcess
from fltheory.participation.rates import label_correlated_rates
from fltheory.weights import WeightLaw, exact_weight_law, fedau_weights
from fltheory.weights.inputs import FloatArray

ROUNDS, EVERY = 10_000, 10
LOW_CLIENTS = 3

figures: dict[str, Exhibit] = {}


@enter(figures, "figD41", "Figure D.4.1: aggregation weights under Bernoulli participation, K = inf")
def weights_bernoulli(given: Given) -> Picture:
    return _weights(Bernoulli, "Bernoulli")


@enter(figures, "figD42", "Figure D.4.2: aggregation weights under cyclic participation, K = inf")
def weights_cyclic(given: Given) -> Picture:
    return _weights(Cyclic, "cyclic")


def _weights(process: Callable[..., ParticipationProcess], name: str) -> Picture:
    """Panel (a) is of 250 clients with rates as in Appendix C.6, the others of one client each: one trace, the exact
    mean and standard deviation of its law, and the inverse of its rate."""
    rates = label_correlated_rates(label_mixes(N_CLIENTS, SEED), RATE_ALPHA, MEAN_RATE, FLOOR, SEED).rates
    single = [HIGH_RATE] + [FLOOR] * LOW_CLIENTS
    everyone = process(np.concatenate([rates, single]))
    weights = fedau_weights(everyone.sample(ROUNDS, SEED), np.inf)[::EVERY]
    inverse = 1 / everyone.rate
    rounds = np.arange(0, ROUNDS, EVERY)
    panels: dict[str, tuple[FloatArray, float, WeightLaw | None]] = {
        f"(a) mean over N = {N_CLIENTS} clients": (
            weights[:, :N_CLIENTS].mean(axis=1),
            inverse[:N_CLIENTS].mean(),
            None,
        )
    }
    laws = {rate: exact_weight_law(process(rate), np.inf, ROUNDS) for rate in set(single)}
    for k, rate in enumerate(single):
        panels[f"({'bcde'[k]}) one client, p = {rate:g}"] = (
            weights[:, N_CLIENTS + k],
            inverse[N_CLIENTS + k],
            laws[rate],
        )
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(5.8, COLUMN)
        for axes, (title, (trace, target, law)) in zip(
            figure.subplots(len(panels), 1, sharex=True), panels.items(), strict=True
        ):
            mean = sd = np.full(rounds.size, np.nan)
            if law is not None:
                mean = law.mean[::EVERY]
                sd = np.sqrt(np.maximum(law.second_moment[::EVERY] - mean**2, 0))
                label = "exact mean ± one sd"
                axes.fill_between(rounds, mean - sd, mean + sd, color=GREY, alpha=0.3, lw=0, label=label)
            axes.plot(rounds, trace, color=BLUE, label=f"FedAU, one trace (seed {SEED})")
            axes.axhline(target, color=BLACK, linestyle="--", lw=1, label="known rate, $1/p$")
            axes.set_title(title, pad=2)
            axes.set_ylim(0, 1.05 * max(trace.max(), np.nanmax(mean + sd, initial=0), target))
            rows += [
                {"panel": title, "seed": SEED, "round": t, "weight": w, "known": target, "exact mean": m, "exact sd": s}
                for t, w, m, s in zip(rounds.tolist(), trace.tolist(), mean.tolist(), sd.tolist(), strict=True)
            ]
        axes.set_xlabel(rf"round $t$ ({name} participation, $K = \infty$)")
        figure.supylabel(r"aggregation weight $\omega_t$ (no unit)", fontsize=8)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return Picture(figure, rows)
