"""The step of Corollary 3 in its regimes, at exact points."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from analysis.checks.fast.corollary3 import tuned_coins
from analysis.trials import judge
from fltheory.papers import fast

POINT = {
    "smoothness": F(1), "flatness": F(1), "spread": F(1, 100), "flat_spread": F(0), "variance": F(0),
    "start": F(2), "steps": 1, "sampled": 1, "asked": 1, "arbitrary": F(1, 10**6), "rounds": 40,
}  # fmt: skip


def test_few_rounds_take_the_largest_step() -> None:
    found = judge(tuned_coins, fast.cor3_repaired, POINT)
    assert found.sides.constants["local_lr"] == F(1, 20)
    assert found.admitted
    assert not found.violated
    assert float(found.sides.right) == pytest.approx(8 * 2.718281828**-2, rel=1e-2)  # two times 20 m L/mu rounds


def test_many_rounds_take_the_logarithmic_one() -> None:
    found = judge(tuned_coins, fast.cor3_repaired, POINT | {"rounds": 1000})
    assert 0 < found.sides.constants["local_lr"] < F(1, 20)
    assert found.admitted
    assert not found.violated


def test_a_start_next_to_the_optimum_is_left_alone() -> None:
    found = judge(tuned_coins, fast.cor3_repaired, POINT | {"start": F(1, 10**6), "arbitrary": F(1, 10**6)})
    assert found.sides.constants["local_lr"] == 0
    assert found.sides.left == F(2, 10**12) <= found.sides.right
