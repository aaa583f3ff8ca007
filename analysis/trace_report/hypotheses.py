"""What theorems like to take for granted of participation, as hypotheses that a log can refute.

Each test has a level: if its null is true, it rejects with at most that probability. A test that does not reject
proves nothing. Those over clients are corrected after Holm, so that the level is that of naming any client at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import gamma, norm

from analysis.trace_report.counts import counts, fitted_rates
from analysis.trace_report.tails import fisher_p, holm
from analysis.traces import Log, stretches
from analysis.traces.log import Floats, Ints
from fltheory.errors import count
from fltheory.streams import stream

LEVEL = 0.01
HOLM = "Holm over clients"
ROUNDS = "independent rounds"
CLIENTS = "independent clients"
EQUAL = "equal rates"
LASTING = f"{EQUAL}, first and last third"
FEWEST = 4  # rounds that are looked at, two of each half: fewer tell nothing
SHIFTS = 199  # the smallest two-sided p-value is then 2 / 200, the level
MOST_SHIFTED = 10**6  # observations shifted at a time: beyond, a sample of the clients


@dataclass(frozen=True, eq=False)
class Finding:
    """What a test found.

    null        what it takes for true; statistic: what it looks at; correction: for how many tests at once
    value       of the statistic, NaN where the test is one a client
    p_value     adjusted as `correction` says; NaN where there was nothing to test
    rejected    whether p_value <= level
    clients     indices of the clients for whom it rejects, the clearest first; empty where it is not about single ones
    tested      how many clients took part in the test
    coins       whether the null is true of independent coins, one for each client
    spacing     rounds so far apart, or further, are looked at, and taken for independent; None where none are
    left_out    clients that are not tested, as the log is too short for how seldom they, or days, change
    """

    name: str
    null: str
    statistic: str
    correction: str
    value: float
    p_value: float
    level: float
    tested: int
    coins: bool = False
    spacing: int | None = None
    left_out: int = 0
    clients: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def rejected(self) -> bool:
        return self.p_value <= self.level


def presumes_what_fails(one: Finding, findings: Sequence[Finding]) -> bool:
    """Whether a test takes successive rounds for independent, which another one rejects: it tells nothing more."""
    return one.spacing == 1 and any(other.name == ROUNDS and other.rejected for other in findings)


def telling(findings: Sequence[Finding]) -> list[Finding]:
    """The tests that reject, without those that presume what another one rejects."""
    return [one for one in findings if one.rejected and not presumes_what_fails(one, findings)]


def steady_rates(log: Log, spacing: int | Ints = 1, level: float = LEVEL) -> Finding:
    """Has each client the same rate in the first half of the log as in the second?

    Fisher's exact test of the two counts, client by client. It looks at every `spacing`-th round only: rounds that
    depend on each other would make it cry wolf, rounds further apart than the memory of the process do not (much): its
    level presumes that rounds so far apart are independent. Of fewer than 4 rounds it says nothing.

    spacing   one for all, or one a client, (n_clients,), at least 1
    """
    apart, half = np.broadcast_to(np.asarray(spacing, dtype=np.int64), log.n_clients), log.n_rounds // 2
    least = count("spacing", int(apart.min()))
    early, seen_early = counts(log, 0, half, apart)
    late, seen_late = counts(log, half, log.n_rounds, apart)
    enough = ((apart == 1) | (-(-log.n_rounds // apart) >= FEWEST)) & (seen_early > 0) & (seen_late > 0)
    on, seen = early + late, seen_early + seen_late
    varying = (apart == 1) | ((on > 0) & (on < seen))  # of whom the rounds that are looked at may tell something
    which = np.flatnonzero(enough & varying)
    p = fisher_p(early[which], seen[which], on[which], seen_early[which])
    null = f"each client has one rate in both halves of the log, its rounds {_apart(least)}independent"
    name = "steady rates" + (f", {least} or more rounds apart" if least > 1 else "")
    left_out = int(np.count_nonzero((log.observed_rounds() > 0) & ~enough & (apart > least)))
    return _client_by_client(
        name, null, "Fisher's exact test of the counts of the halves", p, which, level, least, left_out
    )


def independent_rounds(log: Log, level: float = LEVEL) -> Finding:
    """Are the rounds of each client exchangeable, as those of a coin are?

    Wald and Wolfowitz' exact test (1940) of the number of runs of rounds on, given how many rounds were on, among the
    observed rounds of the client: too few runs mean that it tends to stay as it is, too many that it alternates.
    """
    on, observed = log.participations(), log.observed_rounds()
    runs = np.concatenate([_runs(part) for _, part in log.blocks()])
    which = np.flatnonzero((on > 0) & (on < observed))
    off = (observed - on)[which]
    # Each run of rounds on stands in one of the off + 1 places between rounds off, and has at least one round.
    p = fisher_p(runs[which], observed[which], off + 1, on[which])
    null = "each client's rounds are independent, with one rate"
    return _client_by_client(ROUNDS, null, "number of runs, exact given the counts", p, which, level)


def _runs(log: Log) -> Ints:
    cut = stretches(log)
    return np.bincount(log.client[cut.initial | (cut.length > 1)], minlength=log.n_clients).astype(np.int64)


def equal_rates(log: Log, level: float = LEVEL) -> Finding:
    """Have all clients one rate, if their rounds are independent?

    Pearson's sum of (on - n p)^2 / (n p (1 - p)) against the gamma law with its mean and variance, which for plenty
    of rounds is the chi-square law.
    """
    on, observed = counts(log, 0, log.n_rounds)
    on, n = on[observed > 0], observed[observed > 0]
    rate = on.sum() / max(n.sum(), 1)
    variance = rate * (1 - rate)
    value = p_value = math.nan
    if n.size > 1 and variance > 0:
        pearson = float(((on - n * rate) ** 2 / (n * variance)).sum())
        spread = float((2 + (1 - 6 * variance) / (n * variance)).mean())  # variance of a summand; 2 for chi-square
        value = pearson / (n.size - 1)
        p_value = float(gamma.sf(pearson, (n.size - 1) / spread, scale=spread)) if spread > 0 else math.nan
    null = "all clients have one rate, and their rounds are independent"
    return Finding(EQUAL, null, "Pearson's chi-square over its mean", "one test", value, p_value, level, n.size,
                   spacing=1)  # fmt: skip


def lasting_rates(log: Log, apart: Ints, day: int | None = None, level: float = LEVEL) -> Finding:
    """Have all clients one rate, however long they remember, if they forget within a third of the log?

    Then how much more than the others a client was on in the first third tells nothing of the last one. The statistic
    is the sum over clients of the products of the two deviations, on - n p with the rate p of all in that third. The
    sign of each product is as likely plus as minus, whatever its size, so that the sum over the root of the sum of the
    squares is about normal, or has lighter tails, also where clients differ in their memory (Efron, Student's t-test
    under symmetry conditions, 1969); no p-value is below 2^-n, that of all n signs, so that of too few clients it says
    nothing. It counts no rounds as independent,
    but takes clients for independent of each other.

    apart   rounds apart that each client needs, (n_clients,): who needs more than a third of the log is left out, as a
            client that hardly ever changes may have a rate of its own, or a long memory
    day     rounds of a day: the thirds are of whole days, where they hold one
    """
    third = log.n_rounds // 3
    if day is not None and third >= day:
        third -= third % day
    halves = [counts(log, 0, third), counts(log, log.n_rounds - third, log.n_rounds)]
    there = np.logical_and(*(observed > 0 for _, observed in halves))
    forgets = apart <= third
    which = there & forgets
    value = p_value = math.nan
    tested = int(np.count_nonzero(which))
    if tested > 1:
        one, other = (_deviations(on[which], observed[which]) for on, observed in halves)
        products = one * other
        size = math.sqrt(float((products**2).sum()))
        if size > 0 and 0.5**tested <= level:
            value = float(products.sum() / math.sqrt(float((one**2).sum()) * float((other**2).sum())))
            p_value = max(float(norm.sf(products.sum() / size)), 0.5**tested)
    null = (
        "all clients have one rate, are independent of each other, and what they did in the first third of the log is "
        "forgotten in the last"
    )
    statistic = "correlation over clients of how often they were on in the first and in the last third"
    return Finding(LASTING, null, statistic, "one test, one-sided", value, p_value, level,
                   tested, left_out=int(np.count_nonzero(there & ~forgets)))  # fmt: skip


def _deviations(on: Ints, observed: Ints) -> Floats:
    return np.asarray(on - observed * (on.sum() / observed.sum()))


def independent_clients(log: Log, seed: int = 0, level: float = LEVEL) -> Finding:
    """Do clients come and go independently of each other?

    The statistic is the mean over rounds of (participants - their mean)^2 over the variance p_1 (1 - p_1) + ... that
    the Poisson-binomial law gives for the clients observed in the round: about 1 if clients are independent, more if
    they come together, less if they stand in for each other. How large it gets by chance is found by shifting the
    history of each client round the circle of rounds by a number of its own, 199 times: this keeps how a client
    depends on its own past and breaks all ties between clients, but for a period that the log cuts: where the circle
    closes its phase jumps, and independent clients are then taken for dependent in up to a tenth of such logs. In a
    log of more than a million observations clients are drawn for it until there are as many.
    """
    rates = np.nan_to_num(fitted_rates(log))
    varying = (rates > 0) & (rates < 1)
    draw = stream(seed, "trace.independent-clients")
    size = (log.participations() if log.observed is None else log.observed_rounds()) * varying
    order = draw.permutation(np.flatnonzero(varying))
    sampled = np.zeros(log.n_clients, dtype=np.bool_)
    sampled[order[: int(np.searchsorted(np.cumsum(size[order]), MOST_SHIFTED)) + 1]] = True
    null = "clients are independent of each other, each of them stationary; what repeats does so in whole periods"
    statistic = "variance of the number of participants over that of a Poisson-binomial law"
    correction = f"one test, two-sided, by {SHIFTS} random shifts"
    tested = int(np.count_nonzero(sampled))
    value = p_value = math.nan
    if tested > 1:
        crowd = _Crowd(log.only(np.flatnonzero(sampled)), rates[sampled])
        value = crowd.dispersion(np.zeros(tested, dtype=np.int64))
        others = [crowd.dispersion(draw.integers(log.n_rounds, size=log.n_clients)[sampled]) for _ in range(SHIFTS)]
        close = 1e-9 * abs(value)  # as good as equal, which counts for neither side
        above, below = (1 + sum(sign * (x - value) >= -close for x in others) for sign in (1, -1))
        p_value = min(1.0, 2 * min(above, below) / (SHIFTS + 1))
    return Finding(CLIENTS, null, statistic, correction, value, p_value, level, tested, True)


class _Crowd:
    """Participants in each round, with the histories of clients shifted."""

    def __init__(self, log: Log, rates: Floats) -> None:
        self._rounds, self._client, self._when = log.n_rounds, log.client, log.round
        self._rates, self._variances = rates.sum(), (rates * (1 - rates)).sum()
        self._observed = None
        if log.observed is not None:
            client, when = log.observed
            self._observed = client, when, rates[client], (rates * (1 - rates))[client]

    def dispersion(self, shift: Ints) -> float:
        """Mean of (participants - mean)^2 / variance over the rounds in which anybody was observed."""
        participants = self._by_round((self._when + shift[self._client]) % self._rounds)
        if self._observed is None:
            return float(np.mean((participants - self._rates) ** 2) / self._variances)
        client, when, rates, variances = self._observed
        at = (when + shift[client]) % self._rounds
        mean, variance = self._by_round(at, rates), self._by_round(at, variances)
        some = variance > 0
        return float(np.mean((participants[some] - mean[some]) ** 2 / variance[some]))

    def _by_round(self, when: Ints, weights: Floats | None = None) -> Floats:
        return np.bincount(when, weights=weights, minlength=self._rounds).astype(np.float64)


def _client_by_client(
    name: str,
    null: str,
    statistic: str,
    p: Floats,
    which: Ints,
    level: float,
    spacing: int | None = None,
    left_out: int = 0,
) -> Finding:
    adjusted = holm(p)
    order = np.argsort(adjusted, kind="stable")
    rejected = which[order[adjusted[order] <= level]]
    smallest = float(adjusted.min()) if p.size else math.nan
    return Finding(name, null, statistic, HOLM, math.nan, smallest, level, which.size, True, spacing, left_out,
                   rejected)  # fmt: skip


def _apart(spacing: int) -> str:
    return f"at least {spacing} apart " if spacing > 1 else ""
