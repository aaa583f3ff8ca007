"""FedAU's convergence: what constant weights minimise, the descent lemmas, Theorem 2 and Corollary 4 (B.3 to B.5)."""

from __future__ import annotations

from sympy import E, Rational, Symbol, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedau.setting import (
    I,
    L,
    N,
    T,
    ass1,
    ass2,
    ass3,
    ass4,
    ass5,
    delta,
    divergence_at_iterate,
    largest_weight_error,
    mean_weight_error,
    objective_gradient_bound,
    p,
    paper,
    reweighted_gradient,
    reweighted_heterogeneity,
    sigma,
    total_weight,
    weight,
    weight_mismatch,
)
from fltheory.papers.fedau.weights import corollary4_cutoff, lemB71
from fltheory.symbols import Min, cohort_size, global_lr, heterogeneity, initial_gap, local_lr, weight_square
from fltheory.units import GRADIENT, LOSS, PARAM

# gamma eta, and the conditions that several statements share.
both = local_lr * global_lr
local_step = local_lr <= 1 / (4 * sqrt(15) * L * I)
product_of_steps = both <= 1 / (4 * L * I)

# ---- section 2: objective inconsistency ------------------------------------------------------------------

thm1 = paper.claim(
    "thm1", "Constant weights minimise the p-weighted objective h (informal)",
    kind="theorem", where="Theorem 1",
    words="With Bernoulli participation and constant weights w_n, Algorithm 1 minimises "
    "h(x) = (1/P) sum_n w_n p_n F_n(x), P = sum_n w_n p_n.",
    latex=r"h(\mathbf{x}) := \frac1P \sum_{n=1}^N \omega_n p_n F_n(\mathbf{x})",
    assumes=(ass1, ass2, ass3, ass4),
    formulas={"coefficient": weight * p / total_weight},
    uses=("fedau.thmB41",),
    gap="h* stands for the minimum of h, as usual for losses; boundedness of f alone does not give it.",
    mentions=(N,),
)  # fmt: skip

thmB41 = paper.claim(
    "thmB41", "Formal Theorem 1: average squared gradient of h vanishes",
    kind="theorem", where="Theorem B.4.1; (B.4.4)",
    words="With step sizes of order 1/sqrt(T) the average of E||grad h(x_t)||^2 falls below any epsilon^2. Here "
    "eta stands for eta P/N, Q for (1/N) sum p_n (w_n N/P)^2, and the initial gap is h(x_0) - h*.",
    assumes=(ass1, ass2, ass3, ass4),
    conditions={
        "local step": local_step,
        "product of steps": product_of_steps,
        "large T": 15 * L**2 * I**2 * local_lr**2 + 27 * local_lr * global_lr * L * I * weight_square / (8 * N)
        <= Rational(1, 8),
    },
    bound=Bound(
        "(1/T) sum over t < T of E||grad h(x_t)||^2",
        8 * initial_gap / (both * I * T)
        + 20 * local_lr**2 * L**2 * I * (sigma**2 + 24 * I * delta**2)
        + 8 * local_lr * global_lr * L / N * (17 * sigma**2 / 16 + 27 * I * delta**2 / 2) * weight_square,
        order="eventually at most epsilon^2",
        unit=GRADIENT**2,
    ),
    uses=(
        "fedau.ass1", "fedau.ass2", "fedau.ass3", "fedau.ass4", "fedau.algB21", "fedau.lemB31", "fedau.lemB33",
    ),
    gap="The sum over rounds telescopes to h(x_0) - h*, which is finite where h is bounded below; nonnegative losses "
    "give that, boundedness of f alone does not.",
)  # fmt: skip

# ---- Appendix B.1: inequalities used throughout ----------------------------------------------------------

first, second, split = Symbol("first", real=True), Symbol("second", real=True), Symbol("split", positive=True)

eqB11 = paper.claim(
    "eqB11", "The square of a mean is at most the mean of the squares",
    kind="equation", where="(B.1.1)",
    words="|mean of M vectors|^2 is at most the mean of their squared norms, so |sum|^2 <= M sum |z_m|^2. With the "
    "mean m and the mean square s of the norms the difference is the mean of |z - m|^2 = s - |m|^2.",
    formulas={"room": second - first**2, "spread": second - 2 * first * first + first**2},
)  # fmt: skip

eqB12 = paper.claim(
    "eqB12", "Young's (Peter-Paul) inequality for an inner product",
    kind="equation", where="(B.1.2)",
    words="<z1, z2> <= rho |z1|^2 / 2 + |z2|^2 / (2 rho) for every rho > 0.",
    formulas={"left": first * second, "right": split * first**2 / 2 + second**2 / (2 * split)},
)  # fmt: skip

