"""Results by the key of their experiment: one Parquet file and one JSON manifest each."""

from sims.store.compare import differences
from sims.store.export import export
from sims.store.files import INTERRUPTED, Run, begin, complete, damaged, discard, find, key_of, parts, runs, save
from sims.store.models import models_of, name_of, save_models

__all__ = [
    "INTERRUPTED",
    "Run",
    "begin",
    "complete",
    "damaged",
    "differences",
    "discard",
    "export",
    "find",
    "key_of",
    "models_of",
    "name_of",
    "parts",
    "runs",
    "save",
    "save_models",
]
