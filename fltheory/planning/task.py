"""What is known and wanted of a plan."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fltheory.errors import InputError, one_of, probabilities
from fltheory.ledger import ledger
from fltheory.participation import ParticipationProcess
from fltheory.planning.facts import FACTS, Known, of_process, of_rates, require_possible
from fltheory.planning.statements import COHORTS, MEASURES, STATEMENTS
from fltheory.symbols import Constants

SMALLEST, LARGEST = 1e-300, 1e300  # targets: ten times and a hundredth of them are numbers too


@dataclass(frozen=True)
class Task:
    """What is known and what is wanted.

    target     for the bound, in the unit of the measure
    constants  code name of `fltheory.symbols` -> value, in the unit given there
    choices    code name -> values to try, for parameters that one is free to set; those that are `allowed` are tried
    rates      participation rates: none, one for all clients, or one a client
    measure    of what: a key of MEASURES
    process    who takes part, where that is known beyond the rates, which are then those of the process
    known      what is known of who takes part; None: what the process tells, or else the rates. Constants that
               contradict it are refused
    """

    target: float
    constants: Mapping[str, float]
    choices: Mapping[str, Sequence[float]] = field(default_factory=dict)
    rates: Sequence[float] = ()
    measure: str = "squared_gradient"
    process: ParticipationProcess | None = None
    known: Known | None = None

    def __post_init__(self) -> None:
        self._check_names()
        n_clients = Constants(**self.constants).get("n_clients")
        for name, one in self.constants.items():
            _narrow(name, one)
        for name in (size.name for size in COHORTS):
            _no_more(name, self.constants.get(name, 1), n_clients)
        if len(self.rates):
            probabilities("rates", self.rates)
        if self.process is not None and n_clients not in (None, self.process.n_clients):
            raise InputError("n_clients", n_clients, f"{self.process.n_clients}, as many as the process has")
        if self.process is not None and not np.array_equal(self.rates, self.process.rate):
            raise InputError("rates", list(self.rates), "those of the process")
        if len(self.rates) > 1 and len(self.rates) != n_clients:
            raise InputError("rates", list(self.rates), f"one rate, or one for each of n_clients = {n_clients}")
        tried = {name: values for name, values in self.allowed.items() if values}
        require_possible(self.constants, tried, self.rates, self.who)

    @cached_property
    def wrong(self) -> dict[str, dict[int, str]]:
        """Code name of a choice -> place of a value that is not allowed -> why, in a sentence."""
        return {name: self._wrong(name, tried) for name, tried in self.choices.items()}

    @cached_property
    def allowed(self) -> dict[str, list[float]]:
        """Code name of a choice -> its other values."""
        return {
            name: [one for k, one in enumerate(tried) if k not in self.wrong[name]]
            for name, tried in self.choices.items()
        }

    def _wrong(self, name: str, tried: Sequence[float]) -> dict[int, str]:
        found = {}
        for k, one in enumerate(tried):
            try:
                Constants(**{name: one})
                _narrow(name, one)
                if name in {size.name for size in COHORTS}:
                    _no_more(name, one, self.constants.get("n_clients"))
            except InputError as refused:
                found[k] = f"{refused}."
        return found

    @cached_property
    def who(self) -> Known:
        """What is known of who takes part."""
        if self.known is not None:
            return self.known
        if self.process is not None:
            return of_process(self.process)
        n_clients = self.constants.get("n_clients")
        return of_rates(self.rates, int(n_clients)) if len(self.rates) and n_clients else Known()

    def _check_names(self) -> None:
        if not (_number(self.target) and 0 < self.target < math.inf):
            raise InputError("target", self.target, "a number above 0")
        if not SMALLEST <= self.target <= LARGEST:
            raise InputError("target", self.target, f"from {SMALLEST:g} to {LARGEST:g}")
        if not isinstance(self.measure, str) or self.measure not in MEASURES:
            raise InputError("measure", self.measure, one_of(str(self.measure), MEASURES))
        len(ledger)  # the papers define the names of their constants
        for name, tried in self.choices.items():
            if name in self.constants:
                raise InputError("choices", name, "names that do not stand under constants, too")
            if name in ("n_clients", "window", *FACTS):
                raise InputError("choices", name, f"without {name}, which is a fact and stands under constants")
            if isinstance(tried, str) or not isinstance(tried, Sequence) or not tried:
                raise InputError(f"choices {name}", tried, "a list of values")
            Constants(**{name: 1})  # raises for a name that there is not
        for name in {"local_lr", *(statement.rounds for statement in STATEMENTS)}:
            if name in self.constants or name in self.choices:
                raise InputError("constants", name, f"without {name}, which is what the plan seeks")


def _narrow(name: str, given: float) -> None:
    """Raise InputError where a plan allows less than the domain of a symbol."""
    if given > sys.float_info.max:  # a whole number may be beyond floats
        why = ", for in a plan it bounds the weights" if name == "cutoff" else ""
        raise InputError(name, given, f"finite{why}")


def _no_more(name: str, size: float, n_clients: float | None) -> None:
    if n_clients is not None and size > n_clients:
        raise InputError(name, size, f"at most n_clients = {n_clients}")


def _number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
