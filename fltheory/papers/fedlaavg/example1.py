"""Sections 3.1 and 4.1: FedAvg and FedLaAvg on Example 1, with exact gradients."""

from __future__ import annotations

from sympy import Abs, Integer, Rational, Symbol, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedlaavg.letters import (
    EXAMPLE_GRADIENT,
    T,
    block_staleness,
    e1,
    e2,
    example_gradient,
    lr,
    paper,
    periods,
    start,
    start_distance,
    t1,
    t2,
)
from fltheory.units import ONE, PARAM

q = 1 - 2 * lr
x, z, d, stale = (Symbol(name, real=True) for name in ("x", "z", "d", "stale"))
stale_1, stale_2 = Symbol("stale_1", real=True), Symbol("stale_2", real=True)
LIMIT = (t1 * e1 + t2 * e2) / (t1 + t2)
X = (q**t2 * (e1 - e2) + e2 - e1 * q ** (t1 + t2)) / (1 - q ** (t1 + t2))
small = {"step": lr <= Rational(1, 2)}
M = example_gradient / 2

# ---- Theorem 1 -------------------------------------------------------------------------------------------

eq1 = paper.claim(
    "eq1", "(1): FedAvg iterate after the first block of a period",
    kind="equation", where="(1)",
    words="From x at the start of a period, after the t_1 iterations of client 1.",
    formulas={"iterate": q**t1 * (x - e1) + e1},
    uses=("fedlaavg.ex1",),
)  # fmt: skip
eq2 = paper.claim(
    "eq2", "(2): FedAvg iterate after a full period",
    kind="equation", where="(2)",
    words="From x at the start of client 2's block, after its t_2 iterations.",
    formulas={"iterate": q**t2 * (x - e2) + e2},
    uses=("fedlaavg.ex1",),
)  # fmt: skip
thm1_rec = paper.claim(
    "thm1.rec", "Period recursion and closed form of FedAvg on Example 1",
    kind="equation", where="proof of Theorem 1",
    words="The iterate one period later, and after k periods from x^0; X is that of thm1.X.",
    formulas={
        "next": q ** (t1 + t2) * (x - e1) + q**t2 * (e1 - e2) + e2,
        "after k": q ** ((t1 + t2) * periods) * start + (1 - q ** ((t1 + t2) * periods)) * X,
    },
    uses=("fedlaavg.eq1", "fedlaavg.eq2"),
)  # fmt: skip
thm1_X = paper.claim(
    "thm1.X", "FedAvg converges to X for gamma < 1/2",
    kind="equation", where="proof of Theorem 1",
    words="For such step sizes the iterates at the ends of periods converge to X, from every start.",
    conditions={"step": lr < Rational(1, 2)},
    formulas={"X": X},
    uses=("fedlaavg.thm1.rec",),
)  # fmt: skip
thm1_X_improved = paper.claim(
    "thm1.X.improved", "FedAvg converges to X exactly for 0 < gamma < 1",
    kind="equation", where="ours", origin="ours",
    words="They converge to X from every start if and only if the step size is in this range; between 1/2 and 1 X may "
    "lie outside the segment from e_1 to e_2.",
    conditions={"step": lr < 1},
    formulas={"X": X},
    uses=("fedlaavg.thm1.rec",),
)  # fmt: skip
thm1_limit = paper.claim(
    "thm1.limit", "X tends to the time-weighted mean as gamma vanishes",
    kind="equation", where="proof of Theorem 1",
    words="The limit of X as gamma goes to 0 from above; and (ours) its slope there.",
    formulas={"limit": LIMIT, "slope": -(e1 - e2) * t1 * t2 / (t1 + t2)},
    uses=("fedlaavg.thm1.X",),
)  # fmt: skip
thm1 = paper.claim(
    "thm1", "FedAvg converges to the time-weighted mean at low learning rate",
    kind="theorem", where="Theorem 1",
    words="With exact gradients the FedAvg iterates at the ends of periods converge; as the step size vanishes what "
    "they "
    "converge to tends to this limit, which is not the minimiser (e_1 + e_2)/2.",
    formulas={"limit": LIMIT, "minimiser": (e1 + e2) / 2},
    uses=("fedlaavg.thm1.X", "fedlaavg.thm1.limit"),
    gap="At a fixed step size the limit is X itself, 119/369 rather than 1/2 for t = (3, 1), e = (1, -1), gamma = "
    "1/10.",
)  # fmt: skip
thm1_gap = paper.claim(
    "thm1.gap", "Limit can be arbitrarily far from the optimum",
    kind="remark", where="Theorem 1",
    words="The distance of the limit from the minimiser; it is less than half the distance of the two means, and grows "
    "without limit with them.",
    formulas={"gap": Abs(e1 - e2) * Abs(t1 - t2) / (2 * (t1 + t2))},
    uses=("fedlaavg.thm1.limit",),
)  # fmt: skip
thm1_rate = paper.claim(
    "thm1.rate", "Geometric convergence of FedAvg to X per period",
    kind="law", where="ours", origin="ours",
    words="The distance from X is multiplied by this factor in each period.",
    formulas={"factor": q ** (t1 + t2)},
    uses=("fedlaavg.thm1.rec",),
)  # fmt: skip

