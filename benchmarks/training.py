"""Milliseconds a round of training on three work cards, against the usual loop over clients.

Run `python benchmarks/training.py`, with `--cards W1,W2,W3`, `--repeats 7`, `--device cpu`. Data are random, all is
seeded, and every round is one of `sims.rounds.Simulation`:

W1   logistic regression, d = 60; 25 of N = 100, 250 or 1000 clients take 5 steps of batches of 16
W2   25 of 100 clients with 80 samples each, MLP 784-100-10, 5 steps of batches of 16 without replacement
W3   FedAU's CIFAR network on 32 x 32 images, N = 250, each client there with probability 0.1, FedAU's weights

Every engine runs in a process of its own, and the processes take turns, a block of rounds each, so that the load of
the machine falls on all. Both see the same cohorts and batches. Minima and medians are over blocks, by the clock and
by the processor's time; "largest deviation" is that of the model after the first block from a sequential run in
float64, relative to the largest change of a parameter; the first round counts from before torch is imported. A load
average above 0.5 before a card makes its rows noisy.
Where pfl is installed it runs W2, too.
Goals: W1 <= 3 ms and >= 7 times, W2 <= 10 ms and >= 3 times, W3 never slower than the engine "sequential".
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # in the processes that are started, too

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import training_peers

from fltheory.participation import Bernoulli, UniformSubset

STEPS, BATCH, COHORT = 5, 16, 25
ROUNDS = 2000  # at most, warm-up included


@dataclass(frozen=True)
class Card:
    """A work card: what is trained, by whom, and how many rounds make a block."""

    model: tuple[str, dict[str, Any]]
    shape: tuple[int, ...]
    n_clients: int
    samples: int  # of a client
    process: Callable[[int], Any]
    block: int
    replacement: bool = True
    augmentation: str = "none"
    weighting: str = "participating"
    goal: str = ""


def cohort(n_clients: int) -> Any:
    return UniformSubset(n_clients, COHORT)


def at_times(n_clients: int) -> Any:
    return Bernoulli(np.full(n_clients, 0.1))


LOGISTIC, MLP = ("logistic", {"d": 60, "classes": 10}), ("mlp", {"widths": [784, 100, 10]})
CARDS = {
    **{
        f"W1 N={n}": Card(LOGISTIC, (60,), n, 80, cohort, block=40, goal="<= 3 ms and >= 7 times sequential")
        for n in (100, 250, 1000)
    },
    "W2": Card(MLP, (784,), 100, 80, cohort, 10, replacement=False, goal="<= 10 ms and >= 3 times sequential"),
    "W3": Card(
        ("fedau-cifar10", {}), (3, 32, 32), 250, 40, at_times, 1, weighting="fedau", goal="never slower than sequential"
    ),
}


def simulation(card: Card, engine: str, precision: str, device: str) -> Any:
    """The run of a card; the same numbers for every engine."""
    import torch

    from sims.algorithms.fedavg import Hyper, fedavg
    from sims.rounds import Setup, Simulation
    from sims.training.models import make
    from sims.training.task import Task
    from sims.weighting import AverageParticipating, FedAU

    torch.set_num_threads(1)
    kind, n = getattr(torch, precision), card.n_clients * card.samples
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn((n, *card.shape), generator=generator).to(kind)
    targets = torch.randint(0, 10, (n,), generator=generator)
    name, parameters = card.model
    task = Task(
        make(name, seed=0, **parameters).to(kind),
        inputs,
        targets,
        np.split(np.arange(n), card.n_clients),
        batch=BATCH,
        replacement=card.replacement,
        augmentation=card.augmentation,
        engine=engine,
        device=device,
    )
    rule = FedAU(50) if card.weighting == "fedau" else AverageParticipating()
    setup = Setup(task, fedavg, Hyper(0.05, 1, STEPS), card.process(card.n_clients), rule)
    return Simulation(setup, task.start[None], ROUNDS, np.random.default_rng(1))


def run(pipe: Connection, name: str, engine: str, precision: str, device: str) -> None:
    """One engine in its own process: a block of rounds whenever asked, until there is nothing more to do."""
    card = CARDS[name]
    began = time.perf_counter()
    made = simulation(card, engine, precision, device)
    start = made.state.linear["x"]
    made.advance(1)
    first = time.perf_counter() - began
    made.advance(1 + card.block)
    after = made.state.linear["x"]
    pipe.send((first, start.double().cpu().numpy(), after.double().cpu().numpy(), made.setup.problem.engine.name))
    while pipe.recv():
        before = made.costs.stochastic.sum()
        clock, processor = time.perf_counter(), time.process_time()
        made.advance(made.round + card.block)
        wait(made)
        spent = time.perf_counter() - clock, time.process_time() - processor
        pipe.send((*spent, made.costs.stochastic.sum() - before))
    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


def wait(made: Any) -> None:
    """Until the device has done what it was told."""
    x = made.state.linear["x"]
    if x.device.type == "cuda":
        import torch

        torch.cuda.synchronize()


class Runner:
    """The other end of a `run`, or of another function that talks as it does."""

    def __init__(self, of: Callable[..., None], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=of, args=(theirs, *arguments))
        self.process.start()
        self.first, self.start, self.after, self.name = self.pipe.recv()
        self.blocks: list[tuple[float, float, int]] = []

    def go(self) -> None:
        self.pipe.send(True)
        self.blocks.append(self.pipe.recv())

    def stop(self) -> float:
        """Its peak memory in MiB."""
        self.pipe.send(False)
        peak: float = self.pipe.recv()
        self.process.join()
        return peak


def measure(name: str, repeats: int, device: str) -> None:
    card = CARDS[name]
    load = os.getloadavg()[0]
    reference = Runner(run, name, "sequential", "float64", device)
    reference.stop()
    moved = np.abs(reference.after - reference.start).max()
    runners = {engine: Runner(run, name, engine, "float32", device) for engine in ("auto", "sequential")}
    if name == "W2" and device == "cpu" and find_spec("pfl"):
        runners["pfl"] = Runner(training_peers.pfl, card.block)
    for _ in range(repeats):
        for runner in runners.values():
            runner.go()
    print(f"{name}: {card.goal}; load {load:.1f}{' (noisy)' if load > 0.5 else ''}, {repeats} blocks of {card.block}")
    print("  engine                  ms a round: clock        processor         client-steps/s   peak   first  largest")
    print("                               min    median     min    median   of the clock    MiB  round  deviation")
    milliseconds = {}
    for engine, runner in runners.items():
        blocks = np.array(runner.blocks)
        times, steps = blocks[:, :2] * 1e3 / card.block, blocks[:, 2]
        least, middle = times.min(axis=0), np.median(times, axis=0)
        milliseconds[engine] = least, middle
        label = engine if engine == runner.name else f"{engine} ({runner.name})"
        off = "-" if runner.after is None else f"{np.abs(runner.after - reference.after).max() / moved:.1e}"
        print(
            f"  {label:20}  {least[0]:8.2f}  {middle[0]:8.2f}{least[1]:8.2f}  {middle[1]:8.2f}  "
            f"{steps.sum() / blocks[:, 0].sum():14.0f}  {runner.stop():7.0f}  {runner.first:4.1f} s  {off}"
        )
    fast, usual = milliseconds["auto"], milliseconds["sequential"]
    by = [f"{usual[of][which] / fast[of][which]:.1f}" for which in (0, 1) for of in (0, 1)]
    print(f"  sequential / auto: by the clock {by[0]} (min), {by[1]} (median); processor {by[2]}, {by[3]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cards", default="W1,W2,W3", help="names or beginnings of names, with commas")
    parser.add_argument("--repeats", type=int, default=7, help="blocks of rounds for each engine, at most 40")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    if find_spec("torch") is None:
        print("needs torch (the extra `training`)")
        return
    chosen = [name for name in CARDS if name.split()[0] in options.cards.split(",") or name in options.cards.split(",")]
    if not chosen:
        parser.error(f"--cards must be some of {', '.join(CARDS)}")
    if not 1 <= options.repeats <= 40:
        parser.error("--repeats must be a number from 1 to 40")
    for name in chosen:
        measure(name, options.repeats, options.device)
    if find_spec("pfl") is None:
        print("pfl is not installed and therefore not compared (W2)")
    print("Flower is not compared: its simulation starts in about 10 s and needs hundreds of milliseconds a round")


if __name__ == "__main__":
    main()
