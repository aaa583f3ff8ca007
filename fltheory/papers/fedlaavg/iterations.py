"""Section 4.2 and Appendix B: FedLaAvg for nonconvex functions, iteration by iteration."""

from __future__ import annotations

from sympy import Integer, Rational, Symbol, ceiling, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedlaavg.letters import (
    LARGEST_AGE,
    ROOT_N,
    A,
    B,
    D,
    E,
    G,
    I,
    K,
    L,
    N,
    T,
    beta,
    gamma,
    iteration,
    noise_square_sum,
    paper,
    sigma,
    steps_back,
)
from fltheory.papers.fedlaavg.setting import ass1, ass2, ass3, ass4
from fltheory.units import GRADIENT, LOSS

ALL = (ass1, ass2, ass3, ass4)
SQUARE = GRADIENT**2
small = {"step": gamma < 1 / (2 * L)}
UNDEFINED = "Before every client has taken part (t <= I) the terms refer to x^(-1), which is not defined."
EXOGENOUS = (
    "Uses, without saying so, that the availability sets do not depend on the sampled data; if they may, it can fail."
)
LARGEST_IN_USE = (
    " I is read as the largest age of a gradient in use. That it is ceil(N/K) E - 1, as the paper has it, rests on "
    "Lemma 1: all available clients are taken when they are fewer than K."
)
FIRST_PHASE = " Its proof needs every client to have taken part once; thm3.improved does without that."
STALE = I**2 * L**2 * gamma**2 * G**2

# ---- who takes part --------------------------------------------------------------------------------------

lem1 = paper.claim(
    "lem1", "Staleness at most I = ceil(N/K) E - 1",
    kind="lemma", where="Lemma 1",
    words="For every client and iteration, t - T_i^t <= I.",
    assumes=(ass4,),
    bound=Bound("t - T_i^t", LARGEST_AGE),
    uses=("fedlaavg.ass4", "fedlaavg.alg1", "fedlaavg.lem1.proof"),
    gap="Algorithm 1 does not say what to do when fewer than K clients are available. The lemma holds, and cannot be "
    "improved, if all of them are taken then.",
)  # fmt: skip
lem1_full = paper.claim(
    "lem1.full", "Staleness at most (ceil(N/K)-1)E when K clients are always available",
    kind="lemma", where="ours", origin="ours",
    words="If at least K clients are available in every iteration, t - T_i^t <= (ceil(N/K) - 1) E.",
    assumes=(ass4,),
    bound=Bound("t - T_i^t", (ceiling(N / K) - 1) * E),
    uses=("fedlaavg.ass4", "fedlaavg.alg1"),
)  # fmt: skip
lem1_skip = paper.claim(
    "lem1.skip", "Staleness unbounded when rounds with too few clients are skipped",
    kind="law", where="ours", origin="ours",
    words="If nobody is selected when fewer than K clients are available, then with N = K = 2 and two clients that are "
    "available in turn (E = 2) the staleness after t iterations is this.",
    formulas={"age": iteration},
    uses=("fedlaavg.alg1",),
)  # fmt: skip
lem1_rule = paper.claim(
    "lem1.rule", "Staleness unbounded under uniform or most-recently-used selection",
    kind="law", where="ours", origin="ours",
    words="If any K of the available clients may be selected, or those that took part last, the staleness after t "
    "iterations can be this (N = 2, K = 1, E = 1).",
    formulas={"age": iteration},
    uses=("fedlaavg.alg1",),
)  # fmt: skip
lem1_proof = paper.claim(
    "lem1.proof", "Distinctness argument and (13) behind Lemma 1",
    kind="lemma", where="Appendix B.1, (13)",
    words="A client that is available ceil(N/K) times without being selected needs `clients` clients in all, more "
    "than N; so from any iteration t on it takes part again within `wait` iterations.",
    assumes=(ass4,),
    formulas={"clients": ceiling(N / K) * K + 1, "wait": LARGEST_AGE + 1},
    uses=("fedlaavg.ass4", "fedlaavg.alg1"),
    gap="As for Lemma 1, all available clients must be taken when they are fewer than K.",
)  # fmt: skip

