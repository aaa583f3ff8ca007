"""Section 5 and Appendix C: FedLaAvg with C local steps a round."""

from __future__ import annotations

from sympy import Integer, Rational, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedlaavg.iterations import EXOGENOUS, INSERTED, LARGEST_IN_USE, SQUARE, share_up, small
from fltheory.papers.fedlaavg.letters import (
    LARGEST_AGE,
    ROOT_N,
    A,
    B,
    C,
    D,
    E,
    G,
    I,
    L,
    N,
    R,
    beta,
    gamma,
    mean_stale_square,
    noise_square_sum,
    paper,
    sigma,
)
from fltheory.papers.fedlaavg.setting import any_client, ass1, ass2, ass3, ass5
from fltheory.symbols import Max
from fltheory.units import GRADIENT, LOSS

ALL = (ass1, ass2, ass3, ass5)
STALE = I**2 * L**2 * C**2 * gamma**2 * G**2
SAFE = Max(I, 2) ** 2 * L**2 * C**2 * gamma**2 * G**2
STARTED = "Before every client has taken part (some R_i = 0) the terms refer to gradients that were never taken."
GIVEN_46 = (
    "Rests on (46), which leaves out the drift of the local iterates and can fail when I is 0 or 1; for I >= 2 it "
    "follows, and for every I with max(I, 2)^2 in the term from (46), as in eq46.repaired."
)

alg2 = paper.claim(
    "alg2", "Round-based FedLaAvg with C local steps",
    kind="algorithm", where="Algorithm 2",
    words="As Algorithm 1 with accumulated updates of C local steps in place of gradients. (Line 4 reads u^(r-1).)",
    unchecked="Procedure: its parts are checked in alg2.C1 and alg3",
    uses=("fedlaavg.def.R",),
)  # fmt: skip
eq38 = paper.claim(
    "eq38", "(38): virtual global update",
    kind="equation", where="(38)",
    words="x^t = x^(t-1) - gamma `share` times the sum of g_i at iteration R_i C - r C + t.",
    formulas={"share": Integer(1)},
    uses=("fedlaavg.alg2",),
    repaired_by="fedlaavg.alg3.repaired",
    gap="Algorithm 2 and (42) have the factor 1/N.",
)  # fmt: skip
eq39 = paper.claim(
    "eq39", "(39): virtual local update",
    kind="equation", where="(39)",
    words="In every iteration t every client takes the step x_i^t = x_i^(t-1) - gamma g_i^t: Algorithm 3 prints it "
    "without a restriction, so that what a client has to be (`updated`) is any client.",
    formulas={"updated": any_client},
    uses=("fedlaavg.alg2",),
    gap="g_i^t exists for the selected clients only, as the line before (38) says; they are meant.",
)  # fmt: skip
alg3 = paper.claim(
    "alg3", "Virtual iterates equivalent to Algorithm 2",
    kind="algorithm", where="Algorithm 3",
    words="Algorithm 3, with `share` in (38), has the models of Algorithm 2 at all iterations rC.",
    formulas={"share": Integer(1)},
    uses=("fedlaavg.alg2", "fedlaavg.eq38"),
    repaired_by="fedlaavg.alg3.repaired",
    gap="As (38); with the factor 1/N the two agree.",
)  # fmt: skip
alg3_repaired = paper.claim(
    "alg3.repaired", "Virtual iterates with 1/N agree with Algorithm 2",
    kind="algorithm", where="ours", origin="ours",
    words="With this share Algorithm 3 has the models of Algorithm 2 at all iterations rC.",
    formulas={"share": 1 / N},
    uses=("fedlaavg.alg2",),
)  # fmt: skip
alg2_C1 = paper.claim(
    "alg2.C1", "One local step reduces Algorithm 2 to Algorithm 1",
    kind="remark", where="section 5",
    words="With so many local steps the models of Algorithm 2 are those of Algorithm 1.",
    formulas={"local steps": Integer(1)},
    uses=("fedlaavg.alg1", "fedlaavg.alg2"),
)  # fmt: skip

