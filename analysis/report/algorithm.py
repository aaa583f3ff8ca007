"""The pages of the algorithms: steps in our words, what they keep and send, what was found about its guarantees."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from itertools import starmap

from analysis.algorithms_list import OBJECTIVES
from analysis.report.claims import badge, link
from analysis.report.facts import AGAINST, NOT_RECORDED, Facts
from analysis.report.html import Html, element, items, join, page, section, table
from analysis.report.mathematics import sentence
from analysis.report.pseudocode import NAMED, RECIPES
from fltheory.ledger import Claim, ledger
from fltheory.verdicts import needs
from sims.algorithms import Algorithm

GUARANTEES = ("theorem", "corollary", "proposition")
ROOT = "../"


def algorithms_page(known: dict[str, Algorithm]) -> str:
    """All algorithms with what they cost, and what FedAvg's weighting rules minimise."""
    head = ("Algorithm", "Source", "Server keeps", "Client keeps", "Sent to a client", "Sent by it")
    rows = [
        (element("a", name, href=f"algorithms/{name}.html"), algorithm.source, *_costs(algorithm).values())
        for name, algorithm in known.items()
    ]
    return page(
        "Algorithms",
        element(
            "p",
            "Each is written once and runs on floats, on exact rationals and on torch. Memory and communication are in "
            "vectors as long as the model, the model included; counters and weights, a few numbers a client, are not "
            "among them. N is the number of clients.",
        ),
        table(head, rows),
        section("Names of rules within them", items(starmap(_named, NAMED.items()))),
        section(
            "What a weighting rule minimises",
            element("p", sentence(r"For participation at rates $p_n$, FedAvg minimises $\sum_n \phi_n F_n$ with")),
            table(("Rule", "Weights of the clients' objectives"), list(OBJECTIVES.items())),
        ),
        at="algorithms.html",
    )


def algorithm_page(facts: Facts, name: str, algorithm: Algorithm) -> str:
    """One algorithm; one of another package without steps of ours is told in its module's words."""
    recipe = RECIPES.get(name)
    if recipe:
        told = element("ol", *map(_step, recipe.steps), class_="steps")
    else:
        told = _docstring(sys.modules[algorithm.apply.__module__])
    about = [claim for named in recipe.claims for claim in _bounds(named)] if recipe else []
    failing = [claim for claim in about if facts.verdict(claim) in AGAINST]
    open_ = [claim for claim in about if facts.verdict(claim) in ("not checked", NOT_RECORDED)]
    holding = [claim for claim in about if claim not in failing and claim not in open_]
    return page(
        name,
        element("p", f"Source: {algorithm.source}."),
        section("Steps", told),
        section("Parameters", _docstring(algorithm.hyper)),
        section(
            "Memory and communication",
            table(("For N clients", "Vectors as long as the model"), list(_costs(algorithm).items())),
        ),
        section(
            "Guarantees that nothing was found against",
            element("p", "The verdict beside each says how it was checked, and so how far that goes.")
            if holding
            else "",
            _list(facts, holding),
        ),
        section("Guarantees that do not hold as stated", _read(failing), _list(facts, failing)),
        section("Guarantees not checked", _list(facts, open_)),
        section("Guarantees", "" if about else element("p", "The papers read here state none, so none is recorded.")),
        at=f"algorithms/{name}.html",
    )


def _named(name: str, within: tuple[str, str]) -> Html:
    """A link to the algorithm whose page describes what has this name."""
    algorithm, rule = within
    return join(element("a", name, href=f"algorithms/{algorithm}.html#{name}"), f": {algorithm} with {rule}.")


def _docstring(thing: object) -> Html:
    text = inspect.getdoc(thing)
    return element("pre", text) if text else Html()


def _step(step: str) -> Html:
    within = step.startswith("  ")
    name = next((name for name in NAMED if step.startswith(name)), None)
    return element("li", sentence(step.strip()), class_="within" if within else None, id=name)


def _bounds(named: str) -> Iterable[Claim]:
    """A claim, or those of a paper that guarantee something: theorems and their like with a bound."""
    if named not in ledger.papers:
        return [ledger[named]]
    return [c for c in ledger.papers[named].claims.values() if c.bound and c.kind in GUARANTEES]


def _read(failing: list[Claim]) -> Html:
    """Which editions were read, and how to contest what is said of them; nothing for no claim."""
    if not failing:
        return Html()
    editions = "; ".join(dict.fromkeys(claim.edition for claim in failing))
    said = f"This is about the editions that were read: {editions}. It may be a misreading, or mended elsewhere. "
    return element("p", said, element("a", "How to contest it.", href=f"{ROOT}contest.html"), class_="note")


def _list(facts: Facts, claims: list[Claim]) -> Html:
    """Claims with what they need and what to use instead."""
    entries = []
    for claim in claims:
        verdict = facts.verdict(claim)
        needed = needs(facts.entries[claim.id]) if claim.id in facts.entries else ""
        instead = ledger[claim.repaired_by] if claim.repaired_by and verdict in AGAINST else None
        parts = [link(claim, ROOT), f": {claim.title} ", badge(verdict), f" Needs: {needed}." if needed else ""]
        entries.append(join(*parts, *([" Use instead ", link(instead, ROOT), "."] if instead else [])))
    return items(entries) if entries else Html()


def _costs(algorithm: Algorithm) -> dict[str, str]:
    """What is kept and sent -> how many vectors."""
    each = algorithm.server_vectors(2) - algorithm.server_vectors(1)
    fixed = algorithm.server_vectors(1) - each
    server = " + ".join([*([f"{each} N" if each > 1 else "N"] if each else []), *([str(fixed)] if fixed else [])])
    return {
        "kept by the server": server,
        "kept by a client": str(algorithm.client_vectors),
        "sent to a participant": str(algorithm.down),
        "sent by a participant": str(algorithm.up),
    }
