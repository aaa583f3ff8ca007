"""Checks of stated numbers and of what is said about the published tables, recomputed from the printed cells."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import sympy
from sympy import Rational

from analysis.checks import CheckBook, Depth, plus, put, times
from analysis.checks.published import all_but, published
from analysis.evidence import Evidence, Tally, algebra
from fltheory.distributions.symbolic import Step
from fltheory.ledger import Claim
from fltheory.papers import fast

checks = CheckBook()

LAWS = ("beta", "gamma", "weibull")
METHOD = "table arithmetic"
Cell = dict[str, str]


def cells(number: int, **wanted: str) -> list[Cell]:
    """The cells of a table with the given entries."""
    rows = published(f"fast_tab{number}")
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def accuracy(cell: Cell) -> Decimal:
    return Decimal(cell["accuracy"])


def column(cell: Cell) -> str:
    """Data set and concentration, such as "fmnist 0.05"."""
    return f"{cell['dataset']} {cell['alpha']}".strip()


def snapshots(cell: Cell) -> Decimal:
    """Snapshot rounds, in percent."""
    return 100 - Decimal(cell["arbitrary_share"])


def exactly(value: Any) -> Rational:
    return Rational(str(value))


def numbers(claim: Claim, table: str, found: dict[str, Any], summary: str = "Recomputed.") -> Evidence:
    """`exact` if the numbers of the claim are those found in the table."""
    tally = Tally()
    for name, value in found.items():
        tally.equal(exactly(value), claim.formulas[name], number=name)
    return tally.evidence("exact", METHOD, summary, domain=table)


# ---- participation laws ----------------------------------------------------------------------------------


@checks(fast.weibull, mutants=[put("density", fast.scale / fast.shape, fast.shape / fast.scale)])
def printed_density(claim: Claim, depth: Depth) -> Evidence:
    """The integral at the experiment's parameters: shape 10, scale 1."""
    at = {fast.shape: 10, fast.scale: 1}
    total = sympy.integrate(claim.formulas["density"].subs(at), (fast.x, 0, sympy.oo))
    if total == 1:
        return Evidence("exact", "integral", "Integrates to 1.", "k = 10, lambda = 1", 1)
    summary = f"The prefactor is inverted: with k = 10 and lambda = 1 the density integrates to {total}, not to 1."
    witness = {"k": 10, "lambda": 1, "integral": total}
    return Evidence("inconsistent", "integral", summary, "k = 10, lambda = 1", 1, witness=witness)


@checks(
    fast.weibull_repaired,
    mutants=[times("density", "1/2"), put("density", fast.shape / fast.scale, fast.scale / fast.shape),
             times("distribution", 2)],
)  # fmt: skip
def density_is_a_derivative(claim: Claim, depth: Depth) -> Evidence:
    """The distribution's derivative, from 0 at 0 to 1 at infinity, for every shape and scale."""
    distribution = claim.formulas["distribution"]
    power = sympy.Symbol("power", positive=True)
    outer = distribution.subs((fast.x / fast.scale) ** fast.shape, power)
    steps = [
        Step("density is the derivative", sympy.powsimp(sympy.expand_power_base(
            sympy.simplify(sympy.diff(distribution, fast.x) / claim.formulas["density"]) - 1))),
        Step("0 at x = 0", outer.subs(power, 0)),
        Step("1 at infinity", sympy.limit(outer, power, sympy.oo) - 1),
    ]  # fmt: skip
    return algebra(steps, "proved", "Integrates to 1 for every shape and scale.", sample=_sampled)


def _sampled(residual: Any) -> Any:
    return residual.subs({s: Rational(3 + 2 * i, 4) for i, s in enumerate(sorted(residual.free_symbols, key=str))})


@checks(fast.fig2_caption, mutants=[put("second parameter", Rational(1, 100), Rational(100)), times("mean share", 2)])
def second_parameter_as_a_rate(claim: Claim, depth: Depth) -> Evidence:
    """The mean of the Gamma law, the second parameter read as a rate (beta) and as a scale (theta)."""
    shape, second = claim.formulas["shape"], claim.formulas["second parameter"]
    as_rate, as_scale, wanted = shape / second, shape * second, claim.formulas["mean share"]
    if as_rate == wanted:
        return Evidence("exact", "arithmetic", "A rate with the stated mean.", "Gamma law", 1)
    if as_scale != wanted:
        return Evidence("not checked", "arithmetic", "neither a rate nor a scale with the stated mean")
    summary = f"Read as a rate the mean is {as_rate}; as a scale, which Appendix B.1.3 calls theta, it is {as_scale}."
    witness = {"mean as a rate": as_rate, "mean as a scale": as_scale}
    return Evidence("inconsistent", "arithmetic", summary, "Gamma law", 1, witness=witness)