lem5 = paper.claim(
    "lem5", "Staleness in rounds at most I",
    kind="lemma", where="Lemma 5; (40)",
    words="For every client and round, r - R_i^r <= I, with R_i the last round in which it took part.",
    assumes=(ass5,),
    bound=Bound("r - R_i^r", LARGEST_AGE),
    uses=("fedlaavg.ass5", "fedlaavg.alg2", "fedlaavg.lem1"),
    gap="As Lemma 1: all available clients are to be taken when they are fewer than K.",
)  # fmt: skip
lem6 = paper.claim(
    "lem6", "Round-based form of Lemma 2",
    kind="lemma", where="Lemma 6",
    words="At a fixed iteration, E|g_i^t|^2 <= G^2, and the variance about grad f_i(x_i^(t-1)) is at most the formula.",
    assumes=(ass2, ass3),
    bound=Bound("E|g_i^t|^2", G**2, unit=SQUARE),
    formulas={"variance": sigma**2},
    uses=("fedlaavg.lem2",),
)  # fmt: skip
lem7 = paper.claim(
    "lem7", "Round-based form of Lemma 3",
    kind="lemma", where="Lemma 7",
    words="Lemma 3 for Algorithm 3: the mean square of the sum over i of the gradient errors g_i^s - "
    "grad f_i(x_i^(s - 1)), with s = R_i C - r C + t, equals the sum of their mean squares. The proofs use that it is "
    "at most that sum, which is the bound.",
    assumes=(ass2, ass5),
    bound=Bound("E|sum of gradient errors|^2", noise_square_sum, unit=SQUARE),
    uses=("fedlaavg.lem3",),
    gap="As Lemma 3: valid when availability does not depend on the samples.",
)  # fmt: skip
eq42 = paper.claim(
    "eq42", "(42): bound on the squared virtual step",
    kind="equation", where="(42)",
    words="A is the mean square of the average of the clients' local gradients that are in use.",
    assumes=ALL,
    bound=Bound("E|x^t - x^(t-1)|^2", 2 * gamma**2 * sigma**2 / N + 2 * gamma**2 * A, unit=(LOSS / GRADIENT) ** 2),
    uses=("fedlaavg.alg3.repaired", "fedlaavg.lem6", "fedlaavg.lem7"),
    gap=STARTED,
)  # fmt: skip
_first = gamma**2 * I * C * L * (G**2 + sigma**2) / (2 * ROOT_N)
_second = gamma**3 * I**2 * C**2 * L**2 * G**2 / (2 * (1 - 2 * gamma * L))
eq44 = paper.claim(
    "eq44", "(44): first cross term, round-based",
    kind="equation", where="(44)",
    words="The first term of (43), which is that of (23) with the local gradients.",
    assumes=ALL,
    bound=Bound("first term of (43)", _first, unit=LOSS),
    uses=("fedlaavg.cor2", "fedlaavg.lem5", "fedlaavg.lem6", "fedlaavg.lem7"),
    gap=STARTED,
)  # fmt: skip
eq45 = paper.claim(
    "eq45", "(45): second cross term, round-based",
    kind="equation", where="(45)",
    words="The second term of (43). (The leading minus is missing in print.)",
    assumes=ALL,
    conditions=small,
    bound=Bound("second term of (43)", _second + gamma * (1 - 2 * gamma * L) / 2 * A, unit=LOSS),
    uses=("fedlaavg.cor2", "fedlaavg.lem5"),
    gap=STARTED,
)  # fmt: skip
eq46 = paper.claim(
    "eq46", "(46): third cross term, round-based",
    kind="equation", where="(46)",
    words="E<grad f(x^(hatT-1)), mean latest gradient> is at least D/2 + A/2 - I^2 L^2 C^2 gamma^2 G^2/2 once every "
    "client "
    "has taken part; in other words D/2 + A/2 minus the left is at most the bound.",
    assumes=ALL,
    bound=Bound("D/2 + A/2 - E<grad f(x^(hatT-1)), mean latest gradient>", STALE / 2, unit=SQUARE),
    uses=("fedlaavg.lem4", "fedlaavg.lem5", "fedlaavg.lem6"),
    repaired_by="fedlaavg.eq46.repaired",
    gap="The local iterates drift from the virtual one within a round, which the step after (26) and (27) has no "
    "counterpart for. With max(I, 2)^2 in place of I^2 no violation was found.",
    mentions=(A, D),
)  # fmt: skip
eq46_repaired = paper.claim(
    "eq46.repaired", "(46) with max(I, 2)^2 in place of I^2",
    kind="equation", where="ours", origin="ours",
    words="The same with max(I, 2)^2, with availability independent of the samples.",
    assumes=ALL,
    bound=Bound("D/2 + A/2 - E<grad f(x^(hatT-1)), mean latest gradient>", SAFE / 2, unit=SQUARE),
    uses=("fedlaavg.lem4", "fedlaavg.lem5", "fedlaavg.lem6"),
    mentions=(A, D),
)  # fmt: skip
_eq47 = _first + _second + gamma * STALE / 2
eq47 = paper.claim(
    "eq47", "(47): bound on the inner product, round-based",
    kind="equation", where="(47)",
    words="E<grad f(x^(t-1)), x^t - x^(t-1)> + gamma^2 L A + gamma D/2 is at most this.",
    assumes=ALL,
    conditions=small,
    bound=Bound("E<grad f(x^(t-1)), x^t - x^(t-1)> + gamma^2 L A + gamma D/2", _eq47, unit=LOSS),
    uses=("fedlaavg.eq44", "fedlaavg.eq45", "fedlaavg.eq46"),
    gap=GIVEN_46,
    mentions=(A, D),
)  # fmt: skip
eq48 = paper.claim(
    "eq48", "(48): per-step descent, round-based",
    kind="equation", where="(48)",
    words="E f(x^t) - E f(x^(t-1)) + gamma D/2 is at most this.",
    assumes=ALL,
    conditions=small,
    bound=Bound("E f(x^t) - E f(x^(t-1)) + gamma D/2", gamma**2 * sigma**2 * L / N + _eq47, unit=LOSS),
    uses=("fedlaavg.eq42", "fedlaavg.eq44", "fedlaavg.eq45", "fedlaavg.eq46"),
    gap=GIVEN_46,
    mentions=(D,),
)  # fmt: skip
_eq49 = (
    2 * gamma * sigma**2 * L / N + gamma * I * C * L * (G**2 + sigma**2) / ROOT_N + STALE / (1 - 2 * gamma * L) + STALE
)
eq49 = paper.claim(
    "eq49", "(49): stale gradient bounded by descent, round-based",
    kind="equation", where="(49)",
    words="D - (2/gamma)(E f(x^(t-1)) - E f(x^t)) is at most this.",
    assumes=ALL,
    conditions=small,
    bound=Bound("D - (2/gamma)(E f(x^(t-1)) - E f(x^t))", _eq49, unit=SQUARE),
    uses=("fedlaavg.eq48",),
    gap=GIVEN_46,
    mentions=(D,),
)  # fmt: skip
eq50 = paper.claim(
    "eq50", "(50): average of (49)",
    kind="equation", where="(50)",
    words="The average of D over iterations 1 to RC is at most this.",
    assumes=ALL,
    conditions=small,
    bound=Bound("(1/(RC)) sum of D", _eq49 + 2 * B / (gamma * R * C), unit=SQUARE),
    uses=("fedlaavg.eq49",),
    gap=GIVEN_46,
    mentions=(D,),
)  # fmt: skip
eq51 = paper.claim(
    "eq51", "(51): virtual gradient against stale gradient",
    kind="equation", where="(51)",
    words="E|grad f(x^(rC-1))|^2 is at most this, the last letter being D averaged over the round.",
    assumes=ALL,
    bound=Bound(
        "E|grad f(x^(rC-1))|^2", 2 * (I + 1) ** 2 * L**2 * C**2 * gamma**2 * G**2 + 2 * mean_stale_square, unit=SQUARE
    ),
    uses=("fedlaavg.lem5", "fedlaavg.cor2"),
    gap=STARTED,
)  # fmt: skip

