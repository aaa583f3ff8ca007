"""FedAMD with sequential probabilities: anchors every tau rounds (section 4.1, Appendix D)."""

from __future__ import annotations

from sympy import Max, Rational, Symbol, floor, sqrt

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
    accuracy,
    anchor_noise,
    b,
    b_small,
    eta,
    eta_l,
    eta_s,
    gap,
    local_step,
    mean_cache_error,
    paper,
    quantity,
    sigma,
    tau,
)
from fltheory.units import GRADIENT, LOSS, ONE

miner_rounds = quantity("miner_rounds", ONE, "whole number >= 1", "rounds in which the model moves")
gradient_square_sum = quantity("gradient_square_sum", GRADIENT**2, ">= 0", "sum of E|grad F|^2 over rounds")
gradient_drift = quantity("gradient_drift", GRADIENT**2, ">= 0", "E|grad F(last anchor model) - grad F|^2")
since_anchor = quantity("since_anchor", ONE, "whole number >= 1", "rounds since the last anchor round")
tuned_staleness = quantity("tuned_staleness", ONE, "> 0", "free constant r that splits noise from staleness")

# ---- Theorem 4.4: full participation ---------------------------------------------------------------------

_thm44_conditions = {
    "period": tau >= 2,
    "product of steps": eta_s * eta_l <= 1 / (6 * sqrt(6) * K * L * tau),
    "local step": eta_l <= 1 / (6 * sqrt(2) * K * L),
    "local step and noise": 12 * K * L_sigma**2 * eta_l**2 <= b_small,
}
eq47 = 4 * gap / (eta * T) + 16 * eta_l * L * K * (2 * eta_s + 3 * eta_l * K * L) * anchor_noise
_STEPS44 = ("fedamd.lemD1", "fedamd.eq55", "fedamd.eq65", "fedamd.eq68", "fedamd.eq71", "fedamd.eq75", "fedamd.eq78")

thm44 = paper.claim(
    "thm44", "Full participation, sequential probability",
    kind="theorem", where="Theorem 4.4; Theorem D.2, (47)",
    words="With A = M and anchors every tau rounds the smallest E|grad F(x_t)|^2 over t < T is at most "
    "4 (F(x_0) - F_*)/(eta_s eta_l K T) + 16 eta_l L K (2 eta_s + 3 eta_l K L) 1{b<n} sigma^2/(Mb).",
    assumes=(A41, A42, A43),
    conditions=_thm44_conditions,
    bound=Bound(
        "min over t < T of E|grad F(x_t)|^2", eq47,
        order="O((F(x_0) - F_*)/(eta_s eta_l K T)) + O((eta_s + eta_l K L) eta_l K L 1{b<n} sigma^2/(Mb))",
        unit=GRADIENT**2,
    ),
    uses=("fedamd.A41", "fedamd.A42", "fedamd.A43", "fedamd.eq4", *_STEPS44),
    repaired_by="fedamd.thm44.repaired",
    gap="The noise of one anchor round moves the model in all tau - 1 miner rounds of its cycle, so the noise term "
    "needs a factor that grows with tau ((71) to (79)). For the recommended tau = 2 no violation is known, and the "
    "order may be read with tau as a constant.",
)  # fmt: skip

thm44_proof = paper.claim(
    "thm44.proof", "Theorem 4.4 for the average, as its proof ends",
    kind="theorem", where="(80)",
    words="The same bound for the average of E|grad F(x_t)|^2 over t < T.",
    assumes=(A41, A42, A43),
    conditions=_thm44_conditions,
    bound=Bound(AVERAGE, eq47, unit=GRADIENT**2),
    uses=_STEPS44,
    repaired_by="fedamd.thm44.repaired",
    gap="As for Theorem 4.4; the average passes the bound from tau = 65 on.",
)  # fmt: skip