@checks(fast.b23_ratio, mutants=[put("largest lambda", 9, 1)])
def ratio_falls_with_lambda(claim: Claim, depth: Depth) -> Evidence:
    """Ratio at both ends of the sweeps of Tables 5 and 8."""
    end = str(claim.formulas["largest lambda"])
    if not cells(5, strength=end):
        return Evidence("not checked", METHOD, f"no cell at {end}", "Tables 5 and 8")
    shares = {
        f"Table {number}, {law}: Ratio in % at lambda = 1 and {end}": tuple(
            Decimal(cells(number, participation=law, strength=strength)[0]["arbitrary_share"])
            for strength in ("1", end)
        )
        for number in (5, 8)
        for law in LAWS
    }
    if not all(last < first for first, last in shares.values()):
        return Evidence("not checked", METHOD, "Ratio does not fall over this sweep.", "Tables 5 and 8")
    shown = {where: f"{first} and {last}" for where, (first, last) in shares.items()}
    summary = (
        f"From lambda = 1 to {end} Ratio falls: it is the share of arbitrary rounds, and that of uniform ones grows."
    )
    return Evidence("inconsistent", METHOD, summary, "Tables 5 and 8", len(shares), witness=shown)


# ---- tables ----------------------------------------------------------------------------------------------


def _same_cells(claim: Claim) -> Evidence:
    uniform = {column(cell): cell for cell in cells(4, participation="uniform")}
    shared = [(uniform[column(cell)], cell) for cell in cells(6, q="1") if column(cell) in uniform]
    names = ("accuracy", "sd")
    held = {column(one): all(one[name] == other[name] for name in names) for one, other in shared}
    said = {
        column(a): f"spread {a['sd']} in Table 4, {b['sd']} in Table 6, accuracy {a['accuracy']}" for a, b in shared
    }
    return all_but(claim, "Tables 4 and 6", held, claim.formulas["shared cells"], said)


@checks(fast.table4, mutants=[plus("shared cells", 1), plus("shared cells", -1)])
def uniform_row_of_table_4(claim: Claim, depth: Depth) -> Evidence:
    """The uniform row against the row q = 1 of Table 6."""
    return _same_cells(claim)


@checks(fast.table6, mutants=[plus("shared cells", 1), plus("shared cells", -1)])
def last_row_of_table_6(claim: Claim, depth: Depth) -> Evidence:
    """The row q = 1 against the uniform row of Table 4."""
    return _same_cells(claim)


@checks(fast.ten_percent, mutants=[plus("largest share", 2), plus("cases", 1)])
def default_adaptive_share(claim: Claim, depth: Depth) -> Evidence:
    """Snapshot shares of the default adaptive form in Table 3."""
    found = {f"{cell['participation']}, {column(cell)}": snapshots(cell) for cell in cells(3, q="adaptive 1")}
    held = {name: exactly(share) < claim.formulas["largest share"] for name, share in found.items()}
    said = {name: f"{share} %" for name, share in found.items()}
    return all_but(claim, "Table 3", held, claim.formulas["cases"], said)


@checks(fast.five_percent, mutants=[plus("largest share", -1), plus("cases", 1)])
def share_at_lambda_1(claim: Claim, depth: Depth) -> Evidence:
    """Snapshot shares at lambda = 1 in Table 5."""
    found = {cell["participation"]: snapshots(cell) for cell in cells(5, strength="1")}
    held = {name: exactly(share) < claim.formulas["largest share"] for name, share in found.items()}
    said = {name: f"{share} %" for name, share in found.items()}
    return all_but(claim, "Table 5", held, claim.formulas["cases"], said)


