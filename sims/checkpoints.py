"""Checkpoints: the whole state of a simulation in one .npz file, without pickles.

A run that is cut in two and restored from a checkpoint equals the unbroken one bit for bit.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np

from fltheory.errors import InputError
from sims.data.arrays import map_arrays
from sims.rounds import Simulation
from sims.whole import whole


def save(simulation: Simulation, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint; whoever reads the file meanwhile sees the old one or the new one, never a part."""
    with whole(Path(path)) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **simulation.state_dict(copy=False))  # type: ignore[arg-type]


def restore(simulation: Simulation, path: str | os.PathLike[str]) -> None:
    """Continue a simulation from a checkpoint of its own.

    Give it the setup, start, rounds, generator and record with which the saved one was made. Raises InputError for
    a file that is not there, is damaged, or does not belong to such a simulation.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if (damaged := archive.testzip()) is not None:
                raise ValueError(f"{damaged} is damaged")
        mapped = map_arrays(Path(path))  # tables of clients need not fit into memory
        simulation.load_state_dict({n: a if n.startswith("linear.") else np.array(a) for n, a in mapped.items()})
    except InputError:
        raise
    except Exception as error:  # a damaged file fails in a dozen ways
        raise InputError("checkpoint", str(path), f"a file that `save` wrote ({error})") from None
