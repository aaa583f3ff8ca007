"""The corollaries of FAST and its Remarks 1 and 2: the rates that its theorems would give with a tuned step."""

from __future__ import annotations

from sympy import Rational, exp, log, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fast.convex import APPENDIX_Q, DISTANCE
from fltheory.papers.fast.nonconvex import AVERAGE, SNAPSHOTS, SQUARED, STEPS, A, B
from fltheory.papers.fast.setting import (
    G1,
    G2,
    G3,
    K,
    L,
    R,
    ass1,
    ass2,
    ass3,
    ass4,
    h,
    logarithm,
    m,
    mu,
    n,
    paper,
    q,
    s,
    sigma,
    sigma_G,
    start_distance_square,
    zeta,
)
from fltheory.symbols import Max, Min, quantity
from fltheory.units import LOSS, PARAM

step_constant = quantity("step_constant", PARAM**2 / LOSS, "> 0", "c in the tuned step c/sqrt(R K s)")

c = step_constant
TUNED = c / sqrt(R * K * s)
cor1 = paper.claim(
    "cor1", "Rate sqrt(s/(KR)) with tuned step",
    kind="corollary", where="Corollary 1, (3)",
    words="With eta = c/sqrt(R K s), s = q/m + (1-q)/n, Theorem 1 gives a term of order sqrt(s/(K R)) and one of "
    "order K/(s R). The constants are those of Theorem 1.",
    assumes=(ass1, ass2, ass3),
    conditions=STEPS | SNAPSHOTS,
    formulas={"local_lr": TUNED, "large R": (K / s) ** 3},
    bound=Bound(
        AVERAGE,
        (4 * zeta / c + 4 * c * L * sigma**2) * sqrt(s / (R * K))
        + (120 - 60 * q) * (c * L * sigma_G) ** 2 * K / (s * R),
        order="O(sqrt((n q + m (1-q))/(n m K R))) + O(m n K/((n q + (1-q) m) R))",
        unit=SQUARED,
    ),
    uses=("fast.thm1",),
    repaired_by="fast.thm1.repaired-A",
    gap="It inherits the maxima of Theorem 1: for fixed q < 1 a bias of order (1-q)^2 sigma_G^2 remains. The step "
    "conditions need R >= 25 (c L)^2 K/s^3 and R >= 64 (c L)^2 K/s besides R >= (K/s)^3.",
)  # fmt: skip

cor2 = paper.claim(
    "cor2", "Rate 1/sqrt(mKR) for m = n",
    kind="corollary", where="Corollary 2, (4)",
    words="For m = n and R >= (m K)^3 both terms of Corollary 1 are of order 1/sqrt(m K R).",
    assumes=(ass1, ass2, ass3),
    conditions=STEPS | SNAPSHOTS | {
        "equal cohorts": n <= m,
        "equal cohorts, conversely": m <= n,
        "many rounds": (m * K) ** 3 <= R,
    },
    formulas={"local_lr": TUNED},
    bound=Bound(
        AVERAGE,
        (4 * zeta / c + 4 * c * L * sigma**2 + (120 - 60 * q) * (c * L * sigma_G) ** 2) / sqrt(m * K * R),
        order="O(1/sqrt(m R K))",
        unit=SQUARED,
    ),
    uses=("fast.cor1",),
    repaired_by="fast.thm1.repaired-A",
    gap="For fixed q < 1 a bias of order (1-q)^2 sigma_G^2 remains, so that the rate needs q -> 1.",
)  # fmt: skip

rem1 = paper.claim(
    "rem1", "Rate matches ideal uniform participation",
    kind="remark", where="Remark 1",
    words="1/sqrt(m K R) matches FedAvg with uniform participation. For m < M the error of FedAvg itself on the "
    "plus-minus-one family, at eta = sqrt(m/(R K)), is close to K/2 times that.",
    formulas={"m = 1 of 2": K / 2, "m = M": Rational(0)},
    uses=("fast.cor1", "fast.cor2"),
    gap="The comparison holds for full participation; for m < M the published reference (Yang, Fang and Liu) has "
    "sqrt(K/(m R)), where an early version of its abstract had 1/sqrt(m K R).",
)  # fmt: skip

