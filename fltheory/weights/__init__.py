"""Rules for aggregation weights, and the exact law of FedAU's."""

from fltheory.weights.averages import (
    ExponentialAverageWeights,
    average_all,
    average_participating,
    known_rates,
)
from fltheory.weights.bounds import corollary4_cutoff, weight_error_bound
from fltheory.weights.cutoffs import best_cutoff, long_run_scale
from fltheory.weights.fedau import FedAUWeights, fedau_weights
from fltheory.weights.law import WeightLaw, exact_weight_law

__all__ = [
    "ExponentialAverageWeights",
    "FedAUWeights",
    "WeightLaw",
    "average_all",
    "average_participating",
    "best_cutoff",
    "corollary4_cutoff",
    "exact_weight_law",
    "fedau_weights",
    "known_rates",
    "long_run_scale",
    "weight_error_bound",
]
