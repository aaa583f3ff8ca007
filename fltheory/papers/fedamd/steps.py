"""FedAMD's lemmas on one round: averages over random participants, descent, local steps (Appendices B, D.1)."""

from __future__ import annotations

from sympy import Integer, Rational, Symbol, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedamd.setting import (
    A41,
    A42,
    A43,
    A,
    K,
    L,
    L_sigma,
    M,
    b_small,
    cache_error,
    eta_l,
    gradient_norm,
    paper,
    quantity,
)
from fltheory.units import LOSS, ONE, PARAM

# ---- Appendix B: lemmas in general -----------------------------------------------------------------------

choice_probability = quantity("choice_probability", ONE, "probability in (0, 1]", "that a given vector is chosen")
vectors = quantity("vectors", ONE, "whole number >= 1", "number of vectors")
vector_square = quantity("vector_square", PARAM**2, ">= 0", "mean of the squared norms of the vectors")
mean_square = quantity("mean_square", PARAM**2, ">= 0", "squared norm of the mean of the vectors")
inverse_count = quantity("inverse_count", ONE, ">= 0", "E[1/count; count > 0] of the chosen vectors")
sum_square = quantity("sum_square", PARAM**2, ">= 0", "E|sum of the (conditional) means|^2")
deviation = quantity("deviation", PARAM, ">= 0", "largest root mean square deviation of a vector from its mean")
step = quantity("step", ONE, "> 0", "global step size of the descent lemma")
other_step = quantity("other_step", PARAM**2 / LOSS, "> 0", "free step size of the descent lemma")
step_length = quantity("step_length", PARAM, ">= 0", "length of the step of the descent lemma")
direction_error = quantity("direction_error", PARAM, ">= 0", "|direction - other_step * gradient|")

some = 1 - (1 - choice_probability) ** vectors  # the chance that any vector is chosen

lemB1 = paper.claim(
    "lemB1", "Mean and second moment of the average over random participants",
    kind="lemma", where="Lemma B.1; (8)",
    words="Each of a vectors e_i is chosen with probability q, independently; averaging over the non-zero ones of the "
    "chosen has mean w times the mean of the e_i and second moment at most w times the mean of |e_i|^2, "
    "w = 1 - (1-q)^a.",
    bound=Bound("E|average|^2", some * vector_square, unit=PARAM**2),
    formulas={"share of the mean": some},
    repaired_by="fedamd.lemB1.repaired",
    gap="Printed as a count of non-zero vectors; where some e_i is 0 the count must be of chosen indices, which is "
    "what the proof counts.",
)  # fmt: skip

lemB1_repaired = paper.claim(
    "lemB1.repaired", "Lemma B.1 with participants counted",
    kind="lemma", where="ours; the proof of Lemma B.1 as it stands", origin="ours",
    words="The same where the average is over the chosen indices, whether or not their vectors are 0.",
    bound=Bound("E|average over chosen indices|^2", some * vector_square, unit=PARAM**2),
    formulas={"share of the mean": some},
)  # fmt: skip

lemB1_improved = paper.claim(
    "lemB1.improved", "Exact second moment of the average over participants",
    kind="lemma", where="ours", origin="ours",
    words="For a >= 2 the second moment is w m + (s - m) (a h - w)/(a - 1), with m = |mean of e_i|^2, s the mean of "
    "|e_i|^2 and h = E[1/count; count > 0].",
    conditions={"two vectors": vectors >= 2},
    bound=Bound(
        "E|average over chosen indices|^2",
        some * mean_square + (vector_square - mean_square) * (vectors * inverse_count - some) / (vectors - 1),
        unit=PARAM**2,
    ),
    uses=("fedamd.lemB1.repaired",),
)  # fmt: skip

lemB2a = paper.claim(
    "lemB2a", "(15): squared sum, general case",
    kind="lemma", where="Lemma B.2; (15)",
    words="E|sum of a vectors|^2 is at most |sum of their means|^2 + a^2 s^2, s^2 the largest mean squared deviation.",
    bound=Bound("E|sum|^2", sum_square + vectors**2 * deviation**2, unit=PARAM**2),
)  # fmt: skip

