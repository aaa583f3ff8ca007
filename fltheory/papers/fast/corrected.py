"""Theorem 1 of FAST corrected, for any schedule and for coins; and what no bound can go below."""

from __future__ import annotations

from sympy import Rational, Symbol, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fast.nonconvex import AVERAGE, DERIVED, OPTIMISATION, SQUARED
from fltheory.papers.fast.setting import K, L, R, ass1, ass2, ass3, eta, h, paper, q, s, sigma, sigma_G, tau, zeta
from fltheory.symbols import quantity
from fltheory.units import GRADIENT, ONE

young_weight = quantity("young_weight", ONE, "> 0", "free weight between the bias and the local drift")
average_square = quantity("average_square", GRADIENT**2, ">= 0", "average over the rounds of |grad F(x_r)|^2")

thm1_repaired_A = paper.claim(
    "thm1.repaired-A", "Nonconvex bound for any schedule, floor 4(1 - q) sigma_G^2",
    kind="theorem", where="ours, in place of Theorem 1", origin="ours",
    words="For any schedule with a share q of snapshots and any choice of clients in the other rounds that depends on "
    "the past only; no condition on q, and the average runs over r = 0, ..., R-1.",
    assumes=(ass1, ass2, ass3),
    conditions={"step": eta <= 1 / (11 * L * K)},
    bound=Bound(
        AVERAGE,
        OPTIMISATION
        + 4 * (1 - q) * sigma_G**2
        + 8 * q * tau * h * sigma_G**2
        + 4 * s * L * eta * sigma**2
        + (90 * q + 120 * (1 - q)) * h**2 * sigma_G**2
        + (15 * q + 20 * (1 - q)) * h**2 / K * sigma**2,
        unit=SQUARED,
    ),
    uses=("fast.ass1", "fast.ass2", "fast.ass3", "fast.alg1", "fast.reddi3", "fast.thm1.a"),
)  # fmt: skip

thm1_repaired_B = paper.claim(
    "thm1.repaired-B", "Nonconvex bound for Bernoulli snapshots, floor 4(1 - q)^2 sigma_G^2",
    kind="theorem", where="ours, in place of Theorem 1", origin="ours",
    words="If a coin decides on snapshots, independent of the clients asked otherwise given the past, the floor is "
    "quadratic in 1 - q.",
    assumes=(ass1, ass2, ass3),
    conditions={"step": eta <= 1 / (13 * L * K)},
    bound=Bound(
        AVERAGE,
        OPTIMISATION
        + 4 * (1 - q) ** 2 * sigma_G**2
        + 8 * h * q * (1 - q + tau) * sigma_G**2
        + 150 * h**2 * sigma_G**2
        + 25 * h**2 / K * sigma**2
        + 4 * s * L * eta * sigma**2,
        unit=SQUARED,
    ),
    uses=("fast.ass1", "fast.ass2", "fast.ass3", "fast.alg1", "fast.reddi3"),
)  # fmt: skip

THETA = 30 * h**2 * ((1 + 1 / young_weight) / 2 + Rational(25, 8) * h)
thm1_repaired_sharp = paper.claim(
    "thm1.repaired-sharp", "Sharp Bernoulli bound with free alpha, floor (1 - q)^2 sigma_G^2",
    kind="theorem", where="ours, in place of Theorem 1", origin="ours",
    words="The Bernoulli bound with a free weight alpha; for alpha = sqrt(L K eta) and eta -> 0 it tends to "
    "(1-q)^2 sigma_G^2, which is attained.",
    assumes=(ass1, ass2, ass3),
    conditions={"step": eta <= 1 / (8 * L * K), "theta": Rational(1, 2) > THETA},
    bound=Bound(
        AVERAGE,
        (
            zeta / (K * R * eta)
            + (1 + young_weight) * (1 - q) ** 2 * sigma_G**2 / 2
            + 2 * h * q * (1 - q + tau) * sigma_G**2
            + THETA * (sigma_G**2 + sigma**2 / (6 * K))
            + s * L * eta * sigma**2
        )
        / (Rational(1, 2) - THETA),
        unit=SQUARED,
    ),
    uses=("fast.thm1.repaired-B",),
)  # fmt: skip

law_floor = paper.claim(
    "law.floor", "Averages reading of the q-condition forces a gradient floor",
    kind="lemma", where="ours, on Theorem 1 with averages", origin="ours",
    words="K = 1, G_1, G_2, G_3 averages: if the condition on q holds, the average squared gradient is at least "
    "(sqrt 2 - 1)^2 (1 - q) sigma_G^2. So it can tend to zero only with 1 - q.",
    assumes=(ass3,),
    conditions=DERIVED,
    bound=Bound("(1 - q) sigma_G^2", (3 + 2 * sqrt(2)) * average_square, unit=SQUARED),
    uses=("fast.ass3", "fast.thm1.averages"),
)  # fmt: skip

PULL = 1 - (1 - h / K) ** K  # the part of the way to a client's minimum that K local steps go
KEEP = (1 - h / K) ** K
interval_length = Symbol("interval", integer=True, positive=True)
law_lower_bounds = paper.claim(
    "law.lower_bounds", "Lower bounds on the plus-minus-one family",
    kind="law", where="ours", origin="ours",
    words="On (x - 1)^2/2 and (x + 1)^2/2 (L = sigma_G = 1), with one side asked in all arbitrary rounds: the mean "
    "of E||grad F||^2 in the long run, for coins and for snapshots every I rounds (m = M); and the limit for all "
    "snapshots first, R -> infinity. For small steps the first two are (1-q)^2 sigma_G^2, the last is (1-q) sigma_G^2.",
    formulas={
        "coins": (1 - q) ** 2 + PULL * (q * (1 - q) + q * tau) / (2 - PULL),
        "every I rounds": 1 - 2 / interval_length
        + PULL * (1 + KEEP**interval_length) / (interval_length * (2 - PULL) * (1 - KEEP**interval_length)),
        "snapshots first": 1 - q,
    },
    uses=("fast.alg1",),
)  # fmt: skip

server_weight = Symbol("server_weight", nonnegative=True)
law_server_weight = paper.claim(
    "law.server_weight", "Limit bias with server weight alpha on arbitrary rounds",
    kind="law", where="ours", origin="ours",
    words="If the updates of arbitrary rounds count alpha times, E||grad F||^2 on the plus-minus-one family with coins "
    "tends to (alpha (1-q)/(q + alpha (1-q)))^2 sigma_G^2 as the step tends to 0: on this family leaving the "
    "arbitrary rounds out would be best in the long run.",
    formulas={"limit": (server_weight * (1 - q) / (q + server_weight * (1 - q))) ** 2},
    uses=("fast.alg1",),
)  # fmt: skip
