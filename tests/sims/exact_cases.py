"""Algorithms with parameters, and a participation process, for tests of the exact engine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import pytest

from sims.algorithms import fedamd, fedavg, fedlaavg, scaffold
from sims.algorithms.amplified import Hyper as Amplified
from sims.algorithms.amplified import WaitHyper, amplified, wait_full, wait_minibatch
from sims.algorithms.bvr_l_sgd import Hyper as BVR
from sims.algorithms.bvr_l_sgd import bvr_l_sgd
from sims.algorithms.fedavgm import Hyper as FedAvgM
from sims.algorithms.fedavgm import fedavgm
from sims.algorithms.fedpage import Hyper as FedPAGE
from sims.algorithms.fedpage import fedpage
from sims.algorithms.fedprox import Hyper as FedProx
from sims.algorithms.fedprox import fedprox
from sims.algorithms.fedsgd import Hyper as FedSGD
from sims.algorithms.fedsgd import fedsgd
from sims.algorithms.fedvarp import fedvarp
from sims.algorithms.mifa import Hyper as MIFA
from sims.algorithms.mifa import mifa
from sims.algorithms.minibatch_sgd import Hyper as MinibatchSGD
from sims.algorithms.minibatch_sgd import minibatch_sgd
from sims.algorithms.sequential_sgd import Hyper as SequentialSGD
from sims.algorithms.sequential_sgd import sequential_sgd
from sims.exact import Setting
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import bernoulli, roles, uniform_subsets, weighted

LR = F(1, 5)
METHODS = {
    "fedavg": (fedavg.fedavg, fedavg.Hyper(LR, F(3, 2), 2)),
    "fedprox": (fedprox, FedProx(LR, F(1, 2), 1, 2)),
    "fedavgm": (fedavgm, FedAvgM(LR, F(1, 3))),
    "fedsgd": (fedsgd, FedSGD(LR)),
    "minibatch_sgd": (minibatch_sgd, MinibatchSGD(LR, 2)),
    "sequential_sgd": (sequential_sgd, SequentialSGD(LR, 2)),
    "amplified": (amplified, Amplified(LR, F(3, 2), 2)),
    "wait_minibatch": (wait_minibatch, WaitHyper(LR, 2)),
    "wait_full": (wait_full, WaitHyper(LR, 2)),
    "fedlaavg": (fedlaavg.fedlaavg, fedlaavg.as_in_paper(LR)),
    "fedlaavg_code": (fedlaavg.fedlaavg, fedlaavg.as_in_code(LR, 1, (F(1, 4), F(3, 4)))),
    "mifa": (mifa, MIFA(LR)),
    "mifa_zero": (mifa, MIFA(LR, wait=False)),
    "fedvarp": (fedvarp, fedavg.Hyper(LR)),
    "scaffold_1": (scaffold.scaffold, scaffold.Hyper(LR, option=1)),
    "scaffold_2": (scaffold.scaffold, scaffold.Hyper(LR, option=2)),
    "fedamd": (fedamd.fedamd, fedamd.Hyper(LR, 1, 2)),
    "fedamd_massive": (fedamd.fedamd_massive, fedamd.Hyper(LR)),
    "fedpage": (fedpage, FedPAGE(LR, LR)),
    "bvr_l_sgd": (bvr_l_sgd, BVR(LR, stage=2)),
}
ALL = pytest.mark.parametrize("name", METHODS)
QUADRATIC = DiagonalQuadratic([1, 3], [-1, 2])


def setting(name, problem=QUADRATIC, x0=(F(1, 2),), **changes):
    algorithm, hyper = METHODS[name]
    if not hasattr(hyper, "local_steps"):
        changes.pop("local_steps", None)
    return Setting(algorithm, problem, replace(hyper, **changes), list(x0))


def one_at_a_time(name, scenario):
    return uniform_subsets(2, 1) if name == "sequential_sgd" else scenario


def participation(name):
    """Random cohorts, an empty one among them, with weights and roles."""
    return weighted(roles(one_at_a_time(name, bernoulli([F(1, 3), F(1, 2)])), F(1, 4)), [F(2, 3), F(5, 4)])
