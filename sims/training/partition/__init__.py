"""How the samples of a data set are distributed among clients: named schemes, without torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from fltheory.errors import InputError, one_of
from sims.training.partition.base import Partition
from sims.training.partition.by_label import majority_label, one_label, two_classes
from sims.training.partition.dirichlet import dirichlet
from sims.training.partition.plain import iid, natural
from sims.training.partition.rates import fedau_rates, mifa_rates

SCHEMES: dict[str, Callable[..., Partition]] = {
    "dirichlet": dirichlet,
    "iid": iid,
    "majority-label": majority_label,
    "natural": natural,
    "one-label": one_label,
    "two-classes": two_classes,
}


def split(scheme: str, labels: npt.ArrayLike, *, groups: npt.ArrayLike | None = None, **parameters: Any) -> Partition:
    """The partition of the named scheme.

    labels      of the training samples, whole numbers (n,)
    groups      natural client of each sample, (n,); only "natural" looks at them
    parameters  of the scheme: n_clients and seed, and alpha, similarity or preset where it has them

    Raises InputError for an unknown scheme, missing or unknown parameters, and what the scheme refuses.
    """
    if scheme not in SCHEMES:
        raise InputError("partition", scheme, one_of(str(scheme), SCHEMES))
    if scheme == "natural":
        if groups is None:
            raise InputError("partition", scheme, "another one: these data have no natural groups")
        parameters = {"groups": groups, **parameters}
    known = inspect.signature(SCHEMES[scheme]).parameters
    needed = [name for name, one in known.items() if one.default is inspect.Parameter.empty and name != "labels"]
    for unknown in sorted(set(parameters) - set(known)):
        names = [name for name in known if name not in ("labels", "groups")]
        allowed = one_of(unknown, names) if names else "left out: it has none"
        raise InputError(f"parameters of {scheme}", unknown, allowed)
    if missing := sorted(set(needed) - set(parameters)):
        given = ", ".join(sorted(set(parameters) - {"groups"})) or "none"
        raise InputError(f"parameters of {scheme}", given, f"complete; missing: {', '.join(missing)}")
    return SCHEMES[scheme](labels, **parameters)


__all__ = [
    "SCHEMES",
    "Partition",
    "dirichlet",
    "fedau_rates",
    "iid",
    "majority_label",
    "mifa_rates",
    "natural",
    "one_label",
    "split",
    "two_classes",
]
