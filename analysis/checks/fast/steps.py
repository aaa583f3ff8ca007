"""The printed proof of Theorem 1, step by step: what follows from what, and where a step needs something else."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from typing import Any

import sympy
from sympy import Min, Rational, symbols

from analysis.checks import CheckBook, Depth, mutate, plus, put, times
from analysis.checks.certificates import Fact, chain, identity, nonnegative
from analysis.evidence import Evidence
from analysis.trials import exact_value
from fltheory.ledger import Claim
from fltheory.papers import fast
from fltheory.papers.fast import G1, G2, G3, K, L, R, decrease, eta, gradient_here, h, m, n, q, s, sigma, sigma_G

checks = CheckBook()


def _slip(proof: Evidence, summary: str, witness: dict[str, Any]) -> Evidence:
    """A slip that is shown together with what mends it; nothing where the steps do not hold."""
    if proof.verdict != "proved":
        return proof
    return Evidence("inconsistent", "algebra", summary, proof.domain, proof.cases, witness=witness, steps=proof.steps)


# ---- Lemma 1 -------------------------------------------------------------------------------------------------------


@checks(fast.lem1, mutants=[times("excess", "9/10"), times("excess", "1/2"), put("excess", L, L**2)])
def tangent_and_quadratic(claim: Claim, depth: Depth) -> Evidence:
    """The integral of the gradient's change along the line from x to y; and |x|, which is 1-Lipschitz."""
    t, length = symbols("t length", nonnegative=True)
    change = sympy.integrate(L * t * length**2, (t, 0, 1))
    excess = claim.formulas["excess"]
    steps = [
        identity("integral of L t |y - x|^2 over t from 0 to 1 is (L/2)|y - x|^2", change - L * length**2 / 2),
        nonnegative("the claim allows as much", excess * length**2 - change),
    ]
    # f(x) = |x| at x = -1/10, y = 1/10, with L = 1 as its Lipschitz constant.
    x, y = F(-1, 10), F(1, 10)
    allowed = abs(x) - (y - x) + exact_value(excess, {"smoothness": 1}) * (y - x) ** 2
    witness = {"f": "|x|, 1-Lipschitz", "x": x, "y": y, "f(y)": abs(y), "allowed": allowed}
    summary = "True for functions with an L-Lipschitz gradient; the lemma prints L-Lipschitz functions, as |x| is."
    return _slip(chain(steps, ""), summary, witness) if abs(y) > allowed else chain(steps, "")


# ---- the displayed lines -------------------------------------------------------------------------------------------


def _lines(claim: Claim) -> Iterator[Fact]:
    f = claim.formulas
    drift = 5 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 30 * K**2 * eta**2 * gradient_here
    first = -K * eta / 2 * gradient_here
    yield identity("(6) is the parallelogram identity with the drift bound",
               f["(6)"] - (first - eta / (2 * K) * G1 + L**2 * eta * K / 2 * drift))  # fmt: skip
    yield identity("(6) = (7)", f["(6)"] - f["(7)"])
    kept = K * eta * (Rational(1, 2) - 15 * h**2) * gradient_here
    second = L * eta**2 * G3 + L * K * eta**2 * sigma**2 / m
    yield identity("(7) with (8) is (12), besides the kept share of |grad F|^2",
               f["(7)"] + second + decrease - (f["(12)"] - kept))  # fmt: skip
    yield identity("4/(K eta) times (12) is (13)", 4 / (K * eta) * f["(12)"] - f["(13)"])
    yield identity("(16) is Young's inequality with the drift bound", f["(16)"] - (2 * sigma_G**2 + 2 * L**2 * drift))
    yield identity("(16) = (17)", f["(16)"] - f["(17)"])
    yield identity("(15) with (17) is (18)", first - eta / (2 * K) * G2 + eta * K / 2 * f["(17)"] - f["(18)"])
    kept = K * eta * (Rational(1, 2) - 30 * h**2) * gradient_here
    second = L * eta**2 * G2 + L * K * eta**2 * sigma**2 / n
    yield identity("(18) with (19) is (22), besides the kept share of |grad F|^2",
               f["(18)"] + second + decrease - (f["(22)"] - kept))  # fmt: skip
    yield identity("4/(K eta) times (22) is (23)", 4 / (K * eta) * f["(22)"] - f["(23)"])


@checks(fast.thm1_a, mutants=[times(line, "11/10") for line in fast.thm1_a.formulas])
def lines_follow(claim: Claim, depth: Depth) -> Evidence:
    """Each displayed line less what it is said to follow from."""
    return chain(_lines(claim), "(6) to (23) follow from each other.")


