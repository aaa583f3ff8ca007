"""`fltheory simulate`, `train`, `sweep`, `algorithms`: running experiments, and what there is to run."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from analysis.cli.shared import DIFFERS, DONE, JsonFlag, StoreOption
from analysis.json_text import json_text

commands = typer.Typer()


class Scale(StrEnum):
    """How large an experiment is run."""

    smoke = "smoke"
    laptop = "laptop"
    paper = "paper"


class Backend(StrEnum):
    """Where simulations run in parallel."""

    loky = "loky"
    dask = "dask"


ScaleOption = Annotated[Scale | None, typer.Option(help="Scale of the file; without it the file as it stands.")]
EngineOption = Annotated[str | None, typer.Option(help="How clients are trained: auto, layered, sequential or vmap.")]
DeviceOption = Annotated[str | None, typer.Option(help="Device of torch, such as cpu or cuda.")]
MemoryOption = Annotated[str | None, typer.Option(help="Where clients' tables are kept: device, host or disk.")]
WorkersOption = Annotated[int, typer.Option(min=1, help="Number of processes.")]
BackendOption = Annotated[Backend, typer.Option(help="What runs the processes: this machine (loky) or a Dask cluster.")]
SchedulerOption = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, for --backend dask.")]
ResumeOption = Annotated[bool, typer.Option(help="Go on with what an interrupted run has finished.")]


@commands.command()
def simulate(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml", help="Such as those in experiments/.")],
    scale: ScaleOption = None,
    store: StoreOption = Path("results"),
    workers: WorkersOption = 1,
    backend: BackendOption = Backend.loky,
    scheduler: SchedulerOption = None,
    resume: ResumeOption = True,
    as_json: JsonFlag = False,
) -> None:
    """Run a simulation experiment.

    The results go to the store under the experiment's key; see `fltheory results`.
    """
    from analysis.simulate_command import simulate_file

    print(
        simulate_file(
            experiment,
            scale=scale and scale.value,
            store=store,
            workers=workers,
            backend=backend.value,
            scheduler=scheduler,
            resume=resume,
            as_json=as_json,
        )
    )


@commands.command()
def train(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml", help="Such as those in experiments/.")],
    scale: ScaleOption = None,
    engine: EngineOption = None,
    device: DeviceOption = None,
    memory: MemoryOption = None,
    store: StoreOption = Path("results"),
    workers: WorkersOption = 1,
    backend: BackendOption = Backend.loky,
    scheduler: SchedulerOption = None,
    resume: ResumeOption = True,
    checkpoint: Annotated[int | None, typer.Option(min=1, help="Rounds between checkpoints.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Train the algorithms of an experiment on its data.

    The results go to the store under the experiment's key; see `fltheory results`. Needs the extra `training`.
    """
    from analysis.train_command import train_file

    options = {"store": store, "workers": workers, "backend": backend.value, "scheduler": scheduler}
    changes = _given(engine=engine, device=device, memory=memory)
    print(
        train_file(
            experiment,
            scale=scale and scale.value,
            changes=changes,
            as_json=as_json,
            resume=resume,
            checkpoint=checkpoint,
            **options,
        )
    )


@commands.command()
def sweep(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml", help="Such as those in experiments/.")],
    scale: ScaleOption = None,
    engine: EngineOption = None,
    device: DeviceOption = None,
    memory: MemoryOption = None,
    store: StoreOption = Path("results"),
    workers: WorkersOption = 1,
    backend: BackendOption = Backend.loky,
    scheduler: SchedulerOption = None,
    resume: ResumeOption = True,
    as_json: JsonFlag = False,
) -> None:
    """Search the step sizes of an experiment.

    Local ones first, then global ones, as the file's table `sweep` says. Exit code 1: some algorithm came to its end
    with none of them.
    """
    from analysis.train_command import sweep_file

    options = {"store": store, "workers": workers, "backend": backend.value, "scheduler": scheduler}
    changes = _given(engine=engine, device=device, memory=memory)
    text, without = sweep_file(
        experiment, scale=scale and scale.value, changes=changes, as_json=as_json, resume=resume, **options
    )
    print(text)
    if without:
        print(f"fltheory: no step sizes brought {', '.join(without)} to the end of all runs", file=sys.stderr)
    raise typer.Exit(DIFFERS if without else DONE)


@commands.command()
def algorithms(
    clients: Annotated[int, typer.Option(min=1, help="Number of clients, for the memory.")] = 100,
    dimension: Annotated[int, typer.Option(min=1, help="Parameters of the model.")] = 1_000_000,
    itemsize: Annotated[int, typer.Option(min=1, help="Bytes a parameter.")] = 4,
    as_json: JsonFlag = False,
) -> None:
    """List the algorithms with their source and costs.

    Exact memory, vectors sent, and what weighting rules minimise.
    """
    from analysis import algorithms_list as listed

    print(
        json_text(listed.as_json(clients, dimension, itemsize))
        if as_json
        else listed.as_text(clients, dimension, itemsize)
    )


def _given(**options: str | None) -> dict[str, str]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}
