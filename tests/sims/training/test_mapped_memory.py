"""Modules with numbers in files that are mapped into memory: nothing is written there, and what shows them is seen.

A write to memory that can only be read ends the process, so each of these has one of its own.
"""

import subprocess
import sys

import numpy as np
import pytest

from fltheory.errors import InputError

torch = pytest.importorskip("torch", reason="needs the training extra")
from torch import nn  # noqa: E402

from tests.sims.training.test_faults import CLASSES, FEATURES, task  # noqa: E402

pytestmark = pytest.mark.torch

SCRIPT = """
import ctypes, os, sys, warnings
import numpy as np, torch
from torch import nn
from tests.sims.training.test_faults import CLASSES, FEATURES, task, trained
warnings.simplefilter("ignore")  # torch's of arrays that can only be read
kind, mode = sys.argv[1:]
numbers = np.random.default_rng(0).standard_normal((CLASSES, FEATURES)).astype("f")
numbers[0, 0] = np.nan if kind == "unused" else 0

class Mine(nn.Linear):
    def __init__(self, mapped):
        super().__init__(FEATURES, CLASSES)
        given = torch.from_numpy(mapped)
        if kind == "parameter":
            self.weight = nn.Parameter(given)
        elif kind in ("buffer", "unused"):
            self.register_buffer("fixed", given)
        else:
            self.fixed = {"array": mapped, "view": np.asarray(mapped)[1:], "tensor": given}[kind]

    def forward(self, x):
        found = super().forward(x)
        return found + float(self.fixed.mean()) if kind in ("buffer", "array", "view", "tensor") else found

np.save("numbers.npy", numbers)
mapped = np.load("numbers.npy", mmap_mode=mode)
if mode == "r+":  # a write would now end this process
    start = mapped.ctypes.data - mapped.offset
    assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), mapped.offset + mapped.nbytes, 1)
before = os.stat("numbers.npy").st_mtime_ns
for engine in ("auto", "sequential"):
    module = Mine(mapped)
    own = task(module, buffers="keep", engine=engine)
    assert not torch.equal(trained(own), own.start)
    if kind == "parameter":
        assert module.weight.data_ptr() == mapped.ctypes.data
assert os.stat("numbers.npy").st_mtime_ns == before
assert np.array_equal(np.load("numbers.npy"), numbers, equal_nan=True)
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("kind", ["buffer", "unused", "parameter", "array", "view", "tensor"])
def test_nothing_is_written_to_a_file(kind, mode, request, tmp_path):
    command = [sys.executable, "-c", SCRIPT, kind, mode]
    path = {"PYTHONPATH": str(request.config.rootpath), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=path, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


class Shown(nn.Module):
    """Has a parameter in memory of numpy's, and looks at it by something else that shows that memory."""

    def __init__(self, array, by):
        super().__init__()
        self.weight, self.by = nn.Parameter(torch.from_numpy(array)), by
        self.shown = {"array": array, "view": self.weight.T, "numbers": self.weight.detach(), "nothing": None}[by]

    def forward(self, x):
        if self.by == "view":
            return x @ self.shown
        found = x @ self.weight.T
        return found if self.by == "nothing" else found + float(self.shown.sum()) * x[:, :1]


@pytest.mark.parametrize("by", ["array", "view", "numbers"])
def test_what_shows_memory_of_numpy_is_seen(by):
    array = np.random.default_rng(0).standard_normal((CLASSES, FEATURES)).astype("f")
    before = array.copy()
    task(Shown(array, "nothing"))
    with pytest.raises(InputError, match="uses its parameters as they stand"):
        task(Shown(array, by))
    assert np.array_equal(array, before)
