"""FedLaAvg: Y. Yan et al., "Distributed Non-Convex Optimization with Sublinear Speedup under Intermittent Client
Availability", arXiv:2002.07399. A module a part of the paper; constants are explicit, recovered from the proofs, and
the published order stands beside each bound.
"""

from fltheory.papers.fedlaavg import attained, by_rounds, example1, experiments, iterations, setting, sharper
from fltheory.papers.fedlaavg.letters import paper

__all__ = ["attained", "by_rounds", "example1", "experiments", "iterations", "paper", "setting", "sharper"]
