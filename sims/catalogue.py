"""The names in an experiment file, and what they stand for."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from fltheory import plugins
from fltheory.errors import InputError, count, one_of
from fltheory.participation import Recorded, family
from fltheory.streams import stream
from sims import selection as selections
from sims.algorithms import algorithms
from sims.problems import make, problems
from sims.problems.rational import number
from sims.refusals import about, building
from sims.roles import ROLES, Roles
from sims.rounds import Setup, require_clients
from sims.schedules import SCHEDULES
from sims.training import partition
from sims.training.outline import outline
from sims.training.problem import LATER, hash_of
from sims.weighting import RULES

TRAINING = "training"  # the problem of experiments of kind "train"
BESIDE = ("label", "warm")  # of an algorithm, beside its parameters and what has a name of its own
LARGEST = 10**7  # whole number that a file may ask for: more clients, rounds or samples fit no memory
_kept: dict[str, Any] = {}  # the task that `_task` made last

Named = Mapping[str, Any]  # {"name": ..., parameter: value, ...}
Makers = Mapping[str, Callable[..., Any]]


def _always(clients: Sequence[int]) -> selections.Selection:
    if not isinstance(clients, Sequence):
        raise InputError("clients", clients, "a list of client numbers")
    return selections.always(*clients)


SELECTIONS: Makers = {
    "all_available": selections.all_available,
    "always": _always,
    "least_recently_used": selections.least_recently_used,
    "permutation": selections.permutation,
    "snapshot": selections.snapshot,
    "uniform": selections.uniform,
}

RATES: Makers = {"fedau": partition.fedau_rates, "mifa": partition.mifa_rates}  # of clients, by their labels


def with_infinity(value: Any) -> Any:
    """A value of a file; infinity is "inf" in the canonical form, as JSON has no number for it."""
    if isinstance(value, Mapping):
        return {key: with_infinity(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_infinity(inner) for inner in value]
    return float(value) if isinstance(value, str) and value in ("inf", "-inf") else value


def with_defaults(experiment: Mapping[str, Any], weighting: Named, *, look: bool = True) -> dict[str, Any]:
    """The experiment with the defaults of everything that is named; `weighting` for algorithms without their own.

    look   at the problem, of training its data: without it their hash stays as it is given, and what depends on the
           clients is not checked

    Raises InputError for unknown names and parameters, and for a weighting or roles that the algorithm has no use for.
    """
    filled = dict(experiment)
    filled["problem"] = _filled("problem", problems, experiment["problem"])
    if filled["problem"]["name"] == TRAINING:
        if look and filled["problem"]["data_hash"] is None:
            filled["problem"]["data_hash"] = hash_of(filled["problem"]["data"])
        unsaid = [name for name, value in LATER.items() if filled["problem"][name] == value]
        filled["problem"] = {name: value for name, value in filled["problem"].items() if name not in unsaid}
    problem = _problem_of(filled, 0, outlined=True) if look else None
    filled["process"] = _process_filled(experiment["process"])
    if _is_named(filled["process"].get("p")):
        implied = frozenset({"partition", "seed"})
        filled["process"]["p"] = _filled("process.p", RATES, filled["process"]["p"], implied)
    there = algorithms()  # once: it reads the metadata of all that is installed
    hypers = {name: algorithm.hyper for name, algorithm in there.items()}
    own: dict[str, Makers] = {"weighting": RULES, "selection": SELECTIONS, "roles": ROLES, "schedule": SCHEDULES}
    filled["algorithm"] = []
    for contestant in experiment["algorithm"]:
        with about(label_of(experiment, contestant)):
            hyper = _filled("algorithm", hypers, {k: v for k, v in contestant.items() if k not in {*own, *BESIDE}})
            algorithm = there[hyper["name"]]
            if problem is not None:
                made = _hyper(hyper, problem)
                with building(f"algorithm {hyper['name']}", hyper):
                    algorithm.init(made, np.zeros((1, 1)), problem.n_clients)  # of every client there must be as many
            wanted = algorithm.looks_at
            parts = {"weighting": weighting, **{what: contestant[what] for what in own if contestant[what]}}
            for what in ("weighting", "roles"):
                if what not in wanted:
                    if contestant[what]:
                        raise InputError(what, contestant[what]["name"], f"left out, as {hyper['name']} has none")
                    parts.pop(what, None)
                elif what not in parts:
                    raise InputError(what, None, f"given for {hyper['name']}, one of {', '.join(own[what])}")
            named = {what: _filled(what, own[what], part) for what, part in parts.items()}
            nothing, beside = dict.fromkeys(own), {k: contestant[k] for k in BESIDE if k in contestant}
            filled["algorithm"].append({**hyper, **beside, **nothing, **named})
    return filled


def label_of(experiment: Mapping[str, Any], contestant: Named) -> str:
    """What a sentence calls an algorithm: nothing where there is no other."""
    return str(contestant["label"]) if len(experiment["algorithm"]) > 1 else ""


def setup_of(experiment: Mapping[str, Any], index: int, replicate: int = 0, *, outlined: bool = False) -> Setup:
    """What the algorithm of this index runs in; only training differs from replicate to replicate.

    outlined   of training only the outline (`sims.training.outline`), before data are read and a model is made

    Raises InputError for whatever does not fit together.
    """
    experiment = with_infinity(experiment)
    problem, contestant = _problem_of(experiment, replicate, outlined), experiment["algorithm"][index]
    with building(f"problem {experiment['problem']['name']}", experiment["problem"]):
        _ = getattr(problem, "constants", None)  # of numbers that are too large, they overflow
    process = _process_of(experiment["process"], problem, _seed(experiment, replicate))
    with about(label_of(experiment, contestant)):
        return _setup(problem, process, contestant, experiment["dropout"])


def _setup(problem: Any, process: Any, contestant: Named, dropout: float) -> Setup:
    own = {"weighting", "selection", "roles", "schedule", *BESIDE}
    return Setup(
        problem=problem,
        algorithm=algorithms()[contestant["name"]],
        hyper=_hyper({k: contestant[k] for k in contestant.keys() - own}, problem),
        process=process,
        rule=_made("weighting", RULES, contestant["weighting"]) if contestant["weighting"] else None,
        selection=_selection_of(contestant["selection"]),
        dropout=dropout,
        roles=_roles_of(contestant["roles"]),
        schedule=_made("schedule", SCHEDULES, contestant["schedule"]),
        warm=contestant.get("warm", False),
    )


def _hyper(named: Named, problem: Any) -> Any:
    """The parameters of an algorithm: batch = "all" and weights = "data_size" are what a file can call them."""
    given = dict(named)
    if given.get("batch") == "all":
        given["batch"] = None
    if given.get("weights") == "data_size":
        if not hasattr(problem, "samples"):
            raise InputError("weights", "data_size", "numbers: these clients have no data")
        sizes = np.broadcast_to(np.asarray(problem.samples[1], dtype=np.float64), problem.n_clients)
        given["weights"] = tuple((sizes / sizes.sum()).tolist())
    if given.get("weights") is not None and getattr(problem, "client_weights", "uniform") != "uniform":
        allowed = (
            f"left out beside client_weights = {problem.client_weights!r}, which weighs the losses of all algorithms"
        )
        raise InputError("weights", named["weights"], allowed)
    return _made("algorithm", {given["name"]: algorithms()[given["name"]].hyper}, given)


def _seed(experiment: Mapping[str, Any], replicate: int) -> int:
    """Of what is drawn before a run: partition, rates, the model's first parameters."""
    return int(stream(experiment["seed"], "training", replicate).integers(2**31))