# ---- moments of gradients --------------------------------------------------------------------------------

lem2 = paper.claim(
    "lem2", "Second moment and variance of g_i^t",
    kind="lemma", where="Lemma 2; (14), (15)",
    words="At a fixed iteration t, E|g_i^t|^2 <= G^2 and E|g_i^t - grad f_i(x^(t-1))|^2 is at most the formula.",
    assumes=(ass2, ass3),
    bound=Bound("E|g_i^t|^2", G**2, unit=SQUARE),
    formulas={"variance": sigma**2},
    uses=("fedlaavg.ass2", "fedlaavg.ass3"),
    gap="True as it stands; the proofs use it at the random iteration T_i^t, which is valid when availability does not "
    "depend on the samples.",
)  # fmt: skip
lem3 = paper.claim(
    "lem3", "Squared sum of gradient errors equals sum of squares",
    kind="lemma", where="Lemma 3; (16) to (18)",
    words="The mean square of the sum over i of the gradient errors g_i^(T_i) - grad f_i(x^(T_i - 1)) equals the sum "
    "of their mean squares. The proofs use that it is at most that sum, which is the bound.",
    assumes=(ass2, ass4),
    bound=Bound("E|sum of gradient errors|^2", noise_square_sum, unit=SQUARE),
    uses=("fedlaavg.ass2", "fedlaavg.def.T"),
    gap="The conditioning at the random iterations T_i^t is valid when availability does not depend on the samples.",
)  # fmt: skip
_change = steps_back**2 * L**2 * gamma**2 * G**2
lem4 = paper.claim(
    "lem4", "Local gradient change between two iterates",
    kind="lemma", where="Lemma 4; (19)",
    words="E|grad f_i(x^(t-1)) - grad f_i(x^(t0-1))|^2 <= (t - t0)^2 L^2 gamma^2 G^2 for all t0 <= t.",
    assumes=(ass1, ass3),
    bound=Bound("E|grad f_i(x^(t-1)) - grad f_i(x^(t0-1))|^2", _change, unit=SQUARE),
    uses=("fedlaavg.ass1", "fedlaavg.ass3", "fedlaavg.eq3", "fedlaavg.lem2"),
    gap="Its proof uses Lemma 2 at the random iterations T_i^t, which is valid when availability does not depend on "
    "the samples. Read for t0 >= 1: t0 = 0 would refer to x^(-1), which is not defined.",
)  # fmt: skip
cor2 = paper.claim(
    "cor2", "Global gradient change between two iterates",
    kind="corollary", where="Corollary 2; (20)",
    words="E|grad f(x^(t-1)) - grad f(x^(t0-1))|^2 <= (t - t0)^2 L^2 gamma^2 G^2 for all t0 <= t.",
    assumes=(ass1, ass3),
    bound=Bound("E|grad f(x^(t-1)) - grad f(x^(t0-1))|^2", _change, unit=SQUARE),
    uses=("fedlaavg.lem4",),
    gap="As Lemma 4.",
)  # fmt: skip

# ---- one iteration ---------------------------------------------------------------------------------------

