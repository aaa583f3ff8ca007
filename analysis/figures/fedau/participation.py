"""Who participates when: patterns, data and rates of Appendices C.6, D.5 and D.6; sampled from the paper's laws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.checks.published import published
from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import COLUMN, LINES, Picture, band, house_style, new_figure
from fltheory.participation import Bernoulli, Cyclic, Markov
from fltheory.participation.rates import label_correlated_rates
from fltheory.streams import stream
from fltheory.weights.inputs import FloatArray

N_CLIENTS, CLASSES, DATA_ALPHA, RATE_ALPHA, MEAN_RATE, FLOOR = 250, 10, 0.1, 0.1, 0.1, 0.02
HIGH_RATE = 0.527  # of the client that the paper shows
DRAWS = 200  # seeds of a distribution of rates, for its band
SEED = 1

figures: dict[str, Exhibit] = {}


def label_mixes(n_clients: int, seed: int) -> FloatArray:
    """kappa_n ~ Dir(0.1, ..., 0.1), (n_clients, classes)."""
    return stream(seed, "figures.fedau.label-mixes").dirichlet(np.full(CLASSES, DATA_ALPHA), n_clients)


@enter(figures, "figC61", "Figure C.6.1: three participation patterns of a client with a rate of 52.7 %")
def participation_patterns(given: Given) -> Picture:
    """The first 400 rounds; a cycle has 53 rounds on of 100, the nearest to the rate."""
    rounds = 400
    patterns = {"Bernoulli": Bernoulli(HIGH_RATE), "Markovian": Markov(HIGH_RATE), "cyclic": Cyclic(HIGH_RATE)}
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(2.1, COLUMN)
        for axes, (name, process) in zip(figure.subplots(3, 1, sharex=True), patterns.items(), strict=True):
            on = process.sample(rounds, SEED)[:, 0]
            axes.fill_between(np.arange(rounds + 1), np.append(on, on[-1]), step="post", color=LINES[0][0], linewidth=0)
            axes.set_title(f"{name}: takes part in {on.sum()} of {rounds} rounds", pad=4)
            axes.set(yticks=[0, 1], yticklabels=["off", "on"], xlim=(0, rounds), ylim=(0, 1))
            rows += [{"pattern": name, "seed": SEED, "round": t, "participates": int(one)} for t, one in enumerate(on)]
        axes.set_xlabel(f"round (one client, $p = {HIGH_RATE}$, one trace each, seed {SEED})")
    return Picture(figure, rows)


@enter(figures, "figC62", "Figure C.6.2: label mixes of 20 clients, and the participation rates that follow from them")
def data_and_rates(given: Given) -> Picture:
    """The printed q, whose entries are rounded; mixes of our own, as the paper prints none."""
    q = np.array([float(row["share"]) for row in published("fedau_figC62")])
    mix = label_mixes(20, SEED)
    rates = np.clip(CLASSES * MEAN_RATE * mix @ q, FLOOR, 1)
    clients = np.arange(1, len(mix) + 1)
    with house_style():
        figure = new_figure(3.6, COLUMN)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.7, 1))
        client, label = np.meshgrid(clients, np.arange(1, CLASSES + 1))
        above.scatter(client, label, s=70 * mix.T, color=LINES[0][0], linewidths=0)
        above.set(ylabel="class", yticks=range(1, CLASSES + 1), ylim=(0.3, CLASSES + 0.7))
        above.set_title("area: share of the class in the client's data")
        below.bar(clients, rates, color=[LINES[1][0] if rate > FLOOR else LINES[7][0] for rate in rates])
        below.axhline(FLOOR, color="black", linewidth=0.7, linestyle=":")
        below.set(xlabel=f"client (n = {len(mix)}, seed {SEED})", ylabel="rate $p_n$", xticks=[1, 5, 10, 15, 20])
        below.set_title(f"dotted, grey: floor {FLOOR}")
    return Picture(
        figure,
        [
            {"client": n, "seed": SEED, "rate": rate, **{f"class {k + 1}": share for k, share in enumerate(shares)}}
            for n, rate, shares in zip(clients.tolist(), rates.tolist(), mix.tolist(), strict=True)
        ],
    )


@enter(figures, "figD51", "Figure D.5.1: distributions of participation rates with different floors")
def rates_by_floor(given: Given) -> Picture:
    """The text names the floors 0.02 and 0; the two between are ours."""
    floors = (0.0, 0.001, 0.01, 0.02)
    return _distributions({f"floor {floor:g}": {"floor": floor} for floor in floors}, banded=1)


@enter(figures, "figD61", "Figure D.6.1: distributions of participation rates with different means")
def rates_by_mean(given: Given) -> Picture:
    """Without a floor, as in Table D.6.1."""
    means = (0.1, 0.01, 0.001)
    return _distributions({f"mean {mean:g}": {"mean": mean, "floor": 0.0} for mean in means}, banded=len(means))


def _distributions(cases: Mapping[str, Mapping[str, Any]], banded: int) -> Picture:
    """Empirical distribution functions of the rates of 250 clients: mean and middle 80 % over draws of q and mixes.

    banded   how many of the cases show their band; above its floor a case has the band of the case without one
    """
    floors = np.array([case["floor"] for case in cases.values() if case["floor"]])
    grid = np.unique(np.concatenate([np.geomspace(1e-6, 1, 241), floors, np.nextafter(floors, 0)]))
    rows: list[dict[str, object]] = []
    mixes = [label_mixes(N_CLIENTS, seed) for seed in range(DRAWS)]
    with house_style():
        figure = new_figure(2.6, COLUMN)
        axes = figure.subplots()
        for k, ((name, change), line) in enumerate(zip(cases.items(), LINES, strict=False)):
            given = {"alpha": RATE_ALPHA, "mean": MEAN_RATE, **change}
            drawn = [np.sort(label_correlated_rates(mix, seed=seed, **given).rates) for seed, mix in enumerate(mixes)]
            share = np.array([np.searchsorted(rates, grid, side="right") / N_CLIENTS for rates in drawn])
            middle, (low, high) = share.mean(axis=0), np.quantile(share, (0.1, 0.9), axis=0)
            shown = (low, high) if k < banded else (middle, middle)
            band(axes, grid, middle, *shown, line, name)
            rows += [
                {"case": name, "rate": p, "share": m, "quantile 0.1": a, "quantile 0.9": b}
                for p, m, a, b in zip(grid.tolist(), middle.tolist(), low.tolist(), high.tolist(), strict=True)
            ]
        axes.set(xscale="log", xlim=(grid[0], 1), ylim=(0, 1.01), ylabel=f"share of the N = {N_CLIENTS} clients")
        axes.set_xlabel(f"participation rate $p_n$ (band: middle 80 % of {DRAWS} draws)")
        axes.legend(loc="upper left")
    return Picture(figure, rows)
