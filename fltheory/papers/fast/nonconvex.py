"""Theorem 1 of FAST: as printed, as its proof yields, as corrected; its proof's steps, corollaries and remarks.

Every variant of Theorem 1 bounds the average over the rounds of E||grad F(x_r)||^2. G_1, G_2, G_3 are maxima over
rounds in the printed theorem and averages in `thm1.averages`; each statement says which.
"""

from __future__ import annotations

from sympy import Max, Min, Rational, Symbol, sqrt

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
    n,
    paper,
    q,
    s,
    sigma,
    sigma_G,
    tau,
    zeta,
)
from fltheory.symbols import quantity
from fltheory.units import GRADIENT, LOSS, ONE, PARAM

step_constant = quantity("step_constant", PARAM**2 / LOSS, "> 0", "c in the tuned step c/sqrt(R K s)")
young_weight = quantity("young_weight", ONE, "> 0", "free weight between the bias and the local drift")
average_square = quantity("average_square", GRADIENT**2, ">= 0", "average over the rounds of |grad F(x_r)|^2")

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
        order="4 zeta/(K R eta) + 4(qn + (1-q)m)/(mn) L eta sigma^2 + (120(1-q) + 60q) L^2 K^2 eta^2 sigma_G^2",
        unit=SQUARED,
    ),
    uses=(
        "fast.ass1", "fast.ass2", "fast.ass3", "fast.alg1", "fast.lem1", "fast.reddi3", "fast.karim4", "fast.thm1.a",
        "fast.thm1.b", "fast.thm1.c", "fast.thm1.d", "fast.thm1.e", "fast.thm1.f", "fast.thm1.g",
    ),
    repaired_by="fast.thm1.repaired-A",
    gap="The last step of (24) needs lower bounds of sums over rounds, which minima or averages would give. With "
    "averages it is valid up to constants (thm1.averages).",
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
    kind="theorem", where="Theorem 1 and its proof, G_1, G_2, G_3 as averages",
    words="With averages over the snapshot or the arbitrary rounds in place of the maxima, and the condition on q as "
    "it is derived, the last step of (24) is valid with 8 - 2q before the noise term and a slightly smaller step. It "
    "is a bound on a run of which the "
    "condition already says that its gradients stay large, unless 1 - q is small (law.floor).",
    assumes=(ass1, ass2, ass3),
    conditions=STEPS | {"arbitrary rounds": eta <= 1 / (2 * sqrt(30) * L * K)} | DERIVED,
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

# ---- the printed proof, step by step ---------------------------------------------------------------------------

gradient_here = Symbol("gradient_here", nonnegative=True)  # |grad F(x_r)|^2
decrease = Symbol("decrease", real=True)  # F(x_r) - E F(x_{r+1})
DRIFT = 5 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 30 * K**2 * eta**2 * gradient_here
D6 = (2 + 60 * h**2) * sigma_G**2 + 10 * L**2 * K * eta**2 * sigma**2 + 60 * h**2 * gradient_here
NOISE_12 = (L * K * eta**2 / m + Rational(5, 2) * L**2 * K**2 * eta**3) * sigma**2
NOISE_22 = (L * K * eta**2 / n + 5 * L**2 * K**2 * eta**3) * sigma**2
RIGHT_12 = decrease - eta / (2 * K) * G1 + 15 * L**2 * K**3 * eta**3 * sigma_G**2 + NOISE_12 + L * eta**2 * G3
RIGHT_22 = decrease - (eta / (2 * K) - L * eta**2) * G2 + (K * eta + 30 * L**2 * K**3 * eta**3) * sigma_G**2 + NOISE_22

thm1_a = paper.claim(
    "thm1.a", "Algebra of (6)-(7), (12)-(13), (16)-(18) and (22)-(23)",
    kind="equation", where="proof of Theorem 1, (6) to (23)",
    words="The displayed lines follow from each other by inserting the drift bound, collecting terms and multiplying "
    "by 4/(K eta).",
    formulas={
        "(6)": -K * eta / 2 * gradient_here - eta / (2 * K) * G1 + L**2 * eta * K / 2 * DRIFT,
        "(7)": (15 * L**2 * K**3 * eta**3 - K * eta / 2) * gradient_here - eta / (2 * K) * G1
        + Rational(5, 2) * L**2 * K**2 * eta**3 * sigma**2 + 15 * L**2 * K**3 * eta**3 * sigma_G**2,
        "(12)": RIGHT_12,
        "(13)": 4 * decrease / (K * eta) - 2 * G1 / K**2 + 60 * h**2 * sigma_G**2
        + (4 * L * eta / m + 10 * L**2 * K * eta**2) * sigma**2 + 4 * L * eta / K * G3,
        "(16)": 2 * sigma_G**2 + 2 * L**2 * DRIFT,
        "(17)": D6,
        "(18)": (30 * L**2 * K**3 * eta**3 - K * eta / 2) * gradient_here - eta / (2 * K) * G2
        + (K * eta + 30 * L**2 * K**3 * eta**3) * sigma_G**2 + 5 * L**2 * K**2 * eta**3 * sigma**2,
        "(22)": RIGHT_22,
        "(23)": 4 * decrease / (K * eta) - (2 / K**2 - 4 * L * eta / K) * G2 + (4 + 120 * h**2) * sigma_G**2
        + (4 * L * eta / n + 20 * L**2 * K * eta**2) * sigma**2,
    },
    uses=("fast.lem1", "fast.reddi3", "fast.karim4"),
)  # fmt: skip

