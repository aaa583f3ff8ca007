"""Malformed input through the whole command: what it answers, and whether that is as it should be."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.trust import lines, logs, texts, witnesses
from tests.trust.case import Case
from tests.trust.runner import KILLED, Outcome, Runner
from tests.trust.sound import unfinished, unsound

SECONDS = 10  # then a command is killed: it was given something large, or that takes long
NOISE = re.compile(r"Traceback|panicked|[A-Z]\w*Warning|^warning:|<.* at 0x", re.MULTILINE)


# What hypothesis draws, and what the fuzzer of files makes of valid ones.
KINDS: dict[str, tuple[SearchStrategy[Case], Callable[[Random], Case]]] = {
    "logs": (logs.logs(), logs.mutated_log),
    "experiments": (texts.experiments, texts.mutated_experiment),
    "plans": (texts.plans, texts.mutated_plan),
    "witnesses": (witnesses.witnesses(), witnesses.mutated_witness),
    "command lines": (lines.lines(), lines.mutated_line),
}


@dataclass(frozen=True)
class Fault:
    """A case, its outcome, and what is wrong with that."""

    case: Case
    outcome: Outcome
    why: str

    def __str__(self) -> str:
        files = {name: content[:600] for name, content in self.case.files.items()}
        said = self.outcome.err[-1500:]
        return f"{self.why}\n  {self.case.arguments}\n  exit {self.outcome.code}, {said!r}\n  {files}"


def fuzz(run: Runner, kind: str, n: int, number: int = 0) -> tuple[list[Fault], Counter[int]]:
    """Run n cases of a kind, half of them drawn by hypothesis; the faults, and how often each exit code came."""
    faults: list[Fault] = []
    codes: Counter[int] = Counter()
    for case in _cases(kind, n, number):
        with TemporaryDirectory(prefix="fuzz-") as name:
            folder = Path(name)
            for file, content in case.files.items():
                (folder / file).write_bytes(content)
            outcome = run(case.arguments, folder, seconds=SECONDS)
            for file in case.files:
                (folder / file).unlink()
            codes[outcome.code] += 1
            if why := wrong(case, outcome, folder):
                faults.append(Fault(case, outcome, why))
    return faults, codes


def _cases(kind: str, n: int, number: int) -> Iterator[Case]:
    strategy, mutation = KINDS[kind]
    drawn: list[Case] = []

    @seed(number)
    @settings(max_examples=n // 2, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(case: Case) -> None:
        drawn.append(case)

    collect()
    random = Random(number)
    yield from drawn
    yield from (mutation(random) for _ in range(n - len(drawn)))


def wrong(case: Case, outcome: Outcome, folder: Path) -> str:
    """What is wrong with an outcome; "" for nothing."""
    if outcome.code not in (0, 1, 2, KILLED):
        return "an exit code that is not documented"
    if found := NOISE.search(outcome.err) or NOISE.search(outcome.out):
        return f"it says {found[0]!r}"
    if bad := unsound(folder):
        return f"not whole: {bad}"
    if outcome.code == KILLED:
        return ""
    if left := unfinished(folder):
        return f"left behind: {left}"
    if outcome.code == 2 and not outcome.err.startswith("Usage: "):  # where nothing was asked
        told = [line for line in outcome.err.splitlines() if line.startswith("fltheory: ")]
        if len(told) != 1 or outcome.err.rstrip().splitlines()[-1] != told[0]:
            return "not one sentence"
        new = {path.name for path in folder.iterdir()}
        if outcome.out or new & {"weights.png", "c.json", "t.csv"}:
            return "output beside a refusal"
    if outcome.code == 0 and "--json" in case.arguments and not {"verify", "--help"} & set(case.arguments):
        try:
            json.loads(outcome.out)
        except ValueError:
            return "no JSON"
    return ""
