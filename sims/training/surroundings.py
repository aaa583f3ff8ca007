"""What a caller may have set in torch, and a run must not depend on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_surroundings() -> Iterator[None]:
    """Within it torch is as in a process of its own: one thread on a CPU, float32 by default, gradients on.

    Sums that threads share come out with other last bits, so that a run would depend on the machine, and on how many
    workers there are. More cores are for more workers. Afterwards all is as the caller had it.
    """
    import torch

    threads, kind = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(kind)
