"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ("averages", "bounds", "cutoffs", "fedau", "inputs", "law", "moments", "renewal")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"fltheory.weights.{name}")).failed == 0
