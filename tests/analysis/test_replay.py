"""A witness in its file is verified again, and a file that is none, or is not what was found, is told so."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import sympy

from analysis.falsify_command import falsify_claim, replay_file
from analysis.trials import Point, Sides, exact_from
from analysis.witness import FIELDS
from fltheory.errors import InputError
from fltheory.ledger import Claim, ledger
from tests.analysis import toy


def huge(claim: Claim, point: Point) -> Sides:
    """Sides with tens of thousands of digits, as long products of fractions have."""
    sides = toy.evaluate(claim, point)
    if isinstance(point["x"], float):
        return sides
    tiny = Fraction(1, 3**30_000)
    constants = {**sides.constants, "gap": tiny, "root": sympy.sqrt(2) * sympy.Rational(1, 3**30_000)}
    return replace(sides, left=sides.left + tiny, constants=constants)


def test_numbers_of_thousands_of_digits_are_saved_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        monkeypatch.setattr("analysis.falsify_command.all_trials", lambda: trials)
        monkeypatch.setattr("analysis.witness.all_trials", lambda: trials)
        trials = {"toy.false": [replace(toy.trial, evaluate=huge)]}
        text, found = falsify_claim("toy.false", budget="20s", out=path)
        assert found
        assert "letters)" in text or "characters)" in text
        content = json.loads(path.read_text())
        assert exact_from(content["constants"]["gap"]) == Fraction(1, 3**30_000)
        text, violated = replay_file(path)
        assert violated
        assert "note:" not in text
        content["point"]["x"] = hex(3**30_000 // 2) + "/" + hex(3**30_000)  # a point of as many digits
        path.write_text(json.dumps(content))
        text, good = replay_file(path)
        assert not good  # the numbers in the file are those of the old point
        assert "this point violates the claim" in text
        assert "digits" not in max(text.splitlines(), key=len)
        assert "note: the file says left = 0x" in text


def test_a_whole_number_of_a_real_coordinate_is_a_fraction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial that halves it once made a float of a file written by hand."""
    path = tmp_path / "witness.json"
    trial = replace(toy.trial, evaluate=lambda claim, point: Sides(point["x"] / 2, Fraction(1, 4), {"local_lr": 1}))
    with toy.installed(monkeypatch):
        monkeypatch.setattr("analysis.witness.all_trials", lambda: {"toy.false": [trial]})
        about = {"schema": 1, "claim": "toy.false", "claim_sha256": "", "trial": trial.name}
        content = dict.fromkeys(FIELDS) | about | {"left": "1/2", "right": "1/4"}
        content |= {"constants": {}, "conditions": {}, "facts": {}}
        path.write_text(json.dumps(content | {"point": {"x": 1, "rounds": 1, "who": [0]}}))
        text, violated = replay_file(path)
    assert violated
    assert "left  = 1/2" in text


