"""What the suite samples, in full: `python -m tests.trust fuzz`, `kills`, `disks`; exit code 1 for any fault."""

from __future__ import annotations

from typing import Annotated

import typer

from tests.trust import full_disk, fuzz, kills
from tests.trust.runner import Runner

app = typer.Typer(add_completion=False)


@app.command("fuzz")
def fuzz_all(
    n: Annotated[int, typer.Option(help="Cases of each kind.")] = 1000,
    kind: Annotated[list[str] | None, typer.Option(help="Only these kinds.")] = None,
    seed: int = 0,
) -> None:
    """Malformed logs, experiments, plans, witnesses and command lines."""
    found = 0
    with Runner() as run:
        for name in kind or fuzz.KINDS:
            faults, codes = fuzz.fuzz(run, name, n, seed)
            _tell(f"{name}: {codes.total()} cases, exit codes {dict(sorted(codes.items()))}", faults)
            found += len(faults)
    raise typer.Exit(found > 0)


@app.command("kills")
def kill_all(trials: Annotated[int, typer.Option(help="Trials of each command.")] = 100, seed: int = 0) -> None:
    """kill -9 of verify, simulate, train and sweep at random moments."""
    found = 0
    with Runner() as run:
        for name in kills.COMMANDS:
            faults, killed = kills.kills(run, name, trials, seed)
            _tell(f"{name}: {trials} trials, killed as it ran {killed} times", faults)
            found += len(faults)
    raise typer.Exit(found > 0)


@app.command("disks")
def fill_all() -> None:
    """Full disks and places that cannot be written, for each command that writes."""
    with Runner() as run:
        faults = full_disk.full_disks(run, list(full_disk.COMMANDS))
    _tell(f"{len(full_disk.COMMANDS)} commands, at {len(full_disk.SIZES)} sizes and below a file", faults)
    raise typer.Exit(len(faults) > 0)


def _tell(done: str, faults: list[fuzz.Fault] | list[str]) -> None:
    print(f"{done}, {len(faults)} faults", *faults, sep="\n", flush=True)


if __name__ == "__main__":
    app()