def process(named: Any, n_clients: int) -> Any:
    """The process of a table [process], or of a name alone, for so many clients of no problem.

    Raises InputError for what an experiment file would be refused for, and for rates by labels.
    """
    filled = _process_filled(named)
    if _is_named(filled.get("p")):
        raise InputError("process.p", filled["p"]["name"], "numbers: these clients have no labels")
    return _process_for(filled, n_clients)


def _process_filled(named: Any) -> dict[str, Any]:
    filled = _filled("process", _processes(), named, implied=frozenset({"n_clients"}))
    if "n_clients" not in named:  # it is that of the problem, whatever a constructor's default is
        filled.pop("n_clients", None)
    return filled


def _process_of(named: Named, problem: Any, seed: int) -> Any:
    """The process; n_clients is that of the problem, a rule p looks at labels."""
    by_labels = {"p": _rates(named["p"], problem, seed)} if _is_named(named.get("p")) else {}
    return _process_for({**named, **by_labels}, problem.n_clients)


def _process_for(named: Named, n_clients: int) -> Any:
    """The process for so many clients; a number p serves for all of them."""
    parameters, wanted = _spread(named), inspect.signature(_processes()[named["name"]]).parameters
    if "n_clients" in wanted:
        require_clients(parameters.setdefault("n_clients", n_clients), n_clients)
    if isinstance(parameters.get("p"), Real):
        parameters["p"] = np.full(n_clients, float(number("process.p", parameters["p"])))
    process = _made("process", _processes(), parameters)
    require_clients(process.n_clients, n_clients)
    return process


