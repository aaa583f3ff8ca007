"""FedAMD with a constant anchor probability: Lemmas E.1 to E.3, Theorem 4.8 and Corollary 4.9."""

from __future__ import annotations

from sympy import Integer, Rational, Symbol, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedamd.setting import (
    A41,
    A42,
    A43,
    AVERAGE,
    A,
    K,
    L,
    L_sigma,
    M,
    T,
    anchor_noise,
    b,
    b_small,
    c,
    eta,
    eta_l,
    gap,
    gradient_square,
    local_step,
    mean_cache_error,
    move_square,
    moving,
    p,
    paper,
    refresh,
    spread,
)
from fltheory.units import GRADIENT, LOSS, PARAM

# ---- Appendix E.1 and E.2: lemmas ------------------------------------------------------------------------

lemE1a = paper.claim(
    "lemE1a", "(112): recursion of the mean cached gradient",
    kind="lemma", where="Lemma E.1; (112)",
    words="E g_t = (1 - q) E g_{t-1} + q E grad F(x_{t-1}), q = A p/M, and E g_0 = grad F(x_0); g_t is the mean cached "
    "gradient. (The expectation of grad F is left out in print.)",
    assumes=(A41,),
    formulas={"weight of the new gradient": refresh},
    uses=("fedamd.A41", "fedamd.alg1.init"),
)  # fmt: skip

q = Symbol("q", positive=True)
eq119 = paper.claim(
    "eq119", "(119): Young steps give 1 - q and 1/q",
    kind="equation", where="(119)",
    words="(1 + q/(1-q)) (1-q)^2 = 1 - q and 1 + (1-q)/q = 1/q, for q = A p/M.",
    formulas={
        "first factor": (1 + q / (1 - q)) * (1 - q) ** 2, "first": 1 - q,
        "second factor": 1 + (1 - q) / q, "second": 1 / q,
    },
)  # fmt: skip


_eq113 = (1 - refresh) * mean_cache_error + L**2 / refresh * move_square
lemE1b = paper.claim(
    "lemE1b", "(113): recursion of the mean gradient error",
    kind="lemma", where="Lemma E.1; (113)",
    words="E|E g_t - grad F(x_t)|^2 <= (1 - q) E|E g_{t-1} - grad F(x_{t-1})|^2 + (1/q) L^2 E|x_t - x_{t-1}|^2, with "
    "E g_t the mean or the conditional mean of the mean cached gradient.",
    assumes=(A41,),
    bound=Bound("E|E g_t - grad F(x_t)|^2", _eq113, unit=GRADIENT**2),
    uses=("fedamd.A41", "fedamd.eq119"),
    repaired_by="fedamd.lemE1b.repaired",
    gap="E g_t is not defined in print. The proof is right for the average h_{t+1} = (1-q) h_t + q grad F(x_t) along "
    "the path, not for the mean or the conditional mean of g_t.",
)  # fmt: skip

lemE1b_repaired = paper.claim(
    "lemE1b.repaired", "(113) for the virtual average h_t",
    kind="lemma", where="ours; the proof of (113) as it stands", origin="ours",
    words="(113) with h_t in place of E g_t: h_{t+1} = (1-q) h_t + q grad F(x_t), h_0 = grad F(x_0). It holds on every "
    "path, so also in expectation.",
    assumes=(A41,),
    bound=Bound("E|h_t - grad F(x_t)|^2", _eq113, unit=GRADIENT**2),
    uses=("fedamd.A41", "fedamd.eq119"),
)  # fmt: skip

