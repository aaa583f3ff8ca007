"""The report on a log's weights as a picture."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator
from scipy.special import gammaln

from analysis.figures.style import BLACK, BLUE, GREY, ORANGE, house_style, new_figure, save
from analysis.traces.log import Floats, Ints
from analysis.weights_report.report import WeightsReport, kinds
from analysis.wording import counted
from fltheory.participation import Bernoulli
from fltheory.weights import long_run_scale

ABOVE = {"loc": "lower left", "bbox_to_anchor": (0, 1.1), "borderaxespad": 0}  # no point can lie there
INDEPENDENT = "if rounds were independent"
MOST_POINTS = 5000
FEW_LENGTHS = 30
WIDE = 5  # ratio of the largest to the smallest rate from which on axes are logarithmic


def plot(report: WeightsReport, path: str | Path) -> None:
    """Write a picture, of the kind its name ends in: weight against fitted rate, beside the distribution of gaps.

    Raises InputError if the file cannot be written; a file already there is replaced whole or not at all.
    """
    with house_style():
        figure = new_figure(3.3)
        left, right = figure.subplots(1, 2)
        _weights(left, report)
        _gaps(right, report)
        save(figure, Path(path))


def _weights(axes: Axes, report: WeightsReport) -> None:
    on = np.flatnonzero(report.participations)
    never_on = int(np.count_nonzero((report.participations == 0) & (report.observed > 0)))
    axes.set(xlabel="fitted rate (participations per observed round)", ylabel="weight (rounds)")
    if never_on:
        axes.set_title(
            f"not shown: {counted(never_on, 'observed client')} that never took part", fontsize=7, color=GREY
        )
    if not on.size:
        return
    drawn = on[np.argsort(report.rate[on])]
    if on.size > MOST_POINTS:
        drawn = drawn[np.linspace(0, on.size - 1, MOST_POINTS).astype(np.int64)]
    rate = report.rate[drawn]
    if rate[-1] > WIDE * rate[0]:
        axes.set(xscale="log", yscale="log")
    span = np.geomspace(rate[0] / 1.1, min(1.0, rate[-1] * 1.1), 200)
    axes.plot(span, 1 / span, color=BLACK, lw=1, label="1/p, unbiased")
    if report.cutoff < math.inf:
        limit = long_run_scale(Bernoulli(span), report.cutoff) / span
        axes.plot(span, limit, "--", color=ORANGE, lw=1.2, label=f"$(1-(1-p)^K)/p$, K = {report.cutoff}")
    number = f"{drawn.size}" if drawn.size == on.size else f"{drawn.size} of {on.size}"
    axes.plot(rate, report.weight[drawn], "o", color=BLUE, ms=3, alpha=0.6, mew=0, label=f"clients ({number})")
    axes.legend(**ABOVE)


def _gaps(axes: Axes, report: WeightsReport) -> None:
    length, times = report.gaps
    axes.set(xlabel="gap g (observed rounds between participations)", ylabel="share of gaps of at least g")
    if not length.size:
        axes.set_title("no client took part twice", fontsize=7, color=GREY)
        return
    at_least = np.cumsum(times[::-1])[::-1] / times.sum()
    axes.plot(*_steps(np.r_[1, length], np.r_[1.0, at_least]), color=BLUE, lw=1.4, label="the log")
    if length.size <= FEW_LENGTHS:
        axes.plot(length, at_least, "o", color=BLUE, ms=3)
    grid = np.unique(np.geomspace(1, length[-1], 400).astype(np.int64))
    axes.plot(*_steps(grid, _independent(report, grid)), "--", color=ORANGE, lw=1.2, label=INDEPENDENT)
    if report.cutoff <= length[-1]:
        axes.axvline(report.cutoff, color=GREY, lw=1, ls=":")
        name, above = f"K = {report.cutoff}", axes.get_xaxis_transform()
        axes.text(report.cutoff, 1, name, transform=above, ha="center", va="bottom", color=GREY)
    axes.set(xscale="log", yscale="log", xlim=(0.9, max(2.0, 1.1 * length[-1])), ylim=(at_least[-1] / 30, 1.4))
    if length[-1] < 10:  # within one decade matplotlib writes 9e-1 and 1e0, the one over the other
        whole = range(1, max(2, int(length[-1])) + 1)
        axes.set_xticks(whole, labels=[str(gap) for gap in whole])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(**ABOVE)


def _steps(x: Ints, y: Floats) -> tuple[Ints, Floats]:
    """The corners of y[i] at all of (x[i-1], x[i]]."""
    return np.repeat(x, 2)[:-1], np.repeat(y, 2)[1:]


def _independent(report: WeightsReport, lengths: Ints) -> Floats:
    """The share of gaps of at least these lengths to expect if the rounds of each client were independent.

    Given n participations in T rounds, each gap then has the law of the first one: it is longer than j with
    probability C(T - j, n) / C(T, n). Nothing has to be fitted, and the end of the log is allowed for.
    """
    twice = report.participations > 1
    one, kind = kinds(report.participations[twice], report.observed[twice])
    n, rounds = report.participations[twice][one], report.observed[twice][one]
    gaps = np.bincount(kind) * (n - 1)
    longer = np.array([gaps @ _choose_ratio(rounds, n, length - 1) for length in lengths])
    return np.asarray(longer / gaps.sum())


def _choose_ratio(rounds: Ints, n: Ints, less: int) -> Floats:
    """C(rounds - less, n) / C(rounds, n)."""
    left = np.maximum(rounds - less, n)
    logarithm = gammaln(left + 1) - gammaln(left - n + 1) - gammaln(rounds + 1) + gammaln(rounds - n + 1)
    return np.where(rounds - less >= n, np.exp(logarithm), 0.0)
