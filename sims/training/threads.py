"""How many threads torch computes with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it torch computes with one thread on a CPU, whatever OMP_NUM_THREADS says, and then as before.

    Sums that threads share come out with other last bits, so that a run would depend on the machine, and on how many
    workers there are. More cores are for more workers.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