rem2 = paper.claim(
    "rem2", "Special cases of the q-threshold",
    kind="remark", where="Remark 2",
    words="The threshold is 1/(1 + (G_1 - 2 L K eta G_3)/(2 K^2 sigma_G^2 + 2 L K eta G_2 - G_2)); for sigma_G -> 0 "
    "it asks for q >= 0, for sigma_G -> infinity it tends to 1.",
    formulas={
        "threshold": B / (A + B),
        "rewritten": 1 / (1 + (G1 - 2 * h * G3) / (2 * K**2 * sigma_G**2 + 2 * h * G2 - G2)),
    },
    uses=("fast.thm1",),
    gap="The quotient says what the proof derives where its denominator is positive; and for m < M, where G_3 grows "
    "with sigma_G, it can pass 1. G_1, G_2, G_3 depend on the run, hence on q.",
)  # fmt: skip

# ---- Corollary 3 --------------------------------------------------------------------------------------------------

_tuned = logarithm / (mu * K * R)

cor3 = paper.claim(
    "cor3", "O(1/R) terms of Theorem 2",
    kind="corollary", where="Corollary 3",
    words="With the logarithmic step and m = n the terms of Theorem 2 are of orders (1-q)/(mu R), sigma_G^2/(mu R) and "
    "sigma^2/(mu m K R), up to logarithms and constants, for R >= 20mL.",
    conditions={"many rounds": 20 * m * L <= R},
    formulas={
        "step": _tuned, "share term": (1 - q) / (mu * R), "heterogeneity term": sigma_G**2 / (mu * R),
        "noise term": sigma**2 / (mu * m * K * R),
    },
    uses=("fast.thm2.main",),
    repaired_by="fast.cor3.repaired",
    gap="Substituting the step gives 1/mu^2 in each term, and sigma_G^2 in the first, where the main text lost it; "
    "R >= 20mL compares a number with a curvature, where R >= 20mL/mu is meant.",
)  # fmt: skip

FORGETS = 20 * Max(m, n) * L / mu  # rounds in which the largest step forgets the start by a factor e
REST = ((1 - q) / 2 + 8) * K * sigma_G**2 / mu + 2 * s * sigma**2 / mu  # a of (40), for the appendix
LOGARITHM = log(Max(start_distance_square * mu * K * R / REST, 1))

cor3_repaired = paper.claim(
    "cor3.repaired", "Explicit O(1/R) bound with 1/mu^2 and sigma_G^2",
    kind="corollary", where="ours, in place of Corollary 3", origin="ours",
    words="With eta = min(l/(mu K R), 1/(20 max(m, n) L K)), l = log(max(|x_0 - x*|^2 mu K R/a, 1)) and "
    "a = ((1-q)/2 + 8) K sigma_G^2/mu + 2s sigma^2/mu > 0, s = q/m + (1-q)/n, the appendix version gives "
    "|x_0 - x*|^2 exp(-mu R/(20 max(m, n) L)) + (1 + l) a/(mu K R) for every R. From R = 20 max(m, n) L/mu on the "
    "first term is at most 1/e of the start. The terms are of orders (1-q) sigma_G^2/(mu^2 R), sigma_G^2/(mu^2 R) and "
    "sigma^2/(mu^2 m K R), up to l. The condition on q is that of the appendix at this step, so that 1 - q falls with "
    "R. The clients of an arbitrary round depend on the past only.",
    assumes=(ass1, ass2, ass3, ass4),
    conditions=APPENDIX_Q | {"something remains": REST > 0},
    formulas={
        "share term": (1 - q) * sigma_G**2 / (mu**2 * R),
        "heterogeneity term": sigma_G**2 / (mu**2 * R), "noise term": sigma**2 / (mu**2 * m * K * R),
        "local_lr": Min(LOGARITHM / (mu * K * R), 1 / (20 * Max(m, n) * L * K)), "a": REST, "rounds": FORGETS,
    },
    bound=Bound(
        DISTANCE,
        start_distance_square * exp(-R / FORGETS) + (1 + LOGARITHM) * REST / (mu * K * R),
        unit=PARAM**2,
    ),
    uses=("fast.thm2.app",),
)  # fmt: skip
