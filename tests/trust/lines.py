"""Malformed command lines."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import typer
from hypothesis import strategies as st

from analysis.cli import app
from tests.analysis.simulate_command.made import FILE
from tests.trust.case import Case
from tests.trust.logs import ROUNDS
from tests.trust.mutate import mutated

WORDS = [
    "", " ", "-1", "0", "1", "2", "1.5", "1e400", "nan", "inf", "1h", "0s", "-1h", "9" * 30, "a", "fedau",
    "fedau.facts", "fast.thm1", "fedau.fig1", "fedavg", "log.csv", "x.toml", "no.csv", "no/a.png", "a.png", "b.svg",
    "c.json", "d.csv", "/dev/null", ".", "..", "smoke", "quick", "png", "digits", "phone", "process.name=markov",
    "a=", "=", "\u00e9\u2603", "\udcff", "x" * 300, "--", "-", "--json", "--help", "--no-such", "-x", "127.0.0.1:1",
    "two words", "*", "%s", "{0}", "\t", "a\nb", "cpu", "disk", "csv",
]  # fmt: skip
GOOD = [
    "weights log.csv --cutoff 5 --rounds 40 --json",
    "trace simulate x.toml --clients 3 --out t.csv",
    "simulate x.toml --store s",
    "results list --store s --where seed=1",
    "list --paper fedau --verdict proved",
    "show fedau.thm3 --json",
    "graph fast --out b.svg",
    "verify fedau.facts --depth quick --json c.json",
    "falsify fast.thm1 --budget 1s --seed 1",
    "plan x.toml --json",
    "figures fedau.fig1 --scale smoke --out f",
    "tables fedau --format csv",
    "data list --json",
    "algorithms --json --clients 10",
]
BESIDE = {"log.csv": ROUNDS.write_csv().encode(), "x.toml": FILE.encode()}


@cache
def commands() -> list[tuple[list[str], list[str]]]:
    """Each command with its options, as `fltheory` declares them."""
    found = []

    def walk(path: list[str], command: Any) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk([*path, name], inner)
        if not hasattr(command, "commands"):
            found.append((path, [option for one in command.params for option in one.opts if option.startswith("-")]))

    walk([], typer.main.get_command(app))
    return found


@st.composite
def lines(draw: st.DrawFn) -> Case:
    """A command with odd arguments and options; sometimes one that is none."""
    path, options = draw(st.sampled_from(commands()))
    words = st.sampled_from(WORDS)
    arguments = [*path, *draw(st.lists(words, max_size=2))]
    if options:
        for option in draw(st.lists(st.sampled_from(options), max_size=3)):
            arguments += [f"{option}={draw(words)}"] if draw(st.booleans()) else [option, draw(words)]
    return Case(arguments, BESIDE)


def mutated_line(random: Random) -> Case:
    """A good command line, with words gone, doubled, moved or spoilt."""
    good = random.choice(GOOD).split()
    spoilt = mutated("\n".join(good).encode(), random).replace(b"\x00", b"").decode(errors="surrogateescape")
    return Case(spoilt.splitlines(), BESIDE)
