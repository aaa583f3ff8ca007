"""MathML of the LaTeX that `fltheory.latex` writes, and of formulas within sentences."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from analysis.report.html import Html, join, scrolled
from fltheory.errors import InputError
from fltheory.latex import statement
from fltheory.ledger import Claim


def require_converter() -> None:
    """Raise InputError unless the package that makes MathML is installed."""
    try:
        import latex2mathml  # noqa: F401
    except ImportError:
        raise InputError("report", "without MathML", "made with latex2mathml installed (the extra `docs`)") from None


def inline(latex: str) -> Html:
    """A formula within a line."""
    return mathml(latex, "inline")


def block(latex: str) -> Html:
    """A formula on lines of its own; nothing for no formula."""
    return scrolled(mathml(latex, "block")) if latex else Html()


def sentence(text: str) -> Html:
    """Text with formulas between dollar signs."""
    parts = re.split(r"\$([^$]*)\$", text)
    return join(*(inline(part) if odd % 2 else part for odd, part in enumerate(parts)))


def part(claim: Claim, **kept: Any) -> Html:
    """A part of what a machine reads of a claim, such as its `bound`, as `fltheory.latex.statement` says it."""
    nothing: dict[str, Any] = {"latex": "", "bound": None, "formulas": {}, "conditions": {}}
    return block(statement(replace(claim, **(nothing | kept))))


# What latex2mathml does not know, and what it knows it by.
_OTHERWISE = {r"{aligned}": "{align*}", r"\Big\|": r"\|"}


@cache
def mathml(latex: str, display: Literal["inline", "block"]) -> Html:
    """The MathML of a formula. Raises InputError for one that the converter cannot read."""
    from latex2mathml.converter import convert

    known = latex
    for ours, its in _OTHERWISE.items():
        known = known.replace(ours, its)
    try:
        return Html(convert(known, display=display))
    except Exception as error:  # its own errors have no common base
        raise InputError("formula", latex, f"LaTeX that latex2mathml can read ({type(error).__name__})") from None
