"""A disk that is full, and places where nothing can be written: one sentence, and nothing that is not whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.analysis.simulate_command.made import FILE
from tests.trust.kills import SWEPT, TRAINED, content, folder_with
from tests.trust.logs import ROUNDS
from tests.trust.runner import CACHE, Runner
from tests.trust.sound import unfinished, unsound

FILES = {
    "log.csv": ROUNDS.write_csv(),
    "points.csv": "0,1,2\n1,3,4\n" * 50,
    "x.toml": FILE,
    "trained.toml": TRAINED,
    "swept.toml": SWEPT,
    "fltheory/data/verdicts.json": "{}\n",
    "docs/verdicts.md": "old\n",
}
# What commands write, at PLACE or below it.
COMMANDS = {
    "weights": "weights log.csv --cutoff 5 --out PLACE/w.png",
    "simulate": "simulate x.toml --store PLACE/store",
    "train": "train trained.toml --store PLACE/store",
    "sweep": "sweep swept.toml --store PLACE/store",
    "figures": "figures fedau.figD41 --out PLACE/figures",
    "report": "report --out PLACE/report",
    "graph": "graph fast --out PLACE/g.svg",
    "falsify": "falsify fast.thm1 --budget 1s --out PLACE/w.json",
    "verify": "verify fedau.facts --depth quick --json PLACE/v.json",
    "record": "verify fedau.facts --depth quick --record",
    "export": "results export RUN PLACE/e.csv --store kept",
    "fetch": "data fetch mine --file points.csv",
    "trace simulate": "trace simulate x.toml --clients 3 --out PLACE/t.parquet",
}
SIZES = (0, 300, 2000, 10_000)  # bytes to which a file can grow


def full_disks(run: Runner, names: list[str], sizes: tuple[int, ...] = SIZES) -> list[str]:
    """What is wrong after each command where files cannot grow beyond a size, and where a folder is a file."""
    faults: list[str] = []
    with TemporaryDirectory(prefix="full-") as name:
        folder = folder_with(Path(name), FILES)
        kept = run(["simulate", "x.toml", "--store", "kept"], folder).out.split()[0]
        before = content(folder)
        for command in names:
            below_a_file = [("log.csv", None)] if "PLACE" in COMMANDS[command] else []
            for place, largest in (*((".", size) for size in sizes), *below_a_file):
                line = COMMANDS[command].replace("PLACE", place).replace("RUN", kept)
                outcome = run(line.split(), folder, largest_file=largest)
                why = _wrong(outcome.code, outcome.err, folder, before)
                if largest is None and outcome.code == 0:
                    why = "it wrote below a file"
                if why:
                    faults.append(f"{line}, files of at most {largest} bytes: {why}; {outcome.err[-700:]}")
                shutil.rmtree(folder / CACHE, ignore_errors=True)
    return faults


def _wrong(code: int, said: str, folder: Path, before: dict[str, bytes]) -> str:
    if code not in (0, 1, 2):
        return f"exit code {code}"
    told = [line for line in said.splitlines() if line.startswith("fltheory: ")]
    if "Traceback" in said or "panicked" in said or (code == 2 and len(told) != 1):
        return "not one sentence"
    if bad := unsound(folder) + unfinished(folder):
        return f"left behind: {bad}"
    now = content(folder)
    changed = [name for name, old in before.items() if now.get(name) != old]
    return f"changed: {changed}" if changed else ""
