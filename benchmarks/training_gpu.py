"""FedAU's CIFAR set-up on one accelerator: all clients of a round in one program, against client after client.

Run `python benchmarks/training_gpu.py` where there is a CUDA card; `--smoke` runs a small copy anywhere. N = 250
clients who are there with Bernoulli rates (mean 0.1), 5 local steps of batches of 16 random images, cropped and
flipped, the network `fedau-cifar10`, FedAU's weights with K = 50; no evaluation.

Both engines are timed in turn, block of rounds by block of rounds, after a warm-up, by CUDA events (by the clock on a
CPU), first without and then with TF32. "Waits" are the places of one round in which the host waits for the card. The
whole run of 10,000 rounds is extrapolated from the median block, and with `--whole` also measured for the batched
engine. Goals: 10,000 rounds in 144 s, 100 times less than the 4 hours of the paper, and 10 times less than the
sequential engine takes.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from training import BATCH, STEPS

from fltheory.participation import Bernoulli

WHOLE, GOAL, TIMES, WARM_UP = 10_000, 144, 10, 3


def simulation(engine: str, device: str, rounds: int, smoke: bool, short: str | None) -> Any:
    """The run; the same numbers for both engines, its products in TF32 if `short` says so."""
    import torch

    from sims.algorithms.fedavg import Hyper, fedavg
    from sims.rounds import Setup, Simulation
    from sims.training.models import make
    from sims.training.task import Task
    from sims.weighting import FedAU

    n_clients, samples, size = (8, 20, 8) if smoke else (250, 200, 32)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn((n_clients * samples, 3, size, size), generator=generator)
    targets = torch.randint(0, 10, (n_clients * samples,), generator=generator)
    parts = np.split(np.arange(n_clients * samples), n_clients)
    module = make("fedau-cifar10", seed=0, size=size)
    options: Any = {"batch": BATCH, "augmentation": "crop-flip", "engine": engine, "device": device, "short": short}
    task = Task(module, inputs, targets, parts, **options)
    rates = np.random.default_rng(0).uniform(0.02, 0.18, n_clients) * (4 if smoke else 1)
    setup = Setup(task, fedavg, Hyper(0.05, 1, STEPS), Bernoulli(rates), FedAU(50))
    return Simulation(setup, task.start[None], rounds, np.random.default_rng(1))


def seconds(made: Any, rounds: int) -> float:
    """Seconds of the next rounds."""
    import torch

    if made.setup.problem.device.type != "cuda":
        began = time.perf_counter()
        made.advance(made.round + rounds)
        return time.perf_counter() - began
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    made.advance(made.round + rounds)
    last.record()
    torch.cuda.synchronize()
    return float(first.elapsed_time(last)) / 1e3


def waits(made: Any) -> int:
    """How often the host waits for the card in the next round."""
    import torch

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        made.advance(made.round + 1)
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(one.message) for one in caught)


def measure(device: str, blocks: int, rounds: int, smoke: bool, whole: bool, short: str | None) -> None:
    import torch

    cuda = torch.device(device).type == "cuda"
    total = WARM_UP + blocks * rounds + 2
    medians = {}
    runs: dict[str, Any] = {}
    for engine in ("vmap", "sequential"):
        if cuda:
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        made = runs[engine] = simulation(engine, device, total, smoke, short)
        seconds(made, WARM_UP)
        used = (torch.cuda.max_memory_allocated() - before) / 2**30 if cuda else 0
        peak = f"peak {used:.2f} GiB, data included" if cuda else "peak not measured"
        waited = f"{waits(made)} waits a round" if cuda else "no card to wait for"
        print(f"  {engine:10} warm; {peak}, {waited}")
    times: dict[str, list[float]] = {engine: [] for engine in runs}
    for _ in range(blocks):  # in turn
        for engine, made in runs.items():
            times[engine].append(seconds(made, rounds) / rounds)
    for engine, taken in times.items():
        medians[engine] = float(np.median(taken))
        extrapolated = medians[engine] * WHOLE
        print(
            f"  {engine:10} {min(taken) * 1e3:9.2f} ms a round at least, {medians[engine] * 1e3:9.2f} in the middle; "
            f"{WHOLE} rounds would take {extrapolated:.0f} s"
        )
    x = {engine: made.state.linear["x"].double() for engine, made in runs.items()}
    moved = (x["vmap"] - runs["vmap"].setup.problem.start.double()).abs().max()
    print(
        f"  sequential / vmap: {medians['sequential'] / medians['vmap']:.1f} (goal {TIMES}); the two models differ by "
        f"{float((x['vmap'] - x['sequential']).abs().max() / moved):.1e} of the largest change"
    )
    if whole:
        run = simulation("vmap", device, WHOLE, smoke, short)
        print(f"  vmap: {WHOLE} rounds took {seconds(run, WHOLE):.1f} s (goal {GOAL})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--blocks", type=int, default=5, help="blocks of each engine")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of a block")
    parser.add_argument("--whole", action="store_true", help="run 10,000 rounds as well")
    parser.add_argument("--smoke", action="store_true", help="8 clients, small images, a few rounds, on the CPU")
    options = parser.parse_args()
    if find_spec("torch") is None:
        print("needs torch (the extra `training`)")
        return
    import torch

    device = "cpu" if options.smoke else options.device
    if device.startswith("cuda") and not torch.cuda.is_available():
        print("no CUDA card here: --smoke runs a small copy on the CPU")
        return
    torch.set_num_threads(1)
    blocks, rounds = (2, 2) if options.smoke else (options.blocks, options.rounds)
    card = torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU"
    print(f"{card}, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}; {blocks} blocks of {rounds} rounds")
    for allowed in (False, True):
        print(f"TF32 {'on' if allowed else 'off'}:")
        short = "tf32" if allowed and torch.device(device).type == "cuda" else None  # a CPU has none
        measure(device, blocks, rounds, options.smoke, options.whole and not options.smoke, short)


if __name__ == "__main__":
    main()
