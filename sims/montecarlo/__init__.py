"""Monte Carlo that can be trusted: keyed, parallel, resumable, and never without an interval."""

from sims.montecarlo.confidence import empirical_bernstein, hoeffding
from sims.montecarlo.engine import run
from sims.montecarlo.weight_error import WeightError, weight_error

__all__ = ["WeightError", "empirical_bernstein", "hoeffding", "run", "weight_error"]
