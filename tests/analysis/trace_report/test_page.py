"""The page about a log: one file, well-formed, with what the text says and a picture of each thing that there is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from analysis.cli import app
from analysis.trace_report import text, to_page, trace_report
from analysis.trace_report.pictures import pictures
from fltheory.participation import Bernoulli, Markov
from tests.analysis.trace_report.logs import dense, sampled


def words(said: str) -> str:
    return " ".join(re.sub("[`<>]", "", said).split())


def test_the_page_says_what_the_text_says() -> None:
    report = trace_report(sampled(Markov.from_stability([0.2, 0.4, 0.6], 0.5), 300, 0), day=24)
    page = to_page(report, "a <log> & more.csv", plan="the plan < 1")
    tree = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    told = words("".join(tree.itertext()))
    lines = [text.summary, text.consequences, text.tests, text.fit_table, text.divergence_table]
    for line in (line for said in lines for line in said(report)):
        assert words(line) in told
    found, rest = text.judged(report)
    assert words(rest) in told
    for name, one, resting in found:
        assert words(f"{name}{one.word}{one.why}{', '.join(resting)}") in told
    for part in ("clients of a <log> & more.csv", "the plan < 1"):
        assert words(part) in told
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}svg"))) == 6
    assert not re.search(r'(src|href)="(?!#)', page.replace("xlink:href", "")), "it needs another file"


@pytest.mark.parametrize(
    "log", [dense([[1]]), dense([[0, 0], [1, 0]], [[0, 0], [1, 1]]), sampled(Bernoulli([1.0]), 3, 0)]
)
def test_pictures_of_a_log_of_next_to_nothing(log: object) -> None:
    assert len(pictures(trace_report(log))) == 5  # without a day


def test_rates_of_many_clients_are_thinned() -> None:
    few = trace_report(sampled(Bernoulli([0.5, 0.6]), 50, 0))
    rate = np.linspace(0.1, 0.9, 10**5)
    many = replace(few, rate=rate, rate_low=rate - 0.05, rate_high=rate + 0.05)
    assert len(pictures(many)["Rates of the clients"]) < 10**6


def test_the_command_writes_it_whole(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("client,round\na,0\na,2\nb,1\n")
    done = CliRunner().invoke(app, ["trace", str(log), "--html", str(tmp_path / "log.html")])
    assert done.exit_code == 0, done.output
    assert "clients of log.csv" in (tmp_path / "log.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "log.html"]
    assert log.read_text() == "client,round\na,0\na,2\nb,1\n"
    bad = CliRunner().invoke(app, ["trace", str(log), "--html", str(log)])
    assert bad.exit_code != 0
    assert "another file than what is read" in str(bad.exception)