lemE2 = paper.claim(
    "lemE2", "(121): sum of squared local steps, constant probability",
    kind="lemma", where="Lemma E.2; (121)",
    words="A miner's sum over k < K of E|x_k - x_{k-1}|^2 is at most 2 eta_l^2 (K+1) 1{b<n} sigma^2/(Mb) + "
    "6 eta_l^2 (K+1) (E|E g_t - grad F(x_t)|^2 + E|grad F(x_t)|^2), with E g_t as in (113).",
    assumes=(A41, A42, A43),
    conditions={
        "local step": eta_l <= 1 / (2 * sqrt(3) * K * L),
        "local step and noise": 2 * sqrt(3) * L_sigma**2 * eta_l <= sqrt(b_small / K),
    },
    bound=Bound(
        "sum over k < K of E|x_k - x_{k-1}|^2",
        2 * eta_l**2 * (K + 1) * anchor_noise + 6 * eta_l**2 * (K + 1) * (mean_cache_error + gradient_square),
        unit=PARAM**2,
    ),
    uses=("fedamd.A41", "fedamd.A42", "fedamd.A43", "fedamd.eq42", "fedamd.eq96"),
    repaired_by="fedamd.lemE3.repaired",
    gap="The proof leaves out the variance due to which clients refreshed their caches, which grows with the global "
    "step; at Theorem 4.8's step no violation is known. What E g_t is given is not said: read as in (113), and tried "
    "as the mean over all runs and as the virtual average h_t. (121) prints |grad F(x_t)|^2 without E; if that gives "
    "the rounds before, E g_t is g_t itself, and no violation is known at any step, but (113) then fails. (L_sigma^2 "
    "in the second condition stands for L_sigma. (121) prints the noise without the indicator 1{b<n} that its proof, "
    "(131), has: read with it.)",
)  # fmt: skip

lemE3 = paper.claim(
    "lemE3", "(132): one-step descent",
    kind="lemma", where="Lemma E.3; (132)",
    words="E F(x_{t+1}) - E F(x_t) is at most -(eta/4)(1 - p^A) E|grad F|^2 - (1/(2 eta) - L/2) E|x_{t+1} - x_t|^2 + "
    "4 eta (1 - p^A) E|E g_t - grad F|^2 + 3 eta (1 - p^A) 1{b<n} sigma^2/(Mb), eta = eta_s eta_l K and E g_t as in "
    "(113).",
    assumes=(A41, A42, A43),
    conditions={
        "probability": p < 1,
        "local step": eta_l <= 1 / (2 * sqrt(6) * K * L),
        "local step and noise": 12 * K * L_sigma**2 * eta_l**2 <= b_small,
    },
    bound=Bound(
        "E F(x_{t+1}) - E F(x_t)",
        -eta / 4 * moving * gradient_square
        - (1 / (2 * eta) - L / 2) * move_square
        + 4 * eta * moving * mean_cache_error
        + 3 * eta * moving * anchor_noise,
        unit=LOSS,
    ),
    uses=("fedamd.lemB1", "fedamd.lemB3", "fedamd.lemE2", "fedamd.eq139", "fedamd.eq154"),
    repaired_by="fedamd.lemE3.repaired",
    gap="As for Lemma E.2: no condition on the global step is stated, and the variance due to who refreshed its cache "
    "is left out. No violation is known with E g_t as g_t itself, which the E printed at F(x_{t+1}) alone suggests, or "
    "at Theorem 4.8's step as the mean over all runs; with the virtual average, for which (113) holds, there is one "
    "late in a run even at that step. From (154) to (132) K >= 4 is needed at the largest local step. (Printed for "
    "probabilities p_t that may change: p is that of round t.)",
)  # fmt: skip

# ---- Theorem 4.8 -----------------------------------------------------------------------------------------


def step_within(factor):
    return {"probability": p < 1, "product of steps": eta * L * (1 + factor * spread) <= 1}


def _stationarity(gap_factor, noise_factor):
    return gap_factor * gap / (eta * T * moving) + noise_factor * anchor_noise


