"""The real command in processes of their own, some milliseconds each: forked from one that has imported everything.

The parent never uses polars or torch, whose threads a fork would lose.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

KILLED = -signal.SIGKILL
CACHE = "cache"  # of data sets, and of what a deep verification has found so far


@dataclass(frozen=True)
class Outcome:
    """Exit code (`KILLED` for a command that was killed), what it wrote, and how long it ran."""

    code: int
    out: str
    err: str
    seconds: float


class Runner:
    """Runs commands, each in a folder that is given, without network and with its cache in that folder."""

    def __init__(self) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.trust.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "FLTHEORY_DATA": CACHE, "PIP_NO_INDEX": "1"},
        )

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *error: Any) -> None:
        self.server.__exit__(*error)  # closes its streams, at whose end it ends

    def __call__(
        self, arguments: Sequence[str], folder: Path, *, seconds: float = 60, largest_file: int | None = None
    ) -> Outcome:
        """Run `fltheory` with these arguments in a folder.

        seconds        kill -9 after so long, all its processes
        largest_file   bytes from which on a file cannot grow, as on a disk that is full
        """
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        asked = {"arguments": list(arguments), "folder": str(folder), "seconds": seconds, "largest_file": largest_file}
        print(json.dumps(asked), file=self.server.stdin, flush=True)
        return Outcome(**json.loads(self.server.stdout.readline()))


def _serve() -> None:
    _import_everything()
    for line in sys.stdin:
        print(json.dumps(_run(**json.loads(line))), flush=True)


def _import_everything() -> None:
    """What commands import as they go, and what they look up among the entry points."""
    import_module("matplotlib.figure")
    for name in ("exhibit", "falsify", "plan", "simulate"):
        import_module(f"analysis.{name}_command")
    with suppress(ImportError):  # of the extra `training`
        for name in ("torch", "sklearn.datasets", "sims.training.task", "analysis.train_command"):
            import_module(name)
    from analysis.checks import all_checks, all_trials
    from analysis.exhibits import chosen
    from sims.algorithms import algorithms

    all_checks(), all_trials(), algorithms(), chosen("figures", []), chosen("tables", [])


def _run(arguments: list[str], folder: str, seconds: float, largest_file: int | None) -> dict[str, Any]:
    pipes = [os.pipe(), os.pipe()]
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(arguments, folder, [write for _, write in pipes], largest_file)
    with suppress(OSError):  # the child does it too: whoever comes first
        os.setpgid(child, child)
    for _, write in pipes:
        os.close(write)
    reading = {read: bytearray() for read, _ in pipes}
    _read(reading, began + seconds, child)
    _, status = os.waitpid(child, 0)
    out, err = (bytes(told).decode(errors="replace") for told in reading.values())
    for read in reading:
        os.close(read)
    spent = time.monotonic() - began
    return {"code": os.waitstatus_to_exitcode(status), "out": out, "err": err, "seconds": spent}


def _read(reading: dict[int, bytearray], end: float, child: int) -> None:
    """Read both streams to their ends; kill the processes at that time."""
    open_ = list(reading)
    while open_:
        ready, _, _ = select.select(open_, [], [], max(0.0, end - time.monotonic()) if child else None)
        if not ready:
            os.killpg(child, signal.SIGKILL)
            child = 0
        for stream in ready:
            told = os.read(stream, 1 << 16)
            reading[stream] += told
            if not told:
                open_.remove(stream)


def _become(arguments: list[str], folder: str, streams: list[int], largest_file: int | None) -> None:
    """Be the command; does not come back."""
    os.setpgid(0, 0)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, stream in zip((1, 2), streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    warnings.simplefilter("default")
    if largest_file is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    from analysis.cli import main

    sys.argv = ["fltheory", *arguments]
    code: Any = 1
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    _serve()