eq21 = paper.claim(
    "eq21", "(21): descent lemma",
    kind="equation", where="(21)",
    words="f(v) <= f(u) + <grad f(u), v - u> + this many times |v - u|^2.",
    assumes=(ass1,),
    formulas={"factor": L / 2},
    uses=("fedlaavg.ass1",),
)  # fmt: skip
eq22 = paper.claim(
    "eq22", "(22): bound on the squared step",
    kind="equation", where="(22)",
    words="A is E|(1/N) sum grad f_i(x^(T_i - 1))|^2. (The last relation is printed as an equality.)",
    assumes=ALL,
    bound=Bound("E|x^t - x^(t-1)|^2", 2 * gamma**2 * sigma**2 / N + 2 * gamma**2 * A, unit=(LOSS / GRADIENT) ** 2),
    uses=("fedlaavg.eq3", "fedlaavg.lem2", "fedlaavg.lem3"),
    gap=UNDEFINED,
)  # fmt: skip
eq23 = paper.claim(
    "eq23", "(23): decomposition of the inner product",
    kind="equation", where="(23)",
    words="<now, g> is the sum of the cross terms with old, the most outdated global gradient in use, and the mean m "
    "of "
    "the stale client gradients (numbers stand for the coordinates).",
    formulas={
        "sum": (Symbol("now") - Symbol("old")) * (Symbol("g") - Symbol("m"))
        + (Symbol("now") - Symbol("old")) * Symbol("m")
        + Symbol("old") * Symbol("g")
    },
)  # fmt: skip
eq24 = paper.claim(
    "eq24", "(24): first cross term",
    kind="equation", where="(24)",
    words="-gamma E<grad f(x^(t-1)) - grad f(x^(T-1)), mean gradient error> with T the least T_i.",
    assumes=ALL,
    bound=Bound("first term of (23)", gamma**2 * I * L * (G**2 + sigma**2) / (2 * ROOT_N), unit=LOSS),
    uses=("fedlaavg.cor2", "fedlaavg.lem1", "fedlaavg.lem2", "fedlaavg.lem3"),
    gap=UNDEFINED + " For I = 0 the derivation divides by 0, but the term is 0.",
)  # fmt: skip
eq25 = paper.claim(
    "eq25", "(25): second cross term",
    kind="equation", where="(25)",
    words="-gamma E<grad f(x^(t-1)) - grad f(x^(T-1)), (1/N) sum grad f_i(x^(T_i - 1))>.",
    assumes=ALL,
    conditions=small,
    bound=Bound(
        "second term of (23)",
        gamma**3 * I**2 * L**2 * G**2 / (2 * (1 - 2 * gamma * L)) + gamma * (1 - 2 * gamma * L) / 2 * A,
        unit=LOSS,
    ),
    uses=("fedlaavg.cor2", "fedlaavg.lem1"),
    gap=UNDEFINED,
)  # fmt: skip
eq26 = paper.claim(
    "eq26", "(26): polarisation of the third cross term",
    kind="equation", where="(26)",
    words="E<grad f(x^(hatT-1)), mean latest gradient> = D/2 + A/2 - (1/2) E|grad f(x^(hatT-1)) - (1/N) sum grad "
    "f_i(x^(T_i - 1))|^2, hatT the smallest T_i, D and A the mean squares of grad f(x^(hatT-1)) and of (1/N) sum grad "
    "f_i(x^(T_i - 1)); in letters: old, mean and their difference, and a share of the gradient errors, zero.",
    assumes=ALL,
    formulas={
        "polarised": (Symbol("old") ** 2 + Symbol("mean") ** 2 - (Symbol("old") - Symbol("mean")) ** 2) / 2,
        "share of errors": Integer(0),
    },
    uses=("fedlaavg.lem3",),
    gap=UNDEFINED + " Step (b) needs availability independent of the samples.",
    mentions=(A, D, N),
)  # fmt: skip
eq27 = paper.claim(
    "eq27", "(27): staleness of the gradients",
    kind="equation", where="(27)",
    words="The last mean square of (26), hatT the smallest T_i.",
    assumes=ALL,
    bound=Bound("E|grad f(x^(hatT-1)) - (1/N) sum grad f_i(x^(T_i - 1))|^2", STALE, unit=SQUARE),
    uses=("fedlaavg.lem1", "fedlaavg.lem4"),
    gap=UNDEFINED,
    mentions=(N,),
)  # fmt: skip
_eq28 = (
    gamma**2 * I * L * (G**2 + sigma**2) / (2 * ROOT_N)
    + gamma**3 * I**2 * L**2 * G**2 / (2 * (1 - 2 * gamma * L))
    + gamma**3 * I**2 * L**2 * G**2 / 2
)
eq28 = paper.claim(
    "eq28", "(28): bound on the inner product",
    kind="equation", where="(28)",
    words="E<grad f(x^(t-1)), x^t - x^(t-1)> + gamma^2 L A + (gamma/2) D is at most this.",
    assumes=ALL,
    conditions=small,
    bound=Bound("E<grad f(x^(t-1)), x^t - x^(t-1)> + gamma^2 L A + gamma D/2", _eq28, unit=LOSS),
    uses=("fedlaavg.eq24", "fedlaavg.eq25", "fedlaavg.eq26", "fedlaavg.eq27"),
    gap=UNDEFINED,
    mentions=(A, D),
)  # fmt: skip
eq29 = paper.claim(
    "eq29", "(29): per-step descent inequality",
    kind="equation", where="(29)",
    words="E f(x^t) - E f(x^(t-1)) + (gamma/2) D is at most this, D the mean square of grad f at the most outdated "
    "iterate.",
    assumes=ALL,
    conditions=small,
    bound=Bound("E f(x^t) - E f(x^(t-1)) + gamma D/2", gamma**2 * sigma**2 * L / N + _eq28, unit=LOSS),
    uses=("fedlaavg.eq21", "fedlaavg.eq22", "fedlaavg.eq28"),
    gap="Needs every client to have taken part once; the final bound holds without that (thm3.improved).",
    mentions=(D,),
)  # fmt: skip
_eq30 = 2 * gamma * sigma**2 * L / N + gamma * I * L * (G**2 + sigma**2) / ROOT_N + STALE / (1 - 2 * gamma * L) + STALE
eq30 = paper.claim(
    "eq30", "(30): stale gradient bounded by descent",
    kind="equation", where="(30)",
    words="D - (2/gamma)(E f(x^(t-1)) - E f(x^t)) is at most this.",
    assumes=ALL,
    conditions=small,
    bound=Bound("D - (2/gamma)(E f(x^(t-1)) - E f(x^t))", _eq30, unit=SQUARE),
    uses=("fedlaavg.eq29",),
    gap=UNDEFINED,
    mentions=(D,),
)  # fmt: skip
eq31 = paper.claim(
    "eq31", "(31): average of (30)",
    kind="equation", where="(31)",
    words="The average of D over iterations 1 to T is at most this.",
    assumes=ALL,
    conditions=small,
    bound=Bound("(1/T) sum of D", _eq30 + 2 * B / (gamma * T), unit=SQUARE),
    uses=("fedlaavg.eq30",),
    gap=UNDEFINED,
    mentions=(D,),
)  # fmt: skip
eq32 = paper.claim(
    "eq32", "(32): current gradient against stale gradient",
    kind="equation", where="(32)",
    words="E|grad f(x^(t-1))|^2 is at most this.",
    assumes=ALL,
    bound=Bound("E|grad f(x^(t-1))|^2", 2 * STALE + 2 * D, unit=SQUARE),
    uses=("fedlaavg.lem1", "fedlaavg.cor2"),
    gap=UNDEFINED,
)  # fmt: skip

