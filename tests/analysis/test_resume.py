"""A verification that was interrupted goes on where it was, and nothing stale is used again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis import resume
from analysis import verify as v
from fltheory.errors import InputError

NAMES = ["fedau.eq1", "fedau.facts", "fedau.lemB61"]


def verified(kept: Path) -> list[v.Result]:
    return list(resume.resumed(v.select(NAMES), "quick", 1, kept)[1])


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "new folder" / "kept.jsonl"
    whole = v.to_json(list(v.run(v.select(NAMES), "quick")))
    found, running = resume.resumed(v.select(NAMES), "quick", 1, kept)
    assert found == 0
    next(running), next(running)
    running.close()
    with kept.open("a", encoding="utf-8") as file:
        file.write('\n{"claim": "fedau.lemB61", "claim')  # a kill in the middle of a line
    ran: list[str] = []
    original = v.run

    def counted(claims, depth, workers=1):  # type: ignore[no-untyped-def]
        ran.extend(claim.id for claim in claims)
        return original(claims, depth, workers)

    monkeypatch.setattr(resume, "run", counted)
    assert v.to_json(verified(kept)) == whole
    assert len(ran) == 1
    assert resume.resumed(v.select(NAMES), "quick", 1, kept)[0] == len(NAMES)
    assert v.to_json(verified(kept)) == whole
    assert len(ran) == 1


def test_what_has_changed_is_checked_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    verified(kept)
    lines = [json.loads(line) for line in kept.read_text().splitlines() if line]
    lines[0]["claim_sha256"] = "old"
    lines[1]["check_sha256"] = ["old"]
    lines[1]["evidence"][0]["verdict"] = "refuted"
    kept.write_text("".join(json.dumps(line) + "\n" for line in lines))
    verified(kept)
    assert kept.read_text().count('{"claim"') == len(lines) + 2


def test_a_place_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="place to resume from"):
        verified(tmp_path)
