"""The exact law of the weight against enumeration, exact whole numbers, closed forms and printed values."""

from __future__ import annotations

import csv
import decimal
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.special import xlog1py

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Cyclic, Markov, Periodic, Permutation, Recorded, UniformSubset
from fltheory.weights import exact_weight_law, fedau_weights, long_run_scale
from fltheory.weights.law import WeightLaw
from fltheory.weights.moments import quadrature, weight_moments
from fltheory.weights.renewal import Chain
from tests.fltheory.weights import reference
from tests.fltheory.weights.by_interval import weight_moments_by_interval

EXACT = 1e-13  # ten times what rounding does here, a tenth of what is promised
CUTOFFS = (1, 2, 3, 5, 9, 10, math.inf)
CHAINS = [  # enter, leave: independent rounds, sticky, alternating, hardly ever, always
    (Fraction(1, 4), Fraction(3, 4)),
    (Fraction(7, 8), Fraction(1, 8)),
    (Fraction(1, 16), Fraction(1, 8)),
    (Fraction(1, 1), Fraction(3, 4)),
    (Fraction(3, 4), Fraction(1, 1)),
    (Fraction(1, 2**30), Fraction(1, 4)),
    (Fraction(1, 1), Fraction(0, 1)),
]


def moments(law: WeightLaw) -> np.ndarray:
    return np.array([law.mean, law.second_moment, law.error])


def chain_moments(enter: Fraction, leave: Fraction, cutoff: float, rounds: int) -> np.ndarray:
    return weight_moments(Chain(float(enter), float(leave)), cutoff, rounds)


def deviation(computed: np.ndarray, exact: np.ndarray) -> float:
    """The largest relative deviation; where the exact value is 0 it must be met exactly."""
    assert (computed[exact == 0] == 0).all()
    return float(np.max(np.abs(computed / np.where(exact == 0, 1, exact) - 1)[exact != 0], initial=0.0))


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize(("enter", "leave"), CHAINS)
def test_every_history_of_nine_rounds(enter: Fraction, leave: Fraction, cutoff: float) -> None:
    laws = reference.enumerated_laws(enter, leave, cutoff, rounds=9)
    exact = reference.moments(laws, enter / (enter + leave))
    assert deviation(chain_moments(enter, leave, cutoff, 9), exact) < EXACT


@pytest.mark.parametrize("cutoff", [1, 2, 5, 29, math.inf])
@pytest.mark.parametrize(("enter", "leave"), CHAINS)
def test_thirty_rounds_of_a_chain_in_fractions(enter: Fraction, leave: Fraction, cutoff: float) -> None:
    exact = reference.moments(reference.state_laws(enter, leave, cutoff, 30), enter / (enter + leave))
    assert deviation(chain_moments(enter, leave, cutoff, 30), exact) < EXACT


@pytest.mark.parametrize("cutoff", [1, 2, 5, 50, math.inf])
@pytest.mark.parametrize("p", [Fraction(1, 64), Fraction(1, 8), Fraction(1, 2), Fraction(7, 8)])
def test_three_hundred_independent_rounds_in_whole_numbers(p: Fraction, cutoff: float) -> None:
    exact = reference.bernoulli_moments(p, cutoff, 300)
    assert deviation(moments(exact_weight_law(float(p), cutoff, 300)), exact) < EXACT


@pytest.mark.parametrize("cutoff", [1, 2, 50, math.inf])
@pytest.mark.parametrize("p", [0.1, 1e-12, 1 - 1e-9, 1 - 2.0**-53])
def test_a_hundred_rounds_at_any_float(p: float, cutoff: float) -> None:
    """The float p is taken for the fraction that it is."""
    exact = reference.bernoulli_moments(Fraction(p), cutoff, 100)
    assert deviation(moments(exact_weight_law(p, cutoff, 100)), exact) < EXACT


def test_the_references_agree() -> None:
    for p in (Fraction(1, 8), Fraction(1, 2)):
        for cutoff in (1, 2, 5, 12, math.inf):
            states = reference.moments(reference.state_laws(p, 1 - p, cutoff, 12), p)
            assert np.array_equal(reference.bernoulli_moments(p, cutoff, 12), states)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs a long double of more than 64 bits")