# ---- Theorem 3 -------------------------------------------------------------------------------------------

_floor = (
    4 * gamma * sigma**2 * L / N
    + 2 * gamma * I * L * (G**2 + sigma**2) / ROOT_N
    + 2 * STALE / (1 - 2 * gamma * L)
    + 4 * STALE
)
_thm3 = Bound("(1/T) sum of E|grad f(x^(t-1))|^2", _floor + 4 * B / (gamma * T), unit=SQUARE)
thm3 = paper.claim(
    "thm3", "FedLaAvg convergence for nonconvex functions",
    kind="theorem", where="Theorem 3; (33)",
    words="The average of E|grad f(x^(t-1))|^2 over T iterations is at most the bound. (gamma < 1/(2L), as in the "
    "proof; "
    "at 1/(2L) the bound is infinite.)",
    assumes=ALL,
    conditions=small,
    bound=_thm3,
    uses=("fedlaavg.ass1", "fedlaavg.ass2", "fedlaavg.ass3", "fedlaavg.ass4", "fedlaavg.alg1", "fedlaavg.lem1",
          "fedlaavg.eq33"),
    repaired_by="fedlaavg.thm3.improved",
    gap=EXOGENOUS + LARGEST_IN_USE + FIRST_PHASE,
)  # fmt: skip
eq33 = paper.claim(
    "eq33", "(33): explicit bound behind Theorem 3",
    kind="equation", where="(33)",
    words="The bound of Theorem 3, from (31) and (32).",
    assumes=ALL,
    conditions=small,
    bound=_thm3,
    uses=("fedlaavg.eq31", "fedlaavg.eq32"),
    repaired_by="fedlaavg.eq33.repaired",
    gap=EXOGENOUS + LARGEST_IN_USE + FIRST_PHASE,
)  # fmt: skip
eq33_repaired = paper.claim(
    "eq33.repaired", "(33) with availability independent of the samples",
    kind="equation", where="ours", origin="ours",
    words="With availability independent of the samples, (33) holds with its printed constants for every number of "
    "iterations, also before every client has taken part.",
    assumes=ALL,
    conditions=small,
    bound=_thm3,
    uses=("fedlaavg.thm3.improved",),
)  # fmt: skip
thm3_repaired = paper.claim(
    "thm3.repaired", "Theorem 3 averaged over t > I with exogenous availability",
    kind="theorem", where="ours", origin="ours",
    words="With availability independent of the samples, the average of E|grad f(x^(t-1))|^2 over I < t <= T is at "
    "most the "
    "first four terms of (33) plus 4 (sqrt(B) + gamma I G sqrt(L/2))^2 / (gamma (T - I)).",
    assumes=ALL,
    conditions={**small, "horizon": T > I},
    bound=Bound(
        "(1/(T - I)) sum over I < t <= T of E|grad f(x^(t-1))|^2",
        _floor + 4 * (sqrt(B) + gamma * I * G * sqrt(L / 2)) ** 2 / (gamma * (T - I)),
        unit=SQUARE,
    ),
    uses=("fedlaavg.eq29", "fedlaavg.eq32", "fedlaavg.lem1"),
)  # fmt: skip
thm3_full = paper.claim(
    "thm3.full", "Full participation: O(1/sqrt(NT))",
    kind="corollary", where="section 4.2, after Theorem 3",
    words="With K = N and E = 1 (so I = 0) the bound is this; with `step` and T >= N it is `rate`.",
    assumes=(ass1, ass2),
    conditions={"range": gamma <= 1 / (2 * L)},
    bound=Bound(
        "(1/T) sum of E|grad f(x^(t-1))|^2",
        4 * gamma * sigma**2 * L / N + 4 * B / (gamma * T), unit=SQUARE, order="O(1/sqrt(N T))",
    ),
    formulas={"step": ROOT_N / (2 * L * sqrt(T)), "rate": (2 * sigma**2 + 8 * L * B) / sqrt(N * T)},
    uses=("fedlaavg.thm3",),
)  # fmt: skip
thm3_vacuous = paper.claim(
    "thm3.vacuous", "Bound exceeds G^2 when gamma I L >= 1/sqrt(6)",
    kind="law", where="ours", origin="ours",
    words="From this value of gamma I L on the bound of Theorem 3 exceeds G^2, which needs no proof.",
    formulas={"threshold": 1 / sqrt(6), "explicit": _thm3.rhs},
    uses=("fedlaavg.eq33",),
)  # fmt: skip