eq158 = paper.claim(
    "eq158", "(158): coefficient of the squared step is nonnegative",
    kind="equation", where="(158) to (159)",
    words="At eta = eta_s eta_l K = 1/(L (1 + 2a)), a = (M/(Ap)) sqrt(1 - p^A), the terms L/2 + 4 eta (1 - p^A) "
    "(M/(Ap))^2 L^2 stay below 1/(2 eta), so that the squared moves may be dropped.",
    conditions={"probability": p < 1},
    bound=Bound("L/2 + 4 eta_s eta_l K (1 - p^A) (M/(Ap))^2 L^2", 1 / (2 * eta), unit=LOSS / PARAM**2),
    formulas={"step": 1 / (L * (1 + 2 * spread))},
    repaired_by="fedamd.thm48.repaired",
    gap="At the printed step the coefficient is negative for a > 1/2; with 2 sqrt(2) in place of 2 this line holds.",
)  # fmt: skip

eq162 = paper.claim(
    "eq162", "(161) to (162): noise constant 3",
    kind="equation", where="(161) to (162)",
    words="Dividing (161) by (eta/4)(1 - p^A) T leaves 3 times 1{b<n} sigma^2/(Mb).",
    formulas={"printed": Integer(3), "from (161)": 3 * eta * moving * T / (eta / 4 * moving * T)},
    repaired_by="fedamd.thm48.repaired",
    gap="The division gives 12; the printed 3 was not violated in any run.",
)  # fmt: skip

_STEPS48 = ("fedamd.lemE1a", "fedamd.lemE1b", "fedamd.lemE3", "fedamd.eq158", "fedamd.eq162")
thm48 = paper.claim(
    "thm48", "Constant probability, nonconvex",
    kind="theorem", where="Theorem 4.8; Theorem E.4, (162)",
    words="With b' < b and eta_s eta_l = 1/(KL (1 + 2a)) (or less), a = (M/(Ap)) sqrt(1 - p^A), the average of "
    "E|grad F(x_t)|^2 over t < T is at most 4 (F(x_0) - F_*)/(eta_s eta_l K T (1 - p^A)) + 3 1{b<n} sigma^2/(Mb).",
    assumes=(A41, A42, A43),
    conditions={**step_within(2), **local_step},
    bound=Bound(
        AVERAGE, _stationarity(4, 3),
        order="T = O((1/(1 - p^A) + M/(A p sqrt(1 - p^A)))/eps) with b = min(sigma^2/(M eps), n)", unit=GRADIENT**2,
    ),
    uses=("fedamd.A41", "fedamd.A42", "fedamd.A43", *_STEPS48),
    repaired_by="fedamd.thm48.repaired",
    gap="The printed proof needs more in (113), (126), (158) and (162). No violation of the statement is known, and "
    "for K = 1, b = n it is proved (thm48.improved).",
)  # fmt: skip

thm48_proof = paper.claim(
    "thm48.proof", "Theorem 4.8 with the constants of its printed steps",
    kind="theorem", where="(157) to (161), with (158) and the last division carried out",
    words="Given (113) and (132) the proof yields the bound with 12 in place of 3, for the step with 2 sqrt(2) "
    "in place of 2.",
    assumes=(A41, A42, A43),
    conditions={**step_within(2 * sqrt(2)), **local_step},
    bound=Bound(AVERAGE, _stationarity(4, 12), unit=GRADIENT**2),
    uses=("fedamd.lemE1b", "fedamd.lemE3"),
    repaired_by="fedamd.thm48.repaired",
    gap="(113) and (132) do not hold with one meaning of E g_t at every step.",
)  # fmt: skip

thm48_repaired = paper.claim(
    "thm48.repaired", "Constant probability with proved constants",
    kind="theorem", where="ours, in place of Theorem 4.8", origin="ours",
    words="With eta_s eta_l <= 1/(KL (1 + sqrt(10) a)) and caches started by all clients the average of "
    "E|grad F(x_t)|^2 is at most 4 (F(x_0) - F_*)/(eta_s eta_l K T (1 - p^A)) + 10.5 1{b<n} sigma^2/(Mb). For b = n a "
    "factor 2.61 in place of sqrt(10) is enough.",
    assumes=(A41, A42, A43),
    conditions={**step_within(sqrt(10)), **local_step},
    bound=Bound(AVERAGE, _stationarity(4, Rational(21, 2)), unit=GRADIENT**2),
    formulas={"factor for b = n": Rational(261, 100)},
    uses=("fedamd.lemE3.repaired", "fedamd.law.noise", "fedamd.law.staleness"),
)  # fmt: skip

