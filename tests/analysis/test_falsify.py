"""The falsifier finds what is false, and does not find what is true."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from analysis.checks import all_trials
from analysis.domains import Real
from analysis.falsify import exact_witness, falsify, searched
from analysis.falsify_command import duration, falsify_claim
from analysis.trials import Point, Sides, judge
from fltheory.errors import InputError
from fltheory.ledger import Claim
from tests.analysis import toy


def test_it_finds_and_shrinks_a_counterexample() -> None:
    search = falsify(toy.false, [toy.trial], seconds=20)
    assert search.found is not None
    assert search.found.judgement.violated
    assert search.found.point == {"x": Fraction(1, 2), "rounds": 7, "who": (1,)}


def test_numbers_are_rounded_to_few_bits_together() -> None:
    """Each alone would leave the point no counterexample."""

    def evaluate(claim: Claim, point: Point) -> Sides:
        return Sides(1 - abs(point["a"] - point["b"]), Fraction(9999, 10_000))

    space = {"a": Real(0, 1), "b": Real(0, 1)}
    trial = replace(toy.trial, space=space, evaluate=evaluate)
    found = exact_witness(trial, replace(toy.false, conditions={}), {"a": 0.7123456, "b": 0.7123457}, seconds=5)
    assert found is not None
    assert max(value.denominator for value in found.point.values()) <= 2


class Clock:
    """A clock that only evaluations move: cheap in floats, in exact arithmetic as long as the horizon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, exact: float, floats: float = 0.001) -> None:
        self.now, self.exact, self.floats, self.longest = 0.0, exact, floats, 0.0
        monkeypatch.setattr("analysis.falsify.time", self)
        self.trial = replace(toy.trial, evaluate=self.evaluate)

    def monotonic(self) -> float:
        return self.now

    def evaluate(self, claim: Claim, point: Point) -> Sides:
        cost = self.floats if isinstance(point["x"], float) else self.exact * point["rounds"]
        self.now, self.longest = self.now + cost, max(self.longest, cost)
        return toy.evaluate(claim, point)


LARGE = {"x": 0.5123456, "rounds": 40, "who": (0, 1, 1, 0, 1)}


def test_shrinking_starts_in_floats_where_a_try_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, exact=1.0)
    found = exact_witness(clock.trial, toy.false, LARGE, seconds=20)
    assert found is not None
    assert found.point == {"x": Fraction(1, 2), "rounds": 7, "who": (1,)}
    assert found.judgement.violated
    assert clock.now <= 20 + clock.longest


def test_what_shrinks_in_floats_only_is_not_taken() -> None:
    def evaluate(claim: Claim, point: Point) -> Sides:  # in exact arithmetic only the point itself is a counterexample
        sides = toy.evaluate(claim, point)
        return sides if isinstance(point["x"], float) or point["rounds"] == 40 else replace(sides, left=Fraction(0))

    found = exact_witness(replace(toy.trial, evaluate=evaluate), toy.false, LARGE, seconds=5)
    assert found is not None
    assert found.point == {"x": Fraction(1, 2), "rounds": 40, "who": (1,)}


@pytest.mark.parametrize("exact", [0.001, 0.1, 3.0])
def test_a_budget_covers_the_shrinking_too(exact: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, exact=exact, floats=0.05)
    search = falsify(toy.false, [clock.trial], seconds=60)
    assert search.found is not None
    assert search.found.point["rounds"] == 7
    assert search.seconds == clock.now <= 60 + clock.longest


def test_a_search_that_finds_nothing_takes_its_whole_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, exact=1.0, floats=0.05)
    search = falsify(toy.true, [replace(clock.trial, claim_id="toy.true")], seconds=20)
    assert search.found is None
    assert 20 <= search.seconds <= 20 + clock.longest


def test_a_late_find_is_shrunk_for_a_fifth_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, exact=0.5, floats=0.002)
    evaluate = clock.trial.evaluate

    def late(claim: Claim, point: Point) -> Sides:
        sides = evaluate(claim, point)
        return sides if clock.now > 9 else replace(sides, left=0 * sides.left)

    search = falsify(toy.false, [replace(clock.trial, evaluate=late)], seconds=10)
    assert search.found is not None
    assert search.found.point["rounds"] == 7
    assert 9 < search.seconds <= 10 + 2 + 2 * clock.longest


def test_the_largest_cuts_come_first() -> None:
    tried: list[Point] = []

    def evaluate(claim: Claim, point: Point) -> Sides:
        tried.append(point)
        return toy.evaluate(claim, point)

    exact_witness(replace(toy.trial, evaluate=evaluate), toy.false, LARGE, seconds=5)
    assert [point["rounds"] for point in tried[1:3]] == [1, 21]
    assert list(dict.fromkeys(point["who"] for point in tried))[:3] == [LARGE["who"], (0, 1), (0,)]


def test_it_finds_nothing_against_a_true_claim() -> None:
    search = searched(toy.trial, toy.true, 3000)
    assert search.found is None
    assert 0.9 < search.largest <= 1
    assert 0 < search.admitted < search.tried == 3000
    assert judge(toy.trial, toy.true, search.largest_at).ratio == search.largest


def test_the_same_seed_tries_the_same_points() -> None:
    first, again, other = (searched(toy.trial, toy.true, 200, seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        ("conditional", "true with a hypothesis that it does not state. Needs: fewer than 7 rounds."),
        ("refuted", "It is recorded as refuted; for the evidence: fltheory show toy.true"),
        ("proved", None),
    ],
)
def test_a_search_that_finds_nothing_says_what_is_recorded(
    verdict: str, says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing found is not to be taken for a claim that stands."""
    entry = {
        "verdict": verdict, "claim_sha256": toy.true.digest,
        "evidence": [{"verdict": verdict, "hypothesis": "fewer than 7 rounds"}],
    }  # fmt: skip
    monkeypatch.setattr("analysis.falsify_command.recorded", lambda: {"toy.true": entry})
    with toy.installed(monkeypatch):
        text, found = falsify_claim("toy.true", budget="0.2s", out=tmp_path / "w.json")
    assert not found
    assert "no supremum; only step sizes within the stated conditions were tried" in text
    assert text.endswith(says) if says else "recorded" not in text


@pytest.mark.parametrize("claim_id", [f"fedlaavg.{name}" for name in ("thm3", "eq33", "eq52", "lem3", "lem4", "cor2")])
def test_a_trial_in_which_availability_reacts_says_so(claim_id: str) -> None:
    reacting = [trial for trial in all_trials()[claim_id] if "policy" in trial.space]
    assert len(reacting) == 1
    assert "availability reacts to the samples" in " ".join(str(reacting[0].evaluate.__doc__).split())


@pytest.mark.parametrize("text", ["0", "-3s", "0.0m", "sixty", "", "10 days", "nan"])
def test_a_budget_must_be_a_positive_time(text: str) -> None:
    with pytest.raises(InputError, match="--budget must be a positive time"):
        duration("--budget", text)


def test_a_claim_without_trials_is_refused() -> None:
    with pytest.raises(InputError, match=r"points to try.*fltheory show toy\.false"):
        falsify(toy.false, [], seconds=1)
