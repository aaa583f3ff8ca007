"""The report on a log in pictures: rates, participants, absences, memory, the day, divergence."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from analysis.figures.style import BLUE, GREY, LINES, house_style, new_figure
from analysis.trace_report.report import LEVEL, TraceReport
from analysis.traces.columns import WITH_OFFSET

MOST_POINTS = 2000  # clients, or stretches of rounds, that one picture shows


def pictures(report: TraceReport) -> dict[str, str]:
    """What a picture shows -> the picture as the text of an SVG element."""
    drawn: dict[str, Callable[[Axes, TraceReport], None]] = {
        "Rates of the clients": _rates,
        "Participants": _participants,
        "Rounds from one participation to the next": _gaps,
        "Autocorrelation": _memory,
    }
    if report.profile is not None:
        drawn["The day"] = _day
    drawn["Interval divergence of amplified FedAvg"] = _divergence
    return {title: _svg(draw, report) for title, draw in drawn.items()}


def _svg(draw: Callable[[Axes, TraceReport], None], report: TraceReport) -> str:
    with house_style():
        figure = new_figure(2.3, 3.6)
        draw(figure.subplots(), report)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue().partition("<svg")[2].join(["<svg", ""])  # without the declaration of a file of its own


def _rates(axes: Axes, report: TraceReport) -> None:
    order = np.argsort(report.rate, kind="stable")[: int(np.isfinite(report.rate).sum())]
    place = np.linspace(0, order.size - 1, min(order.size, MOST_POINTS)).astype(np.int64)
    shown = order[place]
    axes.fill_between(
        place, report.rate_low[shown], report.rate_high[shown], color=BLUE, alpha=0.2, linewidth=0,
        label=f"{LEVEL:.0%} interval if independent",
    )  # fmt: skip
    axes.plot(place, report.rate[shown], ".", color=BLUE, markersize=3, label="share of observed rounds")
    axes.set(xlabel=f"client, by rate (n = {order.size})", ylabel="rate", ylim=(0, 1.05))
    _legend(axes)


def _participants(axes: Axes, report: TraceReport) -> None:
    each, watched = report.participants, report.watched
    width = max(1, -(-each.size // MOST_POINTS))
    first = np.arange(0, each.size, width)
    rounds = np.add.reduceat(watched, first, dtype=np.int64)  # nobody is seen on in the others
    mean = np.divide(np.add.reduceat(each, first), rounds, out=np.full(first.size, np.nan), where=rounds > 0)
    lone = np.isfinite(mean) & ~np.isfinite(np.append(mean[1:], np.nan)) & ~np.isfinite(np.append(np.nan, mean[:-1]))
    axes.plot(first, mean, color=BLUE, lw=0.6)
    axes.plot(first[lone], mean[lone], ".", color=BLUE, markersize=2)
    over = "" if width == 1 else f" (mean of {width} rounds)"
    axes.set(xlabel="round", ylabel=f"clients seen on{over}", ylim=(0, None))


def _gaps(axes: Axes, report: TraceReport) -> None:
    lengths, times = report.gaps
    if not lengths.size:
        axes.text(0.5, 0.5, "no client took part twice", ha="center", transform=axes.transAxes, color=GREY)
        return
    longer = np.cumsum(times[::-1])[::-1] / times.sum()
    axes.loglog(lengths, longer, ".", color=BLUE, markersize=3)
    axes.set(xlabel=f"observed rounds x (n = {times.sum():,} gaps)", ylabel="share of at least x")


def _memory(axes: Axes, report: TraceReport) -> None:
    found = report.memory.correlation
    axes.axhline(0, color=GREY, lw=0.6)
    axes.plot(np.arange(1, found.size + 1), found, color=BLUE, lw=0.9)
    axes.set(xlabel="lag (rounds)", ylabel="correlation, pooled")


def _day(axes: Axes, report: TraceReport) -> None:
    assert report.profile is not None
    day, label = report.profile, "round of the day (rounds since the first of the log)"
    begins = np.arange(day.share.size, dtype=np.float64)
    if day.clock:
        begins = day.hours
        label = f"hour of the day, {'UTC' if day.clock == WITH_OFFSET else 'by the times of the log'}"
    end = 2 * begins[-1] - begins[-2]  # of the last round
    axes.step(np.append(begins, end), np.append(day.share, day.share[-1]), where="post", color=BLUE)
    axes.set(xlabel=label, ylabel="share on", ylim=(0, 1.05))


def _divergence(axes: Axes, report: TraceReport) -> None:
    interval = [one.interval for one in report.divergences]
    for name, line in (("largest", LINES[0]), ("mean", LINES[1])):
        values = [getattr(one, name) or math.nan for one in report.divergences]
        axes.loglog(interval, values, ".", color=line[0], linestyle=line[1], label=f"{name} over intervals")
    axes.axhline(1, color=GREY, lw=0.6)
    axes.set(xlabel="P (rounds with participants)", ylabel=r"$\tilde\delta^2(P)\,/\,d^2$")
    _legend(axes)


def _legend(axes: Axes) -> None:
    """Above the axes: within them it would cover points of one log or another."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.legend(loc="outside upper center", ncols=2, fontsize=7)