curvature, steps_taken = Symbol("curvature", positive=True), Symbol("steps_taken", integer=True, positive=True)
Q1, Q2, Q3 = (Symbol(f"Q{i}") for i in (1, 2, 3))
e3 = Symbol("third_mean", real=True)
thm1_general = paper.claim(
    "thm1.general", "FedAvg limit for M groups, local steps and unequal curvature",
    kind="law", where="ours", origin="ours",
    words="Groups take turns, group i with losses (a_i/2)(x - e_i)^2 for t_i rounds of C_i local steps; its turn "
    "multiplies the distance from e_i by Q_i = `factor` with t_i C_i steps. The limit at the end of a period, for "
    "three "
    "groups.",
    formulas={
        "factor": (1 - lr * curvature) ** steps_taken,
        "X": ((1 - Q1) * Q2 * Q3 * e1 + (1 - Q2) * Q3 * e2 + (1 - Q3) * e3) / (1 - Q1 * Q2 * Q3),
    },
)  # fmt: skip
thm1_index = paper.claim(
    "thm1.index", "Iteration displayed in the proof of Theorem 1",
    kind="equation", where="proof of Theorem 1, first display after X",
    words="For every iteration t of client 1's block the step x^(t + `shift`) = x^(t + `shift` - 1) - 2 gamma "
    "(x^(t + `shift` - 1) - e_1) is taken.",
    formulas={"shift": Integer(1)},
    uses=("fedlaavg.ex1",),
    gap="Equation (1), a few lines below, uses the right iterations.",
)  # fmt: skip

proximal, local = Symbol("proximal", nonnegative=True), Symbol("local_step_count", integer=True, positive=True)
fedprox_ex1 = paper.claim(
    "fedprox.ex1", "FedProx limit on Example 1",
    kind="law", where="ours, for the comparison of section 6.2", origin="ours",
    words="A FedProx round of C local steps with coefficient mu multiplies the distance from e_i by this factor, in "
    "place "
    "of 1 - 2 gamma; X follows, and its small-step limit does not depend on mu.",
    formulas={"factor": 1 - 2 / (2 + proximal) * (1 - (1 - lr * (2 + proximal)) ** local)},
    uses=("fedlaavg.thm1.rec",),
)  # fmt: skip

# ---- Theorem 2, written with z = x - x*, d = (e_1 - e_2)/2 -------------------------------------------------

