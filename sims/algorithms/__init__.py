"""The algorithms: found by name, what they cost, and which objective a weighting rule really minimises."""

from __future__ import annotations

from dataclasses import dataclass

from fltheory import errors, plugins
from sims.algorithms.objectives import implicit_weights
from sims.algorithms.protocol import Algorithm

__all__ = ["Algorithm", "Costs", "algorithms", "costs", "implicit_weights"]

GROUP = "fltheory.algorithms"
COUNTER_BYTES = 8  # of an integer of `sims.arrays.counters`


def algorithms() -> dict[str, Algorithm]:
    """Name -> algorithm of every installed package, this one included, from entry points of `fltheory.algorithms`.

    Raises InputError that names the entry point that cannot be loaded.
    """
    return {name: plugins.load(entry, Algorithm) for name, entry in plugins.entries(GROUP).items()}


@dataclass(frozen=True)
class Costs:
    """Bytes kept on the server and on each client, vectors sent to and from a participant."""

    server_bytes: int
    client_bytes: int
    down: int
    up: int


def costs(algorithm: Algorithm, n_clients: int, dimension: int, itemsize: int = 8) -> Costs:
    """What an algorithm keeps and sends, exactly, for models of `dimension` numbers of `itemsize` bytes.

    The bytes are those of its whole state, counters included; what a weighting rule or a selection remembers, a few
    numbers a client, is not the algorithm's. Where roles differ in what they receive (a FedAMD anchor needs the model
    alone), `down` is the largest.

    Raises InputError for a count below 1.
    """
    vector = errors.count("dimension", dimension) * errors.count("itemsize", itemsize)
    clients = errors.count("n_clients", n_clients)
    return Costs(
        algorithm.server_vectors(clients) * vector + algorithm.server_counters(clients) * COUNTER_BYTES,
        algorithm.client_vectors * vector + algorithm.client_counters * COUNTER_BYTES,
        algorithm.down,
        algorithm.up,
    )