# ---- Corollary 1 -----------------------------------------------------------------------------------------

share_up = beta * ceiling(1 / beta)  # c in [1, 2)
INSERTED = (
    " It puts ceil(N/K) E - 1 in the place of I, for which all available clients must be taken when they are fewer "
    "than K, as in Lemma 1."
)
CORRELATED = "Inherits what Theorem 3 needs: availability that does not depend on the samples." + INSERTED
_rate = E ** Rational(1, 2) / (N ** Rational(1, 4) * T ** Rational(1, 2) * beta ** Rational(1, 2))
cor1 = paper.claim(
    "cor1", "Rate E^(1/2) / (N^(1/4) T^(1/2)) plus second term",
    kind="corollary", where="Corollary 1",
    words="With the step size `step` (and gamma <= 1/(4L)) the average is at most the bound, c = beta ceil(1/beta).",
    assumes=ALL,
    conditions={"range": 4 * beta * ROOT_N / E <= T},
    bound=Bound(
        "(1/T) sum of E|grad f(x^(t-1))|^2",
        _rate * (share_up * (G**2 + sigma**2) + 2 * sigma**2 * beta / (E * ROOT_N) + 8 * L * B)
        + 2 * share_up**2 * E * G**2 * ROOT_N / (T * beta),
        order="O(E^(1/2) (G^2 + sigma^2 + L B) / (N^(1/4) T^(1/2) beta^(1/2)) + G^2 N^(1/2) E / (T beta))",
        unit=SQUARE,
    ),
    formulas={"step": sqrt(beta) * N ** Rational(1, 4) / (2 * L * sqrt(E) * sqrt(T))},
    uses=("fedlaavg.thm3", "fedlaavg.eq35", "fedlaavg.lem1"),
    gap=CORRELATED,
    mentions=(gamma,),
)  # fmt: skip
cor1_speedup = paper.claim(
    "cor1.speedup", "Sublinear speedup for T >= E N^(3/2)/beta",
    kind="corollary", where="Corollary 1; (36)",
    words="The average of E|grad f(x^(t-1))|^2 is at most the bound of Corollary 1, in the order of which, at a fixed "
    "share beta, the second term is at most the first from T = `horizon` on: it is of the order of the first, with "
    "G^2 + sigma^2 + L B for G^2.",
    assumes=ALL,
    formulas={
        "horizon": E * N ** Rational(3, 2) / beta,
        "first": E ** Rational(1, 2) * G**2 / (N ** Rational(1, 4) * T ** Rational(1, 2) * beta ** Rational(1, 2)),
        "second": E * G**2 * N ** Rational(1, 2) / (T * beta),
    },
    uses=("fedlaavg.cor1",),
    gap="The comparison of the terms needs nothing; the rate needs what Corollary 1 needs: availability that does not "
    "depend on the samples." + INSERTED,
)  # fmt: skip
eq34 = paper.claim(
    "eq34", "(34): order form of Theorem 3",
    kind="equation", where="(34)",
    words="The bound of Theorem 3 is at most a fixed multiple of this.",
    conditions=small,
    formulas={
        "order": gamma * I * L * (G**2 + sigma**2) / ROOT_N + STALE / (1 - 2 * gamma * L) + B / (gamma * T),
        "explicit": _thm3.rhs,
    },
    uses=("fedlaavg.thm3",),
    gap="For I = 0 the variance term must be kept.",
)  # fmt: skip
eq35 = paper.claim(
    "eq35", "(35): substitution of the learning rate",
    kind="equation", where="(35)",
    words="I as it is printed there, said to be that of Lemma 1; and 1 - 2 gamma L above 1/2 because gamma <= 1/(4L).",
    conditions={"step": gamma <= 1 / (4 * L)},
    formulas={"I": ceiling(N / K) * E, "kept": 1 - 2 * gamma * L > Rational(1, 2)},
    uses=("fedlaavg.eq34", "fedlaavg.lem1"),
    gap="Lemma 1 has one less, and at gamma = 1/(4L) it is an equality; neither touches the order.",
)  # fmt: skip
b3_remark = paper.claim(
    "b3.remark", "Norm of the second vector is O(1/N)",
    kind="remark", where="Appendix B.3, last paragraph",
    words="The norm of the mean gradient error is of this order in N.",
    formulas={"norm": 1 / N},
    gap="It is the squared norm; the product that is formed next is right.",
)  # fmt: skip
eq37 = paper.claim(
    "eq37", "(37): cross term under full participation",
    kind="equation", where="(37)",
    words="If everybody takes part, E<grad f(x^(t-1)), mean latest gradient> is this many times E|grad f(x^(t-1))|^2.",
    formulas={"factor": Integer(1)},
)  # fmt: skip