eq71 = paper.claim(
    "eq71", "(71), (79): anchor noise within a cycle without tau",
    kind="equation", where="(71)",
    words="In a miner round E|g - grad F(x_t)|^2 is E|g - grad F(x_0)|^2 + E|grad F(x_0) - grad F(x_t)|^2, x_0 the "
    "model of the last anchor round and g the mean cached gradient.",
    assumes=(A41, A42),
    bound=Bound("E|g - grad F(x_t)|^2", anchor_noise + gradient_drift, unit=GRADIENT**2),
    gap="From its second move on the model depends on the anchor noise, so the two parts are correlated and (71) is "
    "not an equality; in (79) the noise term then lacks a factor of order tau.",
)  # fmt: skip

eq75 = paper.claim(
    "eq75", "(75), (78), (80): anchor rounds summed as descending",
    kind="equation", where="(75) as it is summed to (78)",
    words="E F(x_t) - E F(x_0), x_0 the model of an anchor round, is at most the sum over all rounds since, the anchor "
    "round included, of -(eta_s eta_l K/3) E|grad F|^2, up to terms of noise and of the model's moves.",
    assumes=(A41,),
    conditions=_thm44_conditions,
    bound=Bound("E F(x_t) - E F(x_0)", -eta / 3 * gradient_square_sum, unit=LOSS),
    gap="The model does not move in an anchor round, so only miner rounds contribute to the sum; T should count these, "
    "which costs a factor tau/(tau - 1), at most 2.",
)  # fmt: skip

eq78 = paper.claim(
    "eq78", "(78): noise coefficient",
    kind="equation", where="(78)",
    words="E F(x_t) - E F(x_0) within a cycle is at most -(eta_s eta_l K/4) sum E|grad F|^2 + eta_s eta_l^2 L K^2 "
    "((4 eta_s + 6 eta_l K L) rounds + 48 eta_s^2 eta_l^2 K tau^2 L) 1{b<n} sigma^2/(Mb).",
    assumes=(A41, A42, A43),
    bound=Bound(
        "E F(x_t) - E F(x_0)",
        -eta / 4 * gradient_square_sum
        + eta_s * eta_l**2 * L * K**2
        * ((4 * eta_s + 6 * eta_l * K * L) * since_anchor + 48 * eta_s**2 * eta_l**2 * K * tau**2 * L) * anchor_noise,
        unit=LOSS,
    ),
    uses=("fedamd.eq71", "fedamd.eq75"),
    gap="The last noise term has one eta_l too many: 48 eta_s^2 eta_l K L tau^2 has the unit of the others, and then "
    "(79) needs 4 + 3.27 tau <= 8.",
)  # fmt: skip

thm44_repaired = paper.claim(
    "thm44.repaired", "Theorem 4.4 with noise growing as tau - 1",
    kind="theorem", where="ours, in place of (69) to (80)", origin="ours",
    words="Under the hypotheses of Theorem 4.4 the average of E|grad F|^2 over the miner rounds is at most "
    "2 (F(x_0) - F_*)/(eta_s eta_l K n) + (1.5 (tau - 1) eta_s eta_l K L + (eta_l K L)^2) 1{b<n} sigma^2/(Mb), n the "
    "number of miner rounds. The factor tau - 1 is necessary.",
    assumes=(A41, A42, A43),
    conditions=_thm44_conditions,
    bound=Bound(
        "average over miner rounds of E|grad F(x_t)|^2",
        2 * gap / (eta * miner_rounds)
        + (Rational(3, 2) * (tau - 1) * eta_s * eta_l * K * L + (eta_l * K * L) ** 2) * anchor_noise,
        order="O((F(x_0) - F_*)/(eta_s eta_l K T)) + O((tau eta_s + eta_l K L) eta_l K L 1{b<n} sigma^2/(Mb))",
        unit=GRADIENT**2,
    ),
    uses=("fedamd.law.local", "fedamd.eq4"),
)  # fmt: skip

# ---- Corollary 4.5 ---------------------------------------------------------------------------------------

