"""The statement of a claim in LaTeX, from its bound, its formulas and its conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import sympy
from sympy.logic.boolalg import Boolean
from sympy.printing.latex import LatexPrinter

if TYPE_CHECKING:
    from fltheory.ledger import Claim

# Signs that stand for what is said by more than one letter, put in before words are told from mathematics.
_SPELT = (
    (re.compile(r"<(?=\S)([^<>]*,[^<>]*)(?<=\S)>"), r"⟨\1⟩"),  # an inner product
    (re.compile(r"\bfloor\(([^()]*)\)"), r"⌊\1⌋"),
    (re.compile(r"1\{([^{}]*)\}"), r"𝟏_{⦃\1⦄}"),  # an indicator
    (re.compile(r"\bsum of (?=E|D\b|\()|\bsum (?=grad|\()|\bsum(?=_)"), "∑ "),
)
_SIGNS = {
    "<=": r"\leq ",
    ">=": r"\geq ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⦃": r"\{",
    "⦄": r"\}",
    "𝟏": r"\mathbf{1}",
    "∑": r"\sum ",
    "||": r"\|",
    "\\": r"\backslash ",
} | {sign: f"\\{sign}" for sign in "{}%&#$"}
_GREEK = ("alpha", "beta", "gamma", "delta", "eta", "kappa", "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "phi",
          "psi", "zeta", "epsilon")  # fmt: skip
_NAMES = {name: f"\\{name} " for name in _GREEK} | {
    "eps": r"\epsilon ",
    "grad": r"\nabla ",
    "Pr": r"\Pr",
    "calF": r"\mathcal{F}",
    "hatT": r"\hat{T}",
    "vhat": r"\hat{v}",
    "Psi": r"\Psi ",
    "log": r"\log ",
    "min": r"\min ",
    "max": r"\max ",
}
_TOKEN = re.compile(
    r"[_^](?P<script>[A-Za-z0-9]+|\((?:[^()]|\([^()]*\))*\)|\{[^{}]*\}|\*)"
    r"|(?P<tilde>[A-Za-z]~)|(?P<starred>[A-Za-z]\*)|(?P<half>\(1/[A-Z]\))|(?P<indexed>\b[A-Za-z]\d+\b)"
    r"|\bsqrt\((?P<root>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
    r"|(?P<product>(?<=[(/])[A-Za-z]{2}(?=\)))"
    r"|(?P<mean>\bE(?=[\[|<⟨_]| [A-Za-z]))"
    r"|(?P<text>\b[a-z]+(?:_(?!min\b|max\b)[a-z]{2,})+|\ba(?= [a-z]{2})|\d+'s\b)"  # code names, an article
    r"|(?P<word>[A-Za-z]{2,}(?:-[A-Za-z]+|'s\b|'(?= )|\d+(?![\d.]))*|[A-Za-z](?:-[a-z]{2,})?)"
    r"|(?P<sign><=|>=|\|\||[⟨⟩⌊⌋⦃⦄𝟏∑\\{}%&#$])|(?P<other>\.\d+|\S)|(?P<space>\s+)"
)
_RELATION = re.compile(r"<=|>=|<|>")
_RANGE = r"\w+(?: (?:<=|>=|<|>) \w+)+"
_OVER = re.compile(rf" over (?P<range>{_RANGE})(?P<more>, [^,<>]*,)? of ")  # beneath a sum or a minimum
_LAST = re.compile(rf"(?P<lead>,| in round| for) (?P<range>{_RANGE})$")  # where the inequality holds
_IN_WORDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
_CLOSED = re.compile(r"\{[^{}]*\}|\([^()]*\)|\[[^][]*\]|\\\|.*?\\\||\|[^|]*\|")  # brackets and bars, inmost first


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
        yield inequality(claim.bound.lhs, formula(claim.bound.rhs, claim.letters))
    for name, part in claim.formulas.items():
        yield _named(name, part, claim.letters)
    for name, part in claim.conditions.items():
        yield rf"{words(f'condition, {_one_side(name)}:')}\quad {formula(part, claim.letters)}"


def _named(name: str, part: sympy.Basic, letters: Mapping[str, str]) -> str:
    """A formula for a quantity of the paper, or for a symbol, equals it; any other stands after its name."""
    right = formula(part, letters)
    known = re.fullmatch(r"[a-z]+_[a-z_]+|amplification|interval", name) is not None and letters.get(name)
    left = known or words(_one_side(name))
    relation = isinstance(part, Boolean) and not isinstance(part, sympy.Expr)
    if known or not (relation or re.search(r"\\text|^\(|^\d|=", left)):
        return f"{left} = {right}"
    return rf"{words(_one_side(name) + ':')}\quad {right}"


def inequality(left: str, right: str) -> str:
    r"""words <= LaTeX, with a single relation: the range of an index stands below its sum, or after the inequality.

    >>> print(inequality("E||grad f(x_t)||^2, t < T", "1"))
    \mathbb{E}\|\nabla f(x_{t})\|^{2} \leq 1 \quad \text{for }t < T
    >>> print(inequality("(1/K) sum over k < K of a_k", "1"))
    \frac{1}{K} \sum_{k < K} a_{k} \leq 1
    """
    last, where = _LAST.search(left), ""
    if last:
        lead = "for" if last["lead"] == "," else last["lead"].strip()
        left, where = left[: last.start()], rf" \quad \text{{{lead} }}{words(last['range'])}"
    over = _OVER.search(left)
    if not over:
        return rf"{words(_one_side(left))} \leq {right}{where}"
    more = words(over["more"].removesuffix(",")) if over["more"] else ""
    above, below = words(_one_side(re.sub(r"\bsum$", "∑", left[: over.start()]))), words(over["range"])
    return rf"{above}_{{{below}{more}}} {words(_one_side(left[over.end() :]))} \leq {right}{where}"


def _one_side(text: str) -> str:
    """Relations outside all brackets in words, lest they be read together with the relation that follows."""
    marked, pieces, end = _SPELT[0][0].sub(_SPELT[0][1], text), [], 0
    for found in _RELATION.finditer(marked):
        before = marked[: found.start()]
        if all(before.count(opening) == before.count(closing) for opening, closing in ("()", "[]", "{}")):
            pieces += [marked[end : found.start()].rstrip(), f" {_IN_WORDS[found[0]]} "]
            end = found.end() + (marked[found.end() : found.end() + 1] == " ")
    return "".join([*pieces, marked[end:]])


def words(text: str) -> str:
    r"""Words and plain formulas among them: single letters and known names are mathematics, other words are text.

    >>> print(words("Pr{||grad f(x_t)||^2 > level of sigma}"))
    \Pr\{\|\nabla f(x_{t})\|^{2} >\text{ level of }\sigma \}
    """
    for pattern, sign in _SPELT:
        text = pattern.sub(sign, text)
    runs: list[tuple[bool, str]] = []  # whether it is text, and what
    for token in _TOKEN.finditer(text):
        is_text, value = _token(token)
        if is_text is None:
            is_text = bool(runs) and runs[-1][0]
        if is_text and runs and not runs[-1][0] and runs[-1][1].endswith(" "):  # between mathematics and text
            runs[-1], value = (False, runs[-1][1].rstrip()), f" {value}"
        if runs and runs[-1][0] == is_text:
            value = runs.pop()[1] + value
        runs.append((is_text, value))
    found = "".join(rf"\text{{{value}}}" if is_text else value for is_text, value in runs)
    return re.sub(r" +(?=[ _^)])", "", found).strip()


def _token(token: re.Match[str]) -> tuple[bool | None, str]:
    """Whether a token is text (None: like the one before), and its LaTeX."""
    kind, value = token.lastgroup or "", token[0]
    if kind in _MATHEMATICS:
        return False, _MATHEMATICS[kind](token)
    if kind == "word":
        return value not in _NAMES and len(value) > 1, _NAMES.get(value, value)
    if kind == "text":
        return True, value.replace("_", " ")
    return None if kind == "space" or value in ",;:." else False, " " if kind == "space" else value


def _script(token: re.Match[str]) -> str:
    """An index or a power; there are no words in it."""
    inside, pieces = token["script"], []
    for part in _TOKEN.finditer(inside[1:-1] if inside[0] in "({" else inside):
        word = part["word"]
        pieces.append(_NAMES.get(word, " ".join(word)) if word else _token(part)[1])
    return f"{token[0][0]}{{{''.join(pieces).strip()}}}"


_MATHEMATICS: dict[str, Callable[[re.Match[str]], str]] = {
    "script": _script,
    "tilde": lambda token: rf"\tilde{{{token[0][0]}}}",
    "starred": lambda token: f"{token[0][0]}^{{*}}",
    "half": lambda token: rf"\frac{{1}}{{{token[0][3]}}}",
    "indexed": lambda token: f"{token[0][0]}_{{{token[0][1:]}}}",
    "root": lambda token: rf"\sqrt{{{words(token['root'])}}}",
    "product": lambda token: " ".join(token[0]),
    "mean": lambda token: r"\mathbb{E}",
    "sign": lambda token: _SIGNS[token[0]],
}


def formula(expression: sympy.Basic, letters: Mapping[str, str]) -> str:
    """In the letters of the paper, a formula among them in brackets; a code name without a letter is said in words."""
    names = {}
    for symbol in expression.free_symbols:
        own = sympy.latex(symbol)  # in which the "cal" of "local" would be an alphabet
        plain = len(symbol.name) > 1 and not re.fullmatch(rf"\\{symbol.name}|[A-Za-z]_\{{\d+\}}", own)
        letter = letters.get(symbol.name, rf"\text{{{symbol.name.replace('_', ' ')}}}" if plain else own)
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
