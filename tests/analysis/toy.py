"""A claim about nothing but two numbers, false on a small part of its space, and true with a condition."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest
from sympy import Rational

from analysis.domains import Choice, Real, Several, Whole
from analysis.trials import Point, Sides, Trial, right_side
from fltheory import ledger as ledger_module
from fltheory.ledger import Bound, Claim, Paper
from fltheory.symbols import local_lr

paper = Paper("toy", "A toy", edition="none")
false = paper.claim(
    "false",
    "x (1 - x) plus a little is at most 1/4",
    kind="lemma",
    where="nowhere",
    words="True unless rounds >= 7 and x is near 1/2.",
    conditions={"step": local_lr <= 1},
    bound=Bound("x (1 - x) + [rounds >= 7]/100", Rational(1, 4) + 0 * local_lr),
)
true = replace(false, id="toy.true", bound=Bound("the same", Rational(27, 100) + 0 * local_lr))

SPACE = {
    "x": Real(-2, 2),
    "rounds": Whole(1, 40),
    "who": Several(Choice((0, 1)), 1, 5),
}


def evaluate(claim: Claim, point: Point) -> Sides:
    x, late = point["x"], int(point["rounds"] >= 7)
    left = x * (1 - x) + (late / 100 if isinstance(x, float) else Fraction(late, 100))
    constants = {"local_lr": abs(x), "rounds": point["rounds"]}
    assert claim.bound is not None
    return Sides(left, right_side(claim.bound, constants), constants, {"somebody takes part": any(point["who"])})


trial = Trial("toy.false", SPACE, evaluate)


@contextmanager
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy paper in the ledger, with its trial, where falsifying and replaying look."""
    trials = {"toy.false": [trial], "toy.true": [replace(trial, claim_id="toy.true")]}
    claims = {"toy.false": false, "toy.true": true}
    original = ledger_module.Ledger.__getitem__
    monkeypatch.setattr(ledger_module.Ledger, "__getitem__", lambda self, id_: claims.get(id_) or original(self, id_))
    monkeypatch.setattr("analysis.witness.all_trials", lambda: trials)
    monkeypatch.setattr("analysis.falsify_command.all_trials", lambda: trials)
    yield
