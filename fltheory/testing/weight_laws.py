"""Mean and error of an estimator's weights on the three families of the FedAU paper, against what they should be."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from fltheory.participation import Bernoulli, Cyclic, Markov, ParticipationProcess
from fltheory.participation.marginals import Phases, TwoStateChain
from fltheory.participation.runs import BoolArray, FloatArray
from fltheory.testing.tolerance import bernstein

Law = Callable[[ParticipationProcess, int], Any]
Stream = Callable[[BoolArray], FloatArray]
Family = Callable[[Any], ParticipationProcess]

RATES = (0.5, 0.25)
CONSISTENT_RATES = (*RATES, 0.1)  # at smaller ones a cutoff of 50 is a bias that counts
LATER_RATES = (0.5, 0.05)  # with intervals longer than most cutoffs
SHORT, LONG, LONG_GAP, REPLICATES = 7, 130, 300, 500
CONSISTENT_ROUNDS, CONSISTENT = 1024, 0.25
FAMILIES: dict[str, Family] = {
    "Bernoulli": Bernoulli,
    "Markov": lambda p: Markov.from_stability(p, 0.5),
    "cyclic": lambda p: Cyclic(p, period=8),
}


def family_checks(weights_of: Stream, law: Law | None, largest: float | None) -> dict[str, Callable[[], str | None]]:
    """`always on` and a check for each family; `weights_of` maps a history (rounds, clients) to its weights."""

    def check(name: str, family: Family) -> Callable[[], str | None]:
        if law is None:
            return lambda: _consistent(weights_of, name, family)
        return lambda: _as_the_law_says(weights_of, law, largest, name, family)

    checks = {name: check(name, family) for name, family in FAMILIES.items()}
    return {"always on": lambda: _always_on(weights_of), **checks}


def _as_the_law_says(weights_of: Stream, law: Law, largest: float | None, name: str, family: Family) -> str | None:
    for p in RATES:
        wrong = _exact(weights_of, law, name, family(p), SHORT)
        if wrong:
            return wrong
    if name == "cyclic":  # few histories, so that gaps longer than most cutoffs and late rounds are exact too
        wrong = _exact(weights_of, law, name, Cyclic(1 / LONG_GAP, period=LONG_GAP), CONSISTENT_ROUNDS)
    return wrong or _simulated(weights_of, law, largest, name, family)


def _always_on(weights_of: Stream) -> str | None:
    """From round LONG on, to a quarter. All of them: a counter in a byte is right again in the last one."""
    weights = weights_of(np.ones((CONSISTENT_ROUNDS, 1), dtype=np.bool_))[:, 0]
    bad = np.flatnonzero(~(np.abs(weights - 1) <= CONSISTENT) & (np.arange(CONSISTENT_ROUNDS) >= LONG))
    if not bad.size:
        return None
    t = int(bad[0])
    return f"a client that took part in each of {t} rounds has weight {float(weights[t])} then, not about 1"


def _consistent(weights_of: Stream, name: str, family: Family) -> str | None:
    for wanted in CONSISTENT_RATES:
        process = family(np.full(REPLICATES, wanted))
        p = float(process.rate[0])  # cyclic ones have few to choose from
        history = process.sample(CONSISTENT_ROUNDS, seed=0)
        weights = weights_of(history)[-1]
        error = float(np.sqrt(((p * weights - 1) ** 2).mean()))
        if not error <= CONSISTENT:
            told = f"mean {weights.mean():.4g} for 1 / rate = {1 / p:g}, root mean square of p w - 1 {error:.3g}"
            return f"{name} with rate {p:g} after {CONSISTENT_ROUNDS} rounds: {told}, above {CONSISTENT}"
    return None


def _exact(weights_of: Stream, law: Law, name: str, process: ParticipationProcess, rounds: int) -> str | None:
    """Over all histories of one client in the first rounds."""
    p = float(process.rate[0])
    histories, chance = _histories(process, rounds)
    weights = weights_of(histories.T).T  # a client each: whether they are alone is looked at elsewhere
    meant = law(process, rounds)
    scale = 1 + float(np.nanmax(np.abs(p * weights), initial=0)) ** 2
    allowed = 8 * np.finfo(np.float64).eps * (len(histories) + rounds) * scale
    squares = (p * weights - 1) ** 2
    for what, got, wanted in (
        ("mean of rate times weight", p * (chance @ weights), p * np.asarray(meant.mean)),
        ("mean of (rate times weight - 1)^2", chance @ squares, np.asarray(meant.error)),
    ):
        bad = np.flatnonzero(~(np.abs(got - wanted) <= allowed))
        if bad.size:
            t = int(bad[0])
            return f"{name} with rate {p:g}, round {t}: {what} is {got[t]:.12g} exactly, not {wanted[t]:.12g}"
    return None


def _histories(process: ParticipationProcess, rounds: int) -> tuple[BoolArray, FloatArray]:
    """All histories (n, rounds) of one client, and their probabilities."""
    marginal = process.marginal()
    if isinstance(marginal, Phases):
        return marginal.history(rounds)[:, :, 0], marginal.probability.reshape(-1)
    assert isinstance(marginal, TwoStateChain)
    rate, enter, leave = (float(array[0]) for array in (marginal.rate, marginal.enter, marginal.leave))
    histories = np.array(list(itertools.product((False, True), repeat=rounds)))
    before, after = histories[:, :-1], histories[:, 1:]
    on = np.where(before, 1 - leave, enter)
    chance = np.where(histories[:, 0], rate, 1 - rate) * np.where(after, on, 1 - on).prod(axis=1)
    return histories, chance


def _simulated(weights_of: Stream, law: Law, largest: float | None, name: str, family: Family) -> str | None:
    """The mean of many independent clients in later rounds; its variance is that of the law."""
    for p in LATER_RATES:
        meant = law(family(p), LONG)
        mean, error = np.asarray(meant.mean), np.asarray(meant.error)
        variance = error - (p * mean - 1) ** 2  # of rate times weight
        weights = weights_of(family(np.full(REPLICATES, p)).sample(LONG, seed=0))
        for t in (LONG // 8, LONG // 4, LONG // 2, LONG - 1):
            top = p * (largest if largest is not None else t + 1)
            allowed = top * float(bernstein(np.maximum(variance[t], 0) / top**2, REPLICATES))
            got = float(p * weights[t].mean())
            if not abs(got - p * mean[t]) <= allowed:
                told = f"mean of rate times weight is {got:.4g} over {REPLICATES} clients"
                return f"{name} with rate {p}, round {t}: {told}, not {p * mean[t]:.4g} within {allowed:.2g}"
    return None
