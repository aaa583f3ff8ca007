"""The books of the papers, what is drawn from them, and a run to cut."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from analysis import exhibit_command
from analysis.exhibit_command import Setting
from analysis.figures import amplified as amplified_figures
from analysis.figures import fast as fast_figures
from analysis.figures import fedamd as fedamd_figures
from analysis.figures import fedau as fedau_figures
from analysis.figures import fedlaavg as fedlaavg_figures
from analysis.figures import ledger as ledger_figures
from analysis.tables import amplified as amplified_tables
from analysis.tables import fast as fast_tables
from analysis.tables import fedamd as fedamd_tables
from analysis.tables import fedau as fedau_tables
from sims import store as stored

FIGURES = {
    "fedau": fedau_figures.figures,
    "amplified": amplified_figures.figures,
    "fedlaavg": fedlaavg_figures.figures,
    "fast": fast_figures.figures,
    "fedamd": fedamd_figures.figures,
    "ledger": ledger_figures.figures,
}
TABLES = {
    "fedau": fedau_tables.tables,
    "amplified": amplified_tables.tables,
    "fast": fast_tables.tables,
    "fedamd": fedamd_tables.tables,
}
DIGITS = """
kind = "train"
rounds = 30
replicates = 2
problem = { name = "training", data = "digits", model = "logistic", partition = { name = "iid", n_clients = 10 } }
process = { name = "bernoulli", p = 0.5 }
record = { what = ["train_loss", "test_accuracy"], every = 10 }
algorithm = { name = "fedavg", local_lr = 0.1 }
[scale.smoke]
rounds = 4
replicates = 1
record = { every = 2 }
"""


def draw(names: list[str], out: Path, store: Path, *, scale: str = "smoke", run: bool = False, formats: str = "png"):
    told: list[str] = []
    paths = list(exhibit_command.figures(names, formats, out, Setting(scale, store, run, told.append)))
    return paths, told


def cut(run: stored.Run, store: Path, kept: pl.Expr) -> stored.Run:
    """The run, interrupted: of its rows those that are kept are there."""
    (run.folder / "complete.json").unlink()
    return stored.save(store, run.key, run.experiment, run.data().filter(kept), partial="interrupted")


def tables_of(names: list[str], store: Path, form: str = "text") -> tuple[list[str], list[str]]:
    told: list[str] = []
    return list(exhibit_command.tables(names, form, Setting("smoke", store, False, told.append))), told
