"""Checks of what is said about the published tables: every sentence recomputed from the printed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise, product

from sympy import Rational

from analysis.checks import CheckBook, Depth, plus, times
from analysis.checks.published import all_but, published
from analysis.evidence import Evidence, Tally
from fltheory.ledger import Claim
from fltheory.papers import fedau

checks = CheckBook()

OURS = ("fedau_inf", "fedau_50")
AVERAGES = ("avg_participating", "avg_all")
OTHERS = ("fedvarp", "mifa", "known_p")

Column = tuple[str, ...]


def _means(table: str, *columns: str) -> dict[Column, dict[str, Decimal]]:
    """Column of the table -> method -> published mean."""
    found: dict[Column, dict[str, Decimal]] = {}
    for row in published(f"fedau_{table}"):
        found.setdefault(tuple(row[c] for c in columns), {})[row["method"]] = Decimal(row["mean"])
    return found


def _table_1() -> dict[Column, dict[str, Decimal]]:
    return _means("tab1", "pattern", "dataset", "metric")


def _counted(claim: Claim, table: str, exceptions: str = "", **counts: int) -> Evidence:
    """`exact` if the claim's numbers are the counted ones."""
    tally = Tally()
    for name, count in counts.items():
        tally.equal(Rational(count), claim.formulas[name.replace("_", " ")], count=name.replace("_", " "))
    summary = f"Recomputed from the published numbers{exceptions}."
    return tally.evidence("exact", "table arithmetic", summary, domain=table)


def _best_in_setting(columns: Iterable[dict[str, Decimal]]) -> int:
    return sum(max(c[m] for m in OURS) > max(c[m] for m in AVERAGES) for c in columns)


@checks(fedau.claim_top, mutants=[plus("wins", -1), plus("columns", 1)])
def best_of_the_same_setting(claim: Claim, depth: Depth) -> Evidence:
    """The better form of FedAU against the better average."""
    table = _table_1()
    return _counted(claim, "Table 1", columns=len(table), wins=_best_in_setting(table.values()))


@checks(fedau.claim_D11_top, mutants=[plus("wins", -1), plus("columns", 1)])
def best_of_the_same_setting_at_every_heterogeneity(claim: Claim, depth: Depth) -> Evidence:
    """The better form of FedAU against the better average."""
    table = _means("tabD11", "alpha_p", "metric")
    return _counted(claim, "Table D.1.1", columns=len(table), wins=_best_in_setting(table.values()))


@checks(fedau.claim_k50, mutants=[plus("wins", -1), plus("columns", 1)])
def cutoff_50_against_none(claim: Claim, depth: Depth) -> Evidence:
    """Columns in which K = 50 is strictly better, and which are not such."""
    table = _table_1()
    lost = [column for column, c in table.items() if c["fedau_50"] <= c["fedau_inf"]]
    exceptions = f"; not {', '.join(' '.join(column) for column in lost)}"
    return _counted(claim, "Table 1", exceptions, columns=len(table), wins=len(table) - len(lost))


@checks(
    fedau.claim_known, mutants=[plus("wins of K = 50", 1), plus("ties of K = 50", -1), plus("wins of K infinite", 1)]
)
def fedau_against_known_rates(claim: Claim, depth: Depth) -> Evidence:
    """Wins and ties of both cutoffs."""
    table = list(_table_1().values())
    tally = Tally()
    for name, count in {
        "wins of K = 50": sum(c["fedau_50"] > c["known_p"] for c in table),
        "ties of K = 50": sum(c["fedau_50"] == c["known_p"] for c in table),
        "wins of K infinite": sum(c["fedau_inf"] > c["known_p"] for c in table),
    }.items():
        tally.equal(Rational(count), claim.formulas[name], count=name)
    summary = f"Recomputed from the {len(table)} columns."
    return tally.evidence("exact", "table arithmetic", summary, domain="Table 1")


@checks(fedau.E14, mutants=[plus("wins", 1), plus("comparisons", -1)])
def fedau_against_every_baseline(claim: Claim, depth: Depth) -> Evidence:
    """K = 50 against five baselines in every column, and who is not behind."""
    table = _table_1()
    pairs = [(column, m) for column, m in product(table, AVERAGES + OTHERS)]
    level = [(*column, m) for column, m in pairs if table[column][m] >= table[column]["fedau_50"]]
    exceptions = f"; not behind: {', '.join(' '.join(cell) for cell in level)}"
    return _counted(claim, "Table 1", exceptions, comparisons=len(pairs), wins=len(pairs) - len(level))


@checks(fedau.claim_het_gap, mutants=[plus("gap 0", Rational(-1, 10)), plus("gap 4", Rational(1, 10))])
def gap_to_average_all(claim: Claim, depth: Depth) -> Evidence:
    """FedAU (K = 50) minus average-all, test accuracy; the spread of all seven methods falls alike."""
    table = _means("tabD11", "alpha_p", "metric")
    order = ("0.01", "0.05", "0.1", "0.5", "1.0")
    tally = Tally()
    for i, alpha in enumerate(order):
        column = table[alpha, "test"]
        tally.equal(Rational(str(column["fedau_50"] - column["avg_all"])), claim.formulas[f"gap {i}"], alpha_p=alpha)
    for left, right in pairwise(order):
        tally.holds(claim.formulas[f"gap {order.index(left)}"] > claim.formulas[f"gap {order.index(right)}"])
        tally.holds(_spread(table[left, "test"]) > _spread(table[right, "test"]), alpha_p=left)
    summary = "Recomputed; both the gap and the spread of all methods fall with alpha_p."
    return tally.evidence("exact", "table arithmetic", summary, domain="Table D.1.1, test accuracy")


