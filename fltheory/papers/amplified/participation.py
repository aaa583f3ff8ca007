"""Section 4 of amplified FedAvg up to Proposition 4.2: what participation does to the divergences."""

from __future__ import annotations

from sympy import Integer, Rational, Symbol

from fltheory.ledger import Bound
from fltheory.papers.amplified.bounds import LEADING, TWO_INTERVALS, cor32
from fltheory.papers.amplified.setting import (
    SMALLEST,
    SQUARED,
    I,
    L,
    N,
    P,
    T,
    ass1,
    ass2,
    ass3,
    beta,
    centre_spread,
    d,
    divergence_square_sum,
    gamma,
    gap,
    nu,
    paper,
    sigma,
    v2,
    weight_deviation,
)
from fltheory.units import PARAM

# ---- section 4.1: decomposition of the divergence --------------------------------------------------------

eq11 = paper.claim(
    "eq11", "Divergence splits into within-round and between-round parts",
    kind="equation", where="(11)",
    words="At every x and t the weighted mean of ||grad F_n - grad f||^2 is the left side of (6) plus the left side "
    "of (5), and it is at most d^2.",
    assumes=(ass3,),
    formulas={"share of (5)": Integer(1), "share of (6)": Integer(1)},
    uses=("amplified.ass3p",),
    gap="The sentence after (11) names the two terms in the other order.",
)  # fmt: skip

prop41 = paper.claim(
    "prop41", "Some beta^2 + nu^2 <= d^2 satisfy (5) and (6)",
    kind="proposition", where="Proposition 4.1",
    words="There are beta^2 and nu^2 with beta^2 + nu^2 <= d^2 that satisfy (5) and (6) for all x and t, whatever d^2 "
    "satisfies (4).",
    assumes=(ass3,),
    bound=Bound("smallest beta^2 + nu^2 that satisfy (5) and (6) for all x and t", d**2, unit=SQUARED),
    uses=("amplified.eq11", "amplified.ass3p"),
    repaired_by="amplified.prop41.repaired",
    gap="The split (11) is exact for each x and t; (5) and (6) hold for all of them at once, so that the two "
    "constants may be attained in different rounds. The smallest d^2 of (4) shows it; twice that would do. "
    "Only constants change downstream.",
    mentions=(beta, nu),
)  # fmt: skip

prop41_repaired = paper.claim(
    "prop41.repaired", "beta^2 and nu^2 each at most d^2, sum at most 2 d^2",
    kind="proposition", where="ours, in place of Proposition 4.1", origin="ours",
    words="The smallest beta^2 and the smallest nu^2 of (5) and (6) are each at most d^2, so their sum is at most "
    "2 d^2.",
    assumes=(ass3,),
    formulas={"each": d**2},
    bound=Bound("smallest beta^2 + nu^2 that satisfy (5) and (6) for all x and t", 2 * d**2, unit=SQUARED),
    uses=("amplified.eq11",),
    mentions=(beta, nu),
)  # fmt: skip

# ---- section 4.2: the interval divergence, regularised participation -------------------------------------

eq12_13 = paper.claim(
    "eq12_13", "Subtracting a constant weight leaves the interval divergence unchanged",
    kind="equation", where="(12), (13)",
    words="The divergences grad F_n - grad f sum to zero, so any constant may be subtracted from the averaged "
    "weights in (7). If all averaged weights equal one constant, it is 1/N.",
    formulas={"coefficient in f": 1 / N, "forced constant": 1 / N},
    uses=("amplified.ass3p",),
    gap="(12) is printed for the objectives and used for their gradients.",
)  # fmt: skip

prop42 = paper.claim(
    "prop42", "Regularized participation gives zero interval divergence",
    kind="proposition", where="Proposition 4.2",
    words="If in every interval that starts at a multiple of P all clients have the same averaged weight, (7) holds "
    "with delta^2(P) = 0.",
    formulas={"interval divergence": Integer(0)},
    uses=("amplified.eq12_13",),
)  # fmt: skip

cor43 = paper.claim(
    "cor43", "Rate under regularized participation",
    kind="corollary", where="Corollary 4.3, (14)",
    words="With regularised participation and the step sizes of Corollary 3.2 the error is of order "
    "sigma rho/sqrt(I T) plus terms of order 1/T; without noise it is O(1/T).",
    assumes=(ass1, ass2, ass3),
    conditions=TWO_INTERVALS,
    formulas=cor32.formulas,
    bound=Bound(
        SMALLEST,
        Rational(13, 2) * sigma * LEADING + (4 * L * P * gap + Rational(13, 48) * d**2 + sigma**2 / 18) / T,
        order="O(sigma rho sqrt(L calF)/sqrt(I T) + (L P calF + d^2 + sigma^2)/T)",
        unit=SQUARED,
    ),
    uses=("amplified.cor32", "amplified.ass2.independent", "amplified.prop42", "amplified.prop41.repaired"),
)  # fmt: skip

decay = (1 - gamma * L) ** I
turn = Symbol("turn", integer=True, nonnegative=True)
law_cyclic = paper.claim(
    "law.cyclic", "Cycle-start limit under cyclic participation with equal curvature",
    kind="law", where="ours", origin="ours",
    words="On quadratics of one curvature with a fixed schedule of period P the model at the start of a cycle tends "
    "to the average of the rounds' minimisers with weights proportional to D^(P-1-t), D = (1 - gamma L)^I, whatever "
    "eta (if it converges). That is off their plain average, which under regularised participation is the global "
    "minimiser, by at most (1 - D^(P-1)) times their largest distance from it, although the interval divergence is "
    "zero then.",
    conditions={"local step": gamma <= 1 / L},
    formulas={"weight of round t": decay ** (P - 1 - turn) * (1 - decay) / (1 - decay**P)},
    bound=Bound(
        "|limit at a cycle's start - average of the rounds' minimisers|", (1 - decay ** (P - 1)) * centre_spread,
        order="O(gamma L I P)", unit=PARAM,
    ),
    uses=("amplified.alg1.repaired",),
)  # fmt: skip

eq15 = paper.claim(
    "eq15", "Interval divergence bounded by variances of averaged weights",
    kind="equation", where="(15)",
    words="The left side of (7) is at most N d^2 times the sum over clients of (averaged weight - mu)^2, for any mu.",
    assumes=(ass3,),
    bound=Bound("left side of (7)", N * weight_deviation * d**2, unit=SQUARED),
    uses=("amplified.eq12_13",),
)  # fmt: skip

eq15_improved = paper.claim(
    "eq15.improved", "Expected interval divergence for exchangeable sampling, without factor N - 1",
    kind="equation", where="ours, in place of the expectation of (15)", origin="ours",
    words="If clients are exchangeable in a round and rounds are independent, the expectation of the left side of "
    "(7) is v^2 N/((N-1) P) times the sum of ||grad F_n - grad f||^2: N - 1 times less than (15) gives.",
    assumes=(ass3,),
    conditions={"clients": N >= 2},
    formulas={"expectation": v2 * N / ((N - 1) * P) * divergence_square_sum},
    bound=Bound("expectation of the left side of (7)", N**2 * d**2 * v2 / ((N - 1) * P), unit=SQUARED),
    uses=("amplified.eq15", "amplified.weights"),
)  # fmt: skip
