"""The ledger's theorems, assumption by assumption, held against a log: holds, fails, or cannot be told from it.

Nothing here lists theorems. What a statement assumes stands in the ledger. A predicate that asks for constants of a
problem is about objectives, of which a log says nothing; one that asks for something else is about participation,
and has a judge here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from analysis.trace_report.counts import participants, participants_at_most
from analysis.trace_report.fits import Fit
from analysis.trace_report.gaps import Absences
from analysis.trace_report.hypotheses import Finding, telling
from analysis.traces import Log
from fltheory.assumptions import Holding, Predicate, about_participation, bounded_gaps
from fltheory.ledger import Claim, ledger
from fltheory.papers.fedau.setting import independent_rounds
from fltheory.participation import Bernoulli
from fltheory.planning import STATEMENTS as PLANNED

CLEARLY = 10  # less of BIC: odds of e^5, about 150 to 1, where neither was likelier before
Word = Literal["holds", "fails", "cannot be told"]
STATEMENTS = ("theorem", "proposition", "corollary")
SOMEBODY = "somebody in every round"  # what some statements want, and no assumption of the ledger says


@dataclass(frozen=True)
class Ruling:
    """What a log says of an assumption, or of all assumptions of a theorem: the worst of them.

    why            one sentence
    client, round  where it fails, or where it is closest to failing: a name, and the first round; None where a client
                   or a round alone is not to blame
    constants      with which it holds, by code name
    """

    word: Word
    why: str
    client: str | None = None
    round: int | None = None
    constants: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Facts:
    """What judges look at."""

    log: Log
    absences: Absences
    findings: Sequence[Finding]
    fits: Sequence[Fit] = ()


@dataclass(frozen=True)
class _Gaps:
    """What `bounded_gaps` asks of a process."""

    max_gap: np.ndarray[Any, np.dtype[np.float64]]


def ruling(assumption: Claim, facts: Facts) -> Ruling:
    """What the log says of one assumption."""
    if assumption.asks is None:
        return Ruling("cannot be told", f"The ledger has no predicate for {assumption.id} that could be asked.")
    if not about_participation(assumption.asks):
        return Ruling("cannot be told", "It is about objectives, and a log says who took part.")
    judge = JUDGES.get(assumption.asks)
    return judge(facts) if judge else Ruling("cannot be told", f"No judge is known here for {assumption.id}.")


@dataclass(frozen=True)
class TheoremRuling:
    """What a log says of a theorem.

    ruling       fails if an assumption fails; holds if all hold that are not about objectives alone, and there are some
    assumptions  id -> what the log says of it
    objectives   ids of those among them that are about objectives alone: of these a log never tells
    somebody     whether somebody took part in every round, which counts as an assumption; None: it does not want that
    """

    ruling: Ruling
    assumptions: Mapping[str, Ruling]
    objectives: tuple[str, ...]
    somebody: Ruling | None = None


def theorems() -> list[Claim]:
    """The theorems, propositions and corollaries of all installed papers."""
    return [claim for claim in ledger.values() if claim.kind in STATEMENTS]


def rulings(facts: Facts) -> dict[str, TheoremRuling]:
    """Id of each theorem, proposition and corollary -> what the log says of it."""
    found = {one.id: ruling(one, facts) for claim in theorems() for one in claim.assumes}
    everywhere, wanted = _somebody(facts.log), wanting_somebody()
    result = {}
    for claim in theorems():
        objectives = tuple(a.id for a in claim.assumes if a.asks is not None and not about_participation(a.asks))
        asked = {a.id: found[a.id] for a in claim.assumes if a.id not in objectives}
        somebody = everywhere if claim.id in wanted else None
        together = _together(asked | ({SOMEBODY: somebody} if somebody else {}))
        result[claim.id] = TheoremRuling(together, {a.id: found[a.id] for a in claim.assumes}, objectives, somebody)
    return result


def wanting_somebody() -> set[str]:
    """Ids of the theorems that want somebody in every round: as the planner knows them, and what rests on these.

    A proposition may name a theorem that it serves, and need not want what that wants.
    """
    wanted = {one.claim for one in PLANNED if one.somebody}
    following = [claim for claim in theorems() if claim.kind != "proposition"]
    while more := {claim.id for claim in following if claim.id not in wanted and wanted & set(claim.uses)}:
        wanted |= more
    return wanted


def _somebody(log: Log) -> Ruling:
    """A round in which all clients were off fails it; one in which nobody was seen on, and not all observed, may."""
    empty, unseen = (np.flatnonzero(each == 0) for each in (participants_at_most(log), participants(log)))
    if empty.size:
        why = f"Nobody took part in {empty.size} of {log.n_rounds} rounds, first in round {empty[0]}."
        return Ruling("fails", why, round=int(empty[0]))
    if unseen.size:
        on = log.participations() > 0
        without = np.flatnonzero(participants_at_most(log, on) == 0)
        if without.size:
            why = (
                f"Nobody took part in {without.size} of {log.n_rounds} rounds, first in round {without[0]}, unless one "
                f"of the clients that were never seen on ({np.count_nonzero(~on)}) did, not all of whom were observed"
            )
            return Ruling("cannot be told", f"{why}; a plan leaves these clients out.", round=int(without[0]))
        why = f"Nobody was seen on in {unseen.size} of {log.n_rounds} rounds, first in round {unseen[0]}, but not all"
        return Ruling("cannot be told", f"{why} clients were observed in them.", round=int(unseen[0]))
    return Ruling("holds", "Somebody took part in every round of the log.")


def _together(asked: Mapping[str, Ruling]) -> Ruling:
    for word in ("fails", "cannot be told"):
        hit = next(((id_, one) for id_, one in asked.items() if one.word == word), None)
        if hit:
            id_, one = hit
            return replace(one, why=f"{id_}: {one.why}")
    if not asked:
        return Ruling("cannot be told", "It states no assumption that who takes part decides.")
    constants = {name: value for one in asked.values() for name, value in one.constants.items()}
    return Ruling("holds", f"{', '.join(asked)} holds, as far as the log goes.", constants=constants)


def _gaps(facts: Facts) -> Ruling:
    """The longest absence decides: that which was seen, and that which is possible where nobody looked.

    No log refutes it: who was off in every round may come in the next, and the assumption names no E.
    """
    away, log = facts.absences, facts.log
    sure, most = (bounded_gaps(_Gaps(_largest_gap(longest, log.n_rounds))) for longest in (away.sure, away.most))
    if not sure.holds:
        said = f"was off in every round: E is more than the {log.n_rounds} rounds of the log"
        return _absence(facts, away.sure, away.sure_from, "cannot be told", said, sure)
    least, window = away.window
    if not most.holds:
        said = "was not seen on in any round, nor seen off in all of them"
        return _absence(facts, away.most, away.most_from, "cannot be told", said, most)
    if not away.most.any():
        return Ruling("holds", "No client was ever off: E = 1 on this log.", constants=most.constants)
    said = f"was off longest: E = {window} on this log"
    if least < window:
        said = f"may have been off longest: E is from {least} to {window} on this log, not all of which was observed"
    return _absence(facts, away.most, away.most_from, "holds", said, most)


def _largest_gap(longest: Any, n_rounds: int) -> Any:
    return np.where(longest < n_rounds, longest + 1.0, np.inf)


def _absence(facts: Facts, longest: Any, since: Any, word: Word, said: str, found: Holding) -> Ruling:
    n = int(np.argmax(longest))
    first, rounds = int(since[n]), int(longest[n])
    name = facts.log.clients[n]
    span = f"rounds {first} to {first + rounds - 1}" if rounds else "no round"
    return Ruling(word, f"Client {name} {said} ({span}).", name, first if rounds else None, dict(found.constants))


def _coins(facts: Facts) -> Ruling:
    """A test that rejects refutes independent coins; nothing proves them."""
    rejected = [one for one in telling(facts.findings) if one.coins]
    if not rejected:
        return Ruling("cannot be told", f"No test rejects it, which is no proof{_preferred(facts.fits)}.")
    why = "Rejected: " + ", ".join(f"{one.name} (p = {one.p_value:.1g})" for one in rejected)
    clearest = min((one for one in rejected if one.clients.size), key=lambda one: one.p_value, default=None)
    if clearest is None:
        return Ruling("fails", f"{why}.")
    n = int(clearest.clients[0])
    name, first, rounds = facts.log.clients[n], int(facts.absences.sure_from[n]), int(facts.absences.sure[n])
    if not rounds:
        return Ruling("fails", f"{why}; most clearly for client {name}.", name)
    span = f"client {name} for one, which was off in rounds {first} to {first + rounds - 1}"
    return Ruling("fails", f"{why}; {span}.", name, first)


def _preferred(found: Sequence[Fit]) -> str:
    """That the likelihood clearly prefers a law whose rounds depend on each other, if it does."""
    coins, others = (
        min((fit for fit in found if isinstance(fit.process, Bernoulli) is independent), key=lambda fit: fit.bic,
            default=None)
        for independent in (True, False)
    )  # fmt: skip
    if coins is None or others is None or others.bic > coins.bic - CLEARLY:
        return ""
    bic = f"BIC {others.bic:.0f} against {coins.bic:.0f} of {coins.family}; see the fits"
    return f"; but the likelihood clearly prefers {others.family}, whose rounds depend on each other ({bic})"


JUDGES: dict[Predicate, Callable[[Facts], Ruling]] = {bounded_gaps: _gaps, independent_rounds: _coins}