cor45 = paper.claim(
    "cor45", "Three batch settings of Theorem 4.4",
    kind="corollary", where="Corollary 4.5",
    words="For T large enough Theorem 4.4 gives T = O(sigma^2/(M eps^2)) for b = O(1), O(sigma^2/(MK eps^2)) for "
    "b = O(K), and O(tau/eps) for b = min(n, sigma^2/(M eps)), with the printed step sizes; F(x_0) - F_* and L count "
    "as constants. The conditions say what large enough means, by Theorem 4.4's bound on the product of steps.",
    conditions={
        "first setting: product of steps": sqrt(M / (sigma**2 * T)) / K <= 1 / (6 * sqrt(6) * K * L * tau),
        "second setting: product of steps": sqrt(K * M) / (sqrt(T) * K * sigma) <= 1 / (6 * sqrt(6) * K * L * tau),
    },
    formulas={
        "first local step": (M / (sigma**2 * T)) ** Rational(1, 4) / K,
        "first global step": (M / (sigma**2 * T)) ** Rational(1, 4),
        "second local step": 1 / (sqrt(T) * K * sigma),
        "second global step": sqrt(K * M),
        "third local step": 1 / (6 * sqrt(2) * K * L),
        "third global step": 1 / (sqrt(3) * tau),
        "first: bound times sqrt(T)": 84 * sigma / sqrt(M),
        "second: bound times sqrt(T)": 36 * sigma / sqrt(K * M),
        "third: first term times T": 24 * sqrt(6) * tau,
    },
    uses=("fedamd.thm44",),
    repaired_by="fedamd.cor45.repaired",
    gap="The orders follow from Theorem 4.4 with tau as a constant; with its noise term growing in tau they gain a "
    "factor tau.",
)  # fmt: skip


def _cor45_repaired(suffix, title, words, conditions, bound, order):
    return paper.claim(
        f"cor45.repaired{suffix}", title, kind="corollary", where="ours, in place of Corollary 4.5", origin="ours",
        words=words,
        assumes=(A41, A42, A43),
        conditions={"period": tau >= 2, **conditions},
        bound=Bound("average over the miner rounds of T/tau cycles of E|grad F(x_t)|^2", bound, order, GRADIENT**2),
        uses=("fedamd.thm44.repaired",),
    )  # fmt: skip


_first, _second = M * L * gap / (sigma**2 * T * tau), L * gap / (T * tau)
cor45_repaired = _cor45_repaired(
    "", "Corollary 4.5 with restored units: b = 1",
    "With b = 1, eta_s^4 = M L (F(x_0) - F_*)/(sigma^2 T tau) and eta_l = eta_s/(KL), T a multiple of tau large enough "
    "for the conditions, T = O(tau sigma^2 L (F(x_0) - F_*)/(M eps^2)) rounds suffice.",
    {
        "product of steps": 216 * tau * M * L * gap <= sigma**2 * T,
        "local step": 5184 * M * L * gap <= sigma**2 * T * tau,
        "local step and noise": 144 * L_sigma**4 * M * gap <= K**2 * L**3 * b_small**2 * sigma**2 * T * tau,
    },
    Rational(11, 2) * sigma * sqrt(tau * L * gap / (M * T)),
    "O(sigma sqrt(tau L gap/(M T)))",
)  # fmt: skip
cor45_repaired_b = _cor45_repaired(
    "-B", "Corollary 4.5 with restored units: b = K",
    "With b = K, eta_l = sqrt((F(x_0) - F_*)/(L T tau))/(K sigma) and eta_s = sqrt(KM), T a multiple of tau large "
    "enough for the conditions, T = O(tau sigma^2 L (F(x_0) - F_*)/(MK eps^2)) rounds suffice.",
    {
        "product of steps": 216 * tau * K * M * L * gap <= sigma**2 * T,
        "local step": 72 * L * gap <= sigma**2 * T * tau,
        "local step and noise": 12 * L_sigma**2 * gap <= L * K * b_small * sigma**2 * T * tau,
    },
    Rational(11, 2) * sigma * sqrt(tau * L * gap / (K * M * T)) + L * gap / (tau * K * M * T),
    "O(sigma sqrt(tau L gap/(KMT)))",
)  # fmt: skip
cor45_repaired_c = _cor45_repaired(
    "-C", "Corollary 4.5 with restored units: large anchor batches",
    "With eta_l = 1/(6 sqrt(2) KL) and eta_s = 1/(sqrt(3) tau), T a multiple of tau, T = O(tau L (F(x_0) - F_*)/eps) "
    "rounds and an anchor noise of order eps suffice.",
    {"local steps": Max(1, L_sigma**2 / (6 * b_small * L**2)) <= K},
    24 * sqrt(6) * tau * L * gap / T + anchor_noise / 8,
    "O(tau/eps)",
)  # fmt: skip

