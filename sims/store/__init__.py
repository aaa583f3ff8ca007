"""Results by the key of their experiment: one Parquet file and one JSON manifest each."""

from sims.store.compare import differences
from sims.store.export import export
from sims.store.files import Run, begin, complete, discard, find, runs, save
from sims.store.models import models_of, name_of, save_models

__all__ = [
    "Run",
    "begin",
    "complete",
    "differences",
    "discard",
    "export",
    "find",
    "models_of",
    "name_of",
    "runs",
    "save",
    "save_models",
]
