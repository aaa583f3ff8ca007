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
from fltheory.papers.fast.setting import snapshot_rate
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
    choices    code name -> values to try, for parameters that one is free to set; those with a value that is not
               allowed are `wrong`, and the plans that need them have none
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
        right = {name: tried for name, tried in self.choices.items() if name not in self.wrong}
        require_possible(self.constants, right, self.rates, self.who)

    @cached_property
    def wrong(self) -> dict[str, str]:
        """Code name of a choice -> why one of its values is not allowed; a sentence for what needs it, and no more."""
        found = {}
        for name, tried in self.choices.items():
            try:
                for one in tried:
                    Constants(**{name: one})
                    _narrow(name, one)
                    if name in {size.name for size in COHORTS}:
                        _no_more(name, one, self.constants.get("n_clients"))
            except InputError as refused:
                found[name] = f"{refused}."
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
        if self.measure not in MEASURES:
            raise InputError("measure", self.measure, one_of(str(self.measure), MEASURES))
        len(ledger)  # the papers define the names of their constants
        for name, tried in self.choices.items():
            if name in self.constants:
                raise InputError("choices", name, "no constant too")
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
    if name == snapshot_rate.name and given > 1:  # its domain has no upper end: Theorem 2 of FAST states it itself
        raise InputError(name, given, "a probability in [0, 1]")
    if given > sys.float_info.max:  # a cutoff of inf bounds no weights; a whole number may be beyond floats
        raise InputError(name, given, "finite")


def _no_more(name: str, size: float, n_clients: float | None) -> None:
    if n_clients is not None and size > n_clients:
        raise InputError(name, size, f"at most n_clients = {n_clients}")


def _number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
