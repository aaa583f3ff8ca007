"""The command as a user types it: output, exit codes, one sentence for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("fltheory")


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, cwd=cwd)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text("client,round\n" + "".join(f"{c},{t}\n" for c in "ab" for t in range(0, 40, 2 if c == "a" else 5)))
    return path


def test_list_reads_the_recorded_verdicts() -> None:
    done = run("list", "--paper", "fedau", "--verdict", "proved")
    assert done.returncode == 0
    assert "fedau.lemB61" in done.stdout
    assert "fedau.thm3 " not in done.stdout
    entries = json.loads(run("list", "--json").stdout)
    assert entries["fedau.thm3"]["verdict"] == "exact"


def test_show_as_text_latex_and_json() -> None:
    text = run("show", "fedau.eqB68a").stdout
    for part in ("verdict: conditional", "needs: t >= K", "use instead: fedau.law.mean", "rerun: fltheory verify"):
        assert part in text
    assert r"\frac" in run("show", "fedau.thm3", "--latex").stdout
    shown = json.loads(run("show", "fedau.thm3", "--json").stdout)
    assert shown["recorded"]["verdict"] == "exact"
    assert shown["bound"]["order"].startswith("O(")


def test_verify_some_claims_writes_json(tmp_path: Path) -> None:
    done = run("verify", "fedau.facts", "--depth", "quick", "--json", "out.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 exact" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["claims"]["fedau.facts"]["verdict"] == "exact"


def test_weights_of_a_log(log: Path) -> None:
    done = run("weights", str(log), "--cutoff", "10", "--rounds", "50", cwd=log.parent)
    assert done.returncode == 0, done.stderr
    assert (log.parent / "weights.png").stat().st_size > 1000
    report = json.loads(run("weights", str(log), "--cutoff", "inf", "--json", cwd=log.parent).stdout)
    assert report


BAD = {
    "unknown command": (["lst"], "Did you mean 'list'"),
    "unknown option": (["list", "--bogus"], "--bogus"),
    "missing id": (["show"], "ID"),
    "unknown id": (["show", "fedau.thm33"], "did you mean fedau.thm3"),
    "unknown paper to verify": (["verify", "fedua"], "did you mean fedau"),
    "unknown paper to list": (["list", "--paper", "fedua"], "did you mean fedau"),
    "unknown verdict": (["list", "--verdict", "provd"], "did you mean proved"),
    "unknown depth": (["verify", "--depth", "deeep"], "deep"),
    "no workers": (["verify", "fedau.facts", "--workers", "0"], "--workers"),
    "record outside a checkout": (["verify", "fedau.facts", "--depth", "quick", "--record"], "source checkout"),
    "json into nowhere": (["verify", "fedau.facts", "--depth", "quick", "--json", "/proc/x/y.json"], "can be written"),
    "log that is not there": (["weights", "no.csv", "--cutoff", "5"], "no.csv"),
    "cutoff zero": (["weights", "LOG", "--cutoff", "0"], "cutoff"),
    "cutoff with a fraction": (["weights", "LOG", "--cutoff", "2.5"], "cutoff"),
    "cutoff nan": (["weights", "LOG", "--cutoff", "nan"], "cutoff"),
    "cutoff a word": (["weights", "LOG", "--cutoff", "many"], "cutoff"),
    "log beyond its rounds": (["weights", "LOG", "--cutoff", "5", "--rounds", "10"], "rounds"),
    "fewer clients than the log": (["weights", "LOG", "--cutoff", "5", "--clients", "nobody.txt"], "nobody.txt"),
    "unknown data": (["data", "fetch", "phone-activty"], "phone-activity"),
    "unknown figure": (["figures", "fedau.weight"], "did you mean"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_exit_2(case: str, log: Path) -> None:
    arguments, part = BAD[case]
    done = run(*(str(log) if a == "LOG" else a for a in arguments), cwd=log.parent)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("fltheory: ")
    assert part in done.stderr
