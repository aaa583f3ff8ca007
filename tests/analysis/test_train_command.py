"""`fltheory train` and `fltheory sweep`, from the file to what is printed; on digits, which come with scikit-learn."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr
from io import StringIO

import pytest

from analysis.cli import main
from analysis.train_command import sweep_file, train_file
from fltheory.errors import InputError
from sims import store as stored
from sims.experiment import read

pytest.importorskip("torch", reason="needs the training extra")
pytest.importorskip("sklearn", reason="needs the training extra")
from sims.training.run import train

pytestmark = pytest.mark.torch

FILE = """
kind = "train"
rounds = 400
replicates = 2
problem = { name = "training", data = "digits", model = "logistic", partition = { name = "iid", n_clients = 10 } }
process = { name = "bernoulli", p = 0.5 }
record = { what = ["train_loss", "test_accuracy"], every = 20 }
[[algorithm]]
name = "fedavg"
local_lr = 0.1
[[algorithm]]
name = "fedlaavg"
local_lr = 0.1
[scale.smoke]
rounds = 4
replicates = 1
record = { every = 2 }
[sweep]
local_lr = [0.01, 0.1]
global_lr = [1, 2]
metric = "test_accuracy"
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.toml").write_text(FILE)
    return tmp_path / "e.toml"


def test_train_prints_what_each_algorithm_came_to(file, capsys):
    text = train_file(file, scale="smoke", changes={}, store="s")
    assert "complete" in text
    assert "fedlaavg   test_accuracy" in text
    told = capsys.readouterr().err
    assert "fedavg needs about" in told
    assert "of it for evaluation" in told
    with redirect_stderr(StringIO()) as elsewhere:  # the standard error of each call, not that of the first
        train_file(file, scale="smoke", changes={"memory": "disk"}, store="t")
    assert "on disk for clients' tables" in elsewhere.getvalue()
    train_file(file, scale="smoke", changes={"memory": "disk"}, store="s")
    assert "on disk for clients' tables" in capsys.readouterr().err
    found = json.loads(train_file(file, scale="smoke", changes={}, store="s", as_json=True))
    assert found["experiment"]["kind"] == "train"
    assert {row["algorithm"] for row in found["last"]} == {"fedavg", "fedlaavg"}


def test_another_engine_is_another_run_with_the_same_numbers(file):
    """To rounding in single precision."""
    runs = []
    for engine in ("layered", "sequential"):
        train_file(file, scale="smoke", changes={"engine": engine, "precision": "float64"}, store=engine)
        runs.append(stored.runs(engine)[0])
    assert runs[0].key != runs[1].key
    one, two = (run.data()["train_loss"].to_list() for run in runs)
    assert one == pytest.approx(two, rel=1e-12)


def test_sweep_marks_the_best_pair_and_finds_what_is_there(file):
    text, without = sweep_file(file, scale="smoke", changes={}, store="s")
    assert without == []
    assert text.count(" best") == 2
    assert len(text.splitlines()) == 1 + 2 * 2 + 1
    marked = {line.split()[0]: line.partition(" best")[2] for line in text.splitlines() if " best" in line}
    largest = ", local_lr the largest tried"
    assert marked == {"fedavg": f"{largest}, global_lr the largest tried", "fedlaavg": largest}
    before = sorted(run.folder.stat().st_mtime_ns for run in stored.runs("s"))
    found = json.loads(sweep_file(file, scale="smoke", changes={}, store="s", as_json=True)[0])
    assert set(found["best"]) == {"fedavg", "fedlaavg"}
    assert found["best"]["fedlaavg"]["global_lr"] is None
    assert sorted(run.folder.stat().st_mtime_ns for run in stored.runs("s")) == before


def call(monkeypatch, *arguments):
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["fltheory", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code or 0


@pytest.mark.parametrize(("steps", "without"), [("0.1, 1e30", ""), ("1e30", "fedavg, fedlaavg")])
def test_a_sweep_in_which_an_algorithm_always_diverged_says_so(steps, without, file, capsys, monkeypatch):
    file.write_text(FILE.replace("local_lr = [0.01, 0.1]", f"local_lr = [{steps}]"))
    code = call(monkeypatch, "sweep", "e.toml", "--scale", "smoke", "--store", "s")
    out, err = capsys.readouterr()
    assert "nan" in out
    told = [line.split(" stopped: ") for line in out.splitlines() if " stopped: " in line]
    assert [key for key, _ in told] == [line.split()[-1] for line in out.splitlines() if " nan " in line]
    assert all(re.match(r"fed(la)?avg, replicate 0: round \d: the update of client \d+ is no", why) for _, why in told)
    assert code == (1 if without else 0)
    said = f"no step sizes brought {without} to the end"
    assert (said in err) == bool(without)


def test_the_list_says_where_tables_were(file, capsys, monkeypatch):
    train_file(file, scale="smoke", changes={}, store="s")
    train_file(file, scale="smoke", changes={"memory": "disk"}, store="s")
    capsys.readouterr()
    assert call(monkeypatch, "results", "list", "--store", "s") == 0
    head, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert sorted(row[head.index("memory") + 1] for row in rows) == ["device", "disk"]  # two algorithms


def test_a_run_that_is_interrupted_and_killed_goes_on_with_the_same_bits(file):
    """Ctrl-C in the second of four, kill -9 in the third, each after a checkpoint; nothing of it stays."""

    def interrupt(name, *_):
        if name == "1-0":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(read(file), store="killed", progress=interrupt)
    (interrupted,) = stored.runs("killed")
    assert interrupted.data()["algorithm"].unique().to_list() == ["fedavg"]
    script = "import sys; from analysis.cli import main; sys.argv[0] = 'fltheory'; main()"
    command = [sys.executable, "-c", script, "train", "e.toml", "--store", "killed"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(file.parent.glob("killed/*/runs/0-1.checkpoint.npz")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert stored.runs("killed") == [interrupted]
    train_file(file, changes={}, store="killed")
    train_file(file, changes={}, store="whole")
    (resumed,), (whole,) = stored.runs("killed"), stored.runs("whole")
    assert resumed.sha256 == whole.sha256
    assert {one.name for one in resumed.folder.iterdir()} == {"complete.json", f"{whole.sha256}.parquet"}


def test_bad_options_are_one_sentence(file, capsys, monkeypatch):
    for arguments, sentence in (
        (["--scale", "laptop"], "scale must be one of smoke"),
        (["--device", "cuda"], "device must be one that is there"),
        (["--device", "meta"], "device must be one that computes, such as cpu or cuda"),
        (["--memory", "dsk"], "memory must be one of device, disk, host"),
        (["--engine", "vmpa"], "did you mean vmap"),
        (["--workers", "100000"], "workers must be at most"),
    ):
        monkeypatch.setattr(sys, "argv", ["fltheory", "train", "e.toml", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        message = capsys.readouterr().err
        assert sentence in message
        assert message.count("\n") == 1
    (file.parent / "plain.toml").write_text(FILE.partition("[sweep]")[0])
    with pytest.raises(InputError, match="sweep must be a table"):
        sweep_file(file.parent / "plain.toml", scale="smoke", changes={})
