"""The statement of a claim in LaTeX, from its bound, its formulas and its conditions; nothing is written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator

import sympy

from fltheory.ledger import Claim

# What is no plain text in words such as "E||grad f(x_t)||^2, t < T": it is set as mathematics between pieces of text.
_MATHS = re.compile(r"(?P<script>[_^])(?P<what>\w+|\([^()]*\)|\{[^{}]*\}|\*)|(?P<sign><=|>=|[<>{}%&#~_^\\$])")
_CLOSED = re.compile(r"\{[^{}]*\}|\([^()]*\)|\[[^][]*\]|\\\|.*?\\\||\|[^|]*\|")  # brackets and bars, inmost first
_SIGNS = {"<=": r"\leq ", ">=": r"\geq ", "~": r"{}^{\sim}", "^": r"\wedge ", "\\": r"\backslash "} | {
    c: c for c in "<>"
}


def statement(claim: Claim) -> str:
    """What is claimed, as display mathematics without delimiters; "" where the claim is in words only.

    The LaTeX that a claim gives for itself stands as it is. Else a line each says the bound, every formula with its
    name, and every condition with its name.
    """
    lines = list(_lines(claim))
    if claim.latex or not lines:
        return claim.latex
    return (
        lines[0] if len(lines) == 1 else r"\begin{aligned}" + r" \\ ".join(f"& {x}" for x in lines) + r"\end{aligned}"
    )


def _lines(claim: Claim) -> Iterator[str]:
    if claim.bound:
        yield rf"{text(claim.bound.lhs)} \leq {_formula(claim, claim.bound.rhs)}"
    for name, part in claim.formulas.items():
        yield rf"{text(name + ':')}\quad {_formula(claim, part)}"
    for name, part in claim.conditions.items():
        yield rf"{text(f'condition, {name}:')}\quad {_formula(claim, part)}"


def text(words: str) -> str:
    r"""Words within mathematics; indices, powers and signs in them are set as such.

    >>> print(text("E||grad f(x_t)||^2, t < T"))
    \text{E||grad f(x}_{t}\text{)||}^{2}\text{, t }<\text{ T}
    """
    pieces, end = [], 0
    for found in _MATHS.finditer(words):
        pieces.append(rf"\text{{{words[end : found.start()]}}}")
        sign, end = found["sign"], found.end()
        pieces.append(_SIGNS.get(sign, f"\\{sign}") if sign else f"{found['script']}{{{_script(found['what'])}}}")
    pieces.append(rf"\text{{{words[end:]}}}")
    return "".join(piece for piece in pieces if piece != r"\text{}")


def _script(words: str) -> str:
    """An index or a power: mathematics as it stands, but for indices of its own."""
    return re.sub(r"_(\w+)", r"_{\1}", words[1:-1] if words.startswith("{") else words)


def _formula(claim: Claim, expression: sympy.Basic) -> str:
    """In the letters of the paper, a formula among them in brackets; a code name without a letter stays one word."""
    names = {}
    for symbol in expression.free_symbols:
        own = sympy.latex(symbol)
        word = (
            r"\mathrm{" + symbol.name.replace("_", r"\_") + "}"
            if len(symbol.name) > 1 and not own.startswith("\\")
            else own
        )
        letter = claim.letters.get(symbol.name, word)
        names[symbol] = rf"\left({letter}\right)" if expression != symbol and _is_sum(letter) else letter
    return str(sympy.latex(expression, symbol_names=names))


def _is_sum(letter: str) -> bool:
    """Whether a letter is a formula that a factor beside it would tear apart."""
    while (bare := _CLOSED.sub("", letter)) != letter:
        letter = bare
    return re.search(r"[-+]|\\sum|\\max", letter) is not None