@checks(fast.gap_3_18, mutants=[plus("least", "1/100"), plus("largest", "-1/100")])
def worst_law_by_column(claim: Claim, depth: Depth) -> Evidence:
    """Uniform minus the worst law, in every column of Table 2; 3 and 18 are these numbers rounded."""
    gaps = []
    for uniform in cells(2, participation="uniform"):
        same = cells(2, dataset=uniform["dataset"], alpha=uniform["alpha"])
        gaps.append(accuracy(uniform) - min(map(accuracy, same)))
    rounded = (math.ceil(min(gaps)), math.ceil(max(gaps)))
    if rounded != (3, 18):
        return Evidence("refuted", METHOD, f"rounded up to {rounded}", "Table 2", witness={"gaps": gaps})
    summary = f"From {min(gaps)} to {max(gaps)} points, rounded up 3 and 18; the worst law of each column counts."
    return numbers(claim, "Table 2", {"least": min(gaps), "largest": max(gaps)}, summary)


@checks(fast.b21, mutants=[plus("fmnist uniform", 1), plus("cifar10 gamma", "-1/100"), plus("fmnist weibull", 2)])
def drops_of_fedprox(claim: Claim, depth: Depth) -> Evidence:
    """From alpha = 1 to .05 (Fashion-MNIST) and to .1 (CIFAR-10) in Table 4."""
    found = {}
    for dataset, alpha in (("fmnist", "0.05"), ("cifar10", "0.1")):
        for law in ("uniform", *LAWS):
            first, last = (cells(4, dataset=dataset, alpha=a, participation=law)[0] for a in ("1.0", alpha))
            found[f"{dataset} {law}"] = accuracy(first) - accuracy(last)
    return numbers(claim, "Table 4", found, "8.51, 15.19, 15.88, 11.42 and 2.29, 3.78, 14.06, 4.69, as stated.")


@checks(fast.beyond_baseline, mutants=[plus("comparisons", 1), plus("comparisons", -12)])
def against_no_snapshots(claim: Claim, depth: Depth) -> Evidence:
    """Every cell of Table 3 with 0 < q < 1 or an adaptive q, against q = 0 of its law and column."""
    held, said = {}, {}
    for cell in cells(3):
        if cell["q"] in ("0", "1"):
            continue
        same = {k: cell[k] for k in ("participation", "dataset", "alpha")}
        base = cells(3, q="0", **same)[0]
        name = f"{cell['participation']}, {column(cell)}, q {cell['q']}"
        held[name] = accuracy(cell) > accuracy(base)
        said[name] = f"{cell['accuracy']} with spread {cell['sd']} against {base['accuracy']}"
    return all_but(claim, "Table 3", held, claim.formulas["comparisons"], said)


@checks(fast.below_q1, mutants=[plus("largest excess", "1/100"), plus("cells above", 1)])
def against_uniform(claim: Claim, depth: Depth) -> Evidence:
    """By how much cells of Table 3 exceed uniform participation."""
    uniform = {column(cell): accuracy(cell) for cell in cells(3, q="1")}
    above = [accuracy(cell) - uniform[column(cell)] for cell in cells(3) if accuracy(cell) > uniform[column(cell)]]
    return numbers(
        claim, "Table 3", {"largest excess": max(above), "cells above": len(above)},
        "One cell exceeds uniform participation, by .02 points.",
    )  # fmt: skip


@checks(fast.monotone_q, mutants=[plus("wins", -1), plus("series", 1)])
def half_against_none(claim: Claim, depth: Depth) -> Evidence:
    """q = .5 against q = 0 in every series of Tables 3, 6 and 7."""
    pairs = []
    for number in (3, 6, 7):
        for cell in cells(number, q="0.5"):
            same = {k: cell[k] for k in ("participation", "dataset", "alpha")}
            pairs.append((accuracy(cell), accuracy(cells(number, q="0", **same)[0])))
    wins = sum(half > none for half, none in pairs)
    return numbers(
        claim, "Tables 3, 6 and 7", {"series": len(pairs), "wins": wins}, "A trend; not strict in each step."
    )


@checks(fast.adaptive_gamma, mutants=[plus("snapshots", 1), plus("default", "1/100"), plus("lambda = 7", -1)])
def adaptive_under_gamma(claim: Claim, depth: Depth) -> Evidence:
    """The four cells of Table 3."""
    cell = {
        q: cells(3, participation="gamma", dataset="fmnist", alpha="0.05", q=q)[0]
        for q in ("0", "adaptive 1", "adaptive 7")
    }
    found = {
        "snapshots": snapshots(cell["adaptive 1"]),
        "without": accuracy(cell["0"]),
        "default": accuracy(cell["adaptive 1"]),
        "lambda = 7": accuracy(cell["adaptive 7"]),
    }
    return numbers(claim, "Table 3", found)
