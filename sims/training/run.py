"""A training experiment, run: every algorithm with every seed, with checkpoints, into the store.

A run that was stopped at any moment, by Ctrl-C or kill -9, goes on from its last checkpoint and ends with the bits
of an unbroken one. A number that is not finite, or a module that fails, ends the run of that algorithm and seed alone.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import polars as pl

from fltheory.errors import InputError, processes
from fltheory.streams import stream
from sims import checkpoints, preflight
from sims import store as stored
from sims.arrays import on_host
from sims.catalogue import label_of, setup_of
from sims.divergence import Stopped
from sims.experiment import Experiment, Origin, from_canonical
from sims.montecarlo.simulate import PURPOSE, backend_of, frame_of, is_sound
from sims.recorder import check_metrics
from sims.refusals import is_out_of_memory, reason_of
from sims.rounds import Simulation
from sims.training.memory import require_memory, require_workers
from sims.training.surroundings import own_surroundings
from sims.whole import whole
from sims.workers import in_order

Result = dict[str, npt.NDArray[Any]]
Progress = Callable[[str, int, dict[str, float]], None]  # (algorithm-replicate, rounds done, latest values)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class One:
    """One algorithm with one seed of an experiment, given in its canonical form.

    origin   folder of the run whose last model it begins with, if that is of another run
    resume   take what is kept of it
    """

    experiment: str
    algorithm: int
    replicate: int
    origin: Path | None = None
    resume: bool = True

    def __call__(self, folder: Path | None, every: int, progress: Progress | None = None) -> Result:
        """Run it, or go on from the checkpoint in the folder; a finished one is read, unless all is done again.

        folder     None to keep nothing
        every      rounds between checkpoints
        """
        done, checkpoint = (folder and folder / f"{self.name}.{end}" for end in ("npz", "checkpoint.npz"))
        if done and self.resume and (result := _load(done)) is not None:
            return result
        try:
            with own_surroundings():
                result = self._run(checkpoint, every, progress)
        except InputError as error:
            error.args = (f"replicate {self.replicate}: {error}",)
            raise
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            label = f"{from_canonical(self.experiment).algorithm[self.algorithm].label}, replicate {self.replicate}"
            allowed = f"one that fits into memory, which was used up during its run ({reason_of(error)})"
            raise InputError("algorithm", label, allowed) from error
        if done and checkpoint:
            _save(done, result)
            checkpoint.unlink(missing_ok=True)
        return result

    def _run(self, checkpoint: Path | None, every: int, progress: Progress | None) -> Result:
        """What `__call__` does, from the checkpoint on if there is one."""
        if refused := self._refusal():
            return {"rounds": np.zeros(0, np.int64), "stopped": np.array(refused), "seconds": np.zeros(3)}
        simulation = self.simulation()
        if checkpoint and self.resume and checkpoint.is_file():
            try:
                checkpoints.restore(simulation, checkpoint)
            except InputError:  # damaged, or of another version: from the start
                simulation = self.simulation()
        stopped, began = "", time.perf_counter()
        try:
            while simulation.round < simulation.rounds:
                simulation.advance(min(simulation.round + every, simulation.rounds))
                if checkpoint:
                    checkpoints.save(simulation, checkpoint)
                if progress:
                    progress(self.name, simulation.round, _latest(simulation))
        except Stopped as error:
            stopped = str(error)
        record = simulation.record
        spent = time.perf_counter() - began, *record.seconds.values()
        told = {"stopped": np.array(stopped), "seconds": np.array(spent)}
        result = {"rounds": record.rounds, **told, **record.arrays()}
        if not stopped and from_canonical(self.experiment).record.final_model:
            result["final_model"] = on_host(simulation.state.linear["x"])[0]
        return result

    def _refusal(self) -> str:
        """Why the data of this seed will not do, a sentence; those of the first were tried before anything ran.

        That is for modules and metrics: what the machine lacks, as memory or data that are not there, may be there at
        another time, and is raised.
        """
        what = from_canonical(self.experiment).record.what
        try:
            setup = setup_of(json.loads(self.experiment), self.algorithm, self.replicate)
            check_metrics(tuple(what), setup.problem, setup.rates)
        except InputError as error:
            if error.argument not in ("module", "record.what") or is_out_of_memory(error.__cause__ or error):
                raise
            return str(error)
        return ""

    @property
    def name(self) -> str:
        """algorithm-replicate."""
        return stored.name_of(self.algorithm, self.replicate)

    def simulation(self) -> Simulation:
        """The simulation, before its first round."""
        experiment = from_canonical(self.experiment)
        setup = setup_of(json.loads(self.experiment), self.algorithm, self.replicate)
        model = None
        if self.origin is not None:
            assert isinstance(experiment.start, Origin)
            run = stored.find(self.origin, self.origin.parent)
            model = stored.models_of(run, experiment.start.algorithm)[self.replicate]
        start = preflight.start(experiment, 1, setup.problem, model)
        rng = stream(experiment.seed, PURPOSE, self.replicate)  # the same traces for all algorithms
        return Simulation(setup, start, experiment.rounds, rng, preflight.record(experiment))


def train(
    experiment: Experiment,
    *,
    store: str | os.PathLike[str] = "results",
    workers: int = 1,
    backend: str = "loky",
    scheduler: str | None = None,
    resume: bool = True,
    checkpoint: int | None = None,
    progress: Progress | None = None,
) -> stored.Run:
    """Run a training experiment, or go on with one that was interrupted, and give what the store then holds of it.

    store, workers, backend, scheduler   as for `sims.montecarlo.simulate.simulate`
    resume       keep finished runs and checkpoints; otherwise train everything again, and replace a finished run at the
                 end or not at all
    checkpoint   rounds between checkpoints, by default those between two records
    progress     called after every checkpoint on one worker, after every run on several

    Raises InputError for whatever is wrong with the experiment, before anything runs. What was finished before
    Ctrl-C is in the store as a partial run. A run that diverged is kept up to there, and the reason says which; Stopped
    is raised if all of them stopped before anything was recorded.
    """
    if experiment.kind != "train":
        raise InputError("kind", experiment.kind, '"train" (run: fltheory simulate)')
    workers, about = processes("workers", workers), json.loads(experiment.canonical)
    known = stored.complete(store, experiment.key)
    known = known if known and is_sound(known) else None
    if known and resume:
        return known
    needs = []
    for index, contestant in enumerate(about["algorithm"]):
        setup: Any = setup_of(about, index, outlined=True)
        needs.append(require_memory(setup, label_of(about, contestant), experiment.rounds))
    if workers > 1 and scheduler is None:  # a scheduler's are on other machines
        require_workers(workers, experiment.replicates * needs, setup.problem.device)
    origin = _origin(experiment, store)
    with own_surroundings():
        preflight.check(experiment, origin and origin[1])
    for contestant, needed in zip(about["algorithm"], needs, strict=True):  # what is refused says nothing else
        log.info("%s needs about %s", contestant["label"], needed)
    folder = stored.begin(store, experiment.key, about).absolute() / "runs"
    kept = None if known else folder  # beside a whole run nobody would ever go on with them
    if kept:
        kept.mkdir(exist_ok=True)
    every = checkpoint or experiment.record.every or 1
    jobs = [
        One(experiment.canonical, algorithm, replicate, origin and origin[0].folder.absolute(), resume)
        for replicate in range(experiment.replicates)
        for algorithm in range(len(experiment.algorithm))
    ]
    finished: list[tuple[One, Result]] = []
    try:
        with backend_of(backend, scheduler, workers):
            for job, result in zip(jobs, _results(jobs, kept, every, workers, progress), strict=True):
                finished.append((job, result))
                if progress and workers > 1:
                    progress(job.name, experiment.rounds, {})
    except KeyboardInterrupt:
        stored.save(store, experiment.key, about, _data(experiment, finished)[0], partial=stored.INTERRUPTED)
        raise
    except FileNotFoundError:
        # Another process that ran the same experiment has finished it and cleared its checkpoints away.
        if kept and not folder.exists() and (run := stored.complete(store, experiment.key)):
            return run
        raise
    spent = np.sum([result["seconds"] for _, result in finished], axis=0)
    log.info(
        "%.0f s since the last start: %.0f %% of it for evaluation, %.0f %% for estimates, the rest for training",
        spent[0],
        *(100 * spent[1:] / spent[0]),
    )
    data, stopped = _data(experiment, finished)
    if data.is_empty():
        shutil.rmtree(folder, ignore_errors=True)
        raise Stopped(f"no run came to its first record; the first that stopped: {stopped[0]}")
    models = {job.name: result["final_model"] for job, result in finished if "final_model" in result}
    run = stored.save(
        store,
        experiment.key,
        about,
        data,
        remark="; ".join(stopped),
        models=stored.save_models(folder.parent, models) if experiment.record.final_model else None,
        start=origin and origin[0].models,
    )
    shutil.rmtree(folder, ignore_errors=True)
    return run


def _torch_first() -> None:
    """A process that grows by it after its first task would be taken for one that loses memory, and replaced."""
    import torch  # noqa: F401


def _origin(experiment: Experiment, store: str | os.PathLike[str]) -> tuple[stored.Run, npt.NDArray[Any]] | None:
    """The run whose last models an experiment begins with, and the first of them; InputError if they are not there."""
    if not isinstance(experiment.start, Origin):
        return None
    run = stored.complete(store, experiment.start.run)
    if run is None:
        first = "train first, at the same scale, what start.file names"
        allowed = f"the key of a complete run in the store {str(store)!r} ({first})"
        raise InputError("start.run", experiment.start.run[:12], allowed)
    models = stored.models_of(run, experiment.start.algorithm)
    if len(models) < experiment.replicates:
        raise InputError("replicates", experiment.replicates, f"at most {len(models)}, as many as start.run has")
    return run, models[0]


def _results(
    jobs: list[One], folder: Path | None, every: int, workers: int, progress: Progress | None
) -> Iterator[Result]:
    if workers == 1:
        return (job(folder, every, progress) for job in jobs)
    return in_order((joblib.delayed(job)(folder, every) for job in jobs), workers, first=_torch_first)


def _data(experiment: Experiment, finished: list[tuple[One, Result]]) -> tuple[pl.DataFrame, list[str]]:
    """All results as one table, algorithm by algorithm, and why runs stopped early.

    Natural clients may be more with one seed than with another, whose columns of the last ones are null.
    """
    frames, stopped = [], []
    for job, result in sorted(finished, key=lambda pair: (pair[0].algorithm, pair[0].replicate)):
        label = str(experiment.algorithm[job.algorithm].label)
        arrays = {name: array for name, array in result.items() if name not in ("seconds", "final_model")}
        if why := str(arrays.pop("stopped")):
            stopped.append(f"{label}, replicate {job.replicate}: {why}")
        if len(arrays["rounds"]):  # none of a run that stopped before anything was recorded
            frames.append(frame_of(label, job.replicate, arrays))
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame(), stopped


def _latest(simulation: Simulation) -> dict[str, float]:
    arrays = simulation.record.arrays()
    return {name: float(values[0, -1]) for name, values in arrays.items() if values.ndim == 2 and values.shape[1]}


def _save(file: Path, result: Result) -> None:
    with whole(file) as unfinished, unfinished.open("wb") as stream_:
        np.savez(stream_, **result)  # type: ignore[arg-type]


def _load(file: Path) -> Result | None:
    try:
        with file.open("rb") as stream_, np.load(stream_, allow_pickle=False) as arrays:
            found = dict(arrays)
        return found if found["seconds"].shape == (3,) else None  # of another version
    except Exception:  # not there, or damaged in one of a dozen ways: it is run again
        return None