eqB13 = paper.claim(
    "eqB13", "Young's inequality for the square of a sum",
    kind="equation", where="(B.1.3)",
    words="|z1 + z2|^2 <= (1 + b) |z1|^2 + (1 + 1/b) |z2|^2 for every b > 0.",
    formulas={"left": (first + second) ** 2, "right": (1 + split) * first**2 + (1 + 1 / split) * second**2},
    uses=("fedau.eqB12",),
)  # fmt: skip

# ---- Appendix B.3: one round -----------------------------------------------------------------------------

lemB31 = paper.claim(
    "lemB31", "Divergence from a reweighted objective is at most 2 delta",
    kind="lemma", where="Lemma B.3.1; (B.3.2)",
    words="For f~ = sum phi_n F_n with phi in the simplex, ||grad F_n(x) - grad f~(x)||^2 <= (2 delta)^2 for all x, n.",
    assumes=(ass3,),
    bound=Bound("||grad F_n(x) - grad f~(x)||^2", 4 * delta**2, order="(2 delta)^2", unit=GRADIENT**2),
    uses=("fedau.ass3", "fedau.eqB11"),
)  # fmt: skip


def _drift(constant):
    return (
        constant * I * local_lr**2 * (sigma**2 + 6 * I * reweighted_heterogeneity**2)
        + 6 * constant * I**2 * local_lr**2 * reweighted_gradient**2
    )


_drift_conditions = {"local step": local_lr <= 1 / (sqrt(30) * L * I)}

lemB32 = paper.claim(
    "lemB32", "Local drift bound with constants 5 and 30",
    kind="lemma", where="Lemma B.3.2; (B.3.3)",
    words="After i <= I local steps from x_t, E_t ||y_i - x_t||^2 <= 5 I gamma^2 (sigma^2 + 6 I delta~^2) + "
    "30 I^2 gamma^2 ||grad f~(x_t)||^2, where delta~ bounds ||grad F_n - grad f~|| (2 delta does, by Lemma B.3.1).",
    assumes=(ass1, ass2, ass3),
    conditions=_drift_conditions,
    bound=Bound("E_t ||y_i - x_t||^2, i <= I", _drift(5), unit=PARAM**2),
    uses=("fedau.ass1", "fedau.ass2", "fedau.lemB31", "fedau.eqB13"),
    mentions=(delta,),
)  # fmt: skip

lemB32_improved = paper.claim(
    "lemB32.improved", "Local drift bound with constants e - 1 and 6(e - 1)",
    kind="lemma", where="ours", origin="ours",
    words="In Lemma B.3.2 the factor 5 may be replaced by e - 1 = 1.718..., and 30 by 6 (e - 1): "
    "[(1 + 1/(I - 1/2))^I - 1] (I - 1/2) < (e - 1) I for every I >= 1.",
    assumes=(ass1, ass2, ass3),
    conditions=_drift_conditions,
    bound=Bound("E_t ||y_i - x_t||^2, i <= I", _drift(E - 1), unit=PARAM**2),
    uses=("fedau.lemB32",),
)  # fmt: skip

eqB39 = paper.claim(
    "eqB39", "Second moment of a local gradient along the local steps",
    kind="equation", where="(B.3.9)",
    words="E_t ||grad F_n(y_i)||^2 is at most three times the smoothness, divergence and gradient terms, the drift "
    "bounded by Lemma B.3.2.",
    assumes=(ass1, ass2, ass3),
    conditions=_drift_conditions,
    bound=Bound(
        "E_t ||grad F_n(y_i)||^2, i < I",
        15 * L**2 * I * local_lr**2 * (sigma**2 + 6 * I * reweighted_heterogeneity**2)
        + 3 * reweighted_heterogeneity**2
        + (90 * L**2 * I**2 * local_lr**2 + 3) * reweighted_gradient**2,
        unit=GRADIENT**2,
    ),
    uses=("fedau.lemB32", "fedau.eqB11"),
)  # fmt: skip


def _descent(divergence):
    return (
        3 * both * I / 2 * (15 * L**2 * I * local_lr**2 * sigma**2 + 27 * divergence**2 / 8) * weight_mismatch
        + 5 * local_lr**3 * global_lr * L**2 * I**2 / 2 * (sigma**2 + 6 * I * divergence**2)
        + both**2 * L * I / N * (17 * sigma**2 / 16 + 27 * I * divergence**2 / 8) * weight_square
        + both * I * reweighted_gradient**2 * (
            Rational(81, 16) * weight_mismatch + 15 * L**2 * I**2 * local_lr**2
            + 27 * both * L * I * weight_square / (8 * N)
        )
    )  # fmt: skip


