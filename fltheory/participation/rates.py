"""Availability rates that depend on a client's labels: data and participation heterogeneity together."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError, probabilities
from fltheory.participation.base import read_only
from fltheory.participation.runs import FloatArray
from fltheory.streams import stream

LARGEST_ALPHA = 1e300  # the sum of the draws of all labels must fit in a float


@dataclass(frozen=True, eq=False)
class LabelCorrelatedRates:
    """What `label_correlated_rates` made.

    rates         float array (n_clients,), the availability rates
    mean_before   their mean before the floor and the cap
    mean_after    their mean after both: the floor raises it
    n_at_floor    number of clients that the floor raised
    n_capped      number of clients that the cap at 1 lowered
    """

    rates: FloatArray
    mean_before: float
    mean_after: float
    n_at_floor: int
    n_capped: int


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def label_correlated_rates(
    label_mix: npt.ArrayLike,
    alpha: float,
    mean: float,
    floor: float,
    seed: int,
    *,
    preset: Literal["as_in_paper", "as_in_code"] = "as_in_paper",
) -> LabelCorrelatedRates:
    """Rates p_n = <kappa_n, q> / lambda with lambda = 1 / (C mean), then at least `floor` (FedAU, (C.6.1)).

    label_mix   kappa, shape (n_clients, C): shares of the C labels in each client's data; rows sum to 1
    alpha       q ~ Dir(alpha, ..., alpha) is drawn once for all clients; small alpha makes rates uneven
    mean        wanted mean rate before the floor, in (0, 1]; FedAU uses 0.1
    floor       least rate, in [0, 1]; FedAU uses 0.02; with 0 a rate may be 0, which no process accepts
    preset      a rate above 1, possible with many labels, on which the paper is silent: "as_in_paper" caps it
                at 1 and counts it, "as_in_code" has no cap, and an InputError names the client

    E[p_n] = mean over the draw of q and a symmetric kappa, only before the floor. Raises InputError for bad
    arguments.

    >>> made = label_correlated_rates(np.eye(10), alpha=0.1, mean=0.1, floor=0.02, seed=1)
    >>> round(made.mean_before, 9), made.n_at_floor > 0, made.mean_after > made.mean_before
    (0.1, True, True)
    """
    mix = probabilities("label_mix", label_mix, zero=True)
    if mix.ndim != 2 or mix.size == 0:
        raise InputError("label_mix", mix.shape, "of shape (n_clients, labels), neither of them 0")
    if not np.allclose(mix.sum(axis=1), 1, rtol=0, atol=1e-9):
        row = int(np.abs(mix.sum(axis=1) - 1).argmax())
        raise InputError(f"label_mix[{row}].sum()", float(mix[row].sum()), "1")
    if not (_is_number(alpha) and 0 < alpha < np.inf):
        raise InputError("alpha", alpha, "a positive number")
    if alpha > LARGEST_ALPHA:
        raise InputError("alpha", alpha, f"at most {LARGEST_ALPHA:g}")
    if not (_is_number(mean) and 0 < mean <= 1):
        raise InputError("mean", mean, "a number in (0, 1]")
    if not (_is_number(floor) and 0 <= floor <= 1):
        raise InputError("floor", floor, "a number in [0, 1]")
    if preset not in ("as_in_paper", "as_in_code"):
        raise InputError("preset", preset, '"as_in_paper" or "as_in_code"')

    n_labels = mix.shape[1]
    share = stream(seed, "participation.label-correlated-rates").dirichlet(np.full(n_labels, float(alpha)))
    wanted = n_labels * mean * (mix @ share)
    above = wanted > 1
    if preset == "as_in_code" and above.any():
        client = int(above.argmax())
        raise InputError(f"the rate of client {client}", float(wanted[client]), 'at most 1 ("as_in_paper" caps it)')
    rates = np.clip(wanted, floor, 1)
    return LabelCorrelatedRates(
        rates=read_only(rates),
        mean_before=float(wanted.mean()),
        mean_after=float(rates.mean()),
        n_at_floor=int((wanted < floor).sum()),
        n_capped=int(above.sum()),
    )
