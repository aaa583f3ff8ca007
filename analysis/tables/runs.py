"""A section of a table from a run: published numbers, and those of the run if there is one."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.exhibits import Given
from analysis.measured import Number, about, number, sentence, window
from analysis.tables.layout import Cell, Section

Metrics = Mapping[str, tuple[str, float] | None]  # column -> recorded metric and factor; None if nothing records it


def section(
    given: Given,
    title: str,
    file: str,
    methods: Mapping[str, str],
    metrics: Metrics,
    published: Mapping[tuple[str, str], Number],
) -> Section:
    """A row for each method, a column for each of `metrics`.

    file       of the experiment
    methods    name in the published data -> label in the experiment file
    published  (method, column) -> number; methods without one are left out, unless there are no numbers at all
    """
    shown = {m: label for m, label in methods.items() if not published or any(m == own for own, _ in published)}
    run = given.runs.get(file)
    if run is None:
        cells = {(m, c): Cell(published.get((m, c))) for m in shown for c in metrics}
        words, known = f"not run at {given.scale} scale ({file})", {}
    else:
        cells = {
            (m, c): Cell(
                published.get((m, c)),
                number(run, label, metric[0], given.scale, metric[1]) if metric else "not recorded",
            )
            for m, label in shown.items()
            for c, metric in metrics.items()
        }
        last = f"mean over the last {window(given.scale, run) * run.experiment['rounds']:g} rounds"
        words, known = f"measured at {given.scale} scale: {sentence(run)}; {last}", about(run)
    rows = {label: {c: cells[m, c] for c in metrics} for m, label in shown.items()}
    return Section(title, words, rows, {"scale": given.scale, **known})
