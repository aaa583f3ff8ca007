"""An experiment, run: chunks of replicates through the Monte Carlo engine into the store.

Results depend on the experiment alone: on one worker or several, on loky or dask, in one go or killed and resumed,
the data have the same bits.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import polars as pl

from fltheory.errors import InputError, processes
from sims import preflight
from sims import store as stored
from sims.divergence import Diverged, Stopped
from sims.experiment import Experiment
from sims.montecarlo import engine
from sims.montecarlo.replicates import Replicates, chunk_size
from sims.recorder import METRICS

PURPOSE = "simulate"
CONNECT = 10  # seconds in which a Dask scheduler must answer, and then one of its workers

log = logging.getLogger(__name__)


def simulate(
    experiment: Experiment,
    *,
    store: str | os.PathLike[str] = "results",
    workers: int = 1,
    backend: str = "loky",
    scheduler: str | None = None,
    resume: bool = True,
    progress: bool = False,
) -> stored.Run:
    """Run an experiment, or go on with one that was interrupted, and give what the store then holds of it.

    store       folder of the results (`sims.store`)
    workers     processes
    backend     "loky", or "dask" (the extra `cluster`), whose workers must see the store
    scheduler   address of a running Dask scheduler; without it a local cluster of `workers` processes is started
    resume      keep finished chunks, and a finished run; otherwise compute everything again (another process that
                runs the same experiment meanwhile goes on), and replace a finished run at the end or not at all
    progress    a bar on stderr

    Raises InputError for whatever is wrong with the experiment, before anything runs, Diverged at the first number
    that is not finite, and Stopped where a round cannot be run; what was recorded until then is in the store as a
    partial run, as after Ctrl-C. A finished run whose data were damaged since is computed again.
    """
    if experiment.kind != "simulate":
        raise InputError("kind", experiment.kind, '"simulate" (run: fltheory train)')
    workers, about = processes("workers", workers), json.loads(experiment.canonical)
    preflight.check(experiment)
    with backend_of(backend, scheduler, workers):
        known = stored.complete(store, experiment.key)
        known = known if known and is_sound(known) else None
        if known and resume:
            return known
        chunks = stored.begin(store, experiment.key, about).absolute() / "chunks"
        kept = None if known else chunks  # beside a whole run nobody would ever go on with them
        frames: list[pl.DataFrame] = []
        try:
            with closing(_frames(experiment, workers, kept, resume, progress)) as found:
                for frame, stopped in found:
                    frames.append(frame)
                    if stopped:
                        raise stopped
            data = _joined(frames, experiment)
        except MemoryError:
            raise _too_much(experiment) from None
        except (Stopped, KeyboardInterrupt) as error:  # Stopped is an InputError too
            data = _joined(frames, experiment)
            stored.save(store, experiment.key, about, data, partial=str(error) or stored.INTERRUPTED)
            raise
        except (FileNotFoundError, InputError) as error:
            # Another process that ran the same experiment has finished it and cleared its chunks away.
            gone = isinstance(error, FileNotFoundError) or not chunks.exists()
            if kept and gone and (run := stored.complete(store, experiment.key)):
                return run
            raise
        run = stored.save(store, experiment.key, about, data)
        shutil.rmtree(chunks, ignore_errors=True)
        return run


def _joined(frames: list[pl.DataFrame], experiment: Experiment) -> pl.DataFrame:
    try:
        return pl.concat(frames) if frames else pl.DataFrame()
    except MemoryError:
        raise _too_much(experiment) from None


def _too_much(experiment: Experiment) -> InputError:
    allowed = "fewer, or recorded less often: the memory does not hold the data of all"
    return InputError("replicates", experiment.replicates, allowed)


def is_sound(run: stored.Run) -> bool:
    """Whether the data can be read; if not, the run no longer counts as complete."""
    try:
        _ = run.frame
    except InputError as error:
        log.warning("warning: computing again, as %s", error)
        stored.discard(run)
        return False
    return True


def _frames(
    experiment: Experiment, workers: int, chunks: os.PathLike[str] | None, resume: bool, progress: bool
) -> Generator[tuple[pl.DataFrame, Stopped | None]]:
    """The data of every chunk, in order, and why it stopped, if it did."""
    for index, contestant in enumerate(experiment.algorithm):
        task = Replicates(experiment.canonical, index, chunk_size(experiment, index))
        results = engine.run(
            task,
            -(-experiment.replicates // task.size),
            purpose=PURPOSE,
            seed=experiment.seed,
            workers=workers,
            store=chunks,
            resume=resume,
            progress=progress,
        )
        for chunk, result in enumerate(results):
            stopped, diverged = str(result.pop("stopped")), bool(result.pop("diverged", True))
            kind = Diverged if diverged else Stopped
            why = kind(f"{contestant.label}, {stopped}") if stopped else None
            yield frame_of(str(contestant.label), chunk * task.size, result), why


def frame_of(label: str, first: int, result: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
    """One row for each replicate and recorded round; a vector becomes as many columns as it is long."""
    rounds = result.pop("rounds")
    replicates = next(iter(result.values())).shape[0]
    columns: dict[str, Any] = {
        "algorithm": np.repeat(label, replicates * len(rounds)),
        "replicate": np.repeat(np.arange(first, first + replicates), len(rounds)),
        "round": np.tile(rounds, replicates),
    }
    for name in sorted(result):
        values = result[name].reshape(replicates * len(rounds), -1)
        names = [name] if result[name].ndim == 2 else [f"{name}_{j}" for j in range(values.shape[1])]
        for column, value in zip(names, values.T, strict=True):
            series = pl.Series(column, np.ascontiguousarray(value))
            columns[column] = series.fill_nan(None) if METRICS[name].of_a_round else series
    return pl.DataFrame(columns)


@contextmanager
def backend_of(backend: str, scheduler: str | None, workers: int) -> Iterator[None]:
    if backend not in ("loky", "dask"):
        raise InputError("backend", backend, '"loky" or "dask"')
    if backend == "loky":
        if scheduler is not None:
            raise InputError("scheduler", scheduler, 'given with backend "dask" only')
        yield
        return
    try:
        client = importlib.import_module("dask.distributed").Client
    except ImportError:
        raise InputError("backend", "dask", "installed first: pip install 'fltheory[cluster]'") from None
    own = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    try:
        connected = client(scheduler, timeout=CONNECT) if scheduler is not None else client(**own)
    except (OSError, ValueError, TypeError) as error:
        if scheduler is None:
            raise
        reason = " ".join(str(error).split())[:160]
        raise InputError("scheduler", scheduler, f"the address of a running Dask scheduler ({reason})") from None
    with connected, joblib.parallel_config(backend="dask"):
        if scheduler is not None:
            _require_worker(connected, scheduler)
        yield


def _require_worker(client: Any, scheduler: str) -> None:
    """Raise InputError unless a task comes back; clusters that grow as needed start a worker for it."""
    probe = client.submit(os.getpid, pure=False)
    try:
        probe.result(timeout=CONNECT)
    except TimeoutError:
        allowed = f"a Dask scheduler with a worker (none took a task in {CONNECT} s)"
        raise InputError("scheduler", scheduler, allowed) from None
    finally:
        probe.release()
