"""Real data: obtained by the user from where it is published, checked, converted once, kept in a cache."""

from sims.data.cache import cache_dir, fetch, is_fetched, path, verify
from sims.data.registry import DATASETS, Dataset

__all__ = ["DATASETS", "Dataset", "cache_dir", "fetch", "is_fetched", "path", "verify"]
