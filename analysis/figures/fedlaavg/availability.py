"""Who is available when: by day and by night on MNIST, a third of the users at a time on Sentiment140."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.style import BLUE, COLUMN, Picture, house_style, new_figure
from fltheory.participation import Periodic

DIGITS, E, HELD = 10, 100, (1, 3, 5)  # the values of D in Figure 4
TWEETS = "experiments/fedlaavg/sentiment140-E120.toml"
Trace = npt.NDArray[np.bool_]  # (rounds, rows of the picture)

figures: dict[str, Exhibit] = {}


@enter(figures, "fig2", "Figure 2: availability of the holders of each digit, by day and by night, MNIST")
def day_and_night(given: Given) -> Picture:
    """Two days of the process of the experiment files, one client for each digit."""
    traces = {}
    for held in HELD:
        groups = [int(digit >= held) for digit in range(DIGITS)]
        process = Periodic(groups, on=E, period=2 * E, offset=0)
        traces[f"D = {held}: digits below {held} by day, E = {E} rounds each"] = process.sample(4 * E, seed=0)
    return _traces(traces, "digit held")


@enter(figures, "fig3", "Figure 3: availability of the users of Sentiment140 over a day", TWEETS)
def over_a_day(given: Given) -> Picture:
    """As in the runs: blocks of users take turns. The paper has each user's own eight hours with the fewest tweets, and
    dots for the tweets; the data set as it is loaded here keeps no times."""
    process = given.runs[TWEETS].experiment["process"]
    blocks, each = process["n_groups"], process["rounds_each"]
    trace = Periodic.block_cyclic(blocks, blocks, each, offset=0).sample(blocks * each, seed=0)
    return _traces({f"{blocks} blocks of users in turn, not their own hours": trace}, "block")


def _traces(traces: Mapping[str, Trace], what: str) -> Picture:
    rows: list[dict[str, object]] = []
    with house_style():
        figure = new_figure(0.5 + 1.15 * len(traces), COLUMN)
        panels = figure.subplots(len(traces), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (title, trace) in zip(panels, traces.items(), strict=True):
            rounds, clients = trace.shape
            for client in range(clients):
                turns = np.flatnonzero(np.diff(trace[:, client], prepend=False, append=False)).reshape(-1, 2)
                axes.broken_barh(
                    [(on, off - on) for on, off in turns.tolist()], (client - 0.4, 0.8), color=BLUE, linewidth=0
                )
                rows += [
                    {"setting": title, what: client, "round": t, "available": int(now)}
                    for t, now in enumerate(trace[:, client].tolist())
                ]
            axes.set(
                xlim=(0, rounds), ylim=(-0.6, clients - 0.4), ylabel=what, yticks=range(0, clients, 1 + clients // 5)
            )
            axes.set_title(title, pad=2)
        panels[-1].set_xlabel("round (blue: available)")
    return Picture(figure, rows)
