"""The first two moments of the FedAU weight of one client, in every round, in time linear in the rounds.

A weight is u / m, m intervals having ended after u rounds. With 1/m = sum_j a_j exp(-m s_j) (a quadrature of the
integral of exp(-m s) over s > 0, exact to 1e-14 for every m that occurs; 1/m^2 likewise, with a_j s_j) an expectation
over m becomes a sum over j of expectations of exp(-m s_j), and one of those needs no m: it is a renewal process that
survives the end of an interval with probability exp(-s_j). Three numbers a node j are carried from round to round, the
survivors' E[1], E[d], E[d^2] with d = rate u - m: the error E[(d/m)^2] is then a sum of terms that are not negative.
`renewal` computes the same interval by interval, and the tests hold the two together.
"""

from __future__ import annotations

import numpy as np

from fltheory.weights.inputs import FloatArray
from fltheory.weights.renewal import Chain, fading_sum

STEP = 0.25  # of the trapezoid rule in log s
BLOCK = 256  # rounds that are contracted over the nodes at a time


def quadrature(largest: int) -> tuple[FloatArray, FloatArray]:
    """Nodes s_j and weights a_j with sum a_j exp(-m s_j) = 1/m and sum a_j s_j exp(-m s_j) = 1/m^2, 1 <= m <= largest.

    The rule in log s converges like exp(-pi^2 / STEP). The nodes far below 1/largest, which all look alike, are one.
    """
    s = np.exp(np.arange(-60, 3.75, STEP, dtype=np.longdouble))
    weight = STEP * s
    alike = s < np.exp(np.longdouble(-13)) / largest
    mass = weight[alike].sum()
    nodes = np.concatenate([[(weight * s)[alike].sum() / mass], s[~alike]])
    return nodes.astype(np.float64), np.concatenate([[mass], weight[~alike]]).astype(np.float64)


def translation(by: float) -> FloatArray:
    """The matrix that takes E[1], E[d], E[d^2] to those of d + by."""
    return np.array([[1.0, 0, 0], [by, 1, 0], [by * by, 2 * by, 1]])


def weight_moments(chain: Chain, cutoff: float, rounds: int) -> FloatArray:
    """E[w_t], E[w_t^2] and E[(rate w_t - 1)^2] for t < rounds: shape (3, rounds)."""
    nodes, weights = quadrature(rounds)
    # An additional node of no weight, which everybody survives: its E[1] is a total probability.
    sums = _interval_sums(chain, cutoff, rounds, np.append(nodes, 0.0), np.append(weights, 0.0))
    elapsed = np.arange(rounds, dtype=np.float64)
    sums[1] *= elapsed
    sums[2] *= elapsed * elapsed
    start = np.array([1.0, chain.leave * chain.rate + (1 - chain.enter) * chain.miss])
    sums[:, :, 0] = np.multiply.outer([1, 1, 1, chain.miss**2], start)  # no interval yet: the weight is 1
    longest = chain.absence(cutoff, rounds)
    total, *moments = sums[:, 0]
    for values, missed in zip((total, *moments), sums[:, 1], strict=True):
        values[1:] += fading_sum(missed, chain, longest, rounds - 1)
    # The total is 1 but for rounding, which has the same sign in every round and would grow with t.
    return np.stack([values / total for values in moments])


def _interval_sums(chain: Chain, cutoff: float, rounds: int, nodes: FloatArray, weights: FloatArray) -> FloatArray:
    """For every u < rounds the sums over m of P(m, u) times 1, 1/m, 1/m^2, (d/m)^2: shape (4, 2, rounds).

    P(m, u) is the probability that interval m ends after u rounds; in the second row, that in addition the client is
    off in the round after.
    """
    enter, leave, fade = chain.enter, chain.leave, 1 - chain.enter
    longest = chain.absence(cutoff, rounds)
    cut = float(chain.stays_off(longest)) if longest == cutoff - 1 and longest < rounds else 0.0
    # State, three rows each: the client is off and its interval open; an interval has just ended on, or off.
    away, on, off = slice(0, 3), slice(3, 6), slice(6, 9)
    one = np.eye(3)
    # What comes back from an open interval, and what comes on less what leaves where one has just ended.
    flow = np.vstack([enter * np.eye(3, 9), np.hstack([0 * one, -leave * one, enter * one])])
    time = np.zeros((9, 9))
    time[away, away], time[on, on], time[off, off] = (translation(by) for by in (chain.rate, -chain.miss, -chain.miss))
    waited = cut * translation(chain.rate * longest)
    waiting = np.zeros((longest + 1, 3, nodes.size)) if cut > 0 else None

    state = np.zeros((9, nodes.size))
    state[on.start], state[off.start] = chain.rate, chain.miss
    dies = -np.expm1(-nodes)
    shares = np.stack([np.where(nodes == 0, 1.0, 0.0), weights, weights * nodes], axis=1)
    sums = np.zeros((4, 2, rounds))
    states = np.empty((min(BLOCK, rounds), 9, nodes.size))
    following, change, nobody = np.empty_like(state), np.empty((6, nodes.size)), np.zeros((3, nodes.size))
    lost = np.zeros_like(change)  # what rounding takes from a sum is added to the next (Kahan): no drift
    for first in range(0, rounds, BLOCK):
        block = states[: rounds - first]
        for u in range(first, first + len(block)):
            block[u - first] = state
            flows = flow @ state
            back, entered = flows[:3], flows[3:]
            missed = state[off] - entered
            ended_off = nobody
            if waiting is not None:  # who was missed `longest` rounds ago has now been off for a whole cutoff
                waiting[u % (longest + 1)] = missed
                if u >= longest:
                    ended_off = waited @ waiting[(u - longest) % (longest + 1)]
            change[away] = missed - back - ended_off
            change[on] = back + entered
            change[on] -= dies * (state[on] + change[on])
            change += lost
            stay = state[:6]
            following[:6] = stay + change
            following[off] = ended_off - dies * ended_off
            lost = change - (following[:6] - stay)
            state = time @ following
        ended = np.stack([block[:, on] + block[:, off], leave * block[:, on] + fade * block[:, off]])
        here = slice(first, first + len(block))
        sums[:3, :, here] = np.moveaxis(ended[:, :, 0] @ shares, -1, 0)
        sums[3, :, here] = ended[:, :, 2] @ shares[:, 2]
    return sums
