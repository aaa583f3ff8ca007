"""What FedLaAvg does from its first iteration on: Theorem 3 without its gap, with smaller constants (ours).

The printed proof compares with the gradient at the most outdated iterate in use, so it needs every client to have taken
part, and pays for the way back twice. Here an iteration is compared with the current gradient, and the first I
iterations are bounded by smoothness.
"""

from __future__ import annotations

from fltheory.ledger import Bound
from fltheory.papers.fedlaavg.iterations import ALL, SQUARE, STALE
from fltheory.papers.fedlaavg.letters import ROOT_N, B, G, I, L, N, T, gamma, iteration, paper, sigma
from fltheory.units import LOSS

step = {"step": gamma <= 1 / (2 * L)}
_noise = 2 * gamma * sigma**2 * L / N + gamma * I * L * (G**2 + sigma**2) / ROOT_N

eq29_improved = paper.claim(
    "eq29.improved", "Descent of an iteration, at the current gradient",
    kind="equation", where="ours", origin="ours",
    words="With availability independent of the samples, for t > I, E f(x^t) - E f(x^(t-1)) + (gamma/2) E|grad "
    "f(x^(t-1))|^2 is at most this.",
    assumes=ALL,
    conditions={**step, "late": iteration > I},
    bound=Bound(
        "E f(x^t) - E f(x^(t-1)) + (gamma/2) E|grad f(x^(t-1))|^2", gamma / 2 * (_noise + STALE), unit=LOSS
    ),
    uses=("fedlaavg.eq21", "fedlaavg.eq22", "fedlaavg.eq24", "fedlaavg.eq27"),
)  # fmt: skip
thm3_improved = paper.claim(
    "thm3.improved", "Theorem 3 over all iterations, with half of its noise terms and a third of its drift",
    kind="theorem", where="ours", origin="ours",
    words="With availability independent of the samples, the average of E|grad f(x^(t-1))|^2 over any number T of "
    "iterations is at most the bound, which stays finite at gamma = 1/(2L).",
    assumes=ALL,
    conditions=step,
    bound=Bound("(1/T) sum of E|grad f(x^(t-1))|^2", _noise + 2 * STALE + 4 * B / (gamma * T), unit=SQUARE),
    uses=("fedlaavg.eq29.improved", "fedlaavg.ass1", "fedlaavg.ass3", "fedlaavg.lem1"),
)  # fmt: skip
