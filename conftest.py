"""Doctests of modules that need torch are collected only where it is installed (`make test-core` does without)."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["sims/training/*.py", "sims/training/models/*.py"]
