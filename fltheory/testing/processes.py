"""`check_participation_process`: everything that an availability process must do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, count
from fltheory.participation import ParticipationProcess
from fltheory.participation.marginals import Marginal, Phases, TwoStateChain
from fltheory.participation.runs import BoolArray, FloatArray
from fltheory.testing import battery
from fltheory.testing.battery import drawn
from fltheory.testing.tolerance import bernstein, symmetric

SEEDS = 2000  # independent traces
LAGS = tuple(range(13))
APART = (0, 1, 2, 3, 5, 8)  # rounds between two clients that must be independent
REACH = 13  # rounds that are looked at beyond the window, for lags and intervals
SHORT_RUNS = (1, 2, 3, 17, 36)
MANY = 67  # clients: more than one block of random numbers
SHOWN = 12  # rounds of an example
PAIRS = np.random.default_rng(0).permutation(SEEDS).reshape(2, -1)  # of seeds, which are no neighbours
TOGETHER = 0.2  # share of neighbours with one trace, beyond that of PAIRS: by chance once in 10^8 (Hoeffding)


def check_participation_process(
    process: ParticipationProcess,
    *,
    of: Callable[[FloatArray], ParticipationProcess] | None = None,
    start: int = 0,
    window: int = 24,
    expected_failures: Mapping[str, str] | None = None,
) -> None:
    """Run the whole battery on a process; raise CheckFailed with every failure and its example.

    process             the process; a few clients with different rates tell most
    of                  of(rates) makes such a process of clients that are independent of each other; then they must
                        be so, and adding a client must not change anybody else's trace
    start, window       the rounds start .. start + window - 1 in which `rate`, `autocovariance` and `interval_law`
                        hold on average: any where the process is stationary, whole cycles where it is not
    expected_failures   name of a check -> why it is right that it fails; then it must fail

    The checks: `interface` (shapes, types, ranges), `seed` (equal seeds give equal traces, whatever the global
    generator, and whole traces of neighbouring seeds no more often than others, up to 20 %), `prefix` (a longer trace
    begins like a shorter one), `events` (the same trace), `longest gap`, `rate`, `autocovariance` (lags 0 to 12),
    `interval law` (intervals up to 12), `marginal` (against 2,000 traces; false alarm 1e-7 a comparison, fixed seeds),
    `identities` (these four against each other, to rounding: a variance of rate (1 - rate), no covariance beyond it,
    intervals of mean 1 / rate, a marginal with that rate and those covariances), `serialisation` (pickle), `bad input`
    and, with `of`, `other clients` and `independent clients` (any two of 67, 0, 1, 2, 3, 5 or 8 rounds apart, against
    2,000 traces; false alarm 1e-5 for all of them together; three of which any two are independent pass for
    independent).
    Raises InputError for bad arguments.

    >>> from fltheory.participation import Bernoulli
    >>> check_participation_process(Bernoulli([0.1, 0.5]), of=Bernoulli)
    """
    start, window = count("start", start, least=0), count("window", window)
    if not isinstance(process, ParticipationProcess):
        raise InputError("process", process, "a ParticipationProcess of fltheory.participation.base")
    traces = np.stack([process.sample(start + window + REACH, seed) for seed in range(SEEDS)])
    after = [traces[:, start + lag : start + lag + window] for lag in range(REACH)]
    checks: dict[str, battery.Check] = {
        "interface": lambda: _interface(process),
        "seed": lambda: _seed(process) or _neighbours(traces),
        "prefix": lambda: _prefix(process),
        "events": lambda: _events(process),
        "longest gap": lambda: _longest_gap(process, traces),
        "rate": lambda: _rate(process, after[0]),
        "autocovariance": lambda: _autocovariance(process, after),
        "interval law": lambda: _interval_law(process, after),
        "marginal": lambda: _marginal(process, traces),
        "identities": lambda: _identities(process, start, window),
        "serialisation": lambda: _unlike("pickle", pickle.loads(pickle.dumps(process)).sample(30, 2), process, 30),
        "bad input": lambda: _bad_input(process),
    }
    if of is not None:
        checks["other clients"] = lambda: _others(of, process)
        checks["independent clients"] = lambda: _independent(of, process)
    battery.run(type(process).__name__, checks, expected_failures or {})


def _unlike(what: str, trace: BoolArray, process: ParticipationProcess, rounds: int) -> str | None:
    wanted = process.sample(rounds, 2)
    if np.array_equal(trace, wanted):
        return None
    t = int(np.argwhere((trace != wanted).any(axis=1))[0, 0]) if trace.shape == wanted.shape else 0
    return f"{what}: the trace of seed 2 is another from round {t} on ({drawn(trace[: t + 1])})"


def _interface(process: ParticipationProcess) -> str | None:
    n_clients = process.n_clients
    if not isinstance(n_clients, int | np.integer) or n_clients < 1:
        return f"n_clients is {n_clients!r}, not a whole number of at least 1"
    for name, array in (
        ("rate", process.rate), ("max_gap", process.max_gap), ("autocovariance(1)", process.autocovariance(1)),
    ):  # fmt: skip
        if np.shape(array) != (n_clients,) or np.asarray(array).dtype != np.float64:
            return f"{name} has shape {np.shape(array)} and type {np.asarray(array).dtype}, not floats ({n_clients},)"
    if not ((process.rate >= 0) & (process.rate <= 1)).all():
        return f"rate is {process.rate}, not in [0, 1]"
    if not (process.max_gap >= 1).all():
        return f"max_gap is {process.max_gap}, not at least 1"
    trace = process.sample(7, 0)
    if trace.shape != (7, n_clients) or trace.dtype != np.bool_:
        return f"sample(7, 0) has shape {trace.shape} and type {trace.dtype}, not booleans (7, {n_clients})"
    return None


def _seed(process: ParticipationProcess) -> str | None:
    state = np.random.get_state()  # noqa: NPY002 (the global generator must not matter)
    try:
        np.random.seed(1)  # noqa: NPY002
        first = process.sample(60, 2)
        np.random.seed(2)  # noqa: NPY002
        return _unlike("sampled twice", first, process, 60)
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _neighbours(traces: BoolArray) -> str | None:
    """Traces of neighbouring seeds are equal as often as those of any two, where there are few possible ones."""
    near, far = ((traces[one] == traces[other]).all(axis=(1, 2)) for one, other in ((slice(-1), slice(1, None)), PAIRS))
    if near.mean() - far.mean() <= TOGETHER:
        return None
    seed = int(np.argmax(near))
    shown = drawn(traces[seed][:SHOWN])
    return f"seeds {seed} and {seed + 1} have one trace ({shown}), as have {near.mean():.0%} of such pairs"


def _prefix(process: ParticipationProcess) -> str | None:
    longest = process.sample(max(SHORT_RUNS) + 1, 2)
    for rounds in SHORT_RUNS:
        wrong = _unlike(f"the first {rounds} of {len(longest)} rounds", longest[:rounds], process, rounds)
        if wrong:
            return wrong
    return None


def _events(process: ParticipationProcess) -> str | None:
    for rounds in SHORT_RUNS:
        client, when = np.nonzero(process.sample(rounds, 3).T)
        events = process.sample_events(rounds, 3)
        if not (np.array_equal(events[0], client) and np.array_equal(events[1], when)):
            return f"sample_events({rounds}, 3) is not the trace of sample({rounds}, 3), by client, then round"
    return None


def _longest_gap(process: ParticipationProcess, traces: BoolArray) -> str | None:
    for trace in traces[:200]:
        for n, allowed in enumerate(process.max_gap):
            gaps = np.diff(np.flatnonzero(trace[:, n]))
            if gaps.size and gaps.max() > allowed:
                return f"client {n} has a gap of {gaps.max()} rounds, longer than max_gap {allowed} ({drawn(trace)})"
    return None


def _rate(process: ParticipationProcess, inside: BoolArray) -> str | None:
    """The mean of W rounds of a stationary process has variance sum of (W - |lag|) c(lag) / W^2 over |lag| < W."""
    window = inside.shape[1]
    weights = [window] + [2 * (window - lag) for lag in range(1, window)]
    covariances = [process.autocovariance(lag) for lag in range(window)]
    variance = sum(w * c for w, c in zip(weights, covariances, strict=True)) / window**2
    return _far("the share of rounds", inside.mean(axis=(0, 1)), process.rate, variance)


def _autocovariance(process: ParticipationProcess, after: list[BoolArray]) -> str | None:
    for lag in LAGS:
        both = (after[0] & after[lag]).mean(axis=(0, 1))
        wanted = np.asarray(process.autocovariance(lag)) + process.rate**2
        wrong = _far(f"the share of rounds t with participation in t and t + {lag}", both, wanted)
        if wrong:
            return wrong
    return None


def _interval_law(process: ParticipationProcess, after: list[BoolArray]) -> str | None:
    """P(on in round t and next on in round t + k) = rate P(X = k)."""
    law = process.interval_law()
    if law is None:
        return None
    off_since = np.ones_like(after[0])
    for k in range(1, REACH):
        begun = (after[0] & off_since & after[k]).mean(axis=(0, 1))
        wrong = _far(f"the share of rounds that begin an interval of {k}", begun, process.rate * law.pmf(k))
        if wrong:
            return wrong
        off_since &= ~after[k]
    return None


def _far(what: str, got: FloatArray, wanted: npt.ArrayLike, variance: npt.ArrayLike | None = None) -> str | None:
    """Where a mean over all traces of observations in [0, 1] is too far from `wanted` (n_clients,)."""
    said = np.asarray(wanted, dtype=np.float64)
    expected = np.clip(said, 0, 1)
    spread = expected * (1 - expected) if variance is None else np.maximum(np.asarray(variance), 0)
    allowed = bernstein(spread, SEEDS)
    bad = np.flatnonzero(~(np.abs(got - said) <= allowed))
    if bad.size == 0:
        return None
    c = bad[0]
    stated = f"the process says {said[c]:.4g} (within {allowed[c]:.2g})"
    return f"client {c}: {what} is {got[c]:.4g} in {SEEDS} traces, {stated}"


def _marginal(process: ParticipationProcess, traces: BoolArray) -> str | None:
    """What exact laws use is checked in every round."""
    marginal, rounds = process.marginal(), traces.shape[1]
    if marginal is None:
        return None
    if isinstance(marginal, TwoStateChain):
        pairs: Iterable[tuple[str, BoolArray, FloatArray]] = [
            ("participation in round t", traces, marginal.rate),
            ("participation in t and not in t + 1", traces[:, :-1] & ~traces[:, 1:], marginal.rate * marginal.leave),
            ("participation in t + 1 and not in t", ~traces[:, :-1] & traces[:, 1:],
             (1 - marginal.rate) * marginal.enter),
        ]  # fmt: skip
        for what, seen, wanted in pairs:
            for t in range(seen.shape[1]):
                wrong = _far(f"the share with {what}, t = {t},", seen[:, t].mean(axis=0), wanted)
                if wrong:
                    return wrong
        return None
    return _phases(marginal, traces, rounds)


def _phases(phases: Phases, traces: BoolArray, rounds: int) -> str | None:
    history = phases.history(rounds)
    chance = phases.probability if phases.probability.ndim == 2 else phases.probability[:, None]
    wanted = (chance[:, None, :] * history).sum(axis=0)
    for t in range(rounds):
        wrong = _far(f"the share of participation in round {t}", traces[:, t].mean(axis=0), wanted[t])
        if wrong:
            return wrong
    for n in range(traces.shape[2]):
        possible = {row.tobytes() for row in history[:, :, n]}
        for trace in traces[:, :, n]:
            if trace.tobytes() not in possible:
                return f"client {n} has a trace that `marginal` does not know ({drawn(trace[:, None])})"
    return None


def _identities(process: ParticipationProcess, start: int, window: int) -> str | None:
    """Indicators have variance p (1 - p), which no covariance exceeds (Cauchy-Schwarz), and intervals the mean 1 / p
    (Kac); a marginal has the rate and the covariances of its process."""
    rate, law, marginal = process.rate, process.interval_law(), process.marginal()
    covariances = {lag: process.autocovariance(lag) for lag in LAGS}
    pairs = [("autocovariance(0)", covariances[0], "rate (1 - rate)", rate * (1 - rate))]
    for lag, got in covariances.items():
        most = np.sign(got) * np.minimum(np.abs(got), covariances[0])
        pairs.append((f"autocovariance({lag})", got, "no further from 0 than autocovariance(0), which", most))
    if law is not None:
        pairs.append(("rate times the mean of interval_law", rate * law.mean(), "1", np.ones_like(rate)))
    if marginal is not None:
        on, both = _long_run(marginal, start, window)
        pairs.append(("rate", rate, "that of marginal", on))
        pairs += [(f"autocovariance({lag})", covariances[lag], "that of marginal", both[lag]) for lag in LAGS]
    for what, got, other, wanted in pairs:
        bad = np.flatnonzero(~np.isclose(got, wanted, rtol=1e-9, atol=1e-12))
        if bad.size:
            c = bad[0]
            return f"client {c}: {what} is {got[c]:.10g}, {other} is {wanted[c]:.10g}"
    return None


def _long_run(marginal: Marginal, start: int, window: int) -> tuple[FloatArray, dict[int, FloatArray]]:
    """The rate of a marginal and its covariances by lag, on average over the window, each (n_clients,)."""
    if isinstance(marginal, TwoStateChain):
        return marginal.rate, {lag: marginal.autocovariance(lag) for lag in LAGS}
    history = marginal.history(start + window + REACH)
    chance = marginal.probability.reshape(len(history), 1, -1)
    first = history[:, start : start + window]

    def mean(on: BoolArray) -> FloatArray:
        average: FloatArray = (chance * on).sum(axis=0).mean(axis=0)
        return average

    rate = mean(first)
    return rate, {lag: mean(first & history[:, start + lag : start + lag + window]) - rate**2 for lag in LAGS}


def _bad_input(process: ParticipationProcess) -> str | None:
    for rounds, seed in ((0, 1), (2.5, 1), (5, -1), (5, None)):
        for name, draw in (("sample", process.sample), ("sample_events", process.sample_events)):
            try:
                draw(rounds, seed)  # type: ignore[arg-type]
            except InputError:
                continue
            return f"{name}({rounds}, {seed}) is not refused in a sentence"
    return None


def _others(of: Callable[[FloatArray], ParticipationProcess], process: ParticipationProcess) -> str | None:
    rates = np.resize(process.rate, MANY)
    everybody = of(rates).sample(40, seed=2)
    for n_clients in (1, 2, 63, 64, 65):
        fewer = of(rates[:n_clients]).sample(40, seed=2)
        bad = np.argwhere(fewer != everybody[:, :n_clients])
        if len(bad):
            t, client = bad[0]
            return (
                f"client {client} has another trace from round {t} on with {n_clients} clients than with {len(rates)}"
            )
    return None


def _independent(of: Callable[[FloatArray], ParticipationProcess], process: ParticipationProcess) -> str | None:
    """Of two seeds, what client n has with the one and m with the other is as likely as what both have with either.

    So the product of the changes of n and of m from one seed to the other is as likely as its negative, whatever their
    rates and habits: all that is asked is that clients do not look at each other. It is added up over the rounds.
    """
    everybody = of(np.resize(process.rate, MANY))
    traces = np.stack([everybody.sample(40, seed) for seed in range(SEEDS)])
    change = traces[PAIRS[0]].astype(np.float32) - traces[PAIRS[1]]  # whole numbers, also in the sums below
    comparisons = MANY * (MANY - 1) * (len(APART) - 1) + MANY * (MANY - 1) // 2
    found = []
    for lag in APART:
        products = np.swapaxes(change[:, : 40 - lag], 1, 2) @ change[:, lag:]
        sums, allowed = products.sum(axis=0), symmetric((products**2).sum(axis=0), comparisons)
        bad = np.argwhere((np.abs(sums) > allowed) & ~np.eye(MANY, dtype=np.bool_))
        found += [(int(max(n, m)), lag, int(n), int(m), float(sums[n, m] / allowed[n, m])) for n, m in bad]
    if not found:
        return None
    _, lag, n, m, strength = min(found)
    first, second = traces[:, : 40 - lag, n], traces[:, lag:, m]
    deviation = (first - first.mean(axis=0)) * (second - second.mean(axis=0))
    seed = int(np.argmax(np.sign(strength) * deviation[:, : SHOWN - lag].sum(axis=1)))
    both, apart = (first & second).mean(), (first.mean(axis=0) * second.mean(axis=0)).mean()
    when = f"round t and client {m} in round t + {lag}" if lag else f"a round and client {m} too"
    return (
        f"clients {n} and {m} are not independent: client {n} is on in {when} for a share of {both:.4g} of the rounds "
        f"of {SEEDS} traces, and would be for {apart:.4g} ({abs(strength):.3g} times what chance allows), such as with "
        f"seed {seed} ({drawn(traces[seed][:SHOWN, [n, m]])})"
    )
