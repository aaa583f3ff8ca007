"""The JSON that commands write."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: Any, *, ensure_ascii: bool = True) -> str:
    """JSON that every reader takes: `null` stands for numbers that it does not have.

    >>> print(json_text({"a": [1.5, math.nan]}))
    {
     "a": [
      1.5,
      null
     ]
    }
    """
    plain = with_null(value)
    text = json.dumps(plain, indent=1, ensure_ascii=ensure_ascii, allow_nan=False)
    if text.replace("\n", "").isprintable():
        return text
    return json.dumps(plain, indent=1, allow_nan=False)  # nothing that a terminal obeys


def with_null(value: Any) -> Any:
    """The value with None for the numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {key: with_null(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_null(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