lemB2b = paper.claim(
    "lemB2b", "(16): squared sum, martingale differences",
    kind="lemma", where="Lemma B.2; (16)",
    words="Where each vector deviates from its conditional mean given the earlier ones by at most s^2 in mean square, "
    "E|sum|^2 is at most 2 E|sum of conditional means|^2 + 2 a s^2.",
    bound=Bound("E|sum|^2", 2 * sum_square + 2 * vectors * deviation**2, unit=PARAM**2),
    gap="The conditional means are random, so |sum of e_i|^2 stands for its expectation; the equality (17) is not "
    "available for them, and (20) prints the squared sum in place of the sum of squares.",
)  # fmt: skip

lemB2b_tighter = paper.claim(
    "lemB2b.tighter", "(16) is much tighter than (15)",
    kind="remark", where="Lemma B.2, before (16)",
    words="(16) is tighter than (15) where the squared sum is below (a^2 - 2a) s^2.",
    latex=r"\Big\|\sum_i e_i\Big\|^2 < (a^2 - 2 a) s^2",
    mentions=(vectors, deviation),
    uses=("fedamd.lemB2a", "fedamd.lemB2b"),
    unchecked="Informal",
)  # fmt: skip

lemB3 = paper.claim(
    "lemB3", "Descent lemma with two step sizes",
    kind="lemma", where="Lemma B.3; (21)",
    words="For an L-smooth G, y' = y - eta d and any eta, eta' > 0, G(y') - G(y) is at most "
    "-(eta eta'/2)|grad G(y)|^2 - (1/(2 eta eta') - L/2)|y' - y|^2 + (eta/(2 eta'))|d - eta' grad G(y)|^2.",
    assumes=(A41,),
    bound=Bound(
        "G(y') - G(y)",
        -step * other_step * gradient_norm**2 / 2
        - (1 / (2 * step * other_step) - L / 2) * step_length**2
        + step / (2 * other_step) * direction_error**2,
        unit=LOSS,
    ),
    uses=("fedamd.A41",),
    gap="(24) prints -G(v) where -grad G(v) is meant.",
)  # fmt: skip

# ---- Appendix D.1: the local steps of a miner ------------------------------------------------------------

both_errors = cache_error**2 + gradient_norm**2

lemD1 = paper.claim(
    "lemD1", "(37): sum of squared local steps",
    kind="lemma", where="Lemma D.1; (37)",
    words="Given x_t and the mean cached gradient g, the sum over k < K of E|x_k - x_{k-1}|^2 of a miner is at most "
    "6 eta_l^2 K (|g - grad F|^2 + |grad F|^2).",
    assumes=(A41, A42, A43),
    conditions={
        "local step": 2 * sqrt(3) * K * L * eta_l <= 1,
        "local step and noise": 12 * K * L_sigma**2 * eta_l**2 <= b_small,
    },
    bound=Bound("sum over k < K of E|x_k - x_{k-1}|^2", 6 * eta_l**2 * K * both_errors, unit=PARAM**2),
    uses=("fedamd.A41", "fedamd.A42", "fedamd.A43"),
    gap="(42) splits a square without its cross term; the growth E|g_{k+1}|^2 <= ((1 + eta_l L)^2 + "
    "eta_l^2 L_sigma^2/b') E|g_k|^2 of a miner's direction gives the lemma without it.",
)  # fmt: skip

curvature, sample_curvature, lr = Symbol("h", real=True), Symbol("z", real=True), Symbol("lr", positive=True)
position, steps_done = Symbol("k", integer=True, positive=True), Symbol("K", integer=True, positive=True)

eq42 = paper.claim(
    "eq42", "(42), (63), (87), (125): variance expansion without cross term",
    kind="equation", where="(42); likewise (63), (87), (125)",
    words="E|sum of local gradient changes|^2 is E|sum of their means|^2 + E|sum of their noises|^2. On "
    "F = h x^2/2 with sample curvatures h +- z, after 3 steps and per |g|^2, what is left over is said to be 0.",
    formulas={"left over": Integer(0)},
    gap="The means depend on the path, that is on earlier noise, so the cross term is -2 lr^3 h z^2 here. Lemma D.1 "
    "is true all the same.",
)  # fmt: skip

