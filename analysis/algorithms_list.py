"""What `fltheory algorithms` prints: what each algorithm keeps and sends, what each weighting rule minimises."""

from __future__ import annotations

from typing import Any

from sims.algorithms import algorithms, costs

# What sum_n phi_n F_n a rule minimises, as sims.algorithms.implicit_weights computes it.
OBJECTIVES = {
    "average_all": "phi_n = p_n",
    "average_participating": "phi_n = p_n E[1/(1 + other participants)], Poisson-binomial, not proportional to p_n",
    "known_rates": "phi_n = 1: the plain average, as meant",
    "fedau": "phi_n = 1 - (1-p_n)^K in the long run; the plain average without a cutoff",
    "exponential_average": "phi_n = 1 - (1-p_n)^K in the mean",
}


def as_json(n_clients: int, dimension: int, itemsize: int) -> dict[str, Any]:
    """Name -> source, memory in bytes and vectors sent; weighting rule -> objective."""
    listed = {}
    for name, algorithm in algorithms().items():
        cost = costs(algorithm, n_clients, dimension, itemsize)
        listed[name] = {"source": algorithm.source, **vars(cost)}
    return {"algorithms": listed, "weighting_rules": OBJECTIVES}


def as_text(n_clients: int, dimension: int, itemsize: int) -> str:
    """The same as a table, for people."""
    found = as_json(n_clients, dimension, itemsize)
    head = f"{'algorithm':<16}{'server bytes':>16}{'client bytes':>14}{'down':>6}{'up':>4}  source"
    rows = [
        f"{name:<16}{a['server_bytes']:>16,}{a['client_bytes']:>14,}{a['down']:>6}{a['up']:>4}  {a['source']}"
        for name, a in found["algorithms"].items()
    ]
    rules = [f"{rule:<22}{objective}" for rule, objective in OBJECTIVES.items()]
    size = f"N = {n_clients:,} clients, d = {dimension:,} parameters of {itemsize} bytes"
    note = f"{size}; down, up: vectors a participant a round"
    heading = "FedAvg's weighting rules minimise sum_n phi_n F_n with, for participation at rates p_n,"
    return "\n".join([head, *rows, note, "", heading, *rules])