@pytest.mark.parametrize(
    ("p", "cutoff", "rounds"),
    [
        *itertools.product((1e-12, 0.02, 0.1, 0.5, 1 - 1e-9), (2, 50), (2000,)),
        (1e-5, 200, 2000),
        (1e-3, 500, 2000),
        (0.9, 20, 2000),
        (1 - 1e-9, 3, 10_000),
    ],
)
def test_thousands_of_rounds_in_long_double(p: float, cutoff: int, rounds: int) -> None:
    """The law as it is written down: convolutions of the interval law, and a sum over the open interval."""
    rate = np.longdouble(p)
    miss, elapsed = 1 - rate, np.arange(rounds, dtype=np.longdouble)
    interval = rate * miss ** np.arange(cutoff, dtype=np.longdouble)
    interval[-1] = miss ** np.longdouble(cutoff - 1)
    sums = np.zeros((3, rounds), dtype=np.longdouble)
    sums[:, 0] = 1, 1, miss**2
    mass, first = np.ones(1, dtype=np.longdouble), 0
    for m in range(1, rounds):
        mass, first = np.convolve(mass, interval)[: rounds - first - 1], first + 1
        kept = np.flatnonzero(mass > 1e-40 * miss)
        if kept.size == 0:
            break
        mass, first = mass[kept[0] : kept[-1] + 1], first + int(kept[0])
        band = slice(first, first + mass.size)
        weight = elapsed[band] / m
        sums[:, band] += mass * np.array([weight, weight**2, ((rate * elapsed[band] - m) / m) ** 2])
    open_ = miss ** np.arange(cutoff, dtype=np.longdouble)
    exact = np.array([np.convolve(values, open_)[:rounds] for values in sums])
    assert deviation(moments(exact_weight_law(p, cutoff, rounds)), exact.astype(float)) < EXACT


@pytest.mark.parametrize("cutoff", [1, 2, 50, 300, math.inf])
@pytest.mark.parametrize("p", [1e-12, 1e-6, 1e-3, 0.02, 0.3, 0.999, 1 - 1e-9, 1.0])
def test_closed_form_of_the_mean(p: float, cutoff: float) -> None:
    """E[w_t] = sum of q^j over j < K from t = K on, and q^t + (1 - q^t) / p - t q^t before, for t >= 1."""
    law, exact = exact_weight_law(p, cutoff, 600), np.empty(599)
    for t in range(1, 600):
        # (1 - q^t) / p - t q^t is the sum over j < t of q^j - q^t = q^j (1 - q^(t-j)), in which nothing cancels
        j = np.arange(t)
        early = np.exp(xlog1py(t, -p)) - np.sum(np.exp(xlog1py(j, -p)) * np.expm1(xlog1py(t - j, -p)))
        exact[t - 1] = early if t < cutoff else -np.expm1(xlog1py(cutoff, -p)) / p
    assert law.mean[0] == 1
    assert deviation(law.mean[1:], exact) < EXACT


def test_no_drift_over_ten_thousand_rounds() -> None:
    for p in (0.1, 1 / 3):
        law = exact_weight_law(p, 7, 10_000)
        assert deviation(law.mean[7:], np.full(9_993, -math.expm1(7 * math.log1p(-p)) / p)) < EXACT


def test_late_variance_approaches_its_limit() -> None:
    """t (error - q^(2K)) -> p^2 Var[S] E[S]; at p = 0.02, K = 50, t = 9999 the error is 0.13302178."""
    error = exact_weight_law(0.02, 50, 10_000).error[9999]
    assert error == pytest.approx(0.13302178, abs=5e-9)
    lengths = np.arange(1, 51)
    interval = 0.02 * 0.98 ** (lengths - 1.0)
    interval[-1] = 0.98**49
    mean = interval @ lengths
    limit = 0.02**2 * (interval @ (lengths - mean) ** 2) * mean
    assert 9999 * (error - 0.98**100) == pytest.approx(limit, rel=2e-3)  # the next term is of order K / t


