"""The testing kit of the simulation room: problems with exact constants, and a battery for your own algorithm."""

from sims.testing.algorithms import check_algorithm
from sims.testing.problems import federated_problems

__all__ = ["check_algorithm", "federated_problems"]
