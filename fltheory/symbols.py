"""The symbols of all statements: one code name each, with unit, domain and meaning.

Papers reuse letters (K is a cutoff in one, a number of local steps in another), so statements are written in
these symbols; each paper maps them to its own letters for display only. `Constants` carries values under the
code names and feeds every bound.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import sympy

from fltheory.errors import InputError
from fltheory.units import GRADIENT, LOSS, ONE, PARAM, Unit

# As stated: sympy would search for arguments that can be left out, for a quarter of the time to load all statements.
Max, Min = partial(sympy.Max, evaluate=False), partial(sympy.Min, evaluate=False)


@dataclass(frozen=True)
class Quantity:
    """A symbol with its unit, its domain and one line of meaning."""

    symbol: sympy.Symbol
    unit: Unit
    domain: str
    meaning: str


# domain -> (what sympy may assume, test of a value)
_DOMAINS: dict[str, tuple[dict[str, bool], Callable[[float], bool]]] = {
    "probability in (0, 1]": ({"positive": True}, lambda v: 0 < v <= 1),
    "whole number >= 1, or infinity": (
        {"integer": True, "positive": True},
        lambda v: v >= 1 and (v == math.inf or v == int(v)),
    ),
    "whole number >= 1": ({"integer": True, "positive": True}, lambda v: 1 <= v < math.inf and v == int(v)),
    "whole number >= 0": (
        {"integer": True, "nonnegative": True},
        lambda v: 0 <= v < math.inf and v == int(v),
    ),
    "> 0": ({"positive": True}, lambda v: 0 < v < math.inf),
    ">= 0": ({"nonnegative": True}, lambda v: 0 <= v < math.inf),
    "a probability in [0, 1]": ({"nonnegative": True}, lambda v: 0 <= v <= 1),
    "0 or 1": ({"nonnegative": True}, lambda v: v in (0, 1)),
}

QUANTITIES: dict[str, Quantity] = {}


def quantity(name: str, unit: Unit, domain: str, meaning: str) -> sympy.Symbol:
    """Define a code name once and return its symbol. A second, different definition is an error."""
    assumptions, _ = _DOMAINS[domain]
    new = Quantity(sympy.Symbol(name, **assumptions), unit, domain, meaning)
    if QUANTITIES.setdefault(name, new) != new:
        raise InputError("name", name, "a code name that is not yet taken for something else")
    return new.symbol


rate = quantity("rate", ONE, "probability in (0, 1]", "participation rate of a client")
min_rate = quantity("min_rate", ONE, "probability in (0, 1]", "smallest participation rate of all clients")
cutoff = quantity("cutoff", ONE, "whole number >= 1, or infinity", "cutoff of participation intervals")
rounds = quantity("rounds", ONE, "whole number >= 1", "number of rounds")
round_index = quantity("round_index", ONE, "whole number >= 0", "the round in which a weight is used")
n_clients = quantity("n_clients", ONE, "whole number >= 1", "number of clients")
local_steps = quantity("local_steps", ONE, "whole number >= 1", "local steps a round")
smoothness = quantity("smoothness", LOSS / PARAM**2, "> 0", "Lipschitz constant of the local gradients")
noise_std = quantity("noise_std", GRADIENT, ">= 0", "standard deviation bound of a stochastic gradient")
heterogeneity = quantity("heterogeneity", GRADIENT, ">= 0", "largest distance of a local from the global gradient")
initial_gap = quantity("initial_gap", LOSS, ">= 0", "objective at the start minus its minimum")
local_lr = quantity("local_lr", PARAM**2 / LOSS, "> 0", "local step size")
global_lr = quantity("global_lr", ONE, "> 0", "global step size")
cohort_size = quantity("cohort_size", ONE, "whole number >= 1", "clients asked in a round")
interval = quantity("interval", ONE, "whole number >= 1", "rounds from one amplification or snapshot to the next")
window = quantity("window", ONE, "whole number >= 1", "rounds in which every client is available at least once")
strong_convexity = quantity("strong_convexity", LOSS / PARAM**2, "> 0", "strong convexity of every local objective")
polyak_lojasiewicz = quantity("polyak_lojasiewicz", LOSS / PARAM**2, "> 0", "mu in |grad f|^2 >= 2 mu (f - min f)")
gradient_bound = quantity("gradient_bound", GRADIENT, ">= 0", "bound on the norm of (stochastic) local gradients")
noise_smoothness = quantity("noise_smoothness", LOSS / PARAM**2, ">= 0", "mean-square Lipschitz constant of the noise")
weight_square = quantity("weight_square", ONE, ">= 0", "largest over rounds of (1/n_clients) sum rate weight^2")


class _Units(Mapping[sympy.Symbol, Unit]):
    """A view, so that quantities which another package defines later are seen too."""

    def __getitem__(self, symbol: sympy.Symbol) -> Unit:
        return QUANTITIES[symbol.name].unit

    def __iter__(self) -> Iterator[sympy.Symbol]:
        return (q.symbol for q in QUANTITIES.values())

    def __len__(self) -> int:
        return len(QUANTITIES)


UNITS = _Units()


class Constants(Mapping[str, float]):
    """Values under code names, checked against their domains; one object feeds every bound.

    >>> Constants(rate=0.1, cutoff=50)["cutoff"]
    50

    Raises InputError for a name that no symbol has (with the nearest one) or a value outside its domain.
    """

    def __init__(self, **values: float) -> None:
        for name, value in values.items():
            known = QUANTITIES.get(name)
            if known is None:
                near = difflib.get_close_matches(name, QUANTITIES, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise InputError("name of a constant", name, f"one of fltheory.symbols.QUANTITIES{hint}")
            _, fits = _DOMAINS[known.domain]
            try:
                good = not isinstance(value, bool) and fits(value)  # NaN fits nowhere
            except (TypeError, ValueError):  # text, an array
                good = False
            if not good:
                infinite = known.domain in ("> 0", ">= 0") and isinstance(value, float) and value == math.inf
                raise InputError(name, value, f"finite and {known.domain}" if infinite else known.domain)
        self._values = values

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Constants({', '.join(f'{k}={v!r}' for k, v in self._values.items())})"