thm1_b = paper.claim(
    "thm1.b", "Step conditions needed by (12) and (22)",
    kind="equation", where="proof of Theorem 1, before (11) and (22)",
    words="(12) needs L K eta <= 1/(2 sqrt 15), (22) needs L K eta <= 1/(2 sqrt 30); the theorem asks for 1/8 and s/5.",
    formulas={
        "snapshot rounds": 1 / (2 * sqrt(15)), "arbitrary rounds": 1 / (2 * sqrt(30)),
        "asked": Min(Rational(1, 8), s / 5),
    },
    uses=("fast.reddi3",),
    gap="The second is not implied by the conditions of the theorem if s > .4565, that is for m = n = 1 and 2; it "
    "should stand among them (and prints K L under its root).",
)  # fmt: skip

thm1_c = paper.claim(
    "thm1.c", "Weighted sums over snapshot and arbitrary rounds",
    kind="equation", where="proof of Theorem 1, (24), first inequality",
    words="A share q of the rounds obeys (13) and a share 1 - q obeys (23): the constants add up to those printed.",
    formulas={
        "noise, first order": 4 * s * L * eta,
        "noise, second order": (10 * q + 20 * (1 - q)) * L**2 * K * eta**2,
        "heterogeneity": (120 * (1 - q) + 60 * q) * h**2,
        "bias": 4 * (1 - q),
    },
    uses=("fast.thm1.a",),
    gap="The sums telescope over r = 0, ..., R-1, not over r = 1, ..., R; and S_r stands where T_u and T_a are meant.",
)  # fmt: skip

thm1_d = paper.claim(
    "thm1.d", "Last inequality of (24)",
    kind="equation", where="proof of Theorem 1, (24)",
    words="The last line keeps the first of the two noise terms and leaves the second, which is positive, out.",
    formulas={
        "left out": (10 * q + 20 * (1 - q)) * L**2 * K * eta**2 * sigma**2, "kept": 4 * s * L * eta * sigma**2,
        "needed": (8 - 2 * q) * s * L * eta * sigma**2,
    },
    uses=("fast.thm1.c",),
    repaired_by="fast.thm1.averages",
    gap="The step condition makes the term at most (4 - 2q) s L eta sigma^2, so that 8 - 2q in place of 4 is shown.",
)  # fmt: skip

one_round = Symbol("one_round", nonnegative=True)
other_round = Symbol("other_round", nonnegative=True)
thm1_e = paper.claim(
    "thm1.e", "Maxima used as lower bounds of sums",
    kind="equation", where="proof of Theorem 1, (24) and the definition of G_1, G_2",
    words="The mean over two rounds of a squared norm is at least its largest value, which is what dropping the "
    "negative terms of (24) by means of G_1 and G_2 asks for.",
    formulas={"at most the mean": Max(one_round, other_round)},
    repaired_by="fast.thm1.averages",
    gap="A maximum is an upper bound of a mean; minima, or the averages themselves, are what the step needs. G_3 is "
    "used in the right direction.",
)  # fmt: skip

thm1_f = paper.claim(
    "thm1.f", "Key-idea line for the q-condition",
    kind="equation", where="proof of Theorem 1, after (24)",
    words="The threshold is obtained by setting a sum of terms in G_1, G_3, G_2 and sigma_G^2 to at most zero.",
    formulas={
        "line": -2 / K**2 / R * G1 + 4 * L * eta / K / R * G3 - (2 / K**2 - 4 * L * eta / K / R) * G2
        + 4 * (1 - q) * sigma_G**2,
        "threshold": B / (A + B),
    },
    gap="The line as printed carries factors 1/R where the shares q and 1 - q of the rounds are meant; with these it "
    "yields the printed threshold.",
)  # fmt: skip

thm1_g = paper.claim(
    "thm1.g", "Printed q-condition equivalent to the derived one",
    kind="equation", where="Theorem 1 and its proof, after (24)",
    words="q is at least the printed quotient exactly where the sum of the weighted terms is at most zero.",
    formulas={"quotient": B / (A + B), "derived": -q * A + (1 - q) * B},
    gap="So it is where the denominator of the quotient is positive.",
)  # fmt: skip

# ---- corrected ----------------------------------------------------------------------------------------------------

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

# ---- corollaries and remarks --------------------------------------------------------------------------------------

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
        order="O(sqrt((nq + m(1-q))/(nmKR))) + O(mnK/((nq + (1-q)m) R))",
        unit=SQUARED,
    ),
    uses=("fast.thm1",),
    gap="It inherits the maxima of Theorem 1: for fixed q < 1 a bias of order (1-q)^2 sigma_G^2 remains. The step "
    "conditions need R >= 25 (c L)^2 K/s^3 and R >= 64 (c L)^2 K/s besides R >= (K/s)^3.",
)  # fmt: skip

cor2 = paper.claim(
    "cor2", "Rate 1/sqrt(mKR) for m = n",
    kind="corollary", where="Corollary 2, (4)",
    words="For m = n and R >= (m K)^3 both terms of Corollary 1 are of order 1/sqrt(m K R).",
    assumes=(ass1, ass2, ass3),
    conditions=STEPS | SNAPSHOTS | {"equal cohorts": n <= m, "many rounds": (m * K) ** 3 <= R},
    formulas={"local_lr": TUNED},
    bound=Bound(
        AVERAGE,
        (4 * zeta / c + 4 * c * L * sigma**2 + (120 - 60 * q) * (c * L * sigma_G) ** 2) / sqrt(m * K * R),
        order="O(1/sqrt(mRK))",
        unit=SQUARED,
    ),
    uses=("fast.cor1",),
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
