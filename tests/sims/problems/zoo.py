"""One problem of every kind, under every kind of noise: all of them go through the same certification."""

from __future__ import annotations

import numpy as np

from sims.problems import problems
from sims.problems.analytic import Analytic
from sims.problems.noise import Additive, Multiplicative

_rng = np.random.default_rng(20240607)
_SIZES = (7, 4, 5)
_FEATURES = [_rng.normal(size=(size, 2)) for size in _SIZES]
_LABELS = [_rng.choice([-1.0, 1.0], size=size) for size in _SIZES]
_INTEGERS = [[[1, 2], [0, 1], [3, -1]], [[2, 2], [1, 0], [-1, 1]]]
_TARGETS = [[1, 0, 2], [-1, "1/2", 3]]
_MATRICES = [[[2, 1], [1, 2]], [[4, 0], [0, 1]], [[1, -1], [-1, "1/2"]]]
_CENTRES = [[0, 1], [2, -1], ["1/2", 0]]

CASES: dict[str, tuple[str, dict[str, object]]] = {
    "shared curvature": ("quadratic", {"curvature": [[1, 3]] * 3, "centre": _CENTRES, "noise": Additive("1/2")}),
    "different curvature": (
        "quadratic",
        {"curvature": [1, 2, 4], "centre": [-1, "1/2", 2], "noise": Additive("7/10", "rademacher")},
    ),
    "a concave client": ("quadratic", {"curvature": [1, "-49/50"], "noise": Multiplicative("1/2")}),
    "float quadratic": (
        "quadratic",
        {"curvature": [[0.5, 2.0], [1.5, 0.1]], "centre": [[1.0, 2.0], [0.0, -1.0]], "noise": Additive(2.0, "uniform")},
    ),
    "flat direction": ("quadratic", {"curvature": [[1, 0], [1, 0]], "centre": [[1, 0], [3, 0]]}),
    "quadratic with slopes": ("quadratic", {"curvature": [2, 2], "centre": [1, 0], "slope": [3, "1/3"]}),
    "unbounded below": ("quadratic", {"curvature": [[1, 0], [1, 0]], "slope": [[1, 1], [0, 2]]}),
    "one matrix": (
        "matrix-quadratic",
        {"curvature": _MATRICES[0], "centre": _CENTRES, "noise": Additive(1, "uniform")},
    ),
    "different matrices": ("matrix-quadratic", {"curvature": _MATRICES, "centre": _CENTRES}),
    "opposite lines": ("linear", {"slopes": [1, -1]}),
    "lines": ("linear", {"slopes": [[1, 0], [2, -1]], "noise": Additive("1/3", "rademacher")}),
    "groups": ("groups", {"centres": [1, -1, 4], "curvatures": [1, 2, 3], "sizes": [2, 1, 3]}),
    "example 1": ("fedlaavg-example-1", {"centres": [1, -1], "noise": Additive(1, "rademacher")}),
    "plus minus one": ("plus-minus-one", {"n_clients": 4, "noise": Additive(1, "rademacher")}),
    "log-cosh": ("log-cosh", {"centres": [-1, 1], "noise": Additive(1, "rademacher")}),
    "log-cosh, three centres": ("log-cosh", {"centres": [-3, 1, "5/4"]}),
    "log-cosh, two dimensions": ("log-cosh", {"centres": [[0, 1], [2.0, -1], [0.5, 0]], "noise": Additive(1)}),
    "log-cosh, one centre": ("log-cosh", {"centres": [2, 2]}),
    "narrow pseudo-Huber": ("pseudo-huber", {"centres": [0, 5, 6], "width": "1/2"}),
    "wide pseudo-Huber": ("pseudo-huber", {"centres": [[0, 1], [2, 1]], "width": 3, "noise": Additive(1, "uniform")}),
    "cosine": ("cosine", {"slopes": ["9/10", "-9/10"], "noise": Additive("1/2")}),
    "cosine, two dimensions": ("cosine", {"slopes": [[1, 0], [-2, 1], [1, -1]], "noise": Multiplicative(2)}),
    "Geman-McClure": ("geman-mcclure", {"slopes": [1, -1], "noise": Additive(1, "rademacher")}),
    "Geman-McClure, two dimensions": ("geman-mcclure", {"slopes": [[0.5, 0.0], [-0.5, 0.0]]}),
    "PL sine": ("pl-sine", {"slopes": [0, 2, -2], "noise": Additive("1/5")}),
    "PL sine, two dimensions": ("pl-sine", {"slopes": [[0, 1], [0, -1]]}),
    "logistic": ("logistic", {"features": _FEATURES, "labels": _LABELS, "l2": 0.1}),
    "logistic, minibatch": ("logistic", {"features": _FEATURES, "labels": _LABELS, "l2": "1/4", "batch": 1}),
    "logistic, batch 2": ("logistic", {"features": _INTEGERS, "labels": [[1, -1, 1], [1, 1, -1]], "l2": 1, "batch": 2}),
    "logistic, samples of one curvature": (
        "logistic",
        {"features": [[[1], [-1]], [[2], [2]]], "labels": [[1, -1], [1, -1]], "l2": "1/2", "batch": 1},
    ),
    "least squares": ("least-squares", {"features": _INTEGERS, "labels": _TARGETS, "batch": 1}),
    "least squares, batch 2": ("least-squares", {"features": _FEATURES, "labels": _LABELS, "l2": 0.5, "batch": 2}),
    "least squares, one feature": (
        "least-squares",
        {"features": [[[1], [3]], [[2], [2]]], "labels": [[1, 0], [0, 5]], "batch": 1},
    ),
    "means of samples": (
        "least-squares",
        {"features": [[[1]] * 3, [[1]] * 2], "labels": [[0, 1, 5], [-1, 1]], "batch": 1},
    ),
}
RATIONAL = [
    name
    for name, (kind, _) in CASES.items()
    if kind not in {"log-cosh", "pseudo-huber", "cosine", "pl-sine", "logistic"}
    and "float" not in name
    and name not in {"Geman-McClure, two dimensions", "least squares, batch 2"}
]
DATA = [name for name, (kind, _) in CASES.items() if kind in {"logistic", "least-squares"}]


def build(name: str) -> Analytic:
    kind, parameters = CASES[name]
    return problems[kind](**parameters)
