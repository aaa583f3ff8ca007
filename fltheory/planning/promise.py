"""One statement at the constants of a plan: the fewest rounds, with the best free parameters and local step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import sympy

from fltheory.errors import InputError
from fltheory.ledger import Bound, Claim
from fltheory.planning.facts import fewest_in_a_round, require_square, share_of_few
from fltheory.planning.statements import COHORTS, Statement, Values, value
from fltheory.planning.steps import Step, best_step, holds, largest_step, on_steps
from fltheory.planning.task import Task
from fltheory.symbols import local_lr

MOST_ROUNDS = 2**40  # a target that needs more is as good as out of reach
MOST_CHOICES = 2000  # combinations of free parameters tried for one statement


@dataclass(frozen=True)
class Outcome:
    """What one statement promises; `why` says in a sentence why there is no plan, and `rounds` is None then.

    claim         id of the statement used; `verdict_notes` says which one it stands for, and what it needs
    choice        the free parameters that need the fewest rounds
    terms         summand of the bound -> its value at the plan
    participants  clients that compute in a round, in the mean; None where no rates are given
    names         code names of the constants that play a part
    """

    statement: Statement
    claim: str
    verdict_notes: tuple[str, ...] = ()
    why: str = ""
    choice: Mapping[str, float] = field(default_factory=dict)
    rounds: int | None = None
    step: Step | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    participants: float | None = None
    local_steps: float = 1
    names: frozenset[str] = frozenset()

    @property
    def client_rounds(self) -> float | None:
        """Participations until the target is reached, of all clients together, in the mean."""
        return None if self.rounds is None or self.participants is None else self.rounds * self.participants


@dataclass(frozen=True)
class Promise:
    """One statement at the constants of a task, as a function of the free parameters and the number of rounds."""

    task: Task
    statement: Statement
    claim: Claim
    below: Sequence[Claim]

    @property
    def bound(self) -> Bound:
        if self.claim.bound is None:
            raise InputError("statement", self.claim.id, "one with a bound")
        return self.claim.bound

    def names(self) -> set[str]:
        parts = [part for claim in (self.claim, *self.below) for part in claim.parts]
        free = {symbol.name for part in parts for symbol in part.free_symbols}
        who = self.statement.participants
        return free if who is None else free | {symbol.name for symbol in who.free_symbols}

    def choices(self) -> Iterator[dict[str, float]]:
        named = sorted(self.names() & self.task.choices.keys())
        lists = [self.task.allowed[name] for name in named]
        if math.prod(map(len, lists)) > MOST_CHOICES:
            raise InputError("choices", named, f"at most {MOST_CHOICES} combinations for {self.claim.id}")
        return (dict(zip(named, picked, strict=True)) for picked in itertools.product(*lists))

    def at(self, choice: Values, rounds: int) -> dict[str, float]:
        """All constants, given ones before those that other statements give."""
        given = {**self.task.constants, **choice, self.statement.rounds: rounds}
        return {**self.statement.derive(given, self.task, self.below), **given}

    def derived(self) -> set[str]:
        """Names of the constants that other statements give here and the task does not."""
        choice = next(self.choices())
        given = {**self.task.constants, **choice, self.statement.rounds: MOST_ROUNDS}
        return self.at(choice, MOST_ROUNDS).keys() - given.keys()

    def missing(self) -> list[str]:
        needed = {s.name for part in (self.bound.rhs, *self.claim.conditions.values()) for s in part.free_symbols}
        if self.statement.participants is not None:
            needed |= {symbol.name for symbol in self.statement.participants.free_symbols}
        return sorted(needed - {"local_lr"} - self.at(next(self.choices()), MOST_ROUNDS).keys())

    def others(self) -> dict[str, sympy.Basic]:
        """Conditions on everything but the step, also those of the statements it rests on."""
        found = {
            f"{claim.id}, {name}": condition
            for claim in (self.claim, *self.below)
            for name, condition in claim.conditions.items()
        }
        return {name: condition for name, condition in found.items() if local_lr not in condition.free_symbols}

    def best(self, choice: Values, rounds: int, largest: float) -> Step | None:
        """The best step; None where a condition asks for more rounds."""
        values = self.at(choice, rounds)
        if not all(holds(condition, values) for condition in self.others().values()):
            return None
        return best_step(self.claim, self.bound, values, largest)

    def rounds(self, choice: Values) -> tuple[int | None, str, float]:
        """(fewest rounds, "", target); or (None, why, the smallest bound found).

        With more rounds every bound falls and every condition stays satisfied, which is why halving finds the
        fewest.
        """
        last = self.at(choice, MOST_ROUNDS)
        if short := self.short(last):
            return None, short, math.inf
        for name, condition in self.others().items():
            if not holds(condition, last):
                numbers = _numbers(condition, last)
                return None, f"The condition {name} does not hold: {condition} with {numbers}.", math.inf
        largest = self.largest(choice)
        if not largest:
            conditions = "; ".join(f"{name}: {condition}" for name, condition in on_steps(self.claim).items())
            return None, f"No step size satisfies {self.claim.id} ({conditions}).", math.inf
        step = self.best(choice, MOST_ROUNDS, largest)
        assert step is not None  # the other conditions were looked at above
        if step.bound > self.task.target:
            return None, self.floor(choice, step), step.bound

        def reached(rounds: int) -> bool:
            step = self.best(choice, rounds, largest)
            return step is not None and step.bound <= self.task.target

        low, high = 0, 1
        while not reached(high):
            low, high = high, min(2 * high, MOST_ROUNDS)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        contradiction = self.contradiction(choice, high)
        return (None, contradiction, math.inf) if contradiction else (high, "", self.task.target)

    def short(self, values: Values) -> str:
        """Which number of clients a server asks for that some rounds do not have; empty where none is known to lack.

        Any round may be a snapshot, or else an arbitrary one: a kind of rounds that never comes asks for nobody.
        """
        few = fewest_in_a_round(self.task.who, values.get("n_clients"), self.task.rates)
        for name, asked in self.asked(values):
            if few is not None and asked > few:
                have = f"at most {few}" if few else "none"
                return f"{self.claim.id} needs {name} = {asked:g} clients in a round, and some rounds have {have}."
        return ""

    def asked(self, values: Values) -> Iterator[tuple[str, float]]:
        """Name and number of the clients that a server asks for in some rounds, whoever is there."""
        who = self.statement.participants
        if who is not None and not self.statement.available:
            for size in sorted(who.free_symbols & {*COHORTS}, key=str):
                if value(sympy.diff(who, size), values):
                    yield size.name, values[size.name]

    def seldom_short(self, choice: Values, rounds: int) -> Iterator[str]:
        """How many rounds have fewer clients than a server asks for, though not in the mean; where that is known."""
        for name, asked in self.asked(self.at(choice, rounds)):
            if share := share_of_few(self.task.who, self.task.rates, asked):
                yield f"A share of {share:.2g} of the rounds has fewer than {name} = {asked:g} clients."

    def contradiction(self, choice: Values, rounds: int) -> str:
        """What a given weight_square must be with the weight error that is derived for so many rounds, or for more.

        The error falls with the rounds and is known with their number only: before a plan nothing can be said. Empty
        where there is nothing wrong. (A square that is derived is that of all weights up to the cutoff.)
        """
        values = self.at(choice, rounds)
        given = self.task.constants
        if "weight_square" not in given or "mean_weight_error" in given or "mean_weight_error" not in values:
            return ""
        try:
            require_square(values, self.task.rates, values.get("cutoff", math.inf))
        except InputError as refused:
            return f"{refused}."
        return ""

    def undefined(self, choice: Values) -> str:
        """Which part is no number, such as a bound of FAST for a single client, which divides by n_clients - 1."""
        values = {"local_lr": 1.0, **self.at(choice, MOST_ROUNDS)}
        parts = (self.bound.rhs, *self.claim.conditions.values())
        divisors = {power.base for part in parts for power in part.atoms(sympy.Pow) if power.exp.is_negative}
        for divisor in sorted(divisors, key=str):
            with suppress(InputError):
                if local_lr not in divisor.free_symbols and value(divisor, values) == 0:
                    return f"{self.claim.id} divides by {divisor}, which is 0 with {_numbers(divisor, values)}."
        return f"{self.claim.id} is not defined for these constants."

    def largest(self, choice: Values) -> float:
        return largest_step(on_steps(self.claim), self.at(choice, MOST_ROUNDS))

    def floor(self, choice: Values, step: Step) -> str:
        """Why even the largest number of rounds does not reach the target, with its best step."""
        values = {**self.at(choice, MOST_ROUNDS), "local_lr": step.size}
        terms = self.terms(values)
        worst = max(terms, key=lambda term: terms[term])
        alone = "alone is still" if terms[worst] > self.task.target else "is the largest term,"
        numbers = _numbers(_summand(self.bound, worst), values)
        return (
            f"No step size brings {self.claim.id} to {self.task.target:.6g} within 2^40 rounds, where it is still "
            f"{step.bound:.6g}, because {worst} {alone} {terms[worst]:.6g} with {numbers}."
        )

    def terms(self, values: Values) -> dict[str, float]:
        return {str(term): value(term, values) for term in sympy.Add.make_args(self.bound.rhs)}

    def participants(self, choice: Values, rounds: int) -> float | None:
        values, who, rates = self.at(choice, rounds), self.statement.participants, self.task.rates
        available = sum(rates) / len(rates) * values["n_clients"] if len(rates) and "n_clients" in values else None
        if who is None:
            return available
        selected = value(who, values)
        return selected if available is None or not self.statement.available else min(selected, available)

    def outcome(self, choice: Mapping[str, float], rounds: int, notes: tuple[str, ...]) -> Outcome:
        step = self.best(choice, rounds, self.largest(choice))
        assert step is not None
        values = {**self.at(choice, rounds), "local_lr": step.size}
        steps = self.statement.local_steps or values["local_steps"]
        return Outcome(
            self.statement, self.claim.id, notes, "", choice, rounds, step, self.terms(values),
            self.participants(choice, rounds), steps, frozenset(self.names()),
        )  # fmt: skip


def _summand(bound: Bound, text: str) -> sympy.Expr:
    """The summand of a bound that is printed as `text`."""
    return next(term for term in sympy.Add.make_args(bound.rhs) if str(term) == text)


def _numbers(expression: sympy.Basic, values: Values) -> str:
    names = sorted(symbol.name for symbol in expression.free_symbols)
    return ", ".join(f"{name} = {values[name]:.6g}" for name in names)