thm2_eq5 = paper.claim(
    "thm2.eq5", "(5): expansion of the squared distance",
    kind="equation", where="(5)",
    words="From z to z + d the squared distance changes by this much.",
    formulas={"change": d**2 + 2 * z * d},
    uses=("fedlaavg.ex1",),
)  # fmt: skip
thm2_eq6 = paper.claim(
    "thm2.eq6", "(6): FedLaAvg step on Example 1",
    kind="equation", where="(6)",
    words="The step is -gamma (x^(T_1 - `lag`) + x^(T_2 - `lag`) - 2 x*).",
    formulas={"lag": Integer(0)},
    uses=("fedlaavg.ex1", "fedlaavg.alg1"),
    repaired_by="fedlaavg.thm2.eq6.repaired",
    gap="The gradient of iteration T_i is taken at x^(T_i - 1).",
)  # fmt: skip
thm2_eq6_repaired = paper.claim(
    "thm2.eq6.repaired", "Step with indices T_i - 1, separate form for t <= t1",
    kind="equation", where="ours, in place of (6)", origin="ours",
    words="In deviations from x*: while client 2 has not taken part the step is `early`, afterwards `late` with the "
    "deviations at T_1 - 1 and T_2 - 1.",
    formulas={"early": -lr * (z - d), "late": -lr * (stale_1 + stale_2)},
    uses=("fedlaavg.ex1", "fedlaavg.alg1"),
)  # fmt: skip
thm2_eq7 = paper.claim(
    "thm2.eq7", "(7): polarisation of the cross term",
    kind="equation", where="(7)",
    words="2 z times the step -gamma (stale_1 + stale_2), all in deviations from x*.",
    formulas={
        "cross": -lr / 2 * (2 * z) ** 2
        - lr / 2 * (stale_1 + stale_2) ** 2
        + lr / 2 * (2 * z - stale_1 - stale_2) ** 2
    },
    uses=("fedlaavg.thm2.eq6",),
)  # fmt: skip
thm2_eq8 = paper.claim(
    "thm2.eq8", "(8): one-step decrease with staleness term",
    kind="equation", where="(8)",
    words="The squared distance changes by at most this much in an iteration.",
    conditions=small,
    formulas={"largest change": -2 * lr * z**2 + lr / 2 * (2 * z - stale_1 - stale_2) ** 2},
    uses=("fedlaavg.thm2.eq5", "fedlaavg.thm2.eq6.repaired", "fedlaavg.thm2.eq7"),
    gap="Says something once both clients have taken part (t > t_1), with the indices T_i - 1.",
)  # fmt: skip
thm2_eq9 = paper.claim(
    "thm2.eq9", "(9): distance to the optimum at most G/2",
    kind="equation", where="(9)",
    words="|x^t - x*| <= G/2 for all t, with G = max(2|x^0 - x*|, |e_1 - e_2|).",
    conditions=small,
    bound=Bound("|x^t - x*|", example_gradient / 2, unit=PARAM),
    uses=("fedlaavg.thm2.eq6.repaired",),
    gap="x need not move towards the available client's mean, which is the reason given; the iterates are convex "
    "combinations, which is another.",
)  # fmt: skip
thm2_G = paper.claim(
    "thm2.G", "Definition of G, the largest gradient norm during training",
    kind="remark", where="after (9)",
    words="max(2(x^0 - x*), |e_1 - e_2|) is the largest norm of the gradient of f during training.",
    formulas={"G": EXAMPLE_GRADIENT.subs(Abs(start - (e1 + e2) / 2), start - (e1 + e2) / 2)},
    uses=("fedlaavg.thm2.eq9",),
    gap="Reads with the absolute value of x^0 - x*; then it bounds the gradient of f, and the server's g^t, "
    "throughout.",
)  # fmt: skip
thm2_eq10 = paper.claim(
    "thm2.eq10", "(10): step length at most gamma G",
    kind="equation", where="(10)",
    words="|x^t - x^(t-1)| <= gamma G, also before both clients have taken part.",
    conditions=small,
    bound=Bound("|x^t - x^(t-1)|", lr * example_gradient, unit=PARAM),
    uses=("fedlaavg.thm2.eq6.repaired", "fedlaavg.thm2.eq9"),
)  # fmt: skip
thm2_I = paper.claim(
    "thm2.I", "Staleness on Example 1 at most max(t1, t2)",
    kind="equation", where="before (11)",
    words="t - T_i^t <= max(t_1, t_2) for both clients and all t.",
    bound=Bound("t - T_i^t", block_staleness, unit=ONE),
    uses=("fedlaavg.ex1", "fedlaavg.alg1"),
)  # fmt: skip
thm2_eq11 = paper.claim(
    "thm2.eq11", "(11): drift since the stale iterate at most gamma I G",
    kind="equation", where="(11)",
    words="|x^(t-1) - x^(T_i^t)| <= gamma I G for both clients and all t >= 1.",
    conditions=small,
    bound=Bound("|x^(t-1) - x^(T_i^t)|", lr * block_staleness * example_gradient, unit=PARAM),
    uses=("fedlaavg.thm2.eq10", "fedlaavg.thm2.I"),
    gap="True as printed, also at T_i = 0, where it is about x^0. What goes into (8) is x^(T_i - 1), by the index that "
    "(6) needs; for that it holds once the client has taken part (T_i >= 1).",
)  # fmt: skip
thm2_step = paper.claim(
    "thm2.step", "Per-step inequality before (12)",
    kind="equation", where="before (12)",
    words="(x^(t-1) - x*)^2 is at most the decrease of the squared distance over 2 gamma plus this.",
    conditions=small,
    bound=Bound(
        "(x^(t-1) - x*)^2 - ((x^(t-1) - x*)^2 - (x^t - x*)^2)/(2 gamma)",
        lr**2 * block_staleness**2 * example_gradient**2,
        unit=PARAM**2,
    ),
    uses=("fedlaavg.thm2.eq8", "fedlaavg.thm2.eq11"),
    repaired_by="fedlaavg.thm2.step.repaired",
    gap="Starts to hold when both clients have taken part (t > t_1); the sum from t = 1 needs another argument for the "
    "first block, and its result is right.",
)  # fmt: skip
thm2_step_repaired = paper.claim(
    "thm2.step.repaired", "Separate one-step inequalities for t <= t1 and t > t1",
    kind="equation", where="ours", origin="ours",
    words="The same difference is at most G^2/4 for t <= t_1, and for t > t_1 a quarter of what is printed.",
    conditions=small,
    bound=Bound(
        "(x^(t-1) - x*)^2 - ((x^(t-1) - x*)^2 - (x^t - x*)^2)/(2 gamma), t > t_1",
        lr**2 * block_staleness**2 * example_gradient**2 / 4,
        unit=PARAM**2,
    ),
    formulas={"early": example_gradient**2 / 4},
    uses=("fedlaavg.thm2.eq6.repaired", "fedlaavg.thm2.eq9", "fedlaavg.thm2.I"),
    mentions=(t1,),
)  # fmt: skip
thm2_eq12 = paper.claim(
    "thm2.eq12", "(12): averaged squared error for any gamma <= 1/2",
    kind="equation", where="(12)",
    words="The mean over T iterations of (x^(t-1) - x*)^2 is at most this.",
    conditions=small,
    bound=Bound(
        "(1/T) sum of (x^(t-1) - x*)^2",
        start_distance**2 / (2 * lr * T) + lr**2 * block_staleness**2 * example_gradient**2,
        unit=PARAM**2,
    ),
    uses=("fedlaavg.thm2.step.repaired",),
)  # fmt: skip
thm2_final = paper.claim(
    "thm2.final", "FedLaAvg bound on Example 1 with gamma = 1/(2 sqrt T)",
    kind="theorem", where="Theorem 2 and the end of its proof",
    words="With this step size the mean over T iterations of (x^(t-1) - x*)^2, and with it the best of these iterates, "
    "is at most this.",
    bound=Bound(
        "(1/T) sum of (x^(t-1) - x*)^2",
        start_distance**2 / sqrt(T) + block_staleness**2 * example_gradient**2 / (4 * T),
        order="O(1/sqrt(T))",
        unit=PARAM**2,
    ),
    formulas={"example_lr": 1 / (2 * sqrt(T))},
    uses=("fedlaavg.thm2.step.repaired", "fedlaavg.thm2.eq9", "fedlaavg.thm2.eq10", "fedlaavg.thm2.I"),
)  # fmt: skip
thm2_O = paper.claim(
    "thm2.O", "Iterate within O(1/sqrt T) of the optimum",
    kind="remark", where="Theorem 2",
    words="The output is within O(1/sqrt T) of x*, read as its squared distance.",
    latex=r"(x_{\mathrm{out}} - x^*)^2 = O\Big(\frac{1}{\sqrt{T}}\Big)",
    mentions=(T,),
    unchecked="A matter of words: the displayed formula is about the square, so the distance is O(T^(-1/4)), and the "
    "hidden constant contains I^2 G^2",
    uses=("fedlaavg.thm2.final",),
)  # fmt: skip
E23 = paper.claim(
    "E23", "Large constant step (gamma min(t1, t2) well above 1): FedLaAvg oscillates on Example 1",
    kind="law", where="ours", origin="ours",
    words="With t = (50, 50), gamma = 3/10, e = (1, -1), x^0 = 0 the iterates of period 100 still swing this far to "
    "both "
    "sides, so small steps as in Theorem 2 are needed. No statement of the paper says otherwise.",
    formulas={"amplitude": Rational(9998, 10000)},
    uses=("fedlaavg.ex1", "fedlaavg.alg1"),
)  # fmt: skip