_small_steps = {  # of Theorem 4.4
    "local step": eta_l <= 1 / (6 * sqrt(2) * K * L),
    "local step and noise": 12 * K * L_sigma**2 * eta_l**2 <= b_small,
}
eq65 = paper.claim(
    "eq65", "(65), (89): noise of local step counted linearly",
    kind="equation", where="(65); likewise (89)",
    words="In E|sum over k < K of the noises of steps up to k|^2 the noise of step k counts K - k times.",
    assumes=(A41, A42, A43),
    conditions=_small_steps,
    formulas={"times of step k": steps_done - position},
    gap="The noise of step k enters all K - k later sums, so its square counts (K - k)^2 times.",
)  # fmt: skip

eq139 = paper.claim(
    "eq139", "(139): noise of local step counted linearly",
    kind="equation", where="(139)",
    words="In the variance of a miner's change, given the mean cached gradient, the noise of a step counts at most "
    "2 (K - 1) times.",
    assumes=(A41, A42, A43),
    conditions={  # of Lemma E.3
        "local step": eta_l <= 1 / (2 * sqrt(6) * K * L),
        "local step and noise": 12 * K * L_sigma**2 * eta_l**2 <= b_small,
    },
    formulas={"times of step k": 2 * (steps_done - 1)},
    gap="The noise of step k counts (K - k)^2 times; their sum exceeds that from K = 6 on.",
)  # fmt: skip

eq55 = paper.claim(
    "eq55", "(55): distance after k local steps",
    kind="equation", where="(55)",
    words="The sum over k < K of |x_k - x_0|^2 is at most the sum over k < K and j < K of |x_{j+1} - x_j|^2, for a "
    "miner within the local step of Theorem 4.4.",
    assumes=(A41,),
    conditions={"local step": eta_l <= 1 / (6 * sqrt(2) * K * L)},
    formulas={"times the squared steps": K},
    gap="|x_k - x_0|^2 is at most k times the sum of squared steps; the factor k is missing.",
)  # fmt: skip


def _simplified(name, title, where, coefficient, share, gap):
    return paper.claim(
        name, title, kind="equation", where=where,
        words=f"The coefficient of |grad F|^2 {coefficient}. It grows with eta_l and L_sigma; at the largest local "
        "step, where both limits on it coincide (which gives L_sigma), it is `largest`, and at most 1/2.",
        formulas={"largest": share, "allowed": Rational(1, 2)}, gap=gap,
    )  # fmt: skip


eq68 = _simplified(
    "eq68", "(67) to (68)", "(67), (68), with the local step of Theorem 4.4",
    "in (67), over (eta_l K)^2, is 12 eta_l^2 (L_sigma^2/(M b') + K^2 L^2)", 12 / (12 * K * M) + Rational(12, 72),
    "Right for KM >= 3. With eta_l <= sqrt(b'/K)/(4 sqrt(3) L_sigma) in the second condition the coefficient is "
    "1/6 + 1/(4KM).",
)  # fmt: skip
eq93 = _simplified(
    "eq93", "(92) to (93)", "(92), (93), with the local step of Theorem 4.6",
    "in (92), over (eta_l K)^2, is 12 eta_l^2 (L_sigma^2/(A b') + K^2 L^2)", 12 / (48 * K * A) + Rational(12, 24),
    "Theorem 4.8 has the same local step, so it does not help; with eta_l <= 1/(4 sqrt(3) KL) in the first condition "
    "the coefficient is 1/4 + 1/(4AK).",
)  # fmt: skip
eq154 = _simplified(
    "eq154", "(154) to (132)", "(154), (132), with the local step of Lemma E.3",
    "that (154) takes from 1 is 6 eta_l^2 (2 L_sigma^2/b' + K^2 L^2)", 12 / (12 * K) + Rational(6, 24),
    "Theorem 4.8, which rests on Lemma E.3, is not touched: at its local step the coefficient is 1/4 + 1/(4K), at most "
    "1/2 for every K.",
)  # fmt: skip
