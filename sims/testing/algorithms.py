"""`check_algorithm`: everything that any algorithm must do, on small random runs in rationals, floats and torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from fltheory.errors import InputError
from fltheory.testing import battery
from sims.algorithms import costs
from sims.algorithms.protocol import Algorithm, State
from sims.arrays import require_exact
from sims.testing.scenarios import Convert, Scenario, exact, floats, numbers, play, scenario, tensors

SEEDS = 4
MIXED = (2, 1001)  # times the one linear state, less the other
Outcome = str | None


def check_algorithm(
    algorithm: Algorithm,
    hyper: Any = None,
    *,
    one_client_a_round: bool = False,
    expected_failures: Mapping[str, str] | None = None,
) -> None:
    """Run the whole battery on an algorithm; raise CheckFailed with every failure and its example.

    hyper                its parameters, rational numbers as int or Fraction; without them `some_hyper(algorithm)`
    one_client_a_round   the algorithm is meant for rounds with one participant at most
    expected_failures    name of a check -> why it is right that it fails; then it must fail

    The checks: `moves` (the model does), `pure` (no argument is written into), `rationals` (no float arises), `floats`
    and, where torch is installed, `torch` (the same run as in rationals), `padding` (neither that, nor the order of
    slots, nor other replicates matter), `renaming` (clients renamed, memories renamed, nothing else), `affine` (a
    round is, in the linear state), `declared costs` (bytes kept), `bad input` (step sizes and steps that are none).

    >>> from sims.algorithms.fedavg import fedavg
    >>> check_algorithm(fedavg)
    """
    if not isinstance(algorithm, Algorithm):
        raise InputError("algorithm", algorithm, "one of sims.algorithms.protocol.Algorithm")
    given = some_hyper(algorithm) if hyper is None else hyper
    cases = [case_for(seed, one_client_a_round) for seed in range(SEEDS)]
    checks = {name: partial(check, algorithm, given, cases) for name, check in CHECKS.items()}
    if find_spec("torch") is None:
        del checks["torch"]
    battery.run(f"the algorithm {algorithm.name}", checks, expected_failures or {})


def some_hyper(algorithm: Algorithm) -> Any:
    """Small exact parameters: 2 local steps, 2 for whole numbers and 1/8 for the others that have no default."""
    values: dict[str, Any] = {}
    for parameter in dataclasses.fields(algorithm.hyper):
        if parameter.name == "local_steps":
            values["local_steps"] = 2
        elif parameter.default is dataclasses.MISSING:
            values[parameter.name] = 2 if parameter.type in ("int", int) else Fraction(1, 8)
    return algorithm.hyper(**values)


def case_for(seed: int, one_client_a_round: bool = False) -> Scenario:
    """Six rounds of four clients, two replicates."""
    case = scenario(seed, n_clients=4, rounds=6)
    if one_client_a_round:
        first = [slots.valid & (np.cumsum(slots.valid, axis=-1) == 1) for slots in case.rounds]
        rounds = [dataclasses.replace(slots, valid=v) for slots, v in zip(case.rounds, first, strict=True)]
        case = dataclasses.replace(case, rounds=rounds)
    return case


def states(algorithm: Algorithm, hyper: Any, case: Scenario, to: Convert = exact) -> list[State]:
    """The states after each round."""
    return list(play(algorithm, hyper, case, to))


def _moves(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    """Otherwise the other checks would show nothing."""
    moved = any((states(algorithm, hyper, case)[-1].linear["x"] != case.x0).any() for case in cases)
    return None if moved else f"the model stays where it began in {len(cases)} runs of {len(cases[0].rounds)} rounds"


def _pure(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    frozen = dataclasses.replace(
        algorithm,
        work=lambda state, cohort, h: algorithm.work(_frozen(state), cohort, h),
        apply=lambda state, cohort, local, h: algorithm.apply(_frozen(state), cohort, _frozen(local), h),
    )
    try:
        states(frozen, hyper, cases[0], floats)
    except ValueError as error:
        if "read-only" in str(error):
            return "`work` or `apply` writes into the state or the clients' results"
        raise
    return None


def _frozen(value: Any) -> Any:
    """The same state or results, with arrays that cannot be written into."""
    for part in vars(value).values():
        for array in part.values() if isinstance(part, dict) else [part]:
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
    return value


def _rationals(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    for case in cases:
        for t, state in enumerate(states(algorithm, hyper, case)):
            require_exact(state.linear)
            for name, array in state.discrete.items():
                if array.dtype.kind not in "iu":
                    return f"discrete state {name!r} is of type {array.dtype} after round {t}, not whole numbers"
    return None


def _close(to: Convert) -> Callable[[Algorithm, Any, list[Scenario]], Outcome]:
    """Next to the rational run: under 1000 operations, none off by 1e-15 of the largest number."""

    def check(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
        for case in cases:
            pairs = zip(states(algorithm, hyper, case, to), states(algorithm, hyper, case), strict=True)
            for t, (ours, theirs) in enumerate(pairs):
                largest = max(1.0, *(np.abs(numbers(array)).max() for array in theirs.linear.values()))
                for name, array in theirs.linear.items():
                    off = np.abs(numbers(ours.linear[name]) - numbers(array))
                    if not (off <= 1e-12 * largest).all():
                        return f"{name!r} is off by {off.max():.3g} from the run in rationals after round {t}"
                for name, array in theirs.discrete.items():
                    if not np.array_equal(np.asarray(ours.discrete[name]), array):
                        return f"discrete state {name!r} is another than in rationals after round {t}"
        return None

    return check


def _same(ours: State, theirs: State, when: str) -> Outcome:
    for mine, other in ((ours.linear, theirs.linear), (ours.discrete, theirs.discrete)):
        if list(mine) != list(other):
            return f"{when}: the state has {list(mine)} in place of {list(other)}"
        for name, array in mine.items():
            if array.shape != other[name].shape:
                return f"{when}: {name!r} has shape {array.shape} in place of {other[name].shape}"
            if not (array == other[name]).all():
                first = tuple(int(i) for i in np.argwhere(array != other[name])[0])
                return f"{when}: {name!r}{list(first)} is {array[first]} in place of {other[name][first]}"
    return None


def _padding(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    """Each replicate alone, without a batch axis, its clients in order and no padding, gives the same numbers."""
    for case in cases:
        together = states(algorithm, hyper, case)
        for r in range(2):
            rounds = []
            for slots in case.rounds:
                at = np.nonzero(slots.valid[r])[0]
                at = at[np.argsort(slots.clients[r][at])]
                parts = (slots.clients, slots.valid, slots.role, slots.weight)
                clients, valid, role, weight = (part[r][at] for part in parts)
                rounds.append(type(slots)(clients, valid, role, weight, slots.steps[:, r, at], slots.gradient[r, at]))
            alone = states(algorithm, hyper, dataclasses.replace(case, x0=case.x0[r], rounds=rounds))
            for t, (ours, both) in enumerate(zip(alone, together, strict=True)):
                linear = {name: array[r] for name, array in both.linear.items()}
                discrete = {name: array[r] for name, array in both.discrete.items()}
                wrong = _same(ours, State(linear, discrete), f"alone, in order and without padding, after round {t}")
                if wrong:
                    return wrong
    return None


def _renaming(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    names = np.array([2, 0, 3, 1])
    old = np.argsort(names)
    for case in cases:
        renamed = dataclasses.replace(
            case,
            curvature=case.curvature[old],
            centre=case.centre[old],
            rounds=[dataclasses.replace(slots, clients=names[slots.clients]) for slots in case.rounds],
        )
        pairs = zip(states(algorithm, hyper, renamed), states(algorithm, hyper, case), strict=True)
        for t, (ours, theirs) in enumerate(pairs):
            linear = {k: a[:, old] if a.ndim == 3 else a for k, a in theirs.linear.items()}
            discrete = {k: a[:, old] if a.ndim == 2 else a for k, a in theirs.discrete.items()}
            wrong = _same(ours, State(linear, discrete), f"clients 0 to 3 renamed {names.tolist()}, after round {t}")
            if wrong:
                return wrong
    return None


def _affine(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    """A round maps k a - (k - 1) b to k f(a) - (k - 1) f(b), for linear states a and b with the same discrete state and
    cohort: near ones (k = 2), and far ones, which a clip changes that is no matter near a and b.
    """
    for case in cases:
        alike = [_of_replicate(slots, 0, 2) for slots in case.rounds]
        begun = algorithm.init(hyper, exact(case.x0), case.n_clients)
        reached = states(algorithm, hyper, dataclasses.replace(case, rounds=alike[:-1]))
        for t, before in enumerate([begun, *reached]):
            for name, value in before.discrete.items():
                if not (value == value[:1]).all():
                    return f"discrete state {name!r} depends on the linear one"
            wrong = _mixes(algorithm, hyper, dataclasses.replace(case, rounds=[case.rounds[t]]), before)
            if wrong:
                return f"round {t} is not affine in the linear state: {wrong}"
    return None


def _mixes(algorithm: Algorithm, hyper: Any, case: Scenario, before: State) -> Outcome:
    all_four = State(
        {name: np.concatenate([v, *(k * v[:1] - (k - 1) * v[1:] for k in MIXED)]) for name, v in before.linear.items()},
        {name: np.concatenate([v, v]) for name, v in before.discrete.items()},
    )
    alike = dataclasses.replace(case, rounds=[_of_replicate(case.rounds[0], 0, 4)])
    (after,) = states(dataclasses.replace(algorithm, init=partial(_begun, all_four)), hyper, alike)
    for name, (a, b, *mixed) in after.linear.items():
        for k, found in zip(MIXED, mixed, strict=True):
            if not (found == k * a - (k - 1) * b).all():
                return f"{name!r} at {k} a - {k - 1} b is not {k} f(a) - {k - 1} f(b)"
    return None


def _begun(state: State, *_: Any) -> State:
    return state


def _of_replicate(slots: Any, r: int, copies: int) -> Any:
    """A round in which all replicates have the cohort and samples of one."""
    parts = {f.name: getattr(slots, f.name) for f in dataclasses.fields(slots)}
    axis = {name: 1 if name == "steps" else 0 for name in parts}
    return type(slots)(**{k: np.repeat(np.take(v, [r], axis[k]), copies, axis[k]) for k, v in parts.items()})


def _declared_costs(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    """Bytes of the whole state, on the server and on the clients, at the start; and of every state of a run."""
    for kind in (np.float32, np.float64):
        kept = _nbytes(algorithm.init(hyper, np.zeros(3, dtype=kind), 7))
        stated = costs(algorithm, 7, 3, np.dtype(kind).itemsize)
        declared = stated.server_bytes + 7 * stated.client_bytes
        if kept != declared:
            return f"7 clients and 3 parameters ({kind.__name__}) take {kept} bytes, {declared} are declared"
    first, *later = states(algorithm, hyper, cases[0], floats)
    for t, state in enumerate(later, start=1):
        if _nbytes(state) != _nbytes(first):
            return f"the state takes {_nbytes(state)} bytes after round {t}, {_nbytes(first)} after round 0"
    return None


def _nbytes(state: State) -> int:
    return sum(array.nbytes for arrays in (state.linear, state.discrete) for array in arrays.values())


def _bad_input(algorithm: Algorithm, hyper: Any, cases: list[Scenario]) -> Outcome:
    names = {field.name for field in dataclasses.fields(algorithm.hyper)}
    bad: dict[str, tuple[Any, ...]] = {name: (-1, float("nan"), "a") for name in names if name.endswith("_lr")}
    bad |= dict.fromkeys(names & {"local_steps"}, (0, -1, 2.5, "a"))
    for name, values in bad.items():
        for value in values:
            try:
                algorithm.init(dataclasses.replace(hyper, **{name: value}), cases[0].x0, cases[0].n_clients)
            except InputError:
                continue
            return f"{name} = {value!r} is not refused in a sentence by `init`"
    return None


CHECKS: dict[str, Callable[[Algorithm, Any, list[Scenario]], Outcome]] = {
    "moves": _moves,
    "pure": _pure,
    "rationals": _rationals,
    "floats": _close(floats),
    "torch": _close(tensors),
    "padding": _padding,
    "renaming": _renaming,
    "affine": _affine,
    "declared costs": _declared_costs,
    "bad input": _bad_input,
}