@checks(
    fast.thm1_b,
    mutants=[
        times("arbitrary rounds", 2),
        times("snapshot rounds", "9/10"),
        mutate("asked", "s/15", lambda e: Min(Rational(1, 8), s / 15)),
        put("asked", Rational(1, 8), Rational(1, 12)),
    ],
)
def caps_of_the_step(claim: Claim, depth: Depth) -> Evidence:
    """What keeps a quarter of |grad F|^2, and what the theorem asks for."""
    f = claim.formulas
    steps = [
        identity("15 h^2 = 1/4", 15 * f["snapshot rounds"] ** 2 - Rational(1, 4)),
        identity("30 h^2 = 1/4", 30 * f["arbitrary rounds"] ** 2 - Rational(1, 4)),
        Fact("the theorem asks for 1/8 and s/5", f["asked"] == Min(Rational(1, 8), s / 5)),
        Fact("the first follows from h <= 1/8", bool(f["snapshot rounds"] ** 2 >= Rational(1, 64))),
    ]
    asked = {k: f["asked"].subs({m: k, n: k, q: Rational(1, 2)}) for k in (1, 2, 3)}
    needed = f["arbitrary rounds"]
    steps.append(Fact("for m = n = 1 and 2 the theorem admits more, not for 3",
                       bool(asked[1] > needed and asked[2] > needed > asked[3])))  # fmt: skip
    witness = {"m = n": 1, "L K eta": asked[1], "needed": needed, "30 h^2": 30 * asked[1] ** 2}
    summary = "Slip: (22) needs L K eta <= .0913, which the conditions do not imply for m = n = 1, 2."
    return _slip(chain(steps, ""), summary, witness)


@checks(
    fast.thm1_c,
    mutants=[times(name, "11/10") for name in fast.thm1_c.formulas] + [put("noise, second order", 20, 10)],
)
def weighted_sums(claim: Claim, depth: Depth) -> Evidence:
    """q times the constants of (13) plus 1 - q times those of (23)."""
    f, lines = claim.formulas, fast.thm1_a.formulas
    parts = {name: {line: _coefficient(lines[line], name) for line in ("(13)", "(23)")} for name in f}
    steps = [
        identity(f"{name}: the shares add up", q * parts[name]["(13)"] + (1 - q) * parts[name]["(23)"] - f[name])
        for name in f
    ]
    return chain(steps, "The constants of (13) and (23), weighted with q and 1 - q, are those of (24).")


def _coefficient(line: Any, name: str) -> Any:
    noise = sympy.expand(line).coeff(sigma, 2)
    bias = sympy.expand(line).coeff(sigma_G, 2)
    return {
        "noise, first order": noise.coeff(eta, 1) * eta,
        "noise, second order": noise.coeff(eta, 2) * eta**2,
        "heterogeneity": bias.coeff(eta, 2) * eta**2,
        "bias": bias.coeff(eta, 0),
    }[name]


@checks(
    fast.thm1_d,
    mutants=[times("left out", 2), put("needed", 8, 7), times("kept", 2), times("left out", 0)],
)
def what_is_left_out(claim: Claim, depth: Depth) -> Evidence:
    """The size of the term at L = K = m = n = sigma = 1, q = 1/2, eta = 1/8, and its largest share of the first."""
    f = claim.formulas
    most = f["left out"].subs(eta, s / (5 * L * K)) - (f["needed"] - f["kept"]).subs(eta, s / (5 * L * K))
    point = {"smoothness": 1, "local_steps": 1, "snapshot_clients": 1, "arbitrary_clients": 1, "noise_std": 1}
    values = {name: exact_value(f[name], {**point, "snapshot_rate": F(1, 2), "local_lr": F(1, 8)}) for name in f}
    steps = [
        identity("at the largest step s/(5 L K) both noise terms are exactly the one with 8 - 2q", most),
        identity("the first term is that of thm1.c", f["kept"] - fast.thm1_c.formulas["noise, first order"] * sigma**2),
        identity("the second too", f["left out"] - fast.thm1_c.formulas["noise, second order"] * sigma**2),
    ]
    summary = "Slip: a positive term is left out (.2344 against .5 kept in an example); 8 - 2q covers it."
    return _slip(chain(steps, ""), summary, values)


# ---- the condition on q --------------------------------------------------------------------------------------------


