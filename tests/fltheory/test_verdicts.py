"""The recorded verdicts: a file that is not what was recorded is refused in one sentence, never read in part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.verdicts import (
    _source_sha256,
    because,
    checks_changed,
    needs,
    reading,
    recorded,
    sources_sha256,
)

EVIDENCE: dict[str, Any] = {"verdict": "exact", "method": "exact grid", "summary": "No violation."}
ENTRY = {
    "title": "A law", "where": "ours", "verdict": "exact", "claim_sha256": "0", "check_sha256": [],
    "evidence": [EVIDENCE],
}  # fmt: skip


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in ENTRY.items() if key != name}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "data").mkdir()
    monkeypatch.setattr("fltheory.verdicts.files", lambda package: tmp_path)
    return lambda text: (tmp_path / "data" / "verdicts.json").write_text(text, encoding="utf-8")


def test_what_was_recorded_is_read_and_nothing_is_nothing(write: Any) -> None:
    assert recorded() == {}
    write(json.dumps({"schema": 1, "claims": {"a.b": ENTRY}}))
    assert recorded() == {"a.b": ENTRY}


@pytest.mark.parametrize(
    "text",
    [
        "{bad",
        "",
        "[" * 100_000,
        "[]",
        "7",
        "{}",
        '{"claims": []}',
        '{"claims": null}',
        '{"claims": {"a.b": 1}}',
        *(json.dumps({"claims": {"a.b": without(name)}}) for name in ENTRY),
        json.dumps({"claims": {"a.b": ENTRY | {"verdict": "perhaps"}}}),
        json.dumps({"claims": {"a.b": ENTRY | {"verdict": ["exact"]}}}),
        json.dumps({"claims": {"a.b": ENTRY | {"evidence": [1]}}}),
        json.dumps({"claims": {"a.b": ENTRY | {"evidence": []}}}),
        *(
            json.dumps({"claims": {"a.b": ENTRY | {name: value}}})
            for name, value in [
                ("reason", 5),
                ("reason", None),
                ("check_sha256", [1]),
                ("check_modules", [1]),
                ("modules_sha256", None),
                ("kind", []),
                ("repaired_by", {}),
            ]
        ),
        *(
            json.dumps({"claims": {"a.b": ENTRY | {"evidence": [EVIDENCE, EVIDENCE | {name: value}]}}})
            for name, value in [
                ("verdict", "perhaps"),
                ("verdict", ["exact"]),
                ("method", 1),
                ("hypothesis", 1),
                ("reading", 1),
                ("domain", None),
                ("cases", True),
                ("cases", 1.5),
                ("cases", "3"),
                ("largest", "x"),
                ("largest", True),
                ("largest", None),
                ("largest_at", {"p": None}),
                ("largest_at", []),
                ("witness", []),
                ("witness", {"x": {"y": 1}}),
                ("witness", {"x": [1]}),
            ]
        ),
    ],
)
def test_a_damaged_file_is_one_sentence(write: Any, text: str) -> None:
    write(text)
    with pytest.raises(InputError, match=r"^the recorded verdicts in .*verdicts.json must be as .* wrote them"):
        recorded()


def test_everything_a_record_may_hold_is_read(write: Any) -> None:
    more = {
        "domain": "p",
        "hypothesis": "h",
        "reading": "r",
        "cases": 3,
        "largest": 1,
        "largest_at": {"p": 0.1, "K": 2},
    }
    full = EVIDENCE | more | {"witness": {"x": "1/3", "holds": True, "left": 2, "right": float("inf")}}
    entry = ENTRY | {"evidence": [full], "kind": "lemma", "origin": "paper", "reason": "r", "repaired_by": "a.c"}
    entry |= {"check_modules": ["a.b"], "modules_sha256": "0"}
    write(json.dumps({"claims": {"a.b": entry}}))
    assert recorded() == {"a.b": entry}
    full["largest"] = "inf"
    write(json.dumps({"claims": {"a.b": entry}}))
    assert recorded() == {"a.b": entry}


def test_changed_checks_are_seen_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, modules = tmp_path / "imported_by_nobody", ["imported_by_nobody", "imported_by_nobody.inner.checks"]
    (package / "inner").mkdir(parents=True)
    for file in (package / "__init__.py", package / "inner" / "__init__.py"):
        file.write_text("raise AssertionError")
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for source in (b"GRID = 1\n", b"GRID = 1\r\n", b"GRID = 2\n", None):
        file = package / "inner" / "checks.py"
        file.unlink() if source is None else file.write_bytes(source)
        _source_sha256.cache_clear()
        digests.append(sources_sha256(modules))
    one, other_newline, two, gone = digests
    assert one == other_newline
    assert len({one, two, gone}) == 3
    entry = ENTRY | {"check_modules": modules, "modules_sha256": two}
    assert checks_changed(entry)
    assert not checks_changed(entry | {"modules_sha256": gone})
    assert not checks_changed(ENTRY)  # without checks


def test_a_conditional_verdict_says_what_it_needs() -> None:
    found = {"verdict": "conditional", "summary": "A statement about coins.", "hypothesis": "a coin decides."}
    units = {"verdict": "conditional", "summary": "Not homogeneous.", "hypothesis": "fixed units"}
    entry = {"verdict": "conditional", "evidence": [found, units, found]}
    assert because(entry) == "A statement about coins. Needs: a coin decides; fixed units."
    assert needs(entry) == "a coin decides; fixed units"
    assert because({"verdict": "not checked", "reason": "Assumption", "evidence": []}) == "Assumption"


def test_a_verdict_under_a_customary_reading_says_so() -> None:
    proof = {"verdict": "proved", "summary": "By induction.", "reading": "noise independent over clients"}
    entry = {"verdict": "exact", "evidence": [{"verdict": "exact", "summary": "On a grid."}, proof]}
    assert because(entry) == "On a grid. Read with: noise independent over clients."
    assert (reading(entry), needs(entry)) == ("noise independent over clients", "")
    wrong = {"verdict": "inconsistent", "evidence": [{"verdict": "inconsistent", "summary": "A slip."}, proof]}
    assert because(wrong) == "A slip."
    coins = proof | {"verdict": "conditional", "summary": "True for coins.", "hypothesis": "coins"}
    assert because({"verdict": "conditional", "evidence": [coins]}) == (
        "True for coins. Needs: coins. Read with: noise independent over clients."
    )


def test_every_reading_says_where_it_is_from_and_stands_at_an_assumption() -> None:
    named = {id_: reading(entry) for id_, entry in recorded().items() if reading(entry)}
    assert len(named) > 20
    ends = ("(customary; not printed)", "(as the proof of Lemma 3 has it)")
    assert all(text.endswith(ends[id_.startswith("fedlaavg.")]) for id_, text in named.items())
    for id_ in named:
        assumed = [a.gap for a in ledger[id_].assumes]
        assert any("is not printed. It is read into the assumption, as is customary" in gap for gap in assumed), id_