# ---- Theorem 4.6: partial participation ------------------------------------------------------------------

_thm46_step = {"period": tau >= 2, "product of steps": eta * L * (1 + 2 * M * tau / A) <= 1}
_counted = T - floor(T / tau)
OVER_MINERS = "1/(T - floor(T/tau)) times the sum over t <= T, tau not dividing t, of E|grad F(x_t)|^2"

eq96 = paper.claim(
    "eq96", "(96)-(97), (125)-(126), (137)-(140): error of g at most N",
    kind="equation", where="(96)-(97); likewise (125)-(126), (137)-(140)",
    words="E|g_t - grad F(x_t)|^2 is at most 1{b<n} sigma^2/(Mb) + E|E g_t - grad F(x_t)|^2, with E g_t in the sense "
    "in which (113) is used for it.",
    assumes=(A41, A42),
    bound=Bound("E|g_t - grad F(x_t)|^2", anchor_noise + mean_cache_error, unit=GRADIENT**2),
    repaired_by="fedamd.law.noise",
    gap="The proof omits the variance due to which clients refreshed their caches: read as a conditional mean the step "
    "is trivial and (113) fails, read otherwise (113) or this step fails.",
)  # fmt: skip

eq109 = paper.claim(
    "eq109", "(109): limit M/(2A) (1 - A/M)",
    kind="equation", where="(109)",
    words="The sum of (1 - A/M)^k over k >= 1 is at most M/(2A) (1 - A/M).",
    formulas={"printed limit": M / (2 * A) * (1 - A / M), "limit": (1 - A / M) / (1 - (1 - A / M))},
    gap="The limit is (M/A)(1 - A/M), which (106) uses; nothing follows from the slip.",
)  # fmt: skip

_printed110 = 1 / (2 * eta) - L / 2 - eta * L**2 * tau**2 * M**2 / A**2
eq110 = paper.claim(
    "eq110", "(110): coefficient of the squared step",
    kind="equation", where="(110), from (99) with (108)",
    words="The coefficient of the squared moves is 1/(2 eta) - L/2 - eta L^2 tau^2 M^2/A^2, eta = eta_s eta_l K.",
    formulas={
        "printed coefficient": _printed110,
        "from (99) and (108)": 1 / (2 * eta) - L / 2 - 2 * eta * (M * (M - A) / A**2 + M / A) * L**2 * tau**2,
        "at the step": M * tau * L / (A * (1 + 2 * M * tau / A)),
    },
    gap="(99) carries a factor 2 before (108); with it the coefficient is still positive at the step of Theorem 4.6.",
)  # fmt: skip

thm46 = paper.claim(
    "thm46", "Partial participation, sequential probability",
    kind="theorem", where="Theorem 4.6; Theorem D.3, (111)",
    words="With eta_s eta_l = 1/(KL (1 + 2M tau/A)) (or less) the average of E|grad F|^2 over the miner rounds up to T "
    "is at most 4 (F(x_0) - F_*)/(eta_s eta_l K (T - floor(T/tau))) + 8 1{b<n} sigma^2/(Mb).",
    assumes=(A41, A42, A43),
    conditions={**_thm46_step, **local_step},
    bound=Bound(
        OVER_MINERS, 4 * gap / (eta * _counted) + 8 * anchor_noise,
        order="T = O((1 + 2M tau/A) tau/(tau - 1)/eps) with b = min(sigma^2/(M eps), n)", unit=GRADIENT**2,
    ),
    uses=(
        "fedamd.A41", "fedamd.A42", "fedamd.A43", "fedamd.eq4", "fedamd.lemB2b", "fedamd.lemB3", "fedamd.lemD1",
        "fedamd.eq65", "fedamd.eq93", "fedamd.eq96", "fedamd.eq109", "fedamd.eq110",
    ),
    repaired_by="fedamd.thm46.repaired",
    gap="The printed proof needs more in (89), (93), (96) and (110); another argument gives the statement for tau = 2.",
)  # fmt: skip