def _rates(named: Named, problem: Any, seed: int) -> Any:
    """Participation rates (N,) by the labels that clients have; their seed is that of the replicate unless given."""
    parts = getattr(problem, "partition", None)
    if parts is None:
        raise InputError("process.p", named["name"], "numbers: these clients have no labels")
    given = {key: value for key, value in named.items() if key != "name"}
    if "seed" in inspect.signature(RATES[named["name"]]).parameters:
        given.setdefault("seed", seed)
    with building(f"process.p {named['name']}", named):
        made = RATES[named["name"]](parts, **given)
    return getattr(made, "rates", made)


def _is_named(value: Any) -> bool:
    return isinstance(value, Mapping) and "name" in value


def _problem_of(experiment: Mapping[str, Any], replicate: int, outlined: bool = False) -> Any:
    named = experiment["problem"]
    if named["name"] == TRAINING:
        seed = named["seed"] if named["seed"] is not None else _seed(experiment, replicate)
        return (_outline if outlined else _task)(json.dumps({**named, "seed": seed}, sort_keys=True))
    with building(f"problem {named['name']}", named):
        return make(**_spread(named))


def _task(canonical: str) -> Any:
    """The task, made once for the runs of a replicate; that of another is let go before, as both may not fit."""
    found = _kept.get(canonical)
    if found is None:
        _kept.clear()
        named = json.loads(canonical)
        with building(f"problem {named['name']}", named):
            found = _kept[canonical] = make(**named)
    return found


@lru_cache(maxsize=1)
def _outline(canonical: str) -> Any:
    named = json.loads(canonical)
    with building(f"problem {named.pop('name')}", named):
        return outline(**named)


def _spread(named: Named) -> dict[str, Any]:
    """The parameters, with n equal steps from low to high for every table {low, high, n}."""
    parameters = dict(named)
    for key, value in named.items():
        if isinstance(value, Mapping) and value.keys() == {"low", "high", "n"}:
            low, high = (float(number(f"{key}.{end}", value[end])) for end in ("low", "high"))
            n = count(f"{key}.n", value["n"])
            _check_value(f"{key}.n", n, "int")
            parameters[key] = np.linspace(low, high, n).tolist()
    return parameters


def _selection_of(named: Named) -> selections.Selection:
    parameters = dict(named)
    if parameters.get("otherwise") is not None:
        parameters["otherwise"] = _selection_of(parameters["otherwise"])
    selection: selections.Selection = _made("selection", SELECTIONS, parameters)
    return selection


def _roles_of(named: Named | None) -> Roles | None:
    return None if named is None else _made("roles", ROLES, named)