_before = 4 * gamma * sigma**2 * L / N + 2 * gamma * I * C * L * (G**2 + sigma**2) / ROOT_N
_scale = gamma**2 * C**2 * L**2 * G**2
_eq52 = _before + (2 * I**2 / (1 - 2 * gamma * L) + 4 * I**2 + 4 * I + 2) * _scale + 4 * B / (gamma * R * C)
eq52 = paper.claim(
    "eq52", "(52): explicit bound behind Theorem 4",
    kind="equation", where="(52)",
    words="From (50) and (51). The left-hand side is about the virtual iterates x^(rC-1), which Algorithm 2 does not "
    "compute when C > 1.",
    assumes=ALL,
    conditions=small,
    bound=Bound("(1/R) sum of E|grad f(x^(rC-1))|^2", _eq52, unit=SQUARE),
    uses=("fedlaavg.eq50", "fedlaavg.eq51"),
    repaired_by="fedlaavg.thm4.repaired",
    gap=EXOGENOUS + LARGEST_IN_USE + " Its derivation also rests on (46); no violation is known otherwise.",
)  # fmt: skip
thm4 = paper.claim(
    "thm4", "Convergence of round-based FedLaAvg",
    kind="theorem", where="Theorem 4; (52)",
    words="With `step` and gamma <= 1/(4L) the average of E|grad f(x^(rC-1))|^2 over R rounds is at most the bound of "
    "(52), with I = ceil(N/K) E - 1.",
    assumes=ALL,
    conditions={"range": gamma <= 1 / (4 * L)},
    bound=Bound(
        "(1/R) sum of E|grad f(x^(rC-1))|^2",
        _eq52,
        order="O(E^(1/2) (G^2 + sigma^2 + L B) / (N^(1/4) R^(1/2) beta^(1/2)) + G^2 N^(1/2) E / (R beta))",
        unit=SQUARE,
    ),
    formulas={"step": sqrt(beta) * N ** Rational(1, 4) / (2 * L * C * sqrt(E) * sqrt(R))},
    uses=("fedlaavg.ass1", "fedlaavg.ass2", "fedlaavg.ass3", "fedlaavg.ass5", "fedlaavg.alg2", "fedlaavg.eq52"),
    repaired_by="fedlaavg.thm4.repaired",
    gap=EXOGENOUS + INSERTED,
)  # fmt: skip
thm4_repaired = paper.claim(
    "thm4.repaired", "Theorem 4 with constant 2 max(I, 2)^2 + 2(I + 1)^2",
    kind="theorem", where="ours", origin="ours",
    words="The same with the constant that a repaired (46) gives, availability independent of the samples, and I the "
    "largest age in rounds of an update in use.",
    assumes=ALL,
    conditions=small,
    bound=Bound(
        "(1/R) sum of E|grad f(x^(rC-1))|^2",
        _before
        + (2 * I**2 / (1 - 2 * gamma * L) + 2 * Max(I, 2) ** 2 + 2 * (I + 1) ** 2) * _scale
        + 4 * B / (gamma * R * C),
        unit=SQUARE,
    ),
    uses=("fedlaavg.eq46.repaired", "fedlaavg.eq50", "fedlaavg.eq51"),
)  # fmt: skip
eq53 = paper.claim(
    "eq53", "(53): order form of Theorem 4",
    kind="equation", where="(53)",
    words="The bound of (52) is at most a fixed multiple of this.",
    conditions=small,
    formulas={
        "order": gamma * I * C * L * (G**2 + sigma**2) / ROOT_N
        + STALE / (1 - 2 * gamma * L)
        + B / (gamma * R * C),
        "explicit": _eq52,
    },
    uses=("fedlaavg.eq52",),
    gap="For I = 0 the variance and the drift terms must be kept.",
)  # fmt: skip
_rate = sqrt(E) / (N ** Rational(1, 4) * sqrt(R) * sqrt(beta))
thm4_rate = paper.claim(
    "thm4.rate", "Rate E^(1/2) / (N^(1/4) R^(1/2)), C cancels",
    kind="corollary", where="Theorem 4, first display; (54)",
    words="With `step` the bound of (52) is at most this, c = beta ceil(1/beta); of the local steps C only the "
    "variance "
    "term knows.",
    assumes=ALL,
    conditions={"range": 4 * beta * ROOT_N / (E * C**2) <= R},
    bound=Bound(
        "(1/R) sum of E|grad f(x^(rC-1))|^2",
        _rate * (share_up * (G**2 + sigma**2) + 2 * sigma**2 * beta / (C * E * ROOT_N) + 8 * L * B)
        + 2 * share_up**2 * E * G**2 * ROOT_N / (R * beta),
        order="(54)",
        unit=SQUARE,
    ),
    formulas={"step": sqrt(beta) * N ** Rational(1, 4) / (2 * L * C * sqrt(E) * sqrt(R)), "(52)": _eq52},
    uses=("fedlaavg.eq52",),
    gap=EXOGENOUS + INSERTED,
)  # fmt: skip
eq55 = paper.claim(
    "eq55", "(55): final form of Theorem 4",
    kind="equation", where="(55); Theorem 4, second display",
    words="The first order of (54) as it is printed here.",
    formulas={
        "printed": (sqrt(E) * (G**2 + sigma**2) + B * L) / (sqrt(beta) * N ** Rational(1, 4) * sqrt(R)),
        "(54)": sqrt(E) * (G**2 + sigma**2 + B * L) / (sqrt(beta) * N ** Rational(1, 4) * sqrt(R)),
    },
    uses=("fedlaavg.thm4.rate",),
    gap="sqrt(E) multiplies the whole bracket, as in (54); the printed form cannot hold uniformly in E.",
)  # fmt: skip