@checks(fast.thm1_e, mutants=[mutate("at most the mean", "the smaller", lambda e: Min(*e.args))])
def maximum_and_mean(claim: Claim, depth: Depth) -> Evidence:
    """Two rounds with the values 4 and 0; a minimum would be a lower bound of every mean."""
    bound, (a, b) = claim.formulas["at most the mean"], (fast.one_round, fast.other_round)
    value, mean = bound.subs({a: 4, b: 0}), (a + b).subs({a: 4, b: 0}) / 2
    if value > mean:
        witness = {
            "objective": "x^2/2 of the client asked, K = 1", "x in two arbitrary rounds": (2, 0),
            "squared norms of its gradient": (4, 0), "conditions of the statement": "none",
            "the left side": "the larger of the two", "the right side": "their mean", "left": value, "right": mean,
        }  # fmt: skip
        summary = "(24) needs lower bounds of sums, so minima or averages: "
        summary += f"-mean = {-mean} > {-value} = -max for the values 4, 0."
        return Evidence("refuted", "exact witness", summary, cases=1, largest=float(value / mean), witness=witness)
    return Evidence("not checked", "exact witness", "The values 4 and 0 do not contradict this statement.")


def _threshold(expression: Any) -> Any:
    """The q at which an expression that is linear in q is 0; no number (nan) for any other."""
    at_zero, slope = expression.subs(q, 0), sympy.cancel(sympy.diff(expression, q))
    return sympy.nan if slope == 0 or slope.has(q) else sympy.cancel(-at_zero / slope)


def _of(norm: Any, expression: Any) -> Any:
    """The term of a norm in a sum that is linear in it."""
    return sympy.expand(expression).coeff(norm) * norm


@checks(
    fast.thm1_f,
    mutants=[
        mutate("line", "shares in place of 1/R", lambda e: -2 / K**2 * q * G1 + 4 * L * eta / K * q * G3
               - (2 / K**2 - 4 * L * eta / K) * (1 - q) * G2 + 4 * (1 - q) * sigma_G**2),
        times("threshold", 2),
        put("line", q, 2 - q),
        put("line", sigma_G**2, 1),
        put("line", q, q**2),
        times("line", "13/10"),
    ],
)  # fmt: skip
def line_and_threshold(claim: Claim, depth: Depth) -> Evidence:
    """The line solved for q, and what the printed threshold comes from, at G_1 = G_2 = G_3 = K = L = sigma_G = 1."""
    line, threshold = claim.formulas["line"], claim.formulas["threshold"]
    shares = -q * G1 + 2 * h * q * G3 - (1 - q) * (1 - 2 * h) * G2 + 2 * K**2 * (1 - q) * sigma_G**2
    ones = {G1: 1, G2: 1, G3: 1, K: 1, L: 1, sigma_G: 1, eta: Rational(1, 10), R: 100}
    means = identity("with shares q and 1 - q the threshold is the printed one", _threshold(shares) - threshold)
    values = {"line as printed": _threshold(line.subs(ones)), "printed threshold": threshold.subs(ones)}
    if len(set(values.values())) == 1:
        return chain([means], "The line gives the printed threshold.")
    bare = line.subs(R, 1)
    with_shares = bare - (1 - q) * (_of(G1, bare) + _of(G3, bare)) - q * _of(G2, bare)
    mended = identity("the line with q or 1 - q for 1/R is what is meant", with_shares * K**2 - 2 * shares)
    proof = chain([means, mended], "")
    if proof.verdict != "proved":
        return proof
    printed, meant = (f"{float(value):.3g}".removeprefix("0") for value in values.values())
    summary = "Slip: factors 1/R where the shares of the rounds are meant; "
    summary += f"threshold {printed} as printed, {meant} as meant."
    return _slip(proof, summary, values)


@checks(fast.thm1_g, mutants=[times("quotient", 2), plus("derived", 1), put("derived", sigma_G, 2 * sigma_G)])
def quotient_and_derived(claim: Claim, depth: Depth) -> Evidence:
    """derived = (quotient - q) times the denominator; and a point where the denominator is negative."""
    f, (a, b) = claim.formulas, (fast.A, fast.B)
    proof = chain([identity("derived = (quotient - q)(A + B)", f["derived"] - (f["quotient"] - q) * (a + b))], "")
    if proof.verdict != "proved":
        return proof
    point = {G1: 1, G2: 4, G3: 1, K: 1, L: 1, eta: Rational(1, 100), sigma_G: Rational(1, 10), q: Rational(1, 2)}
    values = {"A": a.subs(point), "B": b.subs(point), "quotient": f["quotient"].subs(point)}
    witness = {**{k.name: v for k, v in point.items()}, **values, "derived": f["derived"].subs(point)}
    return Evidence(
        "conditional", "algebra", "Equivalent where the denominator A + B is positive; with A = .98, B = -3.9 the "
        "quotient is above 1 although the derived condition holds for every q.", cases=2,
        hypothesis="A + B > 0, A = G_1 - 2 L K eta G_3, B = (2 L K eta - 1) G_2 + 2 K^2 sigma_G^2", witness=witness,
    )  # fmt: skip
