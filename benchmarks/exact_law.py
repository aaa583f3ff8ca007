"""Seconds and peak memory of the exact law of the FedAU weight, each case in a process of its own.

Run `python benchmarks/exact_law.py`. The budget at K = 50: 0.5 s for 1e4 rounds; 6 s and 512 MiB for 1e5.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import sys
import time

PROCESSES = ("Bernoulli(0.1)", "Bernoulli(0.02)", "Markov(0.9)", "Markov(0.5, max_enter=0.01)", "Cyclic(0.1, 100)")
CASES = [(name, cutoff, rounds) for rounds in (10_000, 100_000) for cutoff in (50, math.inf) for name in PROCESSES]


def measure(name: str, cutoff: float, rounds: int) -> tuple[float, float, float, float]:
    """Seconds by the clock and of the processor, peak memory of the process in MiB, and the average error."""
    from fltheory import participation
    from fltheory.weights import exact_weight_law

    process = eval(name, vars(participation))
    start, cpu_start = time.perf_counter(), time.process_time()
    law = exact_weight_law(process, cutoff, rounds)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, else in KiB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    return seconds, cpu, peak, float(law.error.mean())


def main() -> None:
    print(f"{'process':>27} {'cutoff':>6} {'rounds':>7} {'seconds':>8} {'cpu':>7} {'peak MiB':>8}  average error")
    for case in CASES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, cpu, peak, error = pool.apply(measure, case)
        print(f"{case[0]:>27} {case[1]:6} {case[2]:7} {seconds:8.3f} {cpu:7.3f} {peak:8.0f}  {error:.15g}")


if __name__ == "__main__":
    main()