thm48_improved = paper.claim(
    "thm48.improved", "Theorem 4.8 for one local step and full anchor batches, with half the gap term",
    kind="theorem", where="ours", origin="ours",
    words="For K = 1 and b = n the printed step gives 2 (F(x_0) - F_*)/(eta_s eta_l T (1 - p^A)).",
    assumes=(A41,),
    conditions={**step_within(2), "one local step": K <= 1},
    bound=Bound(AVERAGE + " for b = n", _stationarity(2, 0), unit=GRADIENT**2),
    uses=("fedamd.lemB1.repaired", "fedamd.lemB3", "fedamd.law.noise", "fedamd.law.staleness"),
    mentions=(b,),
)  # fmt: skip

# ---- Corollary 4.9 ---------------------------------------------------------------------------------------

best_probability = (2 / (A + 2)) ** (1 / A) / c
_power49 = 2 / (A + 2) / c**A  # p^A
probability = Symbol("probability", positive=True)  # an anchor probability as a free variable
cor49 = paper.claim(
    "cor49", "Optimal constant probability and rounds M/(A eps)",
    kind="corollary", where="Corollary 4.9",
    words="p = (1/c)(2/(A+2))^(1/A), c >= 1, is at c = 1 where 1/(p sqrt(1 - p^A)) is least; with "
    "eta_s = 2 sqrt(6) A/(A + 3Mc), eta_l = 1/(2 sqrt(6) KL) the average of E|grad F(x_t)|^2 is at most "
    "4 (F(x_0) - F_*) L (1 + 3Mc/A)/(T (1 - p^A)) + 3 1{b<n} sigma^2/(Mb): T = O(M/(A eps)).",
    assumes=(A41, A42, A43),
    conditions={
        "thinning": c >= 1,
        "product of steps": eta * L * (1 + 3 * M * c / A) <= 1,
        **local_step,
    },
    bound=Bound(
        AVERAGE + " at that p", 4 * gap / (eta * T * (1 - _power49)) + 3 * anchor_noise,
        order="T = O(M/(A eps))", unit=GRADIENT**2,
    ),
    formulas={
        "probability": best_probability, "to maximise": probability**2 * (1 - probability**A),
        "maximiser to the power A": 2 / (A + 2),
    },
    uses=("fedamd.thm48",),
    repaired_by="fedamd.cor49.repaired",
    gap="Rests on Theorem 4.8, whose step its own allows; 3Mc/A bounds 2 (M/(Ap)) sqrt(1 - p^A) from above.",
    mentions=(p,),
)  # fmt: skip

cor49_repaired = paper.claim(
    "cor49.repaired", "Corollary 4.9 with 4.75 Mc in place of 3 Mc",
    kind="corollary", where="ours", origin="ours",
    words="At Corollary 4.9's p, 1 + sqrt(10) a <= 1 + 4.75 Mc/A, so Theorem 4.8 as repaired applies with "
    "eta_s = 2 sqrt(6) A/(A + 4.75 Mc); the printed 3Mc is enough for c = 1 and b = n.",
    assumes=(A41, A42, A43),
    conditions={
        "thinning": c >= 1,
        "product of steps": eta * L * (1 + Rational(475, 100) * M * c / A) <= 1,
        **local_step,
    },
    bound=Bound(
        AVERAGE + " at p = (1/c)(2/(A+2))^(1/A)",
        4 * gap / (eta * T * (1 - _power49)) + Rational(21, 2) * anchor_noise,
        order="T = O(M/(A eps))", unit=GRADIENT**2,
    ),
    formulas={"probability": best_probability, "printed factor": Integer(3)},
    uses=("fedamd.thm48.repaired",),
    mentions=(p,),
)  # fmt: skip
