"""Checks of Algorithms 2 and 3 and of the definitions of section 5: the library's FedLaAvg and a literal reading."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np

from analysis.checks import CheckBook, Depth, plus, put, times
from analysis.checks.fedlaavg.model import take_part
from analysis.evidence import Evidence, Tally
from analysis.trials import exact_value
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import by_rounds, setting
from fltheory.papers.fedlaavg.letters import N
from sims.algorithms import fedlaavg
from sims.exact import Setting, run
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import schedule

checks = CheckBook()

CURVATURES, CENTRES = (1, 2, 3), (F(1), F(-1), F(1, 2))
CHOSEN = ([[0], [1], [0]], [[0, 1], [1], [2, 0]], [[0, 1, 2], [2], []])


def by_library(chosen: Sequence[Sequence[int]], clients: int, step: F, local_steps: int) -> list[F]:
    """x^(rC) of Algorithm 2 from x^0 = 1."""
    problem = DiagonalQuadratic(list(CURVATURES[:clients]), list(CENTRES[:clients]))
    rows = [np.isin(np.arange(clients), who) for who in chosen]
    states = run(
        Setting(fedlaavg.fedlaavg, problem, fedlaavg.as_in_paper(step, local_steps), [1]), schedule(rows), len(rows)
    )
    return [state.linear["x"][0] for state in states]


def algorithm_3(chosen: Sequence[Sequence[int]], clients: int, step: F, local_steps: int, share: F) -> list[F]:
    """x^(rC) of Algorithm 3, word for word, with `share` in front of the sum of (38)."""
    x, xs = F(1), [F(1)]
    gradients: dict[tuple[int, int], F] = {}  # (client, iteration) -> g; 0 where there is none
    latest = [0] * clients
    for r, who in enumerate(chosen, start=1):
        local = dict.fromkeys(who, x)
        for i in who:
            latest[i] = r
        for t in range((r - 1) * local_steps + 1, r * local_steps + 1):
            for i in who:
                gradients[i, t] = CURVATURES[i] * (local[i] - CENTRES[i])
            used = [gradients.get((i, latest[i] * local_steps - r * local_steps + t), F(0)) for i in range(clients)]
            x -= step * share * sum(used)
            for i in who:
                local[i] -= step * gradients[i, t]
        xs.append(x)
    return xs


def _agreement(claim: Claim) -> tuple[int, dict[str, Any]]:
    """Cases, and the first in which Algorithm 3 leaves the models of Algorithm 2."""
    cases = 0
    for clients, local_steps, pattern in product((2, 3), (2, 3, 1), CHOSEN):
        chosen = [[i for i in who if i < clients] for who in pattern]
        share = exact_value(claim.formulas["share"], {"n_clients": clients})
        two = by_library(chosen, clients, F(1, 10), local_steps)
        three = algorithm_3(chosen, clients, F(1, 10), local_steps, F(share))
        cases += len(two)
        for r, (a, b) in enumerate(zip(two, three, strict=True)):
            if a != b:
                return cases, {
                    "N": clients, "C": local_steps, "step": F(1, 10), "participants": str(chosen),
                    "curvatures": CURVATURES[:clients], "centres": CENTRES[:clients],
                    "x^0": 1, "round": r, "Algorithm 2": a, "Algorithm 3": b,
                }  # fmt: skip
    return cases, {}


def _equivalence(claim: Claim, bad: Any) -> Evidence:
    cases, witness = _agreement(claim)
    if witness:
        return Evidence(bad, "exact run", "Without the factor 1/N the models differ.", cases=cases, witness=witness)
    domain = "2 and 3 clients, C up to 3, three patterns, exact rationals"
    return Evidence("exact", "exact runs", "The same models at all iterations rC.", domain, cases)


@checks(by_rounds.alg3, mutants=[put("share", 1, 1 / N)])
def algorithm_3_as_printed(claim: Claim, depth: Depth) -> Evidence:
    """Algorithm 3 word for word against the library's Algorithm 2."""
    return _equivalence(claim, "inconsistent")


