"""kill -9 at random moments: what is left is whole, and the command run again gives the bits of an unbroken run."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.analysis.simulate_command.made import FILE
from tests.trust.runner import CACHE, KILLED, Runner
from tests.trust.sound import finished, unsound
from tests.trust.texts import TRAINING

SIMULATION = FILE.replace("rounds = 30", "rounds = 60").replace("replicates = 23", "replicates = 1500")
TRAINED = TRAINING.replace("rounds = 2", "rounds = 40").replace("every = 1", "every = 5")
SWEPT = TRAINING.replace("rounds = 2", "rounds = 10").replace("[0.1]\nglobal_lr", "[0.05, 0.1]\nglobal_lr")

CLAIMS = ["fedau.eq1", "fedau.facts", "fedau.lemB61", "fast.thm1", "fedlaavg.thm1"]  # quick ones

# Each with the files that are there.
COMMANDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "verify": (
        ["verify", *CLAIMS, "--depth", "deep", "--record", "--json", "found.json"],
        {"fltheory/data/verdicts.json": "{}", "docs/verdicts.md": "old\n"},
    ),
    "simulate": (["simulate", "x.toml"], {"x.toml": SIMULATION}),
    "train": (["train", "x.toml", "--checkpoint", "5"], {"x.toml": TRAINED}),
    "sweep": (["sweep", "x.toml"], {"x.toml": SWEPT}),
}


def kills(run: Runner, command: str, trials: int, number: int = 0) -> tuple[list[str], int]:
    """Kill a command at random moments, some twice; what was wrong after it, and how often it was killed as it ran."""
    arguments, files = COMMANDS[command]
    faults, killed, random = [], 0, Random(number)
    with TemporaryDirectory(prefix="kills-") as name:
        whole = folder_with(Path(name), files)
        unbroken = run(arguments, whole)
        assert unbroken.code == 0, unbroken.err
        for _ in range(trials):
            folder = folder_with(Path(name), files)
            for _ in range(random.choice((1, 1, 2))):
                outcome = run(arguments, folder, seconds=random.uniform(0, unbroken.seconds))
                killed += outcome.code == KILLED
                faults += [f"killed after {outcome.seconds:.3f} s: {bad}" for bad in unsound(folder)]
            again = run(arguments, folder)
            if again.code != 0 or content(folder) != content(whole):
                faults.append(f"killed after {outcome.seconds:.3f} s, run again: exit {again.code}, {again.err}")
            shutil.rmtree(folder)
    return faults, killed


def folder_with(home: Path, files: dict[str, str]) -> Path:
    folder = Path(tempfile.mkdtemp(dir=home))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """All files under their final names, but for the cache: what a deep verification keeps there has seconds in it."""
    return {name: path.read_bytes() for name, path in finished(folder).items() if not name.startswith(CACHE)}