DESCENT = "E_t f~(x_{t+1}) - f~(x_t) + (gamma eta I / 4) ||grad f~(x_t)||^2"

lemB33 = paper.claim(
    "lemB33", "General descent lemma for a reweighted objective",
    kind="lemma", where="Lemma B.3.3; (B.3.5), the term -1/4 of the bracket brought to the left",
    words="One round of Algorithm 1 lowers f~ = sum phi_n F_n up to the mismatch N sum (p_n w_n/N - phi_n)^2, the "
    "local drift and the variance; Q is (1/N) sum p_n w_n^2 of the round, delta~ a bound such as 2 delta.",
    assumes=(ass1, ass2, ass3, ass4),
    conditions={"local step": local_step, "product of steps": product_of_steps},
    bound=Bound(DESCENT, _descent(reweighted_heterogeneity), unit=LOSS),
    uses=("fedau.ass1", "fedau.ass2", "fedau.ass4", "fedau.algB21", "fedau.lemB31", "fedau.lemB32", "fedau.eqB39"),
    mentions=(delta,),
)  # fmt: skip

lemB33_improved = paper.claim(
    "lemB33.improved", "Descent lemma with delta taken along the iterates only",
    kind="lemma", where="ours; the proof of Lemma B.3.3 as it stands", origin="ours",
    words="In Lemma B.3.3 the divergence is needed at x_t alone, so that the lemma covers local objectives of unequal "
    "curvature, for which no bound over all x exists.",
    assumes=(ass1, ass2, ass4),
    conditions={"local step": local_step, "product of steps": product_of_steps},
    bound=Bound(DESCENT, _descent(divergence_at_iterate), unit=LOSS),
    uses=("fedau.lemB33",),
)  # fmt: skip

# ---- Appendix B.5: Theorem 2 -----------------------------------------------------------------------------

lemB51 = paper.claim(
    "lemB51", "Descent lemma for the original objective",
    kind="lemma", where="Lemma B.5.1; (B.5.1), the term -1/4 of the bracket brought to the left",
    words="Lemma B.3.3 for f itself: phi_n = 1/N, delta~ = delta, and the mismatch is (1/N) sum (p_n w_n - 1)^2.",
    assumes=(ass1, ass2, ass3, ass4),
    conditions={"local step": local_step, "product of steps": product_of_steps},
    bound=Bound("E_t f(x_{t+1}) - f(x_t) + (gamma eta I / 4) ||grad f(x_t)||^2", _descent(delta), unit=LOSS),
    uses=("fedau.lemB33",),
)  # fmt: skip

_theorem2_conditions = {
    "local step": local_step,
    "product of steps": product_of_steps,
    "product of steps and Q": both <= N / (54 * L * I * weight_square),
}


def _theorem2(factor, gradient_bound):
    return factor * (
        8 * initial_gap / (both * I * T)
        + 12 * (15 * L**2 * I * local_lr**2 * sigma**2 + 27 * (delta**2 + gradient_bound**2) / 8) * mean_weight_error
        + 20 * local_lr**2 * L**2 * I * (sigma**2 + 6 * I * delta**2)
        + both * L * weight_square / N * (17 * sigma**2 / 2 + 27 * I * delta**2)
    )


STATIONARITY = "(1/T) sum over t < T of E||grad f(x_t)||^2"
_THEOREM2_ORDER = (
    "O(F/(gamma eta I T) + (Psi_G + delta^2 + gamma^2 L^2 I sigma^2) W + gamma eta L Q (I delta^2 + sigma^2)/N "
    "+ gamma^2 L^2 I (I delta^2 + sigma^2))"
)

thm2 = paper.claim(
    "thm2", "Convergence bound of weighted FedAvg with weight-error term",
    kind="theorem", where="Theorem 2; (B.5.3)",
    words="For given weights and Option 2 of Assumption 5 the average squared gradient of f is bounded by the initial "
    "gap, the weight error W = (1/(NT)) sum E[(p_n w_t^n - 1)^2] and the step sizes; Q is the largest "
    "(1/N) sum p_n (w_t^n)^2 of all rounds. Option 1 is fedau.thm2.option1.",
    assumes=(ass1, ass2, ass3, ass4, ass5),
    conditions=_theorem2_conditions,
    bound=Bound(STATIONARITY, _theorem2(1, objective_gradient_bound), order=_THEOREM2_ORDER, unit=GRADIENT**2),
    uses=("fedau.ass1", "fedau.ass2", "fedau.ass3", "fedau.ass4", "fedau.ass5", "fedau.alg1", "fedau.lemB51"),
)  # fmt: skip