@checks(by_rounds.eq38, mutants=[put("share", 1, 1 / N)])
def virtual_update_as_printed(claim: Claim, depth: Depth) -> Evidence:
    """The same, for the equation."""
    return _equivalence(claim, "inconsistent")


@checks(by_rounds.alg3_repaired, mutants=[put("share", N, N + 1), put("share", N, N**2)])
def algorithm_3_with_the_factor(claim: Claim, depth: Depth) -> Evidence:
    """The same with 1/N."""
    return _equivalence(claim, "refuted")


@checks(by_rounds.eq39, mutants=[put("updated", setting.any_client, setting.takes_part)])
def who_updates(claim: Claim, depth: Depth) -> Evidence:
    """Clients for which the update is prescribed but that have no gradient in that round."""
    who = take_part((3, 3, 1), 3, 2, 1, 2)
    counted = _counted(claim.formulas["updated"], who)
    for r, (prescribed, chosen) in enumerate(zip(counted, who.chosen, strict=True), start=1):
        if extra := sorted(set(prescribed) - set(chosen)):
            return Evidence(
                "conditional", "run", "Only selected clients compute a gradient.", hypothesis="client i is selected",
                witness={"round": r, "clients for which the step is printed": str(prescribed),
                         "clients that are selected": str(chosen), "clients without a gradient": str(extra)},
            )  # fmt: skip
    return Evidence("exact", "run", "Everybody for whom it is prescribed has a gradient.", cases=len(counted))


def _counted(what: Any, who: Any) -> list[list[int]]:
    """Clients, round by round, of which `any_client`, `is_available` or `takes_part` is true."""
    if what == setting.any_client:
        return [list(range(row.size)) for row in who.available]
    if what == setting.takes_part:
        return list(who.chosen)
    return [np.flatnonzero(row).tolist() for row in who.available]


@checks(setting.def_R, mutants=[put("counted", setting.is_available, setting.takes_part)])
def which_round_is_latest(claim: Claim, depth: Depth) -> Evidence:
    """R_i by the definition against R_i as Algorithm 2 updates it, three clients, one selected, all available."""
    who = take_part((7,), 6, 3, 1, 1)
    counted = _counted(claim.formulas["counted"], who)
    now = [0] * 3
    for r, (row, latest) in enumerate(zip(counted, who.latest, strict=True), start=1):
        for i in row:
            now[i] = r
        if now != latest:
            return Evidence(
                "inconsistent", "run",
                "Algorithm 2 updates R_i on participation: `available` reads as `participating`.",
                witness={"N": 3, "K": 1, "round": r, "R by the definition": str(now), "R in Algorithm 2": str(latest)},
            )  # fmt: skip
    return Evidence("exact", "run", "As Algorithm 2 updates it.", "three clients, six rounds", len(counted))


@checks(by_rounds.alg2_C1, mutants=[plus("local steps", 1), times("local steps", "13/10")])
def one_local_step(claim: Claim, depth: Depth) -> Evidence:
    """Algorithm 1 word for word (stored gradients, differences) against the library's Algorithm 2."""
    tally, stated = Tally(), claim.formulas["local steps"]
    if not stated.is_integer:
        return Evidence("refuted", "exact runs", "No number of local steps.", witness={"local steps": stated})
    local_steps = int(stated)
    for clients, pattern in product((2, 3), CHOSEN):
        chosen = [[i for i in who if i < clients] for who in pattern]
        x, average, stored, xs = F(1), F(0), [F(0)] * clients, [F(1)]
        for who in chosen:
            for i in who:
                fresh = CURVATURES[i] * (x - CENTRES[i])
                average += (fresh - stored[i]) / clients
                stored[i] = fresh
            x -= F(1, 10) * average
            xs.append(x)
        for r, (a, b) in enumerate(zip(by_library(chosen, clients, F(1, 10), local_steps), xs, strict=True)):
            tally.equal(a, b, N=clients, iteration=r)
    return tally.evidence("exact", "exact runs", "The same models.", domain="2 and 3 clients, three patterns")
