"""Exact moments, limit cycles and rational runs of an algorithm on quadratics: no Monte Carlo where none is needed.

On a quadratic every algorithm is affine in the linear part of its state, once its discrete part and the cohort are
fixed. The map is read off the algorithm's own `apply` (`affine`), and E[s], E[ss'] follow from it over the joint
chain of the participation process and the discrete part (`engine`, `chain`). `paths` runs the algorithm itself
along every path a scenario can take. All of it works in float64 and in Fractions, whatever the model is given in.

>>> from fractions import Fraction
>>> from sims.algorithms.fedavg import Hyper, fedavg
>>> from sims.problems.quadratic import DiagonalQuadratic
>>> from sims.scenarios import bernoulli, weighted
>>> setting = Setting(fedavg, DiagonalQuadratic([1, 2, 4], [-1, "1/2", 2]), Hyper(Fraction(1, 20)), [0])
>>> rates = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
>>> Engine(setting, weighted(bernoulli(rates), [1, 1, 1])).stationary().mean("x")
array([Fraction(76, 47)], dtype=object)
"""

from sims.exact.engine import Engine
from sims.exact.moments import Moments
from sims.exact.paths import paths, run
from sims.exact.setting import Setting

__all__ = ["Engine", "Moments", "Setting", "paths", "run"]
