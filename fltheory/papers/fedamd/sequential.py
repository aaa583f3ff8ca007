"""FedAMD with anchors every tau rounds and partial participation: Theorem 4.6 (section 4.1, Appendix D.3)."""

from __future__ import annotations

from sympy import Rational, Symbol, floor, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedamd.setting import (
    A41,
    A42,
    A43,
    A,
    K,
    L,
    M,
    T,
    accuracy,
    anchor_noise,
    b,
    b_small,
    eta,
    gap,
    local_step,
    mean_cache_error,
    paper,
    quantity,
    tau,
)
from fltheory.units import GRADIENT, ONE

tuned_staleness = quantity("tuned_staleness", ONE, "> 0", "free constant r that splits noise from staleness")

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
    words="With b' < b and eta_s eta_l = 1/(KL (1 + 2M tau/A)) (or less) the average of E|grad F|^2 over the miner "
    "rounds up to T is at most 4 (F(x_0) - F_*)/(eta_s eta_l K (T - floor(T/tau))) + 8 1{b<n} sigma^2/(Mb).",
    assumes=(A41, A42, A43),
    conditions={**_thm46_step, **local_step},
    bound=Bound(
        OVER_MINERS, 4 * gap / (eta * _counted) + 8 * anchor_noise,
        order="T = O((1 + 2 M tau/A) tau/(tau - 1)/eps) with b = min(sigma^2/(M eps), n)", unit=GRADIENT**2,
    ),
    uses=(
        "fedamd.A41", "fedamd.A42", "fedamd.A43", "fedamd.alg1.init", "fedamd.eq4", "fedamd.lemB2b", "fedamd.lemB3",
        "fedamd.lemD1", "fedamd.eq65", "fedamd.eq93", "fedamd.eq96", "fedamd.eq109", "fedamd.eq110",
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