def reference_grid() -> list[list[str]]:
    text = Path(__file__).with_name("data").joinpath("weight_law.csv").read_text()
    return list(csv.reader(line for line in text.splitlines() if line[0] not in "#p"))


@pytest.mark.parametrize("row", reference_grid(), ids=lambda row: "-".join(row[:3]))
def test_reference_grid(row: list[str]) -> None:
    p, cutoff, rounds = float(row[0]), float(row[1]), int(row[2])
    law = exact_weight_law(p, cutoff, rounds + 1)
    computed = np.array([law.mean[rounds], law.error[rounds], law.error[:rounds].mean()])
    assert deviation(computed, np.array([float(value) for value in row[3:]])) < EXACT  # 15 digits are printed


@pytest.mark.parametrize("cutoff", [1, 2, 4, 9, math.inf])
@pytest.mark.parametrize(("enter", "leave"), CHAINS)
def test_pmf_of_every_history(enter: Fraction, leave: Fraction, cutoff: float) -> None:
    laws = reference.enumerated_laws(enter, leave, cutoff, rounds=8)
    law = exact_weight_law(_Chain(enter, leave), cutoff, 8)
    for t, exact in enumerate(laws):
        likely = {float(w): float(mass) for w, mass in sorted(exact.items()) if mass > 1e-29}
        support, probabilities = law.pmf(t)
        kept = probabilities > 1e-29
        assert support[kept].tolist() == list(likely)
        assert probabilities[kept] == pytest.approx(list(likely.values()), rel=EXACT)


@pytest.mark.parametrize(("p", "cutoff"), [(0.1, 50), (0.02, math.inf), (0.7, 3), (1.0, 5)])
def test_pmf_has_the_moments(p: float, cutoff: float) -> None:
    law = exact_weight_law(p, cutoff, 400)
    for t in (0, 1, 49, 50, 399):
        support, probabilities = law.pmf(t)
        assert (np.diff(support) > 0).all()
        assert probabilities.sum() == pytest.approx(1, rel=1e-14)
        computed = np.array([support, support**2, (p * support - 1) ** 2]) @ probabilities
        assert deviation(computed, moments(law)[:, t]) < EXACT


@pytest.mark.parametrize("cutoff", [1, 3, 7, math.inf])
def test_cyclic_by_going_through_all_offsets(cutoff: float) -> None:
    process = Cyclic([0.1, 0.35, 1.0], period=20)
    law = exact_weight_law(process, cutoff, 60)
    for client, on in enumerate((2, 7, 20)):
        laws: list[dict[Fraction, Fraction]] = [{} for _ in range(60)]
        for offset in range(20):
            history = [(t + offset) % 20 < on for t in range(60)]
            for one, weight in zip(laws, reference.algorithm2(history, cutoff), strict=True):
                one[weight] = one.get(weight, Fraction(0)) + Fraction(1, 20)
        exact = reference.moments(laws, Fraction(on, 20))
        computed = np.array([law.mean, law.second_moment, law.error])[:, :, client]
        # the rate on / 20 is rounded: that alone moves the error by 1e-16 absolute
        assert computed == pytest.approx(exact, rel=EXACT, abs=1e-15)
        support, probabilities = law.pmf(37, client)
        assert support.tolist() == sorted(map(float, laws[37]))
        assert probabilities == pytest.approx([float(laws[37][w]) for w in sorted(laws[37])], rel=EXACT)


def test_one_recorded_history_is_certain() -> None:
    log = np.random.default_rng(0).random((40, 3)) < 0.3
    process = Recorded.from_matrix(log)
    law = exact_weight_law(process, 5, 40)
    assert np.array_equal(law.mean, fedau_weights(log, 5))
    assert law.error == pytest.approx((log.mean(axis=0) * law.mean - 1) ** 2, rel=1e-12)
    assert law.pmf(39, 2)[1].tolist() == [1.0]


