"""Real data: obtained by the user from where it is published, checked, converted once, kept in a cache."""

from sims.data.cache import add, cache_dir, describe, fetch, how_to_fetch, is_fetched, manifest, names, path, verify
from sims.data.labelled import LabelledData, load, word_vectors
from sims.data.registry import DATASETS, Dataset

__all__ = [
    "DATASETS",
    "Dataset",
    "LabelledData",
    "add",
    "cache_dir",
    "describe",
    "fetch",
    "how_to_fetch",
    "is_fetched",
    "load",
    "manifest",
    "names",
    "path",
    "verify",
    "word_vectors",
]
