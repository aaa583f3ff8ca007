"""Cyclic and periodic participation: rounding, starts, presets, groups."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Cyclic, Periodic, Phases
from tests.fltheory.participation.tolerance import assert_mean


@pytest.mark.parametrize(
    ("p", "on"),
    [(0.3, 30), (0.025, 2), (0.035, 4), (0.005, 1), (0.0001, 1), (0.527, 53), (0.996, 100), (1.0, 100)],
)
def test_rounds_on_in_a_cycle(p: float, on: int) -> None:
    """Halves to even, at least one (the stated cases of the authors' code)."""
    for preset, cycle in (("as_in_paper", 100), ("as_in_code", max(100, on + 1))):
        process = Cyclic(p, preset=preset)
        assert (process.on, process.cycle) == (on, cycle)
        assert process.rate == on / cycle


def test_start_as_in_code_by_counting() -> None:
    """Active in round t with probability #{wait in 0..69: t - wait mod 100 in 0..29, t >= wait} / 70 for p = 0.3."""
    marginal = Cyclic(0.3, preset="as_in_code").marginal()
    share = marginal.probability @ marginal.history(250)[:, :, 0]
    for t in (0, 9, 29, 30, 69, 90, 99, 100, 169, 170, 249):
        active = sum(t >= wait and (t - wait) % 100 < 30 for wait in range(70))
        assert share[t] == pytest.approx(active / 70, abs=1e-15)
    assert share[0] == pytest.approx(1 / 70)
    assert share[:10].mean() == pytest.approx(5.5 / 70)  # 0.079, against 0.3 in the long run
    assert share[90:100].mean() == pytest.approx(4.5 / 70)


def test_phases_of_clients_with_different_cycles() -> None:
    """Waits uniform on {0, 1}, {0, 1, 2} and {0, ..., 4}: each client's own law, on a common refinement."""
    process = Cyclic([0.8, 0.7, 0.5], period=10, preset="as_in_code")
    marginal = process.marginal()
    assert isinstance(marginal, Phases)
    cuts = {Fraction(j, m) for m in (2, 3, 5) for j in range(m)}
    assert len(marginal.probability) == len(cuts)
    first = marginal.history(10).argmax(axis=1)
    for n, waits in enumerate((2, 3, 5)):
        law = np.bincount(first[:, n], marginal.probability, minlength=waits)
        np.testing.assert_allclose(law, np.full(waits, 1 / waits), rtol=1e-14)


def test_offsets_are_uniform_and_independent() -> None:
    """All pairs of offsets of two neighbours, in one block and across two."""
    first = Cyclic(np.full(40_000, 0.2), period=5).sample(5, seed=1).argmax(axis=0)
    pairs = np.bincount(first[:-1:2] * 5 + first[1::2], minlength=25) / 20_000
    assert_mean(pairs, np.full(25, 1 / 25), 20_000)
    across = np.bincount(first[:-64] * 5 + first[64:], minlength=25) / (40_000 - 64)
    assert_mean(across, np.full(25, 1 / 25), 20_000)  # overlapping pairs: half of them are independent


def test_setting_of_neurips_2022() -> None:
    """250 clients in five groups of neighbours, 100 rounds each: exactly one group is on, and they take turns."""
    for seed, offset in ((0, "random"), (1, "random"), (2, "first_turn"), (3, "first_turn")):
        trace = Periodic.block_cyclic(250, 5, 100, offset=offset).sample(1500, seed)
        groups = trace.reshape(1500, 5, 50)
        np.testing.assert_array_equal(groups.all(axis=2), groups.any(axis=2))
        turn = groups[:, :, 0]
        np.testing.assert_array_equal(turn.sum(axis=1), 1)
        np.testing.assert_array_equal(turn.argmax(axis=1)[100:], (turn.argmax(axis=1)[:-100] + 1) % 5)
        assert (turn.argmax(axis=1)[0] == 0) or offset == "random"


@pytest.mark.parametrize(("offset", "starts"), [("random", 12), ("first_turn", 4)])
def test_law_of_the_common_offset(offset: str, starts: int) -> None:
    process = Periodic.block_cyclic(3, 3, 4, offset=offset)
    traces = [process.sample(12, seed) for seed in range(3000)]
    kinds, counts = np.unique(np.stack(traces).reshape(3000, -1), axis=0, return_counts=True)
    assert len(kinds) == starts
    assert_mean(counts / 3000, np.full(starts, 1 / starts), 3000)


def test_fixed_offsets() -> None:
    np.testing.assert_array_equal(
        Periodic([0, 1], on=2, period=5, offset=1).sample(7, seed=0).T.astype(int),
        [[1, 0, 0, 0, 1, 1, 0], [0, 1, 1, 0, 0, 0, 1]],
    )
    np.testing.assert_array_equal(
        Periodic([0, 1], on=2, period=5, offset=10**30 + 1).sample(50, seed=0),
        Periodic([0, 1], on=2, period=5, offset=1).sample(50, seed=0),
    )


def test_sizes_of_groups_differ_by_one_at_most() -> None:
    on = Periodic.block_cyclic(10, 3, 1, offset=0).sample(3, seed=0)
    assert on.sum(axis=1).tolist() == [4, 3, 3]


def test_always_on() -> None:
    for process in (Periodic.diurnal(2, 5, 0), Cyclic(1.0, period=7), Cyclic(1.0, period=1)):
        assert process.sample(30, seed=1).all()
        assert (process.rate == 1).all()
        assert (process.max_gap == 1).all()
        assert process.interval_law().mean() == pytest.approx(np.ones(process.n_clients))


@pytest.mark.parametrize("rounds", [1, 2, 30, 150])
@pytest.mark.parametrize(
    "process",
    [
        Cyclic([0.1, 0.5, 0.05, 1.0], period=97),
        Cyclic([0.1, 0.5, 0.05, 1.0], period=97, preset="as_in_code"),
        Periodic([0, 1, 2, 0], on=7, period=40),
        Periodic([0, 1, 2, 0], on=7, period=40, offset="first_turn"),
    ],
)
def test_histories_that_look_alike_are_one_phase(
    process: Cyclic | Periodic, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = process.marginal()
    monkeypatch.setattr("fltheory.participation.turns.FEW_PHASES", 0)
    merged = process.marginal_within(rounds)
    assert len(merged.probability) <= 2 * rounds + 1
    for n in range(process.n_clients):
        laws = []
        for marginal in (every, merged):
            law: dict[bytes, float] = {}
            chances = np.broadcast_to(marginal.probability.T, (process.n_clients, len(marginal.probability)))[n]
            for chance, history in zip(chances, marginal.history(rounds)[:, :, n], strict=True):
                if chance:
                    law[history.tobytes()] = law.get(history.tobytes(), 0) + chance
            laws.append(law)
        assert laws[0] == pytest.approx(laws[1], rel=1e-12)


def test_a_long_cycle_costs_by_the_rounds() -> None:
    slow = Cyclic([0.1, 0.4], period=10**9)
    assert len(slow.marginal_within(10).probability) <= 21
    with pytest.raises(InputError, match=r"number of possible first rounds must be at most 1000000 .*; got 1000000000"):
        slow.marginal()
