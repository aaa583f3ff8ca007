"""Corollary 4.12 as repaired takes steps that Theorem 4.11 admits, with its own numbers and none of the checks'."""

from __future__ import annotations

import numpy as np

from analysis.checks.points import value_of
from fltheory.papers import fedamd


def test_the_repaired_steps_are_within_theorem_411():
    """Also for c below 1, as long as p is below 1; the printed step is not, for a large L."""
    rng = np.random.default_rng(5)
    beyond = 0
    for _ in range(300):
        known = {
            "n_clients": int(rng.integers(1, 50)), "smoothness": 10 ** rng.uniform(-3, 3), "local_steps": 4,
            "thinning": rng.uniform(1 / 2, 5),
        }  # fmt: skip
        known["cohort_size"] = int(rng.integers(1, known["n_clients"] + 1))
        known["polyak_lojasiewicz"] = known["smoothness"] * rng.uniform(1e-3, 1)
        p = _value(fedamd.cor412_repaired, "probability", known)
        if p >= 1:
            continue
        refresh = known["cohort_size"] * p / known["n_clients"]
        moving = 1 - p ** known["cohort_size"]
        curvature, smoothness = known["polyak_lojasiewicz"], known["smoothness"]
        limit = min(refresh / (curvature * moving), 1 / (smoothness * (1 + 16 * smoothness / (curvature * refresh))))
        assert p * known["thinning"] > 1 / 2
        assert _step(fedamd.cor412_repaired, known) <= limit * (1 + 1e-12)
        beyond += _step(fedamd.cor412, known) > limit
    assert beyond > 50


def _value(claim, name, known):
    return value_of(claim.formulas[name], known)


def _step(claim, known):
    return _value(claim, "global step", known) * _value(claim, "local step", known) * known["local_steps"]
