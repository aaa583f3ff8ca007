"""SCAFFOLD, FedAMD, FedPAGE and BVR-L-SGD for one replicate, in plain loops, from the pseudo-code alone.

`gradient(i, y, sample)` is client i's stochastic gradient, `rounds` the rounds by client id, `h` the parameters.
Each yields after every round the model and the memories, as (name, value) pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sims.arrays import Array
from sims.testing.scenarios import Round

Gradient = Callable[[int, Array, Array], Array]
After = Iterator[dict[str, Any]]


def scaffold(gradient: Gradient, x: Array, n_clients: int, rounds: list[Round], h: Any) -> After:
    c, c_i = 0 * x, [0 * x for _ in range(n_clients)]
    for t in rounds:
        delta_y, delta_c = [], []
        for i in t.who:
            y = x
            for sample in t.steps[i]:
                y = y - h.local_lr * (gradient(i, y, sample) - c_i[i] + c)
            if h.option == 1:
                c_plus = gradient(i, x, t.large[i])
            else:
                c_plus = c_i[i] - c + (x - y) / (len(t.steps[i]) * h.local_lr)
            delta_y.append(y - x)
            delta_c.append(c_plus - c_i[i])
            c_i[i] = c_plus
        if t.who:
            x = x + h.global_lr * sum(delta_y) / len(t.who)
            c = c + (sum(delta_c) / len(t.who)) * len(t.who) / n_clients
        yield {"x": x, "variate": c, "variates": list(c_i)}


def sarah(gradient: Gradient, i: int, x: Array, g: Array, samples: list[Array], lr: Any, before: Array) -> Array:
    """FedAMD (2): where K steps from x end that start along g, an estimate at `before`."""
    x_before, x_now = before, x
    for sample in samples:
        g = g - gradient(i, x_before, sample) + gradient(i, x_now, sample)
        x_before, x_now = x_now, x_now - lr * g
    return x_now


def fedamd(gradient: Gradient, x: Array, n_clients: int, rounds: list[Round], h: Any) -> After:
    v = [0 * x for _ in range(n_clients)]
    for t in rounds:
        g = sum(v) / n_clients
        following, deltas = list(v), []
        for i in t.who:
            if t.role[i] == 1:
                following[i] = gradient(i, x, t.large[i])
            else:
                deltas.append(x - sarah(gradient, i, x, g, t.steps[i], h.local_lr, x))
        v = following
        if deltas:
            x = x - h.global_lr * sum(deltas) / len(deltas)
        yield {"x": x, "caches": list(v)}


def fedpage(gradient: Gradient, x: Array, n_clients: int, rounds: list[Round], h: Any) -> After:
    x_before, g = x, 0 * x
    for t in rounds:
        if t.who:
            if t.role[t.who[0]] == 1:
                g = sum(gradient(i, x, t.large[i]) for i in t.who) / len(t.who)
            else:
                deltas = [x - sarah(gradient, i, x, g, t.steps[i], h.local_lr, x_before) for i in t.who]
                g = sum(deltas) / (len(t.who) * h.local_steps * h.local_lr)
            x_before, x = x, x - h.global_lr * g
        yield {"x": x, "previous": x_before, "direction": g}


def bvr_l_sgd(gradient: Gradient, x: Array, n_clients: int, rounds: list[Round], h: Any) -> After:
    """Two rounds make one inner round; who takes part stays the same through a stage, as in FedAMD's comparison."""
    v: dict[int, Array] = {}
    x_before = x
    for number, (report, move) in enumerate(zip(rounds[::2], rounds[1::2], strict=True)):
        if number % h.stage == 0:
            start = sum(gradient(i, x, report.large[i]) for i in report.who) / len(report.who)
            v = dict.fromkeys(report.who, start)
        else:
            for i in report.who:
                v[i] = v[i] + gradient(i, x, report.large[i]) - gradient(i, x_before, report.large[i])
        mean = sum(v.values()) / len(v)
        yield {"x": x, "direction": mean}
        ends = {i: sarah(gradient, i, x, mean, move.steps[i], h.local_lr, x) for i in move.who}
        x_before = x
        picked = [ends[i] for i in move.who if move.role[i] == 1]
        if picked:
            x = sum(picked) / len(picked)
        yield {"x": x, "direction": mean}
