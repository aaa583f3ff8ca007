"""Theorem 1 of FAST: as printed, with averages, and where nothing is lost; its proof and corrections stand apart.

Every variant of Theorem 1 bounds the average over the rounds of E||grad F(x_r)||^2. G_1, G_2, G_3 are maxima over
rounds in the printed theorem and averages in `thm1.averages`; each statement says which.
"""

from __future__ import annotations

from sympy import sqrt

from fltheory.ledger import Bound
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
    eta,
    h,
    m,
    paper,
    q,
    s,
    sigma,
    sigma_G,
    zeta,
)
from fltheory.units import GRADIENT

AVERAGE = "average over the rounds of E||grad F(x_r)||^2"
SQUARED = GRADIENT**2
A = G1 - 2 * h * G3
B = (2 * h - 1) * G2 + 2 * K**2 * sigma_G**2

OPTIMISATION = 4 * zeta / (K * R * eta)
STEPS = {"drift": eta <= 1 / (8 * L * K), "noise": eta <= s / (5 * L * K)}
SNAPSHOTS = {"snapshots": q >= B / (A + B)}
DERIVED = {"snapshots": q * A >= (1 - q) * B}  # the same where A + B > 0
PRINTED = OPTIMISATION + 4 * s * L * eta * sigma**2 + (120 - 60 * q) * h**2 * sigma_G**2

lem1 = paper.claim(
    "lem1", "Descent lemma",
    kind="lemma", where="Lemma 1",
    words="F(y) exceeds its tangent at x by at most (L/2) ||y - x||^2. It says an L-Lipschitz function; a Lipschitz "
    "gradient is meant.",
    formulas={"excess": L / 2},
    uses=("fast.ass1",),
    gap="True for functions whose gradient is L-Lipschitz, which is how the proofs use it; |x| shows that a Lipschitz "
    "function is not enough.",
)  # fmt: skip

thm1 = paper.claim(
    "thm1", "Nonconvex convergence of FAST, maxima in the q-condition",
    kind="theorem", where="Theorem 1, (2)",
    words="If the step size is small and q is at least a threshold made of G_1, G_2 and G_3, the average squared "
    "gradient is bounded by an optimisation, a noise and a heterogeneity term. G_1 is the largest squared norm, over "
    "the snapshot rounds, of the summed local gradients averaged over all clients; G_3 the same for the sampled "
    "clients; G_2 the largest over the arbitrary rounds for the clients asked.",
    assumes=(ass1, ass2, ass3),
    conditions=STEPS | SNAPSHOTS,
    bound=Bound(
        AVERAGE, PRINTED,
        order="4 zeta/(K R eta) + 4(q n + (1-q) m)/(m n) L eta sigma^2 + (120(1-q) + 60 q) L^2 K^2 eta^2 sigma_G^2",
        unit=SQUARED,
    ),
    uses=(
        "fast.ass1", "fast.ass2", "fast.ass3", "fast.alg1", "fast.lem1", "fast.reddi3", "fast.karim4", "fast.thm1.a",
        "fast.thm1.b", "fast.thm1.c", "fast.thm1.d", "fast.thm1.e", "fast.thm1.f", "fast.thm1.g",
    ),
    repaired_by="fast.thm1.repaired-A",
    gap="The last step of (24) needs lower bounds of sums over rounds, which minima or averages would give. With "
    "averages it is valid up to constants (thm1.averages), but the condition on q then keeps the gradients large "
    "(law.floor).",
)  # fmt: skip

thm1_q1 = paper.claim(
    "thm1.q1", "Theorem 1 when every round is a snapshot",
    kind="theorem", where="Theorem 1 at q = 1", origin="ours",
    words="The printed theorem at q = 1, with m of M clients drawn in every round. There is no arbitrary round, G_2 "
    "counts as 0, and the condition on q is G_1 >= 2 L K eta G_3.",
    assumes=(ass1, ass2, ass3),
    conditions={
        "drift": STEPS["drift"],
        "noise": eta <= 1 / (5 * m * L * K),
        "snapshots": 2 * h * G3 <= G1,
    },
    bound=Bound(
        AVERAGE, OPTIMISATION + 4 * L * eta * sigma**2 / m + 60 * h**2 * sigma_G**2, unit=SQUARED,
    ),
    uses=("fast.thm1",),
    repaired_by="fast.thm1.repaired-B",
    gap="For m < M a term of order L K eta sigma_G^2/m, what drawing the clients adds, is missing; with m = M it "
    "vanishes.",
)  # fmt: skip

thm1_averages = paper.claim(
    "thm1.averages", "Theorem 1 with averages in the q-condition",
    kind="theorem", where="ours: Theorem 1 with G_1, G_2, G_3 as averages", origin="ours",
    words="Theorem 1 with averages over the snapshot or the arbitrary rounds in place of the maxima, the condition on "
    "q as it is derived, 8 - 2q in place of 4 before the noise term, and eta <= 1/(2 sqrt(30) KL) in place of "
    "1/(8KL). The clients of an arbitrary round depend on the past only. For q < 1 its condition on q holds only in "
    "runs whose gradients stay large (law.floor).",
    assumes=(ass1, ass2, ass3),
    conditions={"noise": STEPS["noise"], "arbitrary rounds": eta <= 1 / (2 * sqrt(30) * L * K)} | DERIVED,
    bound=Bound(
        AVERAGE,
        OPTIMISATION + (8 - 2 * q) * s * L * eta * sigma**2 + (120 - 60 * q) * h**2 * sigma_G**2,
        unit=SQUARED,
    ),
    uses=("fast.thm1.a", "fast.thm1.b", "fast.thm1.c"),
)  # fmt: skip

thm1_special = paper.claim(
    "thm1.special", "Theorem 1 at q = 1, m = M, or identical clients",
    kind="theorem", where="Theorem 1",
    words="The printed bound where nothing is lost by asking the wrong clients: q = 1 with m = M, or sigma_G = 0; "
    "put to the test without the condition on q.",
    assumes=(ass1, ass2, ass3),
    conditions=STEPS,
    bound=Bound(AVERAGE, PRINTED, unit=SQUARED),
    uses=("fast.thm1",),
)  # fmt: skip