thm2_option1 = paper.claim(
    "thm2.option1", "Theorem 2 for nearly optimal weights",
    kind="theorem", where="Theorem 2; (B.5.5)",
    words="With weights that satisfy (1/N) sum (p_n w_t^n - 1)^2 <= 1/81 in every round no bound on the global "
    "gradient is needed, and all other terms double.",
    assumes=(ass1, ass2, ass3, ass4, ass5),
    conditions={**_theorem2_conditions, "nearly optimal weights": largest_weight_error <= Rational(1, 81)},
    bound=Bound(STATIONARITY, _theorem2(2, 0), order=_THEOREM2_ORDER, unit=GRADIENT**2),
    uses=("fedau.ass1", "fedau.ass2", "fedau.ass3", "fedau.ass4", "fedau.ass5", "fedau.alg1", "fedau.lemB51"),
)  # fmt: skip

ass5_option1_for_alg2 = paper.claim(
    "ass5.option1_for_alg2", "Option 1 of Assumption 5 can hold for Algorithm 2 weights",
    kind="remark", where="ours: Assumption 5 with Algorithm 2", origin="ours",
    words="The weights of Algorithm 2 keep (1/N) sum (p_n w_t^n - 1)^2 at most 1/81 in all rounds, whoever "
    "participates.",
    assumes=(ass4,),
    formulas={"tolerance": Rational(1, 81)},
    uses=("fedau.ass5", "fedau.alg2"),
    gap="The paper offers Option 1 or Option 2 and does not say which applies to Algorithm 2. With K >= 2 and all "
    "0 < p_n < 1 the weights of round 0 and of round 2 after a first absence cannot both be nearly optimal.",
)  # fmt: skip

# ---- Corollary 4 -----------------------------------------------------------------------------------------

_F, _Q = initial_gap, weight_square

cor4 = paper.claim(
    "cor4", "Convergence bound of the full FedAU algorithm",
    kind="corollary", where="Corollary 4; Appendix B.7",
    words="With K = ceil(log_c T) and step sizes of order 1/sqrt(T), FedAU reaches a stationary point of f at the "
    "rate of FedAvg with known rates, plus a weight-error term of order R log^2 T / T. Stated for Option 2.",
    assumes=(ass1, ass2, ass3, ass4, ass5),
    conditions={"rounds": T >= 2},
    bound=Bound(
        STATIONARITY,
        35 * sigma * sqrt(L * _F * _Q / (N * I * T)) + 35 * heterogeneity * sqrt(L * _F * _Q / (N * T))
        + (180 * sigma**2 / (I * T) + Rational(81, 2) * (delta**2 + objective_gradient_bound**2)) * lemB71.bound.rhs
        + 32 * L * _F / T + 432 * L * _F * _Q / (N * T) + 20 * sigma**2 / (I * T) + 120 * delta**2 / T,
        order="O(sigma sqrt(L F Q/(N I T)) + delta sqrt(L F Q/(N T)) + (Psi_G + delta^2 + sigma^2/(I T)) R log^2 T/T "
        "+ (L F (1 + Q/N) + delta^2 + sigma^2/I)/T)",
        unit=GRADIENT**2,
    ),
    formulas={
        "cutoff": corollary4_cutoff,
        "local step": Min(1 / (L * I * sqrt(T)), 1 / (4 * sqrt(15) * L * I)),
        "product of steps": Min(
            sqrt(_F * N / (_Q * (I * delta**2 + sigma**2) * L * I * T)), 1 / (4 * L * I), N / (54 * L * I * _Q)
        ),
    },
    uses=("fedau.thm2", "fedau.lemB71", "fedau.ass5"),
    gap="The step size is computed from Q, the largest of all rounds, which depends on later participation; a "
    "deterministic upper bound on Q serves. Option 2 is the one that Algorithm 2 satisfies in practice, and K needs a "
    "lower bound on min p_n.",
)  # fmt: skip

A3 = paper.claim(
    "A3", "Known rates w = 1/p recover the 1/sqrt(ST) rate",
    kind="remark", where="Appendix A.3",
    words="With w = 1/p_n the weight error is 0 and Q = (1/N) sum 1/p_n; for p_n = S/N, Q = N/S and the leading "
    "order sqrt(Q/(N T)) is 1/sqrt(S T).",
    formulas={"Q": N / cohort_size, "leading order": 1 / sqrt(cohort_size * T)},
    uses=("fedau.cor4",),
)  # fmt: skip
