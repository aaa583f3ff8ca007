"""What is claimed: papers, claims and bounds, and the ledger that finds them by id.

A claim is one numbered statement of a paper, or one of ours. What a machine can read of it stands in
`conditions` (sympy relations), `formulas` (sympy expressions) and `bound`; checks, which live in `analysis`,
read these parts and nothing else, so that a falsified claim fails its check.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Literal

import sympy
from sympy.logic.boolalg import Boolean

from fltheory import latex, plugins
from fltheory.assumptions import Holding, Predicate
from fltheory.bound import Bound, stated
from fltheory.errors import InputError

__all__ = ["Bound", "Claim", "Ledger", "Paper", "UnknownClaim", "ledger", "unknown_claim"]

Kind = Literal[
    "assumption", "definition", "algorithm", "equation", "lemma", "proposition", "theorem", "corollary",
    "remark", "number", "table", "law",
]  # fmt: skip


@dataclass(frozen=True, repr=False)
class Claim:
    """One statement with everything needed to check it.

    id          <paper>.<name>, as in docs/verdicts.md
    where       where it stands in the paper ("ours" for what we add)
    words       the statement in words
    latex       the statement as printed (display math without delimiters)
    origin      "paper" or "ours"
    assumes     the assumptions it makes (claims of kind "assumption")
    conditions  name -> sympy relation, or a truth value, which becomes sympy's
    formulas    name -> sympy expression, or a number, which becomes one: the machine-readable content
    bound       where it is a bound
    uses        ids of the statements it rests on
    repaired_by id of the statement to use instead, where one is known
    gap         where the printed argument needs more, or what is printed differently elsewhere; said courteously
    asks        for an assumption: what tells whether a problem (or a process) satisfies it, and with which constants
    aliases     older names, found by lookup
    unchecked   why there is no check, for what is not checked
    letters     code name -> letter of the paper, in LaTeX
    meanings    code name -> meaning, for symbols that are no quantities of `fltheory.symbols`
    mentions    symbols that only the words, the LaTeX or the left-hand side have: they are explained too

    Raises InputError for a condition or a formula that is neither.
    """

    id: str
    title: str
    kind: Kind
    where: str
    words: str
    edition: str
    latex: str = ""
    origin: Literal["paper", "ours"] = "paper"
    assumes: tuple[Claim, ...] = ()
    conditions: Mapping[str, sympy.Basic] = field(default_factory=dict)
    formulas: Mapping[str, sympy.Basic] = field(default_factory=dict)
    bound: Bound | None = None
    uses: tuple[str, ...] = ()
    repaired_by: str = ""
    gap: str = ""
    asks: Predicate | None = None
    aliases: tuple[str, ...] = ()
    unchecked: str = ""
    letters: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    mentions: tuple[sympy.Symbol, ...] = ()

    def __post_init__(self) -> None:
        conditions = {name: stated(part) for name, part in self.conditions.items()}
        for name, part in conditions.items():
            if not isinstance(part, Boolean) or isinstance(part, sympy.Expr):  # a symbol counts as both
                raise InputError(
                    f"condition {name!r} of {self.id}", self.conditions[name], "a sympy relation or a truth value"
                )
        formulas = {name: stated(part) for name, part in self.formulas.items()}
        for name, part in formulas.items():
            if part is None:
                allowed = "a sympy expression or a number"
                raise InputError(f"formula {name!r} of {self.id}", self.formulas[name], allowed)
        object.__setattr__(self, "conditions", conditions)
        object.__setattr__(self, "formulas", formulas)

    @property
    def paper(self) -> str:
        """The paper's one name: the part of the id before the first dot."""
        return self.id.partition(".")[0]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the statement; a recorded verdict of another digest is stale."""
        parts = {
            "id": self.id,
            "words": self.words,
            "latex": self.latex,
            "assumes": [a.id for a in self.assumes],
            "conditions": {k: sympy.srepr(v) for k, v in self.conditions.items()},
            "formulas": {k: sympy.srepr(v) for k, v in self.formulas.items()},
            "bound": [self.bound.lhs, sympy.srepr(self.bound.rhs)] if self.bound else None,
            "unchecked": self.unchecked,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def holds_for(self, subject: Any) -> Holding:
        """Whether a problem (or a process) satisfies this assumption, and with which constants.

        Raises InputError for a statement that is no assumption or that nothing can be asked about.
        """
        if self.asks is None:
            raise InputError("claim", self.id, "an assumption that a problem can be asked for")
        return self.asks(subject)

    @property
    def parts(self) -> tuple[sympy.Basic, ...]:
        """Everything that a machine can read of it: conditions, formulas, the right-hand side of the bound."""
        return *self.conditions.values(), *self.formulas.values(), *([self.bound.rhs] if self.bound else [])

    def to_latex(self, expression: sympy.Basic) -> str:
        """`expression` in the letters of the paper."""
        return latex.formula(expression, self.letters)

    def __repr__(self) -> str:
        return f"<Claim {self.id}: {self.title}>"

    def _repr_latex_(self) -> str:
        said = latex.statement(self)
        return f"$${said}$$" if said else self.words

    def _repr_html_(self) -> str:
        head = f"<b>{escape(self.id)}</b> ({escape(self.kind)}, {escape(self.where)}): {escape(self.title)}"
        said = latex.statement(self)
        return f"<div>{head}<p>{escape(self.words)}</p>{f'$${escape(said)}$$' if said else ''}</div>"


class Paper:
    """One paper (or one user's collection of statements): name, edition, letters and their meanings, claims."""

    def __init__(
        self,
        name: str,
        title: str,
        *,
        edition: str,
        letters: Mapping[str, str] | None = None,
        meanings: Mapping[str, str] | None = None,
    ) -> None:
        if not name.isidentifier():
            raise InputError("name of a paper", name, "one word, the first part of all its claim ids")
        self.name, self.title, self.edition = name, title, edition
        self.letters, self.meanings = dict(letters or {}), dict(meanings or {})
        self.claims: dict[str, Claim] = {}

    def claim(self, name: str, title: str, *, kind: Kind, where: str, words: str, **parts: Any) -> Claim:
        """Enter one statement under the id `<paper>.<name>` and return it."""
        new = Claim(
            f"{self.name}.{name}",
            title,
            kind,
            where,
            words,
            edition=self.edition,
            letters=self.letters,
            meanings=self.meanings,
            **parts,
        )
        if new.id in self.claims:
            raise InputError("claim id", new.id, "new: this id is taken")
        self.claims[new.id] = new
        return new

    def assumption(self, name: str, title: str, *, where: str, words: str, **parts: Any) -> Claim:
        """Enter an assumption, shared by the claims that make it."""
        return self.claim(name, title, kind="assumption", where=where, words=words, unchecked="Assumption", **parts)


class Ledger(Mapping[str, Claim]):
    """All claims of all installed papers, by id or alias; loaded at the first look-up."""

    @cached_property
    def papers(self) -> dict[str, Paper]:
        """Name -> paper, from the entry points of group `fltheory.claims`."""
        found: dict[str, Paper] = {}
        for entry in plugins.entries("fltheory.claims").values():
            paper: Paper = plugins.load(entry, Paper)
            if found.setdefault(paper.name, paper) is not paper:
                raise InputError(f"paper of entry point {entry.name!r}", paper.name, "a name that no other paper has")
        return found

    @cached_property
    def _claims(self) -> dict[str, Claim]:
        return {id_: claim for paper in self.papers.values() for id_, claim in paper.claims.items()}

    @cached_property
    def _aliases(self) -> dict[str, str]:
        return {alias: claim.id for claim in self._claims.values() for alias in claim.aliases}

    def __getitem__(self, id_: str) -> Claim:
        claim = self._claims.get(self._aliases.get(id_, id_))
        if claim is None and id_ in self.papers:
            raise UnknownClaim(
                "claim id", id_, f"the id of a claim, not of a paper (see `fltheory list --paper {id_}`)"
            )
        if claim is None:
            raise unknown_claim(id_, [*self._claims, *self._aliases])
        return claim

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)


class UnknownClaim(InputError, KeyError):
    """No claim has this id."""

    __str__ = InputError.__str__


def unknown_claim(id_: str, known: list[str]) -> UnknownClaim:
    """The error for an id that nothing has, with the nearest ones that exist."""
    asked = str(id_).lower()
    near = [name for name in known if name.lower() == asked or name.lower().endswith(f".{asked}")][:3]
    near = near or difflib.get_close_matches(asked, known, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "see `fltheory list`"
    return UnknownClaim("claim id", id_, f"the id of a claim ({hint})")


ledger = Ledger()
