"""The testing kit: hypothesis strategies, and batteries for your own estimator or process (extra `testing`).

`check_weight_estimator(factory)` and `check_participation_process(process)` run everything that must hold and raise
one `CheckFailed` with every failure and its minimal example. `sims.testing` does the same for algorithms.
"""

from fltheory.testing.battery import CheckFailed
from fltheory.testing.estimators import WeightEstimator, check_weight_estimator
from fltheory.testing.processes import check_participation_process
from fltheory.testing.strategies import (
    participation_histories,
    participation_logs,
    participation_processes,
    participation_rates,
)

__all__ = [
    "CheckFailed",
    "WeightEstimator",
    "check_participation_process",
    "check_weight_estimator",
    "participation_histories",
    "participation_logs",
    "participation_processes",
    "participation_rates",
]
