"""The printed proof of Theorem 1 of FAST, step by step."""

from __future__ import annotations

from sympy import Rational, Symbol, sqrt

from fltheory.papers.fast.nonconvex import A, B
from fltheory.papers.fast.setting import G1, G2, G3, K, L, R, eta, h, m, n, paper, q, s, sigma, sigma_G
from fltheory.symbols import Max, Min

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
    gap="The second is not implied by the conditions of the theorem if s > .4565, such as for m = n = 1 and 2; it "
    "should stand among them (with K L outside its root; the copy that was read has it inside).",
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