def test_a_number_beyond_all_measure_is_no_number() -> None:
    with pytest.raises(ValueError, match="letters"):
        exact_from("0x" + "1" * 1_000_001)


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
        ({"schema": True}, "schema 1"),
        ({"point": {"x": True, "rounds": 7, "who": [1]}}, "coordinate x must be a number from -2 to 2; got True"),
        ({"point": {"x": "1/2", "rounds": True, "who": [1]}}, "coordinate rounds must be a whole number"),
        ({"point": {"x": "1/2", "rounds": 7, "who": [True]}}, "coordinate who must be 1 to 5 values"),
        ({"point": {"x": "1/2", "rounds": 7.0, "who": [1]}}, "coordinate rounds must be an exact number"),
        ({"point": {"x": float("nan"), "rounds": 7, "who": [1]}}, "coordinate x must be an exact number"),
        (
            {"point": {"x": "nan", "rounds": 7, "who": [1]}},
            "coordinate x must be a number from -2 to 2, as a .*; got 'nan'",
        ),
        ({"point": {"x": "-5e-1", "rounds": 7, "who": [1]}}, 'number, "1/3" or "0.25"; got \'-5e-1\''),
        ({"point": {"x": "1/2", "rounds": "7.5.1", "who": [1]}}, "a whole number from 1 to 40; got '7.5.1'"),
        ({"point": {"x": "1e999999999", "rounds": 7, "who": [1]}}, "coordinate x must be a number from -2 to 2"),
        ({"point": {"x": 10**4000, "rounds": 7, "who": [1]}}, "coordinate x must be a number from -2 to 2"),
        ({"point": {"x": "3", "rounds": 7, "who": [1]}}, "coordinate x must be a number from -2 to 2; got 3$"),
        ({"point": {"x": {}, "rounds": 7, "who": [1]}}, "coordinate x must be a number from -2 to 2"),
        ({"point": {"x": None, "rounds": 7, "who": [1]}}, "coordinate x must be a number from -2 to 2"),
        ({"point": {"x": [["1/2"]], "rounds": 7, "who": [1]}}, "coordinate x must be a number from -2 to 2"),
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
    ("change", "note", "good"),
    [
        ({"left": "1"}, "says left = 1, recomputed ", False),
        ({"left": None}, "says left = None, recomputed ", False),
        ({"right": "0"}, "says right = 0, recomputed ", False),
        ({"constants": {}}, "does not say constants: local_lr, recomputed ", True),
        ({"constants": {"local_lr": "7"}}, "says constants: local_lr = 7, recomputed ", False),
        ({"constants": {"other": "7"}}, "says constants: other = 7, nothing of the kind is computed now", False),
        ({"conditions": {"step": "True"}}, "says conditions: step = True, recomputed local_lr <= 1", False),
        ({"facts": {"somebody takes part": 1}}, "says facts: somebody takes part = 1, recomputed True", False),
        ({"trial_in_words": "Any clients."}, "says trial_in_words = Any clients., recomputed ", True),
        ({"needs": "luck"}, "says needs = luck, nothing of the kind is computed now", True),
        ({"claim_sha256": "0f"}, f"says claim_sha256 = 0f, recomputed {toy.false.digest}: the statement or", True),
    ],
)
def test_a_file_that_misstates_its_own_point_is_told_so(
    change: dict[str, object], note: str, good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        assert "note:" not in replay_file(path)[0]
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        assert replay_file(path)[1] is good
        text = replay_file(path)[0]
    assert f"note: the file {note}" in text
    assert "this point violates the claim" in text
    assert ("The file is not what was found" in text) is not good


def test_a_need_that_is_taken_out_of_a_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    entry = {"verdict": "conditional", "claim_sha256": "", "evidence": [{"verdict": "conditional", "hypothesis": "h"}]}
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        monkeypatch.setattr("analysis.witness.recorded", lambda: {"toy.false": entry})
        assert "note: the file does not say needs, recomputed h\n" in replay_file(path)[0]


def test_a_file_of_another_statement_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A swapped claim id once passed for a changed statement, and hid whatever else was altered."""
    path, other = tmp_path / "witness.json", "fast.thm1"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {"claim_sha256": ledger[other].digest, "left": "1"}))
        text, good = replay_file(path)
    assert not good
    assert f"note: the file has the hash of another statement, {other}\n" in text
    assert "note: the file says left = 1, recomputed " in text


def test_what_a_file_says_is_nothing_that_a_terminal_obeys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, clears = tmp_path / "witness.json", "\x1b[2J\u202e1"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        content = json.loads(path.read_text())
        constants = content["constants"] | {clears: clears}
        path.write_text(json.dumps(content | {"claim_sha256": clears, "constants": constants}))
        text, _ = replay_file(path)
    assert "the file says claim_sha256 = \\x1b[2J\\u202e1, " in text
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize("name", ["claim", "x"])
def test_a_name_that_stands_twice_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        path.write_text(path.read_text().replace(f'"{name}": ', f'"{name}": "1/4", "{name}": ', 1))
        with pytest.raises(InputError, match=f"no name stands twice, as '{name}' does"):
            replay_file(path)


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_that_is_missing_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != name}))
        with pytest.raises(
            InputError, match="schema 1" if name == "schema" else f"{name} of the witness must be there"
        ):
            replay_file(path)


def test_a_field_of_an_unknown_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        path.write_text(json.dumps(json.loads(path.read_text()) | {"Left": "1"}))
        with pytest.raises(InputError, match="without a field of another name, as 'Left' is"):
            replay_file(path)


@pytest.mark.parametrize(("verdict", "said"), [("conditional", True), ("refuted", False)])
def test_what_a_conditional_claim_needs_is_said_of_a_point_that_violates_it(
    verdict: str, said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that is true with a hypothesis is not to be accused without it, on the screen or in the file."""
    path = tmp_path / "witness.json"
    entry = {
        "verdict": verdict, "claim_sha256": toy.false.digest,
        "evidence": [{"verdict": verdict, "hypothesis": "fewer than 7 rounds"}],
    }  # fmt: skip
    for module in ("witness", "falsify_command"):
        monkeypatch.setattr(f"analysis.{module}.recorded", lambda: {"toy.false": entry})
    sentence = "that it does not state, and that this point lacks, wholly or in part. Needs: fewer than 7 rounds."
    with toy.installed(monkeypatch):
        assert (sentence in falsify_claim("toy.false", budget="20s", out=path)[0]) is said
        assert (sentence in replay_file(path)[0]) is said
        content = json.loads(path.read_text())
        assert content.get("needs") == ("fewer than 7 rounds" if said else None)
        content["point"]["rounds"] = 6
        path.write_text(json.dumps(content))
        text = replay_file(path)[0]
    assert "does not violate" in text
    assert sentence not in text


def test_a_point_that_does_not_violate_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {"point": content["point"] | {"rounds": 6}, "claim_sha256": "old"}))
        text, violated = replay_file(path)
    assert not violated
    assert "does not violate" in text
    assert "the statement or the file has changed" in text


