"""Seconds for FedAU on 1-d quadratics, against a loop over clients, and how the cost grows.

Run `python benchmarks/simulate.py`. 1000 replicates x 100 clients x 1000 rounds with 5 local steps, from the experiment
to the file in the store. Goals: 6 s on 2 cores; 30 times a per-client loop for one process (both measured here; the
loop runs fewer replicates and is compared per client-round); cost linear in replicates, clients and rounds.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import tempfile
import time

import numpy as np

from fltheory.streams import stream
from sims.experiment import Experiment, parse
from sims.montecarlo.replicates import Replicates, chunk_size
from sims.montecarlo.simulate import simulate

REPLICATES, CLIENTS, ROUNDS = 1000, 100, 1000
LOCAL_LR, LOCAL_STEPS, CUTOFF, NOISE, RATE = 0.05, 5, 50, 1.0, 0.1


def experiment(replicates: int, clients: int, rounds: int) -> Experiment:
    return parse(
        {
            "kind": "simulate",
            "rounds": rounds,
            "replicates": replicates,
            "problem": {
                "name": "quadratic",
                "curvature": np.linspace(0.5, 2, clients).tolist(),
                "centre": np.linspace(-1, 1, clients).tolist(),
                "noise": {"kind": "gaussian", "std": NOISE},
            },
            "process": {"name": "bernoulli", "p": RATE},
            "algorithm": {
                "name": "fedavg",
                "local_lr": LOCAL_LR,
                "local_steps": LOCAL_STEPS,
                "weighting": {"name": "fedau", "cutoff": CUTOFF},
            },
            "record": {"what": ["squared_distance"], "every": 100},
        }
    )


def client_by_client(replicates: int, clients: int, rounds: int) -> list[float]:
    """The same, written as one writes it first: for every client its local steps, on vectors of any dimension."""
    rng, final = np.random.default_rng(0), []
    curvature, centre = np.linspace(0.5, 2, clients), np.linspace(-1, 1, clients)
    for _ in range(replicates):
        x = np.zeros(1)
        weight, completed, open_ = [1.0] * clients, [0] * clients, [0] * clients
        for _ in range(rounds):
            total = np.zeros(1)
            for n in range(clients):
                here = rng.random() < RATE
                if here:
                    y = x.copy()
                    for _ in range(LOCAL_STEPS):
                        y = y - LOCAL_LR * (curvature[n] * (y - centre[n]) + NOISE * rng.standard_normal(1))
                    total += weight[n] * (y - x)
                open_[n] += 1
                if here or open_[n] == CUTOFF:
                    weight[n] = (completed[n] * weight[n] + open_[n]) / (completed[n] + 1) if completed[n] else open_[n]
                    completed[n] += 1
                    open_[n] = 0
            x = x + total / clients
        final.append(float(x[0]))
    return final


def seconds(replicates: int, clients: int, rounds: int) -> float:
    """Processor seconds of one process for the replicates alone."""
    made = experiment(replicates, clients, rounds)
    task = Replicates(made.canonical, 0, chunk_size(made, 0))
    chunks = -(-replicates // task.size)
    task(chunks - 1, stream(0, "warm-up", 0))
    started = time.process_time()
    for chunk in range(chunks):
        task(chunk, stream(0, "benchmark", chunk))
    return time.process_time() - started


def growth() -> None:
    """Least-squares fit of log seconds to the logs of the three sizes: an exponent of 1 is linear."""
    sizes = [(r, n, t) for r in (256, 1024) for n in (100, 400) for t in (250, 1000)]
    measured = [min(seconds(*size) for _ in range(2)) for size in sizes]
    columns = np.column_stack([np.log(np.array(sizes, dtype=float)), np.ones(len(sizes))])
    exponents, *_ = np.linalg.lstsq(columns, np.log(measured), rcond=None)
    for size, took in zip(sizes, measured, strict=True):
        rate = np.prod(size) / took / 1e6
        print(f"  {size[0]:5} x {size[1]:4} x {size[2]:5}: {took:6.2f} s, {rate:5.1f} million client-rounds a second")
    names = ("replicates", "clients", "rounds")
    print("  exponents: " + ", ".join(f"{name} {e:.2f}" for name, e in zip(names, exponents[:3], strict=True)))


def main() -> None:
    made = experiment(REPLICATES, CLIENTS, ROUNDS)
    client_rounds = REPLICATES * CLIENTS * ROUNDS
    print(f"{REPLICATES} replicates x {CLIENTS} clients x {ROUNDS} rounds, {LOCAL_STEPS} local steps, K = {CUTOFF}")
    for attempt in ("first, workers start", "again, workers are there"):
        with tempfile.TemporaryDirectory() as store:
            started = time.perf_counter()
            simulate(made, store=store, workers=2)
            print(f"2 workers ({attempt}): {time.perf_counter() - started:.2f} s by the clock")
    ours, loops = [], []
    for _ in range(3):  # in turn, so that the load of the machine falls on both
        started = time.process_time()
        client_by_client(1, CLIENTS, ROUNDS)
        loops.append((time.process_time() - started) * REPLICATES)
        ours.append(seconds(REPLICATES, CLIENTS, ROUNDS))
    loop, fast = float(np.median(loops)), float(np.median(ours))
    print(f"1 process: {fast:.2f} s of the processor, {client_rounds / fast / 1e6:.1f} million client-rounds a second")
    print(f"a loop over clients: {loop:.0f} s (from 1 replicate), {loop / fast:.0f} times as long")
    print("growth, 1 process:")
    growth()


if __name__ == "__main__":
    main()
