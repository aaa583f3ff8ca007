"""The algorithms of this half with their references and parameters, the differential test, and planted faults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from sims.algorithms import amplified as amplified_module
from sims.algorithms import fedavg as fedavg_module
from sims.algorithms import fedavgm as fedavgm_module
from sims.algorithms import fedlaavg as fedlaavg_module
from sims.algorithms import fedprox as fedprox_module
from sims.algorithms import fedsgd as fedsgd_module
from sims.algorithms import fedvarp as fedvarp_module
from sims.algorithms import mifa as mifa_module
from sims.algorithms import minibatch_sgd as minibatch_sgd_module
from sims.algorithms import sequential_sgd as sequential_sgd_module
from sims.algorithms.protocol import Algorithm
from tests.sims.algorithms import reference_one as reference
from tests.sims.algorithms.reference_one import History
from tests.sims.algorithms.scenario_one import MOST_STEPS, Scenario, history, models, run, scenarios

RATES = st.sampled_from([Fraction(1, 10), Fraction(1, 4), Fraction(1, 3)])
GLOBAL = st.sampled_from([Fraction(1, 2), 1, Fraction(3, 2)])
STEPS = st.integers(1, MOST_STEPS)
INTERVALS = st.integers(1, 4)


@dataclass(frozen=True)
class Case:
    """An algorithm, its reference, and the parameters to try it with, given the number of clients."""

    algorithm: Algorithm
    module: ModuleType
    reference: Callable[[History, Any, Any], list[Any]]
    hypers: Callable[[int], st.SearchStrategy[Any]]
    one_client: bool = False

    def __str__(self) -> str:
        return self.algorithm.name


def _shares(n: int) -> st.SearchStrategy[Any]:
    parts = st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(any)
    return st.none() | parts.map(lambda p: tuple(Fraction(v, sum(p)) for v in p))


def _hypers(module: ModuleType, name: str = "Hyper", **choices: Any) -> Callable[[int], st.SearchStrategy[Any]]:
    return lambda n: st.builds(getattr(module, name), **choices)


FEDAVG = Case(
    fedavg_module.fedavg,
    fedavg_module,
    reference.fedavg,
    _hypers(fedavg_module, local_lr=RATES, global_lr=GLOBAL, local_steps=STEPS),
)
AMPLIFIED = Case(
    amplified_module.amplified,
    amplified_module,
    reference.amplified,
    _hypers(
        amplified_module,
        local_lr=RATES,
        amplification=st.sampled_from([Fraction(1, 2), 1, 3]),
        interval=INTERVALS,
        local_steps=STEPS,
    ),
)
WAIT_MINIBATCH, WAIT_FULL = (
    Case(
        algorithm,
        amplified_module,
        lambda h, x, hyper, full=full: reference.wait(h, x, hyper, full),  # type: ignore[misc]
        _hypers(amplified_module, "WaitHyper", global_lr=GLOBAL, interval=INTERVALS),
    )
    for algorithm, full in ((amplified_module.wait_minibatch, False), (amplified_module.wait_full, True))
)
FEDLAAVG = Case(
    fedlaavg_module.fedlaavg,
    fedlaavg_module,
    reference.fedlaavg,
    lambda n: st.builds(
        fedlaavg_module.Hyper,
        local_lr=RATES,
        local_steps=STEPS,
        weights=_shares(n),
        gradient_memory=st.booleans(),
        refresh=st.none() | INTERVALS,
    ),
)
MIFA = Case(
    mifa_module.mifa,
    mifa_module,
    reference.mifa,
    _hypers(mifa_module, local_lr=RATES, global_lr=GLOBAL, local_steps=STEPS, wait=st.booleans()),
)
FEDVARP = Case(
    fedvarp_module.fedvarp,
    fedvarp_module,
    reference.fedvarp,
    _hypers(fedavg_module, local_lr=RATES, global_lr=GLOBAL, local_steps=STEPS),
)
FEDPROX = Case(
    fedprox_module.fedprox,
    fedprox_module,
    reference.fedprox,
    _hypers(
        fedprox_module,
        local_lr=RATES,
        proximal=st.sampled_from([0, Fraction(1, 2), 1]),
        global_lr=GLOBAL,
        local_steps=STEPS,
    ),
)
FEDAVGM = Case(
    fedavgm_module.fedavgm,
    fedavgm_module,
    reference.fedavgm,
    _hypers(
        fedavgm_module,
        local_lr=RATES,
        momentum=st.sampled_from([0, Fraction(1, 2), Fraction(9, 10)]),
        global_lr=GLOBAL,
        local_steps=STEPS,
    ),
)
FEDSGD = Case(fedsgd_module.fedsgd, fedsgd_module, reference.fedsgd, _hypers(fedsgd_module, local_lr=RATES))
MINIBATCH_SGD = Case(
    minibatch_sgd_module.minibatch_sgd,
    minibatch_sgd_module,
    reference.minibatch_sgd,
    _hypers(minibatch_sgd_module, global_lr=RATES, batch=STEPS),
)
SEQUENTIAL_SGD = Case(
    sequential_sgd_module.sequential_sgd,
    sequential_sgd_module,
    reference.sequential_sgd,
    _hypers(sequential_sgd_module, local_lr=RATES, local_steps=STEPS),
    one_client=True,
)

CASES = [
    FEDAVG,
    AMPLIFIED,
    WAIT_MINIBATCH,
    WAIT_FULL,
    FEDLAAVG,
    MIFA,
    FEDVARP,
    FEDPROX,
    FEDAVGM,
    FEDSGD,
    MINIBATCH_SGD,
    SEQUENTIAL_SGD,
]


# ---- the differential test, and faults that it must catch --------------------------------------------------


@st.composite
def trials(draw: st.DrawFn, case: Case) -> tuple[Scenario, Any]:
    """A scenario and parameters for a case."""
    scenario = draw(scenarios(case.one_client))
    return scenario, draw(case.hypers(scenario.n_clients))


def follows(algorithm: Algorithm, case: Case, trial: tuple[Scenario, Any]) -> bool:
    """Whether an algorithm gives, exactly, the models of the case's reference after every round."""
    scenario, hyper = trial
    expected = case.reference(history(scenario), scenario.x0, hyper)
    return all((a == b).all() for a, b in zip(models(run(algorithm, hyper, scenario)), expected, strict=True))


def catches(case: Case, right: str, wrong: str) -> bool:
    """Whether the differential test finds the fault that `wrong` is in place of `right`."""
    algorithm = faulty(case, right, wrong)
    search = settings(max_examples=200, phases=[Phase.generate], database=None)
    try:
        find(trials(case), lambda trial: not follows(algorithm, case, trial), settings=search)
    except NoSuchExample:
        return False
    return True


def faulty(case: Case, right: str, wrong: str) -> Algorithm:
    """The case's algorithm with one piece of its source text replaced by a wrong one."""
    source = inspect.getsource(case.module)
    assert source.count(right) == 1, f"{right!r} stands {source.count(right)} times in {case.module.__name__}"
    namespace: dict[str, Any] = {"__name__": case.module.__name__}
    exec(compile(source.replace(right, wrong), f"faulty {case.module.__name__}", "exec"), namespace)
    algorithm = namespace[case.algorithm.name]
    assert isinstance(algorithm, Algorithm)
    return algorithm