def test_a_client_that_never_participates() -> None:
    """Rate 0: the weight grows to the cutoff, and rate times weight misses 1 by all of it."""
    law = exact_weight_law(Recorded.from_matrix(np.zeros((9, 1), dtype=bool)), 3, 9)
    chain = weight_moments(Chain(0.0, 1.0), 3, 9)
    assert deviation(chain, moments(law)) < EXACT
    assert law.mean.tolist() == [1, 1, 1, 3, 3, 3, 3, 3, 3]
    assert (law.error == 1).all()


@pytest.mark.parametrize("cutoff", [1, 2, 50, 700, math.inf])
@pytest.mark.parametrize("enter", [1e-9, 1e-4, 0.02, 0.6, 1.0])
@pytest.mark.parametrize("leave", [1e-9, 1e-4, 0.02, 0.6, 1.0])
def test_summed_interval_by_interval(enter: float, leave: float, cutoff: float) -> None:
    chain = Chain(enter, leave)
    assert deviation(weight_moments(chain, cutoff, 600), weight_moments_by_interval(chain, cutoff, 600)) < 5 * EXACT


@pytest.mark.parametrize("p", [0.02, 0.1, 0.37])
def test_no_drift_over_many_rounds(p: float) -> None:
    """The mean has a closed form, however many rounds have gone by."""
    mean = weight_moments(Chain(p, 1 - p), 50, 50_000)[0, 50:]
    assert np.abs(mean / ((1 - (1 - p) ** 50) / p) - 1).max() < EXACT


@pytest.mark.parametrize("p", [1e-7, 6e-6, 1e-3])
def test_rare_clients_over_many_rounds(p: float) -> None:
    """1 - p is rounded, and 1e5 powers of it would show: the mean without cutoff in 60 digits."""
    law = exact_weight_law(p, math.inf, 100_000)
    with decimal.localcontext(prec=60):
        rate = Decimal(p)
        for t in (100, 40_000, 99_999):
            miss = (1 - rate) ** t
            exact = miss + (1 - miss) / rate - t * miss
            assert abs(Decimal(float(law.mean[t])) / exact - 1) < Decimal(EXACT)


@pytest.mark.parametrize("largest", [1, 2, 100, 10**5, 10**7])
def test_reciprocals_as_sums_of_exponentials(largest: int) -> None:
    nodes, weights = quadrature(largest)
    m = np.unique(np.geomspace(1, largest, 300).round())
    decay = np.exp(-np.outer(m, nodes))
    assert np.abs(decay @ weights * m - 1).max() < EXACT
    assert np.abs(decay @ (weights * nodes) * m**2 - 1).max() < EXACT


def test_processes_with_the_same_marginal_have_the_same_law() -> None:
    rates = np.array([0.25, 0.5, 0.25])
    law = exact_weight_law(Bernoulli(rates), 4, 30)
    assert law.error.shape == (30, 3)
    assert np.array_equal(law.rate, rates)
    for client, p in enumerate(rates):
        assert np.array_equal(moments(law)[:, :, client], moments(exact_weight_law(p, 4, 30)))
    subset = exact_weight_law(UniformSubset(4, 1), 4, 30)
    assert np.array_equal(subset.error[:, 3], law.error[:, 0])
    assert np.array_equal(exact_weight_law(Bernoulli(0.25), 4, 30).error, law.error[:, 0])  # one client: (rounds,)


def test_markov_goes_by_its_chain() -> None:
    markov = Markov([0.1, 0.02])
    law = exact_weight_law(markov, 6, 25)
    chain = markov.marginal()
    for client in range(2):
        enter, leave = (Fraction(float(array[client])) for array in (chain.enter, chain.leave))
        exact = reference.moments(reference.state_laws(enter, leave, 6, 25), enter / (enter + leave))
        assert deviation(np.array([law.mean, law.second_moment, law.error])[:, :, client], exact) < EXACT
    assert not np.allclose(law.error[:, 0], exact_weight_law(0.1, 6, 25).error)


