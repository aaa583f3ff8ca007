"""The falsifier finds what is false, does not find what is true, and its witnesses can be verified again."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from analysis.falsify import falsify, searched
from analysis.falsify_command import duration, falsify_claim, replay_file
from fltheory.errors import InputError
from tests.analysis import toy


def test_it_finds_and_shrinks_a_counterexample() -> None:
    search = falsify(toy.false, [toy.trial], seconds=20)
    assert search.found is not None
    assert search.found.judgement.violated
    assert search.found.point == {"x": Fraction(1, 2), "rounds": 7, "who": (1,)}


def test_it_finds_nothing_against_a_true_claim() -> None:
    search = searched(toy.trial, toy.true, 3000)
    assert search.found is None
    assert 0.9 < search.largest <= 1
    assert 0 < search.admitted < search.tried == 3000


def test_the_same_seed_tries_the_same_points() -> None:
    first, again, other = (searched(toy.trial, toy.true, 200, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_a_witness_file_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        text, found = falsify_claim("toy.false", budget="20s", out=path)
        assert found
        assert "counterexample" in text
        text, violated = replay_file(path)
        assert violated
        assert "condition step: local_lr <= 1 holds" in text
        assert "somebody takes part: holds" in text
        text, found = falsify_claim("toy.true", budget="0.3s", out=path)
        assert not found
        assert "no supremum" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"point": {"x": "3/2", "rounds": 7, "who": [1]}}, "it fails: step"),
        ({"point": {"x": "1/2", "rounds": 7, "who": [0]}}, "it fails: somebody takes part"),
        ({"point": {"x": "1/2", "rounds": 0, "who": [1]}}, "coordinate rounds must be a whole number from 1 to 40"),
        ({"point": {"x": 0.5, "rounds": 7, "who": [1]}}, "coordinate x must be an exact number"),
        ({"point": {"x": "1/2", "rounds": 7}}, "coordinates of the point"),
        ({"trial": "none"}, "trial of the witness must be a trial of toy.false: evaluate"),
        ({"claim": "toy.fals"}, "claim id"),
        ({"claim_sha256": None}, "claim_sha256 of the witness must be there"),
        ({"schema": 2}, "schema 1"),
    ],
)
def test_a_file_that_is_no_witness(
    change: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(InputError, match=message):
            replay_file(path)


@pytest.mark.parametrize(
    "change", [{"left": "1"}, {"right": "0"}, {"constants": {}}, {"conditions": {"step": "True"}}, {"facts": {}}]
)
def test_a_file_that_misstates_its_own_point_is_told_so(
    change: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        assert "note:" not in replay_file(path)[0]
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        text, violated = replay_file(path)
    assert violated
    assert f"the file itself says otherwise of {next(iter(change))};" in text


def test_a_point_that_does_not_violate_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {"point": content["point"] | {"rounds": 6}, "claim_sha256": "old"}))
        text, violated = replay_file(path)
    assert not violated
    assert "does not violate" in text
    assert "the statement has changed" in text


@pytest.mark.parametrize("text", ["0", "-3s", "0.0m", "sixty", "", "10 days", "nan"])
def test_a_budget_must_be_a_positive_time(text: str) -> None:
    with pytest.raises(InputError, match="--budget must be a positive time"):
        duration("--budget", text)


def test_a_claim_without_trials_is_refused() -> None:
    with pytest.raises(InputError, match="can be put to the test"):
        falsify(toy.false, [], seconds=1)
