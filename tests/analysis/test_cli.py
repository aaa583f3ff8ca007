"""The command as a user types it: output, exit codes, one sentence for bad input."""

from __future__ import annotations

import json
import os
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


def test_it_is_the_package_analysis_too() -> None:
    command = [sys.executable, "-m", "analysis", "lst"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (2, run("lst").stderr)


def test_list_reads_the_recorded_verdicts() -> None:
    done = run("list", "--paper", "fedau", "--verdict", "proved")
    assert done.returncode == 0
    assert "fedau.lemB61" in done.stdout
    assert "fedau.thm3 " not in done.stdout
    taken_part = " (needs: every client has taken part (t > I), and"
    for id_, needs, why in (
        ("amplified.thm31", "", "customary; not printed"),
        ("fedlaavg.eq24", taken_part, "as the proof of Lemma 3 has it"),
    ):
        (line,) = (line for line in run("list", "--paper", id_.split(".")[0]).stdout.splitlines() if f"{id_} " in line)
        assert needs in line
        assert line.endswith(f" (read with: noise independent over clients ({why}))")
    entries = json.loads(run("list", "--json").stdout)
    assert entries["fedau.thm3"]["verdict"] == "exact"


def test_show_as_text_latex_and_json() -> None:
    text = run("show", "fedau.eqB68a").stdout
    for part in ("verdict: conditional", "needs: t >= K", "use instead fedau.law.mean: ", "rerun: fltheory verify"):
        assert part in text
    assert "read with: noise independent over clients" in " ".join(run("show", "amplified.thm31").stdout.split())
    both = " ".join(run("show", "fedlaavg.thm3").stdout.split())
    assert "needs: the availability sets do not depend on the sampled data read with: noise independent over" in both
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
    "id in capitals": (["show", "FEDAU.THM3"], "did you mean fedau.thm3?"),
    "id without its paper": (["show", "facts"], "did you mean fedau.facts"),
    "unknown paper to verify": (["verify", "fedua"], "did you mean fedau"),
    "unknown paper to list": (["list", "--paper", "fedua"], "did you mean fedau"),
    "unknown verdict": (["list", "--verdict", "provd"], "did you mean proved"),
    "unknown depth": (["verify", "--depth", "deeep"], "deep"),
    "no workers": (
        ["verify", "fedau.facts", "--workers", "0"],
        "--workers must be a whole number of at least 1; got '0'",
    ),
    "a depth that is nearly one": (
        ["verify", "--depth=quik"],
        "--depth must be one of deep, default, quick (did you mean",
    ),
    "record outside a checkout": (["verify", "fedau.facts", "--depth", "quick", "--record"], "source checkout"),
    "json into nowhere": (
        ["verify", "fedau.facts", "--depth", "quick", "--json", "no/y.json"],
        "in a folder that is there",
    ),
    "a witness into nowhere": (["falsify", "fedau.thm3", "--out", "no/w.json"], "in a folder that is there"),
    "a graph into nowhere": (["graph", "fedau", "--out", "no/g.svg"], "in a folder that is there"),
    "a plot into nowhere": (["weights", "LOG", "--cutoff", "5", "--out", "no/w.png"], "in a folder that is there"),
    "a report over something else": (["report", "--out", "."], "a new folder, an empty one or an older report"),
    "figures into a file": (["figures", "--out", "LOG"], "--out must be a folder, which this is not; got"),
    "json into a folder": (["verify", "fedau.facts", "--depth", "quick", "--json", "."], "name of a file"),
    "far too many workers": (["verify", "fedau.facts", "--workers", "100000"], "workers must be at most"),
    "plot without a name": (["weights", "LOG", "--cutoff", "5", "--out", ""], ".png, .svg or .pdf"),
    "plot of another kind": (["weights", "LOG", "--cutoff", "5", "--out", "plot.gif"], ".png, .svg or .pdf"),
    "plot over the clients": (
        ["weights", "LOG", "--cutoff", "5", "--clients", "who.png", "--out", "who.png"],
        "another file",
    ),
    "a name that is too long": (["weights", "LOG", "--cutoff", "5", "--out", "a" * 300 + ".png"], "name of a file"),
    "clients that are no digits": (["weights", "LOG", "--cutoff", "5", "--clients", "\u00b2"], "clients"),
    "clients without a name": (["weights", "LOG", "--cutoff", "5", "--clients", ""], "a number or a file"),
    "budget of nothing": (["falsify", "fedau.thm3", "--budget", "0"], "positive time"),
    "nothing to falsify": (["falsify", "fedau.C6"], "points to try"),
    "witness that is not there": (["replay", "no.json"], "can be read"),
    "witness that is none": (["replay", "LOG"], "JSON"),
    "graph of an unknown paper": (["graph", "fedua"], "did you mean fedau"),
    "LaTeX as JSON": (["show", "fedau.thm3", "--json", "--latex"], "--latex must be left out where --json is given"),
    "a paper where a claim is asked": (["show", "fedau"], "not of a paper"),
    "a log whose name is too long": (["weights", "a" * 300, "--cutoff", "5"], "(File name too long); got 'aaa"),
    "a store whose name is too long": (["tables", "--store", "a" * 300], "(File name too long); got 'aaa"),
    "log that is not there": (["weights", "no.csv", "--cutoff", "5"], "no.csv"),
    "cutoff zero": (
        ["weights", "LOG", "--cutoff", "0"],
        "--cutoff must be a whole number of at least 1, or infinity; got 0\n",
    ),
    "cutoff between floats": (
        ["weights", "LOG", "--cutoff", "9007199254740993"],
        "--cutoff must be at most 2**53, or infinity; got 9007199254740993",
    ),
    "cutoff with a fraction": (["weights", "LOG", "--cutoff", "2.5"], "cutoff"),
    "cutoff nan": (["weights", "LOG", "--cutoff", "nan"], "cutoff"),
    "cutoff a word": (["weights", "LOG", "--cutoff", "many"], "cutoff"),
    "log beyond its rounds": (["weights", "LOG", "--cutoff", "5", "--rounds", "10"], "rounds"),
    "fewer clients than the log": (["weights", "LOG", "--cutoff", "5", "--clients", "nobody.txt"], "nobody.txt"),
    "unknown data": (["data", "fetch", "phone-activty"], "phone-activity"),
    "the beginning of a name": (["data", "fetch", "phone"], "did you mean phone-activity?"),
    "unknown figure": (
        ["figures", "fedau.weight"],
        "of a figure must be one of those that `fltheory figures --list` lists (did you mean fedau.weight_error_",
    ),
    "unknown table": (["tables", "tab1"], "`fltheory tables --list` lists (did you mean fast.tab1, "),
    "a table among figures": (["figures", "fedau.tab1"], "lists (this one is for `fltheory tables`); got 'fedau.tab1'"),
    "a paper without tables": (["tables", "ledger"], "lists (this one is for `fltheory figures`); got 'ledger'"),
    "a store that is a file": (["figures", "--store", "LOG"], "--store must be a folder, which this is not; got"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_exit_2(case: str, log: Path) -> None:
    arguments, part = BAD[case]
    (log.parent / "who.png").write_text("1\n2\n")
    done = run(*(str(log) if a == "LOG" else a for a in arguments), cwd=log.parent)
    assert (log.parent / "who.png").read_text() == "1\n2\n"
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("fltheory: ")
    assert part in done.stderr
    assert not (log.parent / "no").exists()


def test_figures_and_tables_are_listed_without_being_made(tmp_path: Path) -> None:
    for kind, names in (("figures", ["fedau.fig1", "ledger.tightness"]), ("tables", ["fast.tab1"])):
        done = run(kind, "--list", *names, cwd=tmp_path)
        assert [line.split()[0] for line in done.stdout.splitlines()] == names
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["show", "fedau.thm3"]])
def test_a_reader_that_leaves_early_is_no_verdict(arguments: list[str]) -> None:
    """A closed pipe, before anything was written and in the middle: quiet, and not the exit code of a difference."""
    for wanted in (0, 1):
        with subprocess.Popen(
            [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        ) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            child.stdout.read(wanted)
            child.stdout.close()
            said = child.stderr.read().decode()
        assert child.returncode in (0, 141)
        assert "Traceback" not in said
        assert "Broken" not in said


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["list"], ["list", "--help"], ["verify", "fedau.facts", "--depth", "quick"]])
def test_output_that_cannot_be_written_is_one_sentence(arguments: list[str], unbuffered: str) -> None:
    """Whether the first line fails or the last one does, when all is flushed."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [COMMAND, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "fltheory: standard output must be something that can be written (No space left on device)"
    )


def test_an_error_that_is_not_of_the_output_is_not_taken_for_one() -> None:
    patched = "import analysis.show; from analysis import cli, show; show.claim_as_text = lambda *_: open('/no/file')"
    code = f"{patched}; import sys; sys.argv[1:] = ['show', 'fedau.thm3']; cli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "FileNotFoundError" in done.stderr


def test_ctrl_c_says_which_commands_go_on() -> None:
    patched = "from analysis import cli, show; show.claim_as_text = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)"
    code = f"import analysis.show; {patched}; import sys; sys.argv[1:] = ['show', 'fedau.thm3']; cli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith("fltheory: interrupted; ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [[], ["results"]])
def test_a_command_that_asks_nothing_gets_help(command: list[str]) -> None:
    done = run(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: fltheory")


@pytest.mark.parametrize("command", ["list", "show fedau.thm3", "show no-such-claim"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_as_good_as_none(command: str, closed: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{COMMAND} {command} {closed}"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if "no-such" in command else 0)
    assert "tells the rest" not in done.stdout  # what belongs to stderr is no output


@pytest.mark.parametrize("command", [["list"], ["show", "fedau.thm3"], ["verify", "fedau.facts", "--depth", "quick"]])
@pytest.mark.parametrize("text", ["{bad", '{"claims": [1]}', '{"claims": {"fedau.facts": {"title": "no more"}}}'])
def test_a_damaged_record_of_verdicts_is_one_sentence(command: list[str], text: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "verdicts.json").write_text(text)
    patched = f"import fltheory.verdicts as v; v.files = lambda _: __import__('pathlib').Path({str(tmp_path)!r})"
    code = f"{patched}; import sys; sys.argv[1:] = {command!r}; from analysis.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("fltheory: the recorded verdicts in ")


def test_algorithms_with_their_costs() -> None:
    listed = json.loads(run("algorithms", "--json", "--clients", "10", "--dimension", "100", "--itemsize", "8").stdout)
    assert listed["algorithms"]["fedavg"] == {
        "source": "FedAU, Algorithm 1", "server_bytes": 800, "client_bytes": 0, "down": 1, "up": 1
    }  # fmt: skip
    assert listed["algorithms"]["mifa"]["server_bytes"] == 800 * 11 + 8 * 10
    assert "Poisson-binomial" in listed["weighting_rules"]["average_participating"]
    assert "scaffold" in run("algorithms").stdout


SMALL = """\
kind = "simulate"
rounds = 20
replicates = 8
[problem]
name = "quadratic"
curvature = [1, 2]
centre = [0, 1]
[process]
name = "bernoulli"
p = 0.5
[[algorithm]]
name = "fedavg"
local_lr = 0.1
"""


def test_nothing_drawn_is_a_failure_that_names_the_file(tmp_path: Path) -> None:
    done = run("figures", "fedau.figD22", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "table1-cifar10-bernoulli.toml is not in this folder; type the same in the one that has it" in done.stderr


def test_simulate_and_look_at_the_results(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    done = run("simulate", "small.toml", "--store", "kept", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    key = done.stdout.split()[0]
    assert key in run("results", "list", "--store", "kept", cwd=tmp_path).stdout
    assert "fedavg" in run("results", "show", key, "--store", "kept", cwd=tmp_path).stdout
    assert run("results", "diff", key, key, "--store", "kept", cwd=tmp_path).stdout.startswith("same bits")
    assert run("results", "export", key, "out.csv", "--store", "kept", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out.csv").read_text().startswith("algorithm,")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (("rounds = 20", "rounds = 0"), "rounds"),
        (("fedavg", "fedavgg"), "did you mean fedavg"),
        (("bernoulli", "bernouli"), "did you mean bernoulli"),
        (("local_lr = 0.1", "local_lrr = 0.1"), "local_lr"),
        (("p = 0.5", "p = [0.5, 0.5, 0.5]"), "clients"),
        (('kind = "simulate"', 'kind = "train"'), "train"),
        (('kind = "simulate"', "kind = "), "TOML"),
    ],
)
def test_a_bad_experiment_is_one_sentence(tmp_path: Path, change: tuple[str, str], part: str) -> None:
    assert change[0] in SMALL
    (tmp_path / "bad.toml").write_text(SMALL.replace(*change))
    done = run("simulate", "bad.toml", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert part in done.stderr
