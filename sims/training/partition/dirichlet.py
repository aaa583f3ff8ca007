"""Label mixes drawn from a Dirichlet law."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from fltheory.streams import stream
from sims.training.partition.base import FloatArray, IntArray, Partition, assemble, checked, counts_from_weights, deal


def dirichlet(
    labels: npt.ArrayLike,
    n_clients: int,
    *,
    alpha: float,
    seed: int,
    preset: Literal["as_in_paper", "as_in_code"] = "as_in_paper",
) -> Partition:
    """Each client's label mix is kappa_n ~ Dir(alpha, ..., alpha); small alpha makes clients differ (FedAU, FAST).

    as_in_paper   clients have equally many samples (to within one), of label k as near to kappa_nk of them as the
                  samples that are left allow. Clients choose in random order; what a class cannot give is taken from
                  the others in proportion to kappa_n. (Hsu et al., 2019; FedAU, Section 5; the balanced split of FAST)
    as_in_code    the n_k samples of class k are cut in proportion to kappa_nk / sum_m kappa_mk, cumulative shares
                  rounded: sizes differ, and follow from the draw (FedAU's public code)

    Mixes are drawn by their logarithms, which stay finite for every alpha > 0: as alpha falls to 0 each client
    gets one class. Raises InputError for labels that are none, more clients than samples, and a bad alpha.
    """
    samples, n_clients = checked(labels, n_clients)
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 < float(alpha) < np.inf:
        raise InputError("alpha", alpha, "a positive number")
    if preset not in ("as_in_paper", "as_in_code"):
        raise InputError("preset", preset, '"as_in_paper" or "as_in_code"')
    classes, number = np.unique(samples, return_inverse=True)
    rng = stream(seed, f"partition.dirichlet.{preset}")
    log_mix = log_dirichlet(rng, float(alpha), n_clients, len(classes))
    by_class = [np.flatnonzero(number == k) for k in range(len(classes))]
    make = _equal_sizes if preset == "as_in_paper" else _cut_by_class
    parameters: dict[str, Any] = {"alpha": float(alpha), "preset": preset, "n_clients": n_clients, "seed": seed}
    return assemble("dirichlet", parameters, samples, make(rng, log_mix, by_class, len(samples)), n_clients)


def log_dirichlet(rng: np.random.Generator, alpha: float, n: int, classes: int) -> FloatArray:
    """Logarithms of n draws of Dir(alpha, ..., alpha), (n, classes), finite for every alpha > 0.

    G ~ Gamma(alpha) is G' U^(1/alpha) with G' ~ Gamma(alpha + 1), U uniform (Marsaglia and Tsang, 2000, Section 6).
    """
    gamma = np.log(rng.standard_gamma(alpha + 1, (n, classes)))
    with np.errstate(over="ignore"):
        gamma += np.maximum(np.log1p(-rng.random((n, classes))) / alpha, -1e300)
    return gamma - _log_sum(gamma, axis=1)


def _log_sum(values: FloatArray, axis: int) -> FloatArray:
    top = values.max(axis=axis, keepdims=True)
    return np.asarray(top + np.log(np.exp(values - top).sum(axis=axis, keepdims=True)))


def _cut_by_class(rng: np.random.Generator, log_mix: FloatArray, by_class: list[IntArray], n: int) -> IntArray:
    owner = np.empty(n, np.int64)
    shares = np.exp(log_mix - _log_sum(log_mix, axis=0))
    clients = np.arange(len(log_mix))
    for k, samples in enumerate(by_class):
        cuts = np.rint(np.cumsum(shares[:, k]) / shares[:, k].sum() * len(samples)).astype(np.int64)
        deal(rng, samples, clients, np.diff(cuts, prepend=0), owner)
    return owner


def _equal_sizes(rng: np.random.Generator, log_mix: FloatArray, by_class: list[IntArray], n: int) -> IntArray:
    n_clients = len(log_mix)
    left = np.array([len(samples) for samples in by_class], np.int64)
    counts = np.zeros((n_clients, len(by_class)), np.int64)
    order = rng.permutation(n_clients)
    sizes = np.full(n_clients, n // n_clients)
    sizes[order[: n % n_clients]] += 1
    for client in order:
        while missing := int(sizes[client] - counts[client].sum()):  # every pass empties a class or is the last
            open_ = np.flatnonzero(left)
            mix = log_mix[client, open_]
            wanted = counts_from_weights(missing, np.exp(mix - mix.max()))
            taken = np.minimum(wanted, left[open_])
            counts[client, open_] += taken
            left[open_] -= taken
    owner = np.empty(n, np.int64)
    for k, samples in enumerate(by_class):
        deal(rng, samples, np.arange(n_clients), counts[:, k], owner)
    return owner