def _spread(column: dict[str, Decimal]) -> Decimal:
    return max(column.values()) - min(column.values())


@checks(fedau.claim_D4_similar, mutants=[plus("closer", 1), plus("columns", 1)])
def distance_to_known_rates(claim: Claim, depth: Depth) -> Evidence:
    """|FedAU (K infinite) - known rates| under cyclic and under Bernoulli participation, column by column."""
    table = _table_1()

    def distances(pattern: str) -> dict[Column, Decimal]:
        return {k[1:]: abs(c["fedau_inf"] - c["known_p"]) for k, c in table.items() if k[0] == pattern}

    cyclic, bernoulli = distances("cyclic"), distances("bernoulli")
    closer = sum(cyclic[k] < bernoulli[k] for k in cyclic)
    averages = [sum(d.values()) / len(d) for d in (cyclic, bernoulli)]
    found = _counted(claim, "Table 1", f"; {averages[0]} against {averages[1]} points on average",
                     columns=len(cyclic), closer=closer)  # fmt: skip
    return found if averages[0] < averages[1] else Evidence("refuted", "table arithmetic", "not closer on average")


# ---- sentences that one or two cells contradict ----------------------------------------------------------


def _larger(claim: Claim, table: str, comparisons: list[tuple[str, Decimal, Decimal]]) -> Evidence:
    """Each comparison says that its first number is strictly the better, that is the larger one."""
    held = {name: left > right for name, left, right in comparisons}
    numbers = {name: f"{abs(left)} against {abs(right)}" for name, left, right in comparisons}
    return all_but(claim, table, held, claim.formulas["comparisons"], numbers)


@checks(fedau.claim_D31_spread, mutants=[plus("comparisons", 1), plus("comparisons", -6)])
def spread_over_clients(claim: Claim, depth: Depth) -> Evidence:
    """Two forms of FedAU, two averages, three spreads (negated, so that the larger is the better)."""
    spread = {(row["metric"], row["method"]): -Decimal(row["client_sd"]) for row in published("fedau_tabD31")}
    comparisons = [
        (f"{metric}, {ours} and {other}", spread[metric, ours], spread[metric, other])
        for metric, ours, other in product(sorted({metric for metric, _ in spread}), OURS, AVERAGES)
    ]
    return _larger(claim, "Table D.3.1", comparisons)


@checks(fedau.claim_D6_order, mutants=[plus("comparisons", 1), plus("comparisons", -6)])
def averages_at_low_rates(claim: Claim, depth: Depth) -> Evidence:
    """Two averages against three baselines in six columns."""
    table = _means("tabD61", "mean_rate", "metric")
    comparisons = [
        (f"{', '.join(column)}: {average} and {other}", table[column][average], table[column][other])
        for column, average, other in product(table, AVERAGES, OTHERS)
    ]
    return _larger(claim, "Table D.6.1", comparisons)


@checks(fedau.claim_D6_top, mutants=[plus("wins", -1), plus("columns", 1)])
def fedau_at_low_rates(claim: Claim, depth: Depth) -> Evidence:
    """FedAU against the best of the others in each column."""
    table = _means("tabD61", "mean_rate", "metric")
    wins = sum(c["fedau_50"] > max(v for m, v in c.items() if m != "fedau_50") for c in table.values())
    return _counted(claim, "Table D.6.1", columns=len(table), wins=wins)


# ---- step sizes ------------------------------------------------------------------------------------------


@checks(
    fedau.tabC41,
    mutants=[
        plus("step of the exponent", Rational(1, 4)),
        plus("largest local exponent", -1),
        plus("largest global exponent", -1),
        plus("least local exponent", 1),
        plus("least global exponent", 1),
        times("largest local exponent", "13/10"),
        times("largest global exponent", "7/10"),
    ],
)
def step_sizes_on_the_grid(claim: Claim, depth: Depth) -> Evidence:
    """Every printed value is a power of the grid, rounded to its digits; the grid reaches both of its ends."""
    tally = Tally()
    for which in ("local", "global"):
        tally.holds(list(_exponents(claim, which))[-1:] == [claim.formulas[f"largest {which} exponent"]], step=which)
    for row, which in product(published("fedau_tabC41"), ("local", "global")):
        value = Decimal(row[f"{which}_lr"])
        on_grid = any(_rounded(x, value) == value for x in _exponents(claim, which))
        tally.holds(on_grid, method=row["method"], dataset=row["dataset"], step=which, value=str(value))
    summary = "All values are on the announced grid."
    return tally.evidence("exact", "table arithmetic", summary, domain="Table C.4.1")


def _exponents(claim: Claim, which: str) -> Iterator[Rational]:
    exponent, last = (claim.formulas[f"{end} {which} exponent"] for end in ("least", "largest"))
    while exponent <= last:
        yield exponent
        exponent += claim.formulas["step of the exponent"]


def _rounded(exponent: Rational, like: Decimal) -> Decimal:
    return (Decimal(10) ** (Decimal(int(exponent.p)) / int(exponent.q))).quantize(like, ROUND_HALF_UP)
