"""Participation rates that depend on what labels a client holds."""

from __future__ import annotations

from numbers import Real
from typing import Literal

import numpy as np

from fltheory.errors import InputError
from fltheory.participation.rates import LabelCorrelatedRates, label_correlated_rates
from sims.training.partition.base import FloatArray, Partition


def fedau_rates(
    partition: Partition,
    *,
    seed: int,
    alpha: float = 0.1,
    mean: float = 0.1,
    floor: float = 0.02,
    preset: Literal["as_in_paper", "as_in_code"] = "as_in_paper",
) -> LabelCorrelatedRates:
    """p_n = <kappa_n, q> / lambda with q ~ Dir(alpha) and kappa_n the label mix of client n (FedAU, (C.6.1)).

    `fltheory.participation.rates.label_correlated_rates` on the mix of this partition: presets, floor, cap and
    errors are told there. The defaults are the paper's.
    """
    return label_correlated_rates(partition.label_mix, alpha, mean, floor, seed, preset=preset)


def mifa_rates(
    partition: Partition, *, p_min: float, preset: Literal["two_labels_as_in_code", "dirichlet_as_in_code"]
) -> FloatArray:
    """p_n = p_min + (1 - p_min) k_n / (C - 1), (n_clients,): clients of small labels are rare (MIFA's public code).

    p_min   the rate of clients with label 0, in (0, 1]; 0.1, 0.2, ... there
    preset  two_labels_as_in_code: k_n is the smallest label of client n; dirichlet_as_in_code: the one that it has
            most of, the smallest such one. There C = 10.

    Raises InputError for a p_min outside (0, 1], an unknown preset, or data of one class.
    """
    if isinstance(p_min, bool) or not isinstance(p_min, Real) or not 0 < float(p_min) <= 1:
        raise InputError("p_min", p_min, "a number in (0, 1]")
    counts = partition.label_counts
    if counts.shape[1] < 2:
        raise InputError("partition", partition.scheme, "one of data with two classes or more")
    if preset == "two_labels_as_in_code":
        label = (counts > 0).argmax(axis=1)
    elif preset == "dirichlet_as_in_code":
        label = counts.argmax(axis=1)
    else:
        raise InputError("preset", preset, '"two_labels_as_in_code" or "dirichlet_as_in_code"')
    return np.asarray(float(p_min) + (1 - float(p_min)) * label / (counts.shape[1] - 1))
