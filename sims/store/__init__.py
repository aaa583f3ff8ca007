"""Results by the key of their experiment: one Parquet file and one JSON manifest each."""

from sims.store.compare import differences
from sims.store.export import export
from sims.store.files import Run, begin, complete, discard, find, runs, save

__all__ = ["Run", "begin", "complete", "differences", "discard", "export", "find", "runs", "save"]