@pytest.mark.parametrize("text", ["[" * 100_000, '{"schema": ' * 5_000, "9" * 5_000])
def test_a_file_without_end_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "witness.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a JSON file as"):
        replay_file(path)


def test_lists_within_lists_are_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "witness.json"
    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=path)
        content = json.loads(path.read_text())
        content["point"]["who"] = json.loads("[" * 600 + "]" * 600)
        path.write_text(json.dumps(content))
        with pytest.raises(InputError, match="coordinate who"):
            replay_file(path)


@pytest.mark.parametrize(("side", "said"), [(sympy.sqrt(2), True), (Fraction(1, 2), False)])
def test_how_irrational_sides_are_compared_is_said(
    side: object, said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate(claim: Claim, point: Point) -> Sides:
        """Rounded on the safe side."""
        return replace(toy.evaluate(claim, point), left=side)

    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=tmp_path / "w.json")
        told = replace(toy.trial, evaluate=evaluate)
        monkeypatch.setattr("analysis.witness.all_trials", lambda: {"toy.false": [told]})
        text = replay_file(tmp_path / "w.json")[0]
    assert "  Rounded on the safe side." in text
    assert ("  left irrational: compared with as many digits as decide it" in text) is said


@pytest.mark.parametrize(("left", "says"), [(Fraction(10**400), "beyond all floats"), (None, "can be computed")])
def test_sides_that_are_too_large_or_no_numbers(
    left: Fraction | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate(claim: Claim, point: Point) -> Sides:
        return replace(toy.evaluate(claim, point), left=1 / Fraction(0) if left is None else left)

    with toy.installed(monkeypatch):
        falsify_claim("toy.false", budget="20s", out=tmp_path / "w.json")
        changed = {"toy.false": [replace(toy.trial, evaluate=evaluate)]}
        monkeypatch.setattr("analysis.witness.all_trials", lambda: changed)
        if left is None:
            with pytest.raises(InputError, match=says):
                replay_file(tmp_path / "w.json")
        else:
            assert says in replay_file(tmp_path / "w.json")[0]
