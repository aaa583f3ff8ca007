"""Random streams: every draw belongs to a key (seed, purpose, index), never to a global generator or to a worker.

Clients are served in blocks of `CLIENT_BLOCK`: client c owns column c mod CLIENT_BLOCK of block
c // CLIENT_BLOCK, and every column is drawn whether or not a client uses it. So a client's draws depend on
(seed, purpose, client) alone, as if each had a generator of its own, at a sixty-fourth of the cost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from fltheory.errors import count

CLIENT_BLOCK = 64


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """The generator of key (seed, purpose, *index). Equal keys give equal draws on every machine."""
    name = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8], "big")
    return np.random.default_rng(np.random.SeedSequence([count("seed", seed, least=0), name, *index]))


def client_blocks(seed: int, purpose: str, n_clients: int) -> Iterator[tuple[slice, np.random.Generator]]:
    """Yield (clients, generator) for each block; draw arrays whose last axis is CLIENT_BLOCK, row by row."""
    for block, first in enumerate(range(0, n_clients, CLIENT_BLOCK)):
        yield slice(first, min(first + CLIENT_BLOCK, n_clients)), stream(seed, purpose, block)