def test_block_cyclic_periodic() -> None:
    process = Periodic.block_cyclic(n_clients=3, n_groups=3, rounds_each=3)
    law = exact_weight_law(process, math.inf, 30)
    laws: list[dict[Fraction, Fraction]] = [{} for _ in range(30)]
    for offset in range(9):
        history = [(t + offset) % 9 < 3 for t in range(30)]
        for one, weight in zip(laws, reference.algorithm2(history, math.inf), strict=True):
            one[weight] = one.get(weight, Fraction(0)) + Fraction(1, 9)
    exact = reference.moments(laws, Fraction(1, 3))
    stationary = np.array([law.mean, law.second_moment, law.error])
    for client in range(3):
        assert stationary[:, :, client] == pytest.approx(exact, rel=EXACT, abs=1e-15)


@pytest.mark.parametrize(
    "call",
    [
        lambda: exact_weight_law(0.0, 5, 10),
        lambda: exact_weight_law(math.nan, 5, 10),
        lambda: exact_weight_law(1.5, 5, 10),
        lambda: exact_weight_law("often", 5, 10),
        lambda: exact_weight_law([0.1, 0.2], 5, 10),
        lambda: exact_weight_law(Bernoulli, 5, 10),
        lambda: long_run_scale(Markov, 5),
        lambda: long_run_scale(0.1, 2**53 + 1),
        lambda: exact_weight_law(0.1, 0, 10),
        lambda: exact_weight_law(0.1, 5, 0),
        lambda: exact_weight_law(0.1, 5, 10).pmf(10),
        lambda: exact_weight_law(0.1, 5, 10).pmf(-1),
        lambda: exact_weight_law(0.1, 5, 10).pmf(3, client=1),
    ],
)
def test_bad_input_is_one_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"^\w+ must be .*; got "):
        call()


@pytest.mark.parametrize("value", [None, "often", [0.1, 0.2], 1.5, True])
@pytest.mark.parametrize("law", [long_run_scale, lambda value, cutoff: exact_weight_law(value, cutoff, 10)])
def test_what_is_neither_rate_nor_process(law: Callable[[object, int], object], value: object) -> None:
    with pytest.raises(InputError, match=r"^process_or_p must be a rate in \(0, 1\], or a participation process; got "):
        law(value, 3)


def test_a_process_without_a_description_of_one_client_is_told_where_to_go() -> None:
    with pytest.raises(InputError, match=r"Markov.*sims\.montecarlo\.weight_error"):
        exact_weight_law(Permutation(6, 2), 5, 10)


class _Chain:
    """A process of one client that is a given two-state chain."""

    def __init__(self, enter: Fraction, leave: Fraction) -> None:
        self.enter, self.leave = np.array([float(enter)]), np.array([float(leave)])
        self.rate = self.enter / (self.enter + self.leave)

    def marginal(self) -> object:
        from fltheory.participation import TwoStateChain

        return TwoStateChain(self.enter, self.leave)


def test_turns_of_a_long_cycle_cost_by_the_rounds() -> None:
    """P(on in each of so few rounds) and the two ends of a turn are all that matters: 3e6 rounds a cycle or 3e4."""
    long, short = (exact_weight_law(Cyclic([0.1, 0.5], period), 3, 10) for period in (3 * 10**6, 3 * 10**4))
    np.testing.assert_allclose(long.mean, short.mean, atol=1e-3)
    always_off = exact_weight_law(Recorded.from_matrix(np.zeros((10, 1))), 3, 10).mean
    np.testing.assert_allclose(long.mean[:, 0], 0.1 + 0.9 * always_off, atol=1e-4)
    values, chances = long.pmf(9, client=1)
    assert chances.sum() == pytest.approx(1)
    assert values.max() == 3
    assert long_run_scale(Cyclic(0.1, period=10**9), 50) == pytest.approx([10 / 11.8], rel=1e-6)


def test_histories_beyond_hope_are_refused() -> None:
    with pytest.raises(InputError, match=r"^rounds must be so few that there are at most 1e\+11 rounds"):
        exact_weight_law(Cyclic(0.1, period=10**6), 50, 10**6)
