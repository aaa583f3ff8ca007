"""The names in an experiment file, and what they stand for."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from fltheory import plugins
from fltheory.errors import InputError, count, one_of
from fltheory.participation import Recorded
from sims import selection as selections
from sims.algorithms import Algorithm, algorithms
from sims.algorithms.protocol import Cohort, Local
from sims.problems import make, problems
from sims.roles import ROLES, Roles
from sims.rounds import Setup
from sims.schedules import SCHEDULES
from sims.weighting import RULES

Named = Mapping[str, Any]  # {"name": ..., parameter: value, ...}
Makers = Mapping[str, Callable[..., Any]]


def _always(clients: Iterable[int]) -> selections.Selection:
    return selections.always(*clients)


SELECTIONS: Makers = {
    "all_available": selections.all_available,
    "always": _always,
    "least_recently_used": selections.least_recently_used,
    "permutation": selections.permutation,
    "snapshot": selections.snapshot,
    "uniform": selections.uniform,
}


def with_infinity(value: Any) -> Any:
    """A value of a file; infinity is "inf" in the canonical form, as JSON has no number for it."""
    if isinstance(value, Mapping):
        return {key: with_infinity(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_infinity(inner) for inner in value]
    return math.inf if value == "inf" else value


def with_defaults(experiment: Mapping[str, Any], weighting: Named) -> dict[str, Any]:
    """The experiment with the defaults of everything that is named; `weighting` for algorithms without their own.

    Raises InputError for unknown names and parameters, and for a weighting or roles that the algorithm has no use for.
    """
    filled = dict(experiment)
    filled["problem"] = _filled("problem", problems, experiment["problem"])
    n_clients = make(**_spread(filled["problem"])).n_clients
    filled["process"] = _filled("process", _processes(), experiment["process"], implied=frozenset({"n_clients"}))
    hypers = {name: algorithm.hyper for name, algorithm in algorithms().items()}
    own: dict[str, Makers] = {"weighting": RULES, "selection": SELECTIONS, "roles": ROLES, "schedule": SCHEDULES}
    filled["algorithm"] = []
    for contestant in experiment["algorithm"]:
        hyper = _filled("algorithm", hypers, {k: v for k, v in contestant.items() if k not in {*own, "label"}})
        wanted = _wanted(algorithms()[hyper["name"]], _made("algorithm", hypers, hyper), n_clients)
        parts = {"weighting": weighting, **{what: contestant[what] for what in own if contestant[what]}}
        for what in ("weighting", "roles"):
            if what not in wanted:
                if contestant[what]:
                    raise InputError(
                        f"{what} of {contestant['label']}", contestant[what]["name"], "left out: it has none"
                    )
                parts.pop(what, None)
            elif what not in parts:
                raise InputError(f"{what} of {contestant['label']}", None, f"given: one of {', '.join(own[what])}")
        named = {what: _filled(what, own[what], part) for what, part in parts.items()}
        nothing = dict.fromkeys(own)
        filled["algorithm"].append({**hyper, "label": contestant["label"], **nothing, **named})
    return filled


def _wanted(algorithm: Algorithm, hyper: Any, n_clients: int) -> set[str]:
    """Which of weighting and roles an algorithm looks at: one of its first rounds, with one client, fails without."""
    state = algorithm.init(hyper, np.zeros((1, 1)), n_clients)
    cohort = Cohort(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.bool_), n_clients)
    cohort = replace(cohort, weight=np.ones((1, 1)), role=np.ones((1, 1), dtype=np.int64))
    local = Local(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
    wanted = set()
    for _ in range(4):  # stages of an algorithm may differ in what they look at
        for what, without in (("weighting", replace(cohort, weight=None)), ("roles", replace(cohort, role=None))):
            try:
                algorithm.apply(state, without, local, hyper)
            except Exception:  # foreign algorithms may fail in any way
                wanted.add(what)
        state = algorithm.apply(state, cohort, local, hyper)
    return wanted


def setup_of(experiment: Mapping[str, Any], index: int) -> Setup:
    """What the algorithm of this index runs in. Raises InputError for whatever does not fit together."""
    experiment = with_infinity(experiment)
    problem, contestant = make(**_spread(experiment["problem"])), experiment["algorithm"][index]
    own = {"weighting", "selection", "roles", "schedule", "label"}
    algorithm = algorithms()[contestant["name"]]
    hyper = _made(
        "algorithm", {contestant["name"]: algorithm.hyper}, {k: contestant[k] for k in contestant.keys() - own}
    )
    return Setup(
        problem=problem,
        algorithm=algorithm,
        hyper=hyper,
        process=_process_of(experiment["process"], problem.n_clients),
        rule=_made("weighting", RULES, contestant["weighting"]) if contestant["weighting"] else None,
        selection=_selection_of(contestant["selection"]),
        dropout=experiment["dropout"],
        roles=_roles_of(contestant["roles"]),
        schedule=_made("schedule", SCHEDULES, contestant["schedule"]),
    )


def _process_of(named: Named, n_clients: int) -> Any:
    """The process; n_clients is that of the problem, and a number p serves for all clients."""
    parameters, wanted = _spread(named), inspect.signature(_processes()[named["name"]]).parameters
    if "n_clients" in wanted:
        parameters.setdefault("n_clients", n_clients)
    if isinstance(parameters.get("p"), Real):
        parameters["p"] = np.full(n_clients, float(parameters["p"]))
    return _made("process", _processes(), parameters)


def _spread(named: Named) -> dict[str, Any]:
    """The parameters, with n equal steps from low to high for every table {low, high, n}."""
    parameters = dict(named)
    for key, value in named.items():
        if isinstance(value, Mapping) and value.keys() == {"low", "high", "n"}:
            parameters[key] = np.linspace(value["low"], value["high"], count(f"{key}.n", value["n"])).tolist()
    return parameters


def _selection_of(named: Named) -> selections.Selection:
    parameters = dict(named)
    if parameters.get("otherwise") is not None:
        otherwise = parameters["otherwise"]
        parameters["otherwise"] = _selection_of({"name": otherwise} if isinstance(otherwise, str) else otherwise)
    if parameters.get("strength"):
        raise InputError("selection.strength", parameters["strength"], "0: these problems have no accuracy to adapt to")
    selection: selections.Selection = _made("selection", SELECTIONS, parameters)
    return selection


def _roles_of(named: Named | None) -> Roles | None:
    return None if named is None else _made("roles", ROLES, named)


def _processes() -> Makers:
    """Processes by the names of their entry points, and their other constructors as name.constructor."""
    makers: dict[str, Callable[..., Any]] = {}
    for name, entry in plugins.entries("fltheory.processes").items():
        process = plugins.load(entry)
        if process is not Recorded:  # its events need the checks of `from_events`
            makers[name] = process
        for method in inspect.getmembers(process, inspect.ismethod):
            if not method[0].startswith("_"):
                makers[f"{name}.{method[0]}"] = method[1]
    return makers


def _filled(what: str, known: Makers, named: Named, implied: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The name as it is registered, and all parameters."""
    name, given = _find(what, known, named)
    bound = _bound(what, name, known[name], given, implied)
    return {"name": name, **bound}


def _made(what: str, known: Makers, named: Named) -> Any:
    name, given = _find(what, known, named)
    return known[name](**given)


def _find(what: str, known: Makers, named: Named) -> tuple[str, dict[str, Any]]:
    """The registered name, whether spelled with - or with _, and the parameters."""
    wanted = str(named["name"])
    spelled = {name.replace("_", "-"): name for name in known}
    if wanted.replace("_", "-") not in spelled:
        raise InputError(what, wanted, one_of(wanted, known))
    return spelled[wanted.replace("_", "-")], {key: value for key, value in named.items() if key != "name"}


def _bound(
    what: str, name: str, make: Callable[..., Any], given: dict[str, Any], implied: frozenset[str]
) -> dict[str, Any]:
    signature = inspect.signature(make)
    for key in given:
        if key not in signature.parameters:
            raise InputError(f"parameter of {what} {name}", key, one_of(key, signature.parameters))
    for key, parameter in signature.parameters.items():
        if parameter.default is parameter.empty and key not in given and key not in implied:
            raise InputError(f"{what}.{key}", None, f"given for {what} {name}")
    bound = signature.bind_partial(**given)
    bound.apply_defaults()
    return dict(bound.arguments)
