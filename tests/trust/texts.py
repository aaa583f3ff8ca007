"""Malformed TOML: experiments and plans."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.analysis.simulate_command.made import FILE
from tests.trust.case import Case
from tests.trust.mutate import mutated

ROOT = Path(__file__).parents[2]
Bases = Callable[[], list[tuple[list[str], str]]]  # commands, each with the text of its file

TRAINING = """
kind = "train"
rounds = 2
replicates = 1
problem = { name = "training", data = "digits", model = "logistic", partition = { name = "iid", n_clients = 10 } }
process = { name = "bernoulli", p = 0.5 }
record = { what = ["train_loss", "test_accuracy"], every = 1 }
[[algorithm]]
name = "fedavg"
local_lr = 0.1
[sweep]
local_lr = [0.1]
global_lr = [1]
metric = "test_accuracy"
"""
VALUES = [
    "0", "-1", "1", "2.5", "1e-320", "1e300", "10000000000", "9" * 400, "nan", "inf", "-inf", "true", "2024-01-01",
    '""', '"a"', '"1/0"', '"1/3"', '"all"', '"fedavg"', '"markov"', '"\\u0000"',
    "[]", "[[]]", "[1]", "[nan]", "[0.5, 0.5]", "[1, true]", "[[1, 2], [3]]", '["model"]',
    "{}", "{ kind = 1 }", "{ name = 1 }", '{ name = "fedau" }', "{ low = 1, high = 2, n = 3 }",
]  # fmt: skip
KEYS = [
    "rounds", "seed", "p", "name", "local_lr", "what", "every", "start", "warm", "batch", "label", "cutoff", "dropout",
    "selection", "weighting", "noise", "curvature", "schedule", "roles", "target", "rates", "n_clients", "x", '""',
]  # fmt: skip


@cache
def experiment_files() -> list[tuple[list[str], str]]:
    """Commands that run an experiment file, and the file."""
    names = ("fedau/objective-inconsistency", "fedau/rates-unknown", "fedlaavg/day-and-night", "fast/snapshots")
    small = ["simulate", "x.toml", "--scale", "smoke"]
    found = [(small, (ROOT / f"experiments/{name}.toml").read_text(encoding="utf-8")) for name in names]
    trained = [([command, "x.toml"], TRAINING) for command in ("train", "sweep")]
    return [(["simulate", "x.toml"], FILE), *found, *trained]


@cache
def plan_files() -> list[tuple[list[str], str]]:
    """The plan of the page on plans."""
    page = (ROOT / "docs/planning.md").read_text(encoding="utf-8")
    return [(["plan", "x.toml"], page.partition("```toml\n")[2].partition("```")[0])]


@st.composite
def _edited(draw: st.DrawFn, bases: Bases) -> Case:
    """A file with odd values in place of some, and lines that are added or gone."""
    arguments, text = draw(st.sampled_from(bases()))
    lines = text.splitlines()
    values = [
        (number, found) for number, line in enumerate(lines) for found in re.finditer(r"(?<== )[^\[{}\],]+", line)
    ]
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        how, number = (
            draw(st.sampled_from(["value", "value", "value", "whole", "add", "drop"])),
            draw(st.integers(0, len(lines) - 1)),
        )
        value = draw(st.sampled_from(VALUES))
        if how == "value":
            number, found = draw(st.sampled_from(values))
            lines[number] = lines[number].replace(f"= {found[0]}", f"= {value} ", 1)
        elif how == "whole":
            lines[number] = f"{lines[number].partition('=')[0]} = {value}"
        elif how == "add":
            lines.insert(number, f"{draw(st.sampled_from(KEYS))} = {value}")
        else:
            lines[number] = ""
    return Case(arguments, {"x.toml": "\n".join(lines).encode()})


def _mutated_file(bases: Bases) -> Callable[[Random], Case]:
    def draw(random: Random) -> Case:
        arguments, text = random.choice(bases())
        return Case(arguments, {"x.toml": mutated(text.encode(), random)})

    return draw


experiments, plans = _edited(experiment_files), _edited(plan_files)
mutated_experiment, mutated_plan = _mutated_file(experiment_files), _mutated_file(plan_files)
