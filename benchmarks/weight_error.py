"""How much faster it is to draw participation intervals than rounds, for the error of FedAU's weights.

Both sides simulate the same number of replicates of a Bernoulli client on one thread and give the same four
results; the loop over rounds is vectorised over all replicates at once. They run alternately, so that the
load of the machine falls on both. Goals: 5 times for p = 0.1, 15 for p = 0.02.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import time

import numpy as np

from fltheory.weights import exact_weight_law
from sims.montecarlo import WeightError, empirical_bernstein, weight_error

CUTOFF, ROUNDS, REPLICATES, REPEATS = 50, 10_000, 8192, 5


def round_by_round(p: float, cutoff: int, rounds: int, replicates: int, seed: int) -> WeightError:
    """FedAU, Algorithm 2, one round at a time for all replicates."""
    rng = np.random.default_rng(seed)
    weight, completed, open_ = np.ones(replicates), np.zeros(replicates), np.zeros(replicates)
    total = np.zeros(replicates)
    error, fourth, mean_weight = np.empty(rounds), np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        square = (p * weight - 1) ** 2
        total += square
        error[t], fourth[t], mean_weight[t] = square.mean(), (square * square).mean(), weight.mean()
        open_ += 1
        ended = (rng.random(replicates) < p) | (open_ == cutoff)
        completed += ended
        open_[ended] = 0
        np.divide(t + 1 - open_, completed, out=weight, where=completed > 0)
    average = total / rounds
    highest = max((p - 1) ** 2, (p * cutoff - 1) ** 2) * (1 + 1e-9)
    return WeightError(
        average=empirical_bernstein(
            replicates, float(average.mean()), float(average.var()), low=0, high=highest, level=0.999
        ),
        error=error,
        standard_error=np.sqrt(np.maximum(fourth - error**2, 0) / (replicates - 1)),
        mean_weight=mean_weight,
    )


def compare(p: float) -> None:
    """Run both in turn and print the ratios of replicate-rounds a second and how well the results agree."""
    law = exact_weight_law(p, CUTOFF, ROUNDS)
    seconds = np.empty((REPEATS, 2))
    between = from_exact = 0.0
    for repeat in range(REPEATS):
        started = time.perf_counter()
        slow = round_by_round(p, CUTOFF, ROUNDS, REPLICATES, seed=repeat)
        turned = time.perf_counter()
        fast = weight_error(p, CUTOFF, ROUNDS, REPLICATES, seed=repeat)
        seconds[repeat] = turned - started, time.perf_counter() - turned
        both = np.hypot(slow.standard_error, fast.standard_error)[2:]  # rounds 0 and 1 have weight 1 for sure
        between = max(between, float(np.max(np.abs(slow.error - fast.error)[2:] / both)))
        away = np.abs(fast.error - law.error)[2:] / fast.standard_error[2:]
        from_exact = max(from_exact, float(np.max(away)))
    assert fast.average.n == REPLICATES
    ratio = seconds[:, 0] / seconds[:, 1]
    rate = ROUNDS * REPLICATES / np.median(seconds, axis=0) / 1e6
    print(
        f"p = {p}: intervals / rounds = {np.min(ratio):.1f} (min), {np.median(ratio):.1f} (median of {REPEATS});"
        f" {rate[1]:.0f} against {rate[0]:.0f} million replicate-rounds a second; largest deviation over"
        f" {REPEATS} x {ROUNDS} rounds, in standard errors: {between:.2f} between the two, {from_exact:.2f} from the"
        " exact law"
    )


if __name__ == "__main__":
    print(f"K = {CUTOFF}, {ROUNDS} rounds, {REPLICATES} replicates, one thread")
    for p in (0.1, 0.02):
        compare(p)
