"""Checkpoints of the round loop: a split run equals an unbroken one bit for bit, on numpy and on torch."""

import numpy as np
import pytest

from fltheory.errors import InputError
from sims.checkpoints import restore, save
from sims.recorder import Record
from sims.rounds import Simulation
from tests.sims.round_cases import EVERYTHING, SETUPS, plain, run, same


@pytest.mark.parametrize("name", SETUPS)
def test_a_split_run_equals_an_unbroken_one_bit_for_bit(name, tmp_path):
    what = tuple(w for w in EVERYTHING if w != "weight_error" or SETUPS[name]().rates is not None)
    whole = run(SETUPS[name](), 40, what=what, every=3)
    first = run(SETUPS[name](), 40, what=what, every=3, until=17)
    save(first, tmp_path / "checkpoint.npz")
    second = run(SETUPS[name](), 40, what=what, every=3, until=0)
    restore(second, tmp_path / "checkpoint.npz")
    assert second.round == 17
    second.advance()
    same(whole.state_dict(), second.state_dict())
    same(whole.record.arrays(), second.record.arrays())
    assert whole.state.linear["x"].dtype == np.float64
    first.advance()  # whoever was saved is not disturbed
    same(whole.state_dict(), first.state_dict())
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.npz"]
    again = run(SETUPS[name](), 40, what=what, every=3, seed=1)
    assert again.state_dict()["linear.x"].tobytes() != whole.state_dict()["linear.x"].tobytes()


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    file = tmp_path / "checkpoint.npz"
    save(run(plain(), 10, until=4), file)
    with pytest.raises(InputError, match="checkpoint must be one with the linear state"):
        restore(run(plain(), 10, replicates=2, until=0), file)
    with pytest.raises(InputError, match=r"checkpoint must be one of fedavg .* for 11 rounds; got 'fedavg .* for 10"):
        restore(run(plain(), 11, until=0), file)
    with pytest.raises(InputError, match=r"local_lr=0\.04"):
        restore(run(plain(lr=0.04), 10, until=0), file)
    with pytest.raises(InputError, match="one of a simulation with the same generator"):
        restore(run(plain(), 10, seed=1, until=0), file)
    with pytest.raises(InputError, match="checkpoint"):
        restore(run(plain(), 10, until=0), tmp_path / "none.npz")
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputError, match="checkpoint must be a file that `save` wrote"):
        restore(run(plain(), 10, until=0), file)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["fedau", "permutation", "scaffold", "fedamd", "mifa"])
def test_the_loop_runs_on_torch_and_gives_the_same_numbers(name, tmp_path):
    torch = pytest.importorskip("torch")
    setup = SETUPS[name]()
    wanted = run(setup, 25)

    def on_torch(until):
        start = torch.zeros((4, setup.problem.dimension), dtype=torch.float64)
        simulation = Simulation(SETUPS[name](), start, 25, np.random.default_rng(0), Record(("model",), 1, 25))
        simulation.advance(until)
        return simulation

    found = on_torch(25)
    assert np.allclose(found.record.arrays()["model"], wanted.record.arrays()["model"], rtol=1e-11, atol=1e-12)
    save(on_torch(11), tmp_path / "checkpoint.npz")
    resumed = on_torch(0)
    restore(resumed, tmp_path / "checkpoint.npz")
    resumed.advance()
    same(found.state_dict(), resumed.state_dict())
