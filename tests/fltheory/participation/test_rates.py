"""Label-correlated rates against (C.6.1) and the effect of the floor and the cap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, label_correlated_rates

MIX = np.random.default_rng(0).dirichlet(np.full(10, 0.1), size=250)


def test_formula() -> None:
    """Clients with a single label show q; everybody else's rate is <kappa, q> / lambda, lambda = 1 / (C mean)."""
    q = label_correlated_rates(np.eye(10), alpha=0.5, mean=0.03, floor=0, seed=3).rates / (10 * 0.03)
    assert q.sum() == pytest.approx(1)
    made = label_correlated_rates(MIX, alpha=0.5, mean=0.03, floor=0, seed=3)
    np.testing.assert_allclose(made.rates, MIX @ q * 10 * 0.03, rtol=1e-12)
    assert made.mean_before == pytest.approx(made.mean_after) == pytest.approx(made.rates.mean())
    assert (made.n_at_floor, made.n_capped) == (0, 0)


def test_floor_and_cap_are_reported() -> None:
    free = label_correlated_rates(MIX, alpha=0.1, mean=0.3, floor=0, seed=0)
    made = label_correlated_rates(MIX, alpha=0.1, mean=0.3, floor=0.02, seed=0)
    assert made.n_at_floor == (free.rates < 0.02).sum() > 0
    assert made.n_capped == free.n_capped == (free.rates == 1).sum() > 0
    assert made.rates.min() == 0.02
    assert made.rates.max() == 1
    assert made.mean_before == free.mean_before > free.rates.mean()  # before the cap, too
    assert made.mean_after == pytest.approx(made.rates.mean())
    assert Bernoulli(made.rates).n_clients == 250


def test_the_authors_code_has_no_cap() -> None:
    with pytest.raises(
        InputError, match=r'^the rate of client \d+ must be at most 1 \("as_in_paper" caps it\); got 1\.'
    ):
        label_correlated_rates(MIX, alpha=0.1, mean=0.3, floor=0.02, seed=0, preset="as_in_code")
    paper = label_correlated_rates(MIX, alpha=0.1, mean=0.1, floor=0.02, seed=0)
    code = label_correlated_rates(MIX, alpha=0.1, mean=0.1, floor=0.02, seed=0, preset="as_in_code")
    np.testing.assert_array_equal(paper.rates, code.rates)


def test_seeds() -> None:
    first, same, other = (label_correlated_rates(MIX, 0.1, 0.1, 0.02, seed).rates for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("alpha", "mean_after", "share_at_floor"),
    [
        (0.01, 0.111000, 0.6255),
        (0.05, 0.107963, 0.5066),
        (0.1, 0.105735, 0.4069),
        (0.5, 0.101086, 0.1218),
        (1.0, 0.100284, 0.0417),
    ],
)
def test_what_the_floor_does_on_average(alpha: float, mean_after: float, share_at_floor: float) -> None:
    """E[max(p, 0.02)] and P(p < 0.02) for mu = 0.1, ten labels, kappa ~ Dir(0.1), known to about 4e-6 and 3e-4.

    2500 draws of q with 50 clients each; the standard error comes from the 2500 independent means; five of them are
    a false alarm of 6e-7 a comparison.
    """
    rng = np.random.default_rng(1)
    made = [
        label_correlated_rates(rng.dirichlet(np.full(10, 0.1), size=50), alpha, 0.1, 0.02, seed) for seed in range(2500)
    ]
    for values, expected, known in (
        ([m.mean_after for m in made], mean_after, 4e-6),
        ([m.n_at_floor / 50 for m in made], share_at_floor, 3e-4),
        ([m.mean_before for m in made], 0.1, 0.0),
    ):
        error = np.std(values, ddof=1) / math.sqrt(len(values))
        assert abs(np.mean(values) - expected) <= 5 * math.hypot(error, known)


@pytest.mark.parametrize("alpha", [1e-300, 1e-5, 1e6])
def test_extreme_concentration(alpha: float) -> None:
    made = label_correlated_rates(MIX, alpha, 0.1, 0.02, seed=0)
    assert np.isfinite(made.rates).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_mix": [[0.5, 0.6]]}, r"label_mix\[0\]\.sum\(\) must be 1; got 1\.1"),
        ({"label_mix": [[math.nan, 1.0]]}, r"label_mix must be in \[0, 1\]; got nan"),
        ({"label_mix": [0.5, 0.5]}, r"label_mix must be of shape \(n_clients, labels\)"),
        ({"label_mix": np.zeros((0, 3))}, r"label_mix must be of shape \(n_clients, labels\)"),
        ({"alpha": 0}, "alpha must be a positive number; got 0"),
        ({"alpha": 1e308}, r"alpha must be at most 1e\+300; got 1e\+308"),
        ({"alpha": 10**400}, r"alpha must be at most 1e\+300; got 1000000"),
        ({"alpha": math.nan}, "alpha must be a positive number; got nan"),
        ({"alpha": "0.1"}, "alpha must be a positive number; got '0.1'"),
        ({"mean": 1.5}, r"mean must be a number in \(0, 1\]; got 1\.5"),
        ({"mean": True}, r"mean must be a number in \(0, 1\]; got True"),
        ({"alpha": True}, "alpha must be a positive number; got True"),
        ({"mean": [0.1, 0.2]}, r"mean must be a number in \(0, 1\]"),
        ({"floor": -0.1}, r"floor must be a number in \[0, 1\]; got -0\.1"),
        ({"floor": math.nan}, r"floor must be a number in \[0, 1\]; got nan"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"preset": "paper"}, 'preset must be "as_in_paper" or "as_in_code"; got \'paper\''),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"label_mix": MIX, "alpha": 0.1, "mean": 0.1, "floor": 0.02, "seed": 0}
    with pytest.raises(InputError, match=f"^{message}"):
        label_correlated_rates(**(good | change))
