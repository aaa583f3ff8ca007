"""Corollary 4.8 of amplified FedAvg, the remarks after it, sections 5 and 6, and Table 1."""

from __future__ import annotations

from sympy import Integer, Rational, log, sqrt

from fltheory.ledger import Bound
from fltheory.papers.amplified.bounds import COROLLARY_LR, LEADING, cor33, cor33_repaired
from fltheory.papers.amplified.setting import (
    HALF,
    INDEPENDENT,
    SMALLEST,
    SQUARED,
    I,
    L,
    N,
    P,
    S,
    T,
    ass1,
    ass2,
    ass3,
    c,
    d,
    gap,
    objective_scale,
    paper,
    rho,
    samples_each,
    scale,
    sigma,
    v2,
)

# ---- Corollary 4.8 and the remarks after it --------------------------------------------------------------

LATE = (Rational(13, 48) * d**2 + sigma**2 / 18) / T
PRINTED_INTERVAL = v2 * N ** Rational(5, 2) * sqrt(I * T)

cor48 = paper.claim(
    "cor48", "Rate under stochastic participation with P growing like sqrt(T)",
    kind="corollary", where="Corollary 4.8, (18)",
    words="Under the conditions of Proposition 4.6 or 4.7 (equal mean weights; stationary and strongly mixing, or "
    "independent over rounds), with P = v^2 N^(5/2) sqrt(I T) (or with vhat^2) and the step sizes of Corollary 3.3, "
    "the expected error is of order (1 + sigma^2) rho/sqrt(I T) + d^2/sqrt(N I T) + (d^2 + sigma^2)/T.",
    assumes=(ass1, ass2, ass3),
    conditions={
        "local steps": rho / (v2 * N ** Rational(5, 2) * sqrt(L * gap)) >= I,
        "rounds": 4 * v2**2 * I * N**5 <= T,
    },
    formulas={"interval": PRINTED_INTERVAL, "local_lr": COROLLARY_LR, "amplification": cor33.formulas["amplification"]},
    bound=Bound(
        SMALLEST,
        (4 + Rational(5, 2) * sigma**2) * LEADING + Rational(5, 2) * d**2 / sqrt(N * I * T) + LATE,
        order="O((1 + sigma^2) rho sqrt(L calF)/sqrt(I T) + d^2/sqrt(N I T) + (d^2 + sigma^2)/T)",
        unit=SQUARED,
    ),
    uses=(
        "amplified.cor33", "amplified.ass2.independent", "amplified.prop41.repaired", "amplified.prop46",
        "amplified.prop47",
    ),
    repaired_by="amplified.cor48.repaired",
    gap="P is to be rounded and at least 1, the variance positive; the units are those of Corollary 3.3.",
)  # fmt: skip

cor48_repaired = paper.claim(
    "cor48.repaired", "Homogeneous rate under independent participation with a whole interval P",
    kind="corollary", where="ours, in place of Corollary 4.8", origin="ours",
    words=f"{INDEPENDENT} for any whole P of at least v^2 N^(5/2) sqrt(I T) that is at most T/2 and admitted by the "
    "step sizes with the free gradient scale s, the expected error over participation is at most this.",
    assumes=(ass1, ass2, ass3),
    conditions=cor33_repaired.conditions | {"long interval": P >= PRINTED_INTERVAL},
    formulas=cor33_repaired.formulas,
    bound=Bound(
        SMALLEST,
        (4 * scale + Rational(5, 2) * sigma**2 / scale) * LEADING + Rational(5, 2) * d**2 / sqrt(N * I * T) + LATE,
        unit=SQUARED,
    ),
    uses=(
        "amplified.cor33.repaired", "amplified.ass2.independent", "amplified.prop41.repaired",
        "amplified.prop47.expectation", "amplified.thm31.average",
    ),
)  # fmt: skip

A4 = paper.claim(
    "A4", "High-probability version of Corollary 4.8 has the same order",
    kind="remark", where="after Corollary 4.8; Table 1, last row",
    words="With P of Corollary 4.8 the high-probability interval divergence is ln(2/c) times the expected one, up to "
    "a constant.",
    formulas={"printed factor": log(2 / c), "extra factor": 1 / (2 * v2)},
    uses=("amplified.cor48", "amplified.prop47"),
    gap="The factor that is left out, 1/(2 v^2), is a constant only if v is; the table's note says that other "
    "variables are ignored.",
)  # fmt: skip

