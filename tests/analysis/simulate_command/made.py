"""The experiments that these tests run."""

from sims.experiment import parse, read
from sims.montecarlo.simulate import simulate

FILE = """
kind = "simulate"
rounds = 30
replicates = 23
seed = 5

[problem]
name = "quadratic"
curvature = [1, 2, 4]
centre = [-1, "1/2", 2]
noise = { kind = "gaussian", std = 1 }

[process]
name = "markov"
p = [0.1, 0.5, 0.9]

[[algorithm]]
name = "fedavg"
label = "FedAU"
local_lr = 0.05
local_steps = 5
weighting = { name = "fedau", cutoff = inf }

[[algorithm]]
name = "mifa"
local_lr = 0.05

[record]
what = ["model", "objective_gap", "weight_error", "cohort_size"]
every = 10
"""


def quietly(path, store, **options):
    return simulate(read(path), store=store, **options)


def diverging(**options):
    content = {
        "kind": "simulate",
        "rounds": 4000,
        "replicates": 6,
        "problem": {"name": "quadratic", "curvature": [1, 2, 4], "centre": [-1, 1, 2]},
        "process": {"name": "bernoulli", "p": [0.5, 0.5, 1]},
        "algorithm": [
            {"name": "fedavg", "label": "fine", "local_lr": 0.01},
            {"name": "fedavg", "label": "too far", "local_lr": 0.9, "local_steps": 1, "global_lr": 2},
        ],
        "record": {"what": ["model"], "every": 1},
    }
    return parse(content | options)
