"""Availability processes: who could take part in which round.

Every process has `n_clients`, `rate`, `autocovariance(lag)`, `interval_law()`, `max_gap`, `marginal()`,
`sample(rounds, seed)` and `sample_events(rounds, seed)`; see `ParticipationProcess`. Choices that look at the
state of the training run are selection, not availability, and do not belong here.
"""

from importlib.metadata import EntryPoint

from fltheory import plugins
from fltheory.errors import InputError
from fltheory.participation.base import ParticipationProcess
from fltheory.participation.bernoulli import Bernoulli
from fltheory.participation.cyclic import Cyclic
from fltheory.participation.marginals import Phases, TwoStateChain
from fltheory.participation.markov import Markov
from fltheory.participation.periodic import Periodic
from fltheory.participation.permutation import Permutation
from fltheory.participation.rates import LabelCorrelatedRates, label_correlated_rates
from fltheory.participation.recorded import Recorded
from fltheory.participation.subset import UniformSubset
from fltheory.participation.weighted import WeightedDraws

__all__ = [
    "Bernoulli",
    "Cyclic",
    "LabelCorrelatedRates",
    "Markov",
    "ParticipationProcess",
    "Periodic",
    "Permutation",
    "Phases",
    "Recorded",
    "TwoStateChain",
    "UniformSubset",
    "WeightedDraws",
    "families",
    "family",
    "label_correlated_rates",
]


def families() -> dict[str, type[ParticipationProcess]]:
    """Name -> class of every installed family, from the entry points of group `fltheory.processes`."""
    return {name: family(entry) for name, entry in plugins.entries("fltheory.processes").items()}


def family(entry: EntryPoint) -> type[ParticipationProcess]:
    """The class behind an entry point of that group; raises InputError that names the entry point for anything else.

    A class with a method `step` passes too: it reacts to the past, as `sims.availability.Reactive` says.
    """
    found: type[ParticipationProcess] = plugins.load(entry, type)
    if not (issubclass(found, ParticipationProcess) or callable(getattr(found, "step", None))):
        allowed = "the class of a ParticipationProcess, or one with a method step"
        raise InputError(plugins.described(entry), entry.value, allowed)
    return found