remark_scaling = paper.claim(
    "remark_scaling", "Scaling the objective allows arbitrarily many local steps",
    kind="remark", where="Remark after Corollary 4.8",
    words="Replacing every F_n by a F_n keeps the minimiser and scales L calF by a^2, so that the bound on I in "
    "Corollary 4.8 can be made as large as one likes. Relative to the scaled error measure the leading term becomes "
    "(1/a + a sigma^2) times what it is without 1 + sigma^2.",
    formulas={"relative leading factor": 1 / objective_scale + objective_scale * sigma**2},
    uses=("amplified.cor48",),
    gap="The authors note that scaling affects the measured error too; relative to it the bound grows like 1/a.",
)  # fmt: skip

Pscale = paper.claim(
    "Pscale", "P effectively scales with sqrt(N)",
    kind="remark", where="after the Remark on Corollary 4.8",
    words="If the participation of a client stays unchanged when N grows, its weight scales with 1/N and v^2 with "
    "1/N^2, so that P of Corollary 4.8 scales with sqrt(N).",
    formulas={"power of N": HALF, "power of N at fixed S": Rational(3, 2)},
    uses=("amplified.cor48", "amplified.weights"),
)  # fmt: skip

# ---- sections 5 and 6 ------------------------------------------------------------------------------------

linspeed = paper.claim(
    "linspeed", "Speedup factor 1/rho^2 generalises linear speedup",
    kind="remark", where="section 5",
    words="S clients with equal weights have rho = 1/sqrt(S), at least S of them rho <= 1/sqrt(S), which turns "
    "sigma rho/sqrt(I T) into sigma/sqrt(S I T).",
    formulas={"rho^2": 1 / S, "rate": sigma / sqrt(S * I * T)},
    uses=("amplified.cor43", "amplified.rho"),
)  # fmt: skip

lower = paper.claim(
    "lower", "Rate matches the lower bound for stochastic gradients",
    kind="remark", where="section 5",
    words="Under regularised participation S I T calls of the gradient oracle reach the error sigma/sqrt(S I T), the "
    "order of the lower bound for stochastic gradients.",
    latex=r"\text{error } \frac{\sigma}{\sqrt{S I T}} \text{ after } S I T \text{ gradients}",
    mentions=(S, I, T, sigma),
    unchecked="Rests on a cited lower bound (Arjevani et al.)",
    uses=("amplified.cor43",),
)  # fmt: skip

waitall = paper.claim(
    "waitall", "Waiting for all clients can match Algorithm 1",
    kind="remark", where="section 5",
    words="If all N clients make one step in P rounds on averages of M gradients each, the rate is "
    "sigma sqrt(P)/sqrt(M N T); it equals sigma/sqrt(S I T) exactly if M N = S I P.",
    formulas={"rate": sigma * sqrt(P) / sqrt(samples_each * N * T), "break-even": S * I * P / N},
    uses=("amplified.cor43",),
)  # fmt: skip

exp_delta = paper.claim(
    "exp.delta", "Interval divergence of the experiment for P = 1 to 900",
    kind="number", where="section 6 (setting; the numbers are ours)", origin="ours",
    words="For N = 250 clients in five groups that are available in turn for 100 rounds each, S = 10 of them in "
    "regularised turns, (15) over d^2 is this for the worst window that starts with a group's turn.",
    formulas={
        "P = 1": Integer(24), "P = 100": Integer(4), "P = 300": Rational(2, 3), "P = 500": Integer(0),
        "P = 700": Rational(6, 49), "P = 900": Rational(4, 81),
        "P = 100, best window": Rational(3, 2), "P = 300, best window": Rational(7, 18),
    },
    uses=("amplified.eq15",),
)  # fmt: skip

tab1 = paper.claim(
    "tab1", "Table 1: rates by participation pattern",
    kind="table", where="Table 1",
    words="Leading terms of the rates of this paper: regularised, mixing and independent participation, with "
    "rho = 1/sqrt(S); L and calF, which the table leaves out, are put back.",
    formulas={
        "regularized": sigma * sqrt(L * gap) / sqrt(S * I * T),
        "mixing, expectation": (1 + sigma**2) * sqrt(L * gap) / sqrt(S * I * T),
        "mixing, probability": (1 + sigma**2) * sqrt(L * gap) / (c * sqrt(S * I * T)),
        "independent, expectation": (1 + sigma**2) * sqrt(L * gap) / sqrt(S * I * T),
        "independent, probability": (1 + sigma**2) * log(2 / c) * sqrt(L * gap) / sqrt(S * I * T),
    },
    uses=("amplified.cor43", "amplified.cor48"),
    gap="Correct in fixed units; the rows with 1 + sigma^2 inherit the units of Corollary 3.3, and a free scale "
    "mends them.",
)  # fmt: skip
