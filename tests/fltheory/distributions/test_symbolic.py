"""The symbolic law is the numeric one, its proofs hold, and the proof of anything wrong fails."""

from fractions import Fraction

import pytest
import sympy

from fltheory.distributions import KCutoffGeometric
from fltheory.distributions import symbolic as lemma
from fltheory.distributions.symbolic import K, Step, k, p, q


def test_every_step_holds():
    proof = KCutoffGeometric.symbolic().proof
    assert len(proof) == 14
    assert all(step.holds for step in proof)


def test_expressions_are_the_law_in_rationals():
    law = KCutoffGeometric.symbolic()
    for rate in (Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)):
        for cutoff in (1, 2, 5):
            at = {law.p: sympy.Rational(rate.numerator, rate.denominator), law.K: cutoff}
            pmf = [Fraction(str(law.pmf.subs(at).subs(law.k, x))) for x in range(1, cutoff + 3)]
            assert pmf[:cutoff] == [rate * (1 - rate) ** x for x in range(cutoff - 1)] + [(1 - rate) ** (cutoff - 1)]
            assert pmf[cutoff:] == [0, 0]
            mean = sum(x * w for x, w in enumerate(pmf, 1))
            assert Fraction(str(law.mean.subs(at))) == mean
            assert Fraction(str(law.variance.subs(at))) == sum((x - mean) ** 2 * w for x, w in enumerate(pmf, 1))


def proved(steps: tuple[Step, ...]) -> bool:
    return all(step.holds for step in steps)


@pytest.mark.parametrize(
    ("body", "last"),
    [
        (p * q**k, q ** (K - 1)),  # index from 0
        (p * q ** (k - 1), q**K),  # exponent of the last
        (p * q ** (k - 1), p * q ** (K - 1)),  # no cutoff at all
        (2 * p * q ** (k - 1), q ** (K - 1)),  # constant
        (p * q ** (k - 1) * K / (K + 1), q ** (K - 1)),  # depends on the cutoff
    ],
)
def test_wrong_probabilities_fail(body, last):
    assert not proved(lemma.prove_normalised(body, last))


@pytest.mark.parametrize(
    "mean", [1 / p, (1 - q ** (K - 1)) / p, (1 - q ** (K + 1)) / p, 2 * lemma.MEAN, lemma.MEAN + 1]
)
def test_wrong_means_fail(mean):
    assert not proved(lemma.prove_mean(mean))
    # A variance that makes up for it leaves the second moment right: the mean is still not proved.
    assert not proved(lemma.prove_variance(mean, lemma.VARIANCE + lemma.MEAN**2 - mean**2))


@pytest.mark.parametrize(
    "variance",
    [
        q / p**2,  # no cutoff
        q / p**2 - (2 * K - 1) * q**K / p + q ** (2 * K) / p**2,  # sign
        q / p**2 - (2 * K - 1) * q**K / p - q**K / p**2,  # exponent
        q / p**2 - (2 * K + 1) * q**K / p - q ** (2 * K) / p**2,  # constant
        q / p**2 - (2 * K - 1) * q ** (K - 1) / p - q ** (2 * K) / p**2,  # K off by one
        lemma.VARIANCE.subs(K, K + 1),  # K off by one throughout
        lemma.VARIANCE + 2 * q**K / p**2,  # the term that the last lines of (B.6.4) carry too much
    ],
)
def test_wrong_variances_fail(variance):
    assert not proved(lemma.prove_variance(lemma.MEAN, variance))
    assert not proved(lemma.prove_variance_bound(variance, lemma.VARIANCE_BOUND))


@pytest.mark.parametrize("bound", [q / p, (q / p) ** 2, q / (2 * p**2)])
def test_wrong_bounds_fail(bound):
    assert not proved(lemma.prove_variance_bound(lemma.VARIANCE, bound))


def test_a_sign_is_read_off_only_where_it_is_certain():
    assert lemma._negative_part((2 * K - 1) * q**K / p) == 0
    assert lemma._negative_part((2 * K - 3) * q**K / p) != 0
    assert lemma._negative_part(-(q**K)) != 0
