"""Selecting, running, recording: results survive crashes, records match what is checked in."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis import verify as v
from analysis.checks import Check, all_checks, times
from analysis.cli import app
from analysis.cli.verify import _print_results
from analysis.evidence import Evidence
from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.verdicts import _source_sha256, checks_changed, recorded

ROOT = Path(__file__).parents[2]


def test_recorded_verdicts_are_not_stale() -> None:
    assert v.stale(v.select([])) == []
    assert set(recorded()) == set(ledger)
    for entry in recorded().values():
        assert bool(entry["check_sha256"]) == ("modules_sha256" in entry)
        assert not checks_changed(entry)
    assert (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8") == v.page(recorded())


def test_quick_checks_give_the_recorded_verdicts() -> None:
    results = list(v.run(v.select([]), "quick"))
    assert [r.claim.id for r in results] == list(ledger)
    assert not [r.crash for r in results if r.crash]
    assert v.differences(results) == []


def test_workers_do_not_change_the_results() -> None:
    claims = v.select(["fedau.facts", "fedau.C6.mean", "fedau.lemB61"])
    one, two = (v.to_json(list(v.run(claims, "quick", workers))) for workers in (1, 2))
    assert one == two


def test_selection_by_id_paper_and_alias() -> None:
    assert len(v.select(["fedau"])) == len(ledger.papers["fedau"].claims)
    chosen = [c.id for c in v.select(["fedau.thm3", "fedau.eq1", "fedau.thm3"])]
    assert chosen == ["fedau.eq1", "fedau.thm3"]
    with pytest.raises(InputError, match=r"did you mean .*fedau"):
        v.select(["fedua"])


def _checkout(root: Path) -> None:
    (root / "fltheory" / "data").mkdir(parents=True)
    (root / "docs").mkdir()


def test_a_crash_is_reported_and_loses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def crashes(claim: object, depth: object) -> Evidence:
        raise ZeroDivisionError("a bug in a check")

    def works(claim: object, depth: object) -> Evidence:
        return Evidence("exact", "m", "s")

    broken = [Check("fedau.eq1", function, (times("coefficient", 2),)) for function in (crashes, works)]
    monkeypatch.setattr(v, "all_checks", lambda: {"fedau.eq1": broken})
    (result,) = v.run(v.select(["fedau.eq1"]), "quick")
    assert "a bug in a check" in result.crash
    assert result.evidence == [Evidence("exact", "m", "s")]
    _checkout(tmp_path)
    with pytest.raises(InputError, match="crashed"):
        v.record([result], tmp_path)
    assert not list((tmp_path / "fltheory" / "data").iterdir())


@pytest.mark.parametrize("returned", [None, "fine", 1.0])
def test_a_check_that_returns_no_evidence_has_crashed(monkeypatch: pytest.MonkeyPatch, returned: object) -> None:
    broken = [Check("fedau.eq1", lambda claim, depth: returned, (times("coefficient", 2),))]  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(v, "all_checks", lambda: {"fedau.eq1": broken})
    result, other = v.run(v.select(["fedau.eq1", "fedau.eqB12"]), "quick")
    assert f"must return an Evidence; it returned {returned!r}" in result.crash
    assert (result.evidence, result.verdict, other.crash) == ([], "not checked", "")
    assert result.to_json()["verdict"] == "not checked"


def test_one_claim_is_counted_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    result = v.Result(ledger["fedau.eq1"], [Evidence("exact", "m", "s")])
    for results, words in (([result], "1 claim: 1 exact"), ([result] * 2, "2 claims: 2 exact")):
        _print_results(results)
        assert words in capsys.readouterr().out


def test_recording_part_of_the_claims_keeps_the_rest(tmp_path: Path) -> None:
    _checkout(tmp_path)
    v.record(list(v.run(v.select(["fedau.facts"]), "quick")), tmp_path)
    written = json.loads((tmp_path / "fltheory" / "data" / "verdicts.json").read_text(encoding="utf-8"))
    assert set(written["claims"]) == set(recorded())
    with pytest.raises(InputError, match="source checkout"):
        v.record([], tmp_path / "elsewhere")


def test_a_verdict_that_differs_is_named() -> None:
    (result,) = v.run(v.select(["fedau.facts"]), "quick")
    assert v.differences([result]) == []
    result.evidence.append(Evidence("refuted", "m", "s"))
    assert v.differences([result]) == ["fedau.facts: recorded exact, now refuted"]


def test_a_finding_that_differs_below_the_verdict_is_named() -> None:
    (result,) = v.run(v.select(["fedamd.eq55"]), "quick")
    assert (result.verdict, v.differences([result])) == ("refuted", [])
    (units,) = (check for check in all_checks()["fedamd.eq55"] if check.name == "homogeneous")
    falsified = units.mutants[0].apply(result.claim)
    result.evidence[-1] = units.function(falsified, "quick")
    assert v.differences([result]) == ["fedamd.eq55, by units: recorded proved, now inconsistent"]
    assert result.verdict == "refuted"


def test_evidence_is_stale_when_a_helper_of_its_check_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    check, *_ = all_checks()["fedau.thm3"]
    before, read = check.digest(), inspect.getsource

    def edited(thing: object) -> str:
        changed = "GRID_RATES = (1.0,)" if getattr(thing, "__name__", "").endswith("theorem3") else ""
        return read(thing) + changed  # type: ignore[arg-type]

    monkeypatch.setattr(inspect, "getsource", edited)
    assert check.digest() != before
    assert v.stale(v.select(["fedau.thm3"])) == ["fedau.thm3: its checks have changed"]


def test_a_list_and_a_page_say_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes

    def edited(file: Path) -> bytes:
        return read(file) + (b"GRID_RATES = (1.0,)" if file.parts[-2:] == ("fedau", "theorem3.py") else b"")

    monkeypatch.setattr(Path, "read_bytes", edited)
    _source_sha256.cache_clear()
    try:
        pages = {id_: CliRunner().invoke(app, ["show", id_]).stdout for id_ in ("fedau.thm3", "fedau.facts")}
        shown = {id_: json.loads(CliRunner().invoke(app, ["show", id_, "--json"]).stdout) for id_ in pages}
        listed = CliRunner().invoke(app, ["list", "--paper", "fedau"]).stdout.splitlines()
        entries = json.loads(CliRunner().invoke(app, ["list", "--paper", "fedau", "--json"]).stdout)
    finally:
        _source_sha256.cache_clear()
    said = {id_: "STALE: its checks have changed since this was recorded" in page for id_, page in pages.items()}
    assert said == {"fedau.thm3": True, "fedau.facts": False}
    assert {id_: page["checks_changed"] for id_, page in shown.items()} == said
    assert {id_: entries[id_]["checks_changed"] for id_ in said} == said
    told = {line.split()[0]: line.endswith("(STALE: its checks have changed)") for line in listed}
    assert (told["fedau.thm3"], told["fedau.facts"]) == (True, False)
