"""Samples of `python -m tests.trust`, which runs thousands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.trust.full_disk import COMMANDS, full_disks
from tests.trust.fuzz import KINDS, fuzz
from tests.trust.kills import kills
from tests.trust.runner import Runner

ELSEWHERE = {"report", "train", "sweep", "figures", "graph"}  # slow; they write by the functions of the others
TRAINED = [pytest.param(command, marks=pytest.mark.torch) for command in ("train", "sweep")]


@pytest.fixture(scope="module")
def run() -> Iterator[Runner]:
    with Runner() as runner:
        yield runner


@pytest.mark.parametrize("kind", KINDS)
def test_malformed_input_is_one_sentence(run: Runner, kind: str) -> None:
    assert fuzz(run, kind, 10)[0] == []


@pytest.mark.parametrize("command", ["verify", "simulate", *TRAINED])
def test_kill_9_and_the_same_command_give_the_same_bits(run: Runner, command: str) -> None:
    assert kills(run, command, 2)[0] == []


def test_a_full_disk_is_one_sentence_and_nothing_is_half_there(run: Runner) -> None:
    assert full_disks(run, [name for name in COMMANDS if name not in ELSEWHERE], sizes=(300,)) == []
