"""Formulas as plain text in the letters of a paper, and what the letters stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sympy

from fltheory.ledger import Claim
from fltheory.symbols import QUANTITIES

# A letter with what may hang on it, or anything between bars or parentheses: it stays one thing within a formula.
_ATOM = re.compile(r"[A-Za-z][\w~']*(\^[\w]+)?(\([\w~]+\))?|\|[^|]*\||\([^()]*(\([^()]*\)[^()]*)*\)|1\{[^{}]*\}")
_PLAIN = (
    (r"\\mathbf\{1\}_\{\\\{(.*?)\\\}\}", lambda m: f"1{{{m[1].replace(' ', '')}}}"),
    (r"\\(?:mathbf|mathcal|mathrm|mathbb)\{(\w+)\}", r"\1"),
    (r"\\tilde\{\\?(\w+)\}", r"\1~"),
    (r"\\tilde\s*\\?", ""),  # of an iterate: the words leave it out too
    (r"\\(bar|hat|check)\s*\{?(\w)\}?", r"\2_\1"),
    (r"\\nabla\s*", "grad "),
    (r"\\omega", "w"),
    (r"\\\|", "|"),
    (r"_\{\\?(\w+)\}", r"_\1"),
    (r"\\([A-Za-z]+)", r"\1"),
)


def plain(latex: str) -> str:
    """A letter without commands.

    >>> plain("L_\\\\sigma"), plain("(F(\\\\tilde x_0) - F_*)"), plain("\\\\tilde{\\\\delta}")
    ('L_sigma', '(F(x_0) - F_*)', 'delta~')
    """
    for pattern, put in _PLAIN:
        latex = re.sub(pattern, put, latex)
    return latex


def letters_of(claim: Claim, names: Iterable[str]) -> dict[str, str]:
    """Code name -> letter; the code name itself where the paper's is a formula, or serves two of these names."""
    found: dict[str, str] = {}
    for name in sorted(names):
        letter = plain(claim.letters.get(name, name))
        unclear = "\\mathbb{I}" in claim.letters.get(name, "") or not _ATOM.fullmatch(letter)
        found[name] = name if unclear or letter in found.values() else letter
    return found


def symbols_of(parts: Iterable[sympy.Basic]) -> dict[str, sympy.Symbol]:
    """Code name -> symbol of everything in these formulas."""
    return {symbol.name: symbol for part in parts for symbol in part.free_symbols}


def in_text(*claims: Claim) -> Callable[[sympy.Basic], str]:
    """A function from the formulas of claims of one paper to plain text."""
    letters = letters_of(claims[0], symbols_of(part for claim in claims for part in (*claim.parts, *claim.mentions)))

    def form(expression: sympy.Basic) -> str:
        powers = {power.base for power in expression.atoms(sympy.Pow)}
        renamed: dict[Any, Any] = {}
        for symbol in expression.free_symbols:
            letter = letters.get(symbol.name, symbol.name)
            renamed[symbol] = sympy.Symbol(f"({letter})" if "^" in letter and symbol in powers else letter)
        with sympy.evaluate(False):
            return str(expression.xreplace(renamed)).replace("**", "^")

    return form


def legend(claim: Claim, symbols: Mapping[str, sympy.Symbol], form: Callable[[sympy.Basic], str]) -> list[str]:
    """`letter = code_name: meaning` for each of these symbols."""
    lines = []
    for name, symbol in symbols.items():
        letter = form(symbol)
        lines.append(f"{name if letter == name else f'{letter} = {name}'}: {meaning(claim, name)}")
    return sorted(lines, key=str.casefold)


def meaning(claim: Claim, name: str) -> str:
    """What a symbol stands for, as the paper has it, or as everybody does."""
    quantity = QUANTITIES.get(name)
    return claim.meanings.get(name) or (quantity.meaning if quantity else "")