def _processes() -> Makers:
    """Processes by the names of their entry points, and their other constructors as name.constructor."""
    makers: dict[str, Callable[..., Any]] = {}
    for name, entry in plugins.entries("fltheory.processes").items():
        process = family(entry)
        if process is not Recorded:  # its events need the checks of `from_events`
            makers[name] = process
        for method in inspect.getmembers(process, inspect.ismethod):
            if not method[0].startswith("_"):
                makers[f"{name}.{method[0]}"] = method[1]
    return makers


def _filled(what: str, known: Makers, named: Any, implied: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The name as it is registered, and all parameters; a selection within a selection likewise."""
    name, given = _find(what, known, named)
    bound = _bound(what, name, known[name], given, implied)
    if known is SELECTIONS and "otherwise" in bound:
        bound["otherwise"] = _filled(f"{what}.otherwise", known, bound["otherwise"])
    return {"name": name, **bound}


def _made(what: str, known: Makers, named: Named) -> Any:
    name, given = _find(what, known, named)
    with building(f"{what} {name}", given):
        return known[name](**given)


def _find(what: str, known: Makers, named: Any) -> tuple[str, dict[str, Any]]:
    """The registered name, whether spelled with - or with _, and the parameters; a name alone will do."""
    named = {"name": named} if isinstance(named, str) else named
    if not isinstance(named, Mapping) or "name" not in named:
        raise InputError(what, named, "a name, or a table with a name and parameters")
    wanted = str(named["name"])
    spelled = {name.replace("_", "-"): name for name in known}
    if wanted.replace("_", "-") not in spelled:
        raise InputError(what, wanted, one_of(wanted, known))
    return spelled[wanted.replace("_", "-")], {key: value for key, value in named.items() if key != "name"}


def _bound(
    what: str, name: str, make: Callable[..., Any], given: dict[str, Any], implied: frozenset[str]
) -> dict[str, Any]:
    signature = inspect.signature(make)
    for key, value in given.items():
        if key not in signature.parameters:
            raise InputError(f"parameter of {what} {name}", key, one_of(key, signature.parameters))
        _check_parameter(f"{what}.{key}", value, signature.parameters[key])
    for key, parameter in signature.parameters.items():
        if parameter.default is parameter.empty and key not in given and key not in implied:
            raise InputError(f"{what}.{key}", None, f"given for {what} {name}")
    bound = signature.bind_partial(**given)
    bound.apply_defaults()
    return dict(bound.arguments)


def _check_parameter(argument: str, value: Any, parameter: inspect.Parameter) -> None:
    """Refuse what a file can hold and a parameter cannot be: true for a number, a date, NaN, a gigantic count."""
    kind = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
    if isinstance(parameter.default, bool):
        kind = "bool"
    if kind == "bool" and not isinstance(value, bool):
        raise InputError(argument, value, "true or false")
    if isinstance(value, bool) and kind and "bool" not in kind:
        raise InputError(argument, value, "something else than true or false")
    _check_value(argument, value, "" if argument.endswith("seed") else kind)
    if "ArrayLike" in kind:
        try:
            np.array(value)
        except ValueError:
            raise InputError(argument, value, "a rectangular array of numbers") from None


def _check_value(argument: str, value: Any, kind: str) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_value(f"{argument}.{key}", inner, kind)
    elif isinstance(value, list | tuple):
        if len({isinstance(inner, bool) for inner in value if not isinstance(inner, list | tuple)}) > 1:
            raise InputError(argument, value, "a list of numbers or of truth values, not of both")
        for inner in value:
            _check_value(argument, inner, kind)
    elif isinstance(value, float) and math.isnan(value):
        raise InputError(argument, value, "a number")
    elif not isinstance(value, bool | int | float | str | None):
        raise InputError(argument, value, "a number, text, true or false, a list or a table")
    elif isinstance(value, int | float) and re.search(r"\bint\b", kind) and LARGEST < abs(value) < math.inf:
        raise InputError(argument, value, f"at most {LARGEST:,}")
