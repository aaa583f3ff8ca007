"""Plain references, written from each paper's pseudo-code alone: loops over rounds and clients, nothing shared.

A history is what happened: per round the clients that take part in it, their weights, and the noise of every
gradient. All functions return the models after each round. Numbers may be floats or Fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Vector = Any


@dataclass(frozen=True)
class History:
    """cohorts[t]: clients; weights[t][n]; noise[t][step][n] and extra_noise[t][n]: vectors; gradient(n, y)."""

    n_clients: int
    cohorts: list[list[int]]
    weights: Any
    noise: Any
    extra_noise: Any
    gradient: Callable[[int, Vector], Vector]


def sgd(history: History, t: int, n: int, x: Vector, lr: Any, steps: int, proximal: Any = 0) -> Vector:
    """Client n's local steps in round t; what it sends back."""
    y = x
    for i in range(steps):
        y = y - lr * (history.gradient(n, y) + history.noise[t][i][n] + proximal * (y - x))
    return y - x


def fedavg(history: History, x: Vector, hyper: Any, proximal: Any = 0) -> list[Vector]:
    models = []
    for t, cohort in enumerate(history.cohorts):
        total = 0 * x
        for n in cohort:
            total = total + history.weights[t][n] * sgd(history, t, n, x, hyper.local_lr, hyper.local_steps, proximal)
        x = x + hyper.global_lr * total / history.n_clients
        models.append(x)
    return models


def fedprox(history: History, x: Vector, hyper: Any) -> list[Vector]:
    return fedavg(history, x, hyper, hyper.proximal)


def fedsgd(history: History, x: Vector, hyper: Any) -> list[Vector]:
    models = []
    for t, cohort in enumerate(history.cohorts):
        gradient = 0 * x
        for n in cohort:
            gradient = gradient + history.weights[t][n] * (history.gradient(n, x) + history.noise[t][0][n])
        x = x - hyper.local_lr * gradient / history.n_clients
        models.append(x)
    return models


def minibatch_sgd(history: History, x: Vector, hyper: Any) -> list[Vector]:
    models = []
    for t, cohort in enumerate(history.cohorts):
        gradient = 0 * x
        for n in cohort:
            gradient = gradient + history.weights[t][n] * (history.gradient(n, x) + history.extra_noise[t][n])
        x = x - hyper.global_lr * gradient / history.n_clients
        models.append(x)
    return models


def sequential_sgd(history: History, x: Vector, hyper: Any) -> list[Vector]:
    models = []
    for t, cohort in enumerate(history.cohorts):
        for n in cohort:
            for i in range(hyper.local_steps):
                x = x - hyper.local_lr * (history.gradient(n, x) + history.noise[t][i][n])
        models.append(x)
    return models


def fedavgm(history: History, x: Vector, hyper: Any) -> list[Vector]:
    models, v = [], 0 * x
    for t, cohort in enumerate(history.cohorts):
        if cohort:
            total = 0 * x
            for n in cohort:
                total = total + history.weights[t][n] * sgd(history, t, n, x, hyper.local_lr, hyper.local_steps)
            v = hyper.momentum * v + total / history.n_clients
            x = x + hyper.global_lr * v
        models.append(x)
    return models


def amplified(history: History, x: Vector, hyper: Any) -> list[Vector]:
    """Algorithm 1, with u <- 0 where t_0 <- t + 1; q_t^n is the weight over N, and 0 for those who are absent."""
    models, u, t0 = [], 0 * x, 0
    for t, cohort in enumerate(history.cohorts):
        update = 0 * x
        for n in range(history.n_clients):
            q = history.weights[t][n] / history.n_clients if n in cohort else 0
            update = update + q * sgd(history, t, n, x, hyper.local_lr, hyper.local_steps)
        x = x + update
        u = u + update
        if t + 1 - t0 == hyper.interval:
            x = x + (hyper.amplification - 1) * u
            u = 0 * x
            t0 = t + 1
        models.append(x)
    return models


def wait(history: History, x: Vector, hyper: Any, full: bool) -> list[Vector]:
    """Section 5: collect for P rounds at one model, average for each client, one step of SGD."""
    models: list[Vector] = []
    samples: dict[int, list[Vector]] = {}
    for t, cohort in enumerate(history.cohorts):
        for n in cohort:
            noise = 0 * x if full else history.extra_noise[t][n]
            samples.setdefault(n, []).append(history.gradient(n, x) + noise)
        if (t + 1) % hyper.interval == 0:
            clients = [sum(taken, 0 * x) / len(taken) for taken in samples.values()]
            if clients:
                x = x - hyper.global_lr * sum(clients, 0 * x) / len(clients)
            samples = {}
        models.append(x)
    return models


def fedlaavg(history: History, x: Vector, hyper: Any) -> list[Vector]:
    """Algorithm 2 through equation (3): the average of everybody's latest update, no running sums."""
    models, latest = [], [0 * x for _ in range(history.n_clients)]
    for t, cohort in enumerate(history.cohorts):
        for n in cohort:
            factor = 1 if hyper.weights is None else hyper.weights[n] * history.n_clients
            latest[n] = sgd(history, t, n, x, factor * hyper.local_lr, hyper.local_steps)
        x = x + sum(latest, 0 * x) / history.n_clients
        models.append(x)
    return models


def mifa(history: History, x: Vector, hyper: Any) -> list[Vector]:
    models, memory = [], {}
    for t, cohort in enumerate(history.cohorts):
        for n in cohort:
            memory[n] = -sgd(history, t, n, x, hyper.local_lr, hyper.local_steps) / hyper.local_lr
        if len(memory) == history.n_clients or not hyper.wait:
            x = x - hyper.global_lr * hyper.local_lr * sum(memory.values(), 0 * x) / history.n_clients
        models.append(x)
    return models


def fedvarp(history: History, x: Vector, hyper: Any) -> list[Vector]:
    models, y = [], [0 * x for _ in range(history.n_clients)]
    for t, cohort in enumerate(history.cohorts):
        if cohort:
            delta = {n: -sgd(history, t, n, x, hyper.local_lr, hyper.local_steps) for n in cohort}
            v = sum((delta[n] - y[n] for n in cohort), 0 * x) / len(cohort) + sum(y, 0 * x) / history.n_clients
            x = x - hyper.global_lr * v
            for n in cohort:
                y[n] = delta[n]
        models.append(x)
    return models
