"""The statement of a claim in LaTeX, from its bound, its formulas and its conditions; nothing is written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter

from fltheory.ledger import Claim

# What is no plain text in words such as "E||grad f(x_t)||^2": it is set as mathematics between pieces of text.
_MATHS = re.compile(r"(?P<script>[_^])(?P<what>\w+|\([^()]*\)|\{[^{}]*\}|\*)|(?P<sign><=|>=|[<>⟨⟩{}%&#~_^\\$])")
_PRODUCT = re.compile(r"<(?=\S)([^<>]*,[^<>]*)(?<=\S)>")  # an inner product
_RELATION = re.compile(r"<=|>=|<|>")
_RANGE = r"\w+(?: (?:<=|>=|<|>) \w+)+"
_OVER = re.compile(rf" over (?P<range>{_RANGE})(?P<more>, [^,<>]*,)? of ")  # beneath a sum or a minimum
_LAST = re.compile(rf"(?P<lead>,| in round| for) (?P<range>{_RANGE})$")  # where the inequality holds
_IN_WORDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
_CLOSED = re.compile(r"\{[^{}]*\}|\([^()]*\)|\[[^][]*\]|\\\|.*?\\\||\|[^|]*\|")  # brackets and bars, inmost first
_SIGNS = {
    "<=": r"\leq ",
    ">=": r"\geq ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "~": r"{}^{\sim}",
    "^": r"\wedge ",
    "\\": r"\backslash ",
} | {c: c for c in "<>"}


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
        yield _inequality(claim.bound.lhs, _formula(claim, claim.bound.rhs))
    for name, part in claim.formulas.items():
        yield rf"{text(_one_side(name) + ':')}\quad {_formula(claim, part)}"
    for name, part in claim.conditions.items():
        yield rf"{text(f'condition, {_one_side(name)}:')}\quad {_formula(claim, part)}"


def _inequality(words: str, right: str) -> str:
    r"""words <= right, with a single relation: the range of an index stands below its sum, or after the inequality.

    >>> print(_inequality("E||grad f(x_t)||^2, t < T", "1"))
    \text{E||grad f(x}_{t}\text{)||}^{2} \leq 1 \quad \text{for }t < T
    >>> print(_inequality("sum over k < K of a_k", "1"))
    \text{sum}_{k < K}\text{ a}_{k} \leq 1
    """
    last, where = _LAST.search(words), ""
    if last:
        lead = "for" if last["lead"] == "," else last["lead"].strip()
        words, where = words[: last.start()], rf" \quad \text{{{lead} }}{_maths(last['range'])}"
    return rf"{_words(words)} \leq {right}{where}"


def _words(words: str) -> str:
    """One side of an inequality."""
    over = _OVER.search(words)
    if not over:
        return text(_one_side(words))
    more = rf"\text{{{over['more'].removesuffix(',')}}}" if over["more"] else ""
    after = text(_one_side(" " + words[over.end() :]))
    return rf"{text(_one_side(words[: over.start()]))}_{{{_maths(over['range'])}{more}}}{after}"


def _one_side(words: str) -> str:
    """Relations outside all brackets in words, lest they be read together with the relation that follows."""
    marked, pieces, end = _PRODUCT.sub(r"⟨\1⟩", words), [], 0
    for found in _RELATION.finditer(marked):
        before = marked[: found.start()]
        if all(before.count(opening) == before.count(closing) for opening, closing in ("()", "[]", "{}")):
            pieces += [marked[end : found.start()].rstrip(), f" {_IN_WORDS[found[0]]} "]
            end = found.end() + (marked[found.end() : found.end() + 1] == " ")
    return "".join([*pieces, marked[end:]])


def _maths(words: str) -> str:
    return _RELATION.sub(lambda found: _SIGNS[found[0]].strip(), _script(words))


def text(words: str) -> str:
    r"""Words within mathematics; indices, powers and signs in them are set as such.

    >>> print(text("Pr{||grad f(x_t)||^2 > level}"))
    \text{Pr}\{\text{||grad f(x}_{t}\text{)||}^{2}\text{ }>\text{ level}\}
    """
    pieces, end, words = [], 0, _PRODUCT.sub(r"⟨\1⟩", words)
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
    """In the letters of the paper, a formula among them in brackets; a code name without a letter is said in words."""
    names = {}
    for symbol in expression.free_symbols:
        own = sympy.latex(symbol)
        word = (
            r"\text{" + symbol.name.replace("_", " ") + "}"
            if len(symbol.name) > 1 and not own.startswith("\\")
            else own
        )
        letter = claim.letters.get(symbol.name, word)
        names[symbol] = rf"\left({letter}\right)" if expression != symbol and _is_sum(letter) else letter
    return str(_Printer({"symbol_names": names}).doprint(expression))


class _Printer(LatexPrinter):  # type: ignore[misc]
    """As sympy's, but for two names: gamma is a step size in the papers, and the digamma function is psi."""

    def _print(self, expression: Any, **options: Any) -> str:
        return r"\gamma_{E}" if expression is sympy.EulerGamma else str(super()._print(expression, **options))

    def _print_polygamma(self, expression: sympy.Function, exp: str | None = None) -> str:
        order, argument = expression.args
        derivative = rf"^{{({self._print(order)})}}" if order != 0 else ""
        value = rf"\psi{derivative}\left({self._print(argument)}\right)"
        return value if exp is None else rf"{{{value}}}^{{{exp}}}"


def _is_sum(letter: str) -> bool:
    """Whether a letter is a formula that a factor beside it would tear apart."""
    while (bare := _CLOSED.sub("", letter)) != letter:
        letter = bare
    return re.search(r"[-+]|\\sum|\\max", letter) is not None