C1, C2 = Rational(1691, 1000), Rational(1, 2)  # fedamd.law.local
thm46_repaired = paper.claim(
    "thm46.repaired", "Theorem 4.6 through staleness",
    kind="theorem", where="ours, in place of (94) to (111)", origin="ours",
    words="(111) holds, as an expectation and with caches started by all clients, where "
    "11.72 (tau - 1)^2 <= 4 tau^2 + 2 tau A/M, as it does for tau = 2.",
    assumes=(A41, A42, A43),
    conditions={
        **_thm46_step, **local_step,
        "staleness": Rational(1172, 100) * (tau - 1) ** 2 <= 4 * tau**2 + 2 * tau * A / M,
    },
    bound=Bound(OVER_MINERS, 4 * gap / (eta * _counted) + 8 * anchor_noise, unit=GRADIENT**2),
    uses=("fedamd.lemE3.repaired", "fedamd.law.noise", "fedamd.law.staleness", "fedamd.eq4"),
)  # fmt: skip

participation_ratio = Symbol("participation_ratio", positive=True)  # M/A
period = Symbol("period", positive=True)
tau2 = paper.claim(
    "tau2", "tau = 2 needs the fewest rounds",
    kind="remark", where="section 4.1, Discussion on the selection of tau",
    words="(1 + 2 r tau) tau/(tau - 1), r = M/A >= 1, is least over whole tau >= 2 at tau = 2; over real tau at "
    "1 + sqrt(1 + 1/(2r)).",
    formulas={
        "rounds": (1 + 2 * participation_ratio * period) * period / (period - 1),
        "real optimum": 1 + sqrt(1 + 1 / (2 * participation_ratio)),
        "best period": 2 + 0 * period,
    },
    uses=("fedamd.thm46",),
)  # fmt: skip

_rounds46 = (1 + 2 * M * tau / A) * tau / (tau - 1) / accuracy
_samples = _rounds46 * A * (b / tau + (1 - 1 / tau) * K * b_small)
cor47 = paper.claim(
    "cor47", "Samples and communication of the sequential setting",
    kind="corollary", where="Corollary 4.7",
    words="With T = (1 + 2M tau/A) tau/(tau - 1)/eps rounds (L (F(x_0) - F_*) = 1), in all at most "
    "6 Mb/eps + 3 tau M K b'/eps gradients, and 6 M tau/(A eps) vectors for each participant of a round.",
    conditions={"period": tau >= 2, "cohort": A <= M},
    formulas={
        "samples": _samples, "largest number of samples": 6 * M * b / accuracy + 3 * tau * M * K * b_small / accuracy,
        "rounds": _rounds46, "communication": 6 * M * tau / (A * accuracy),
    },
    uses=("fedamd.thm46",),
    gap="The order of communication counts one client's traffic, that of computation all clients'.",
)  # fmt: skip

ERR10 = paper.claim(
    "ERR-10", "Computation grows with tau",
    kind="remark", where="Remark after Corollary 4.7",
    words="The number of gradients to reach eps, A T (b/tau + (1 - 1/tau) K b'), grows with tau.",
    conditions={"period": tau >= 2, "cohort": A <= M},
    formulas={"samples": _samples},
    uses=("fedamd.cor47",),
    gap="True of the order of Corollary 4.7, and of the exact count for b up to about Kb'; for much larger anchor "
    "batches a longer period saves anchor gradients.",
)  # fmt: skip
