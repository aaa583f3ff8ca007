"""Tables 1 to 4, and what section 5 and the appendix say of them, recomputed from the published numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction as F

import sympy

from analysis.checks import CheckBook, Depth, Mutant, mutate, plus, put, times
from analysis.checks.published import published
from analysis.evidence import Evidence, Tally
from fltheory.ledger import Claim
from fltheory.papers import fedamd

checks = CheckBook()
OURS = ("FedAMD-constant", "FedAMD-sequential")
COSTS = ("samples", "communication", "rounds")
Row = Mapping[str, F]


def table2() -> dict[tuple[str, int], Row]:
    """(method, participants) -> its numbers."""
    return {
        (line["method"], int(line["participants"])): {name: F(line[name]) for name in (*COSTS, "accuracy")}
        for line in published("fedamd_tab2")
    }


def _baselines(participants: int) -> list[Row]:
    return [row for (method, size), row in table2().items() if size == participants and method not in OURS]


# ---- Table 2 ---------------------------------------------------------------------------------------------


@checks(
    fedamd.tab2, mutants=[times("parameters", 2), plus("FedAvg", 1), plus("SCAFFOLD", -1), plus("FedAMD-sequential", 1)]
)
def vectors_of_every_row(claim: Claim, depth: Depth) -> Evidence:
    """Vectors a client and round from the communication and the rounds of a row."""
    size_of_model = int(claim.formulas["parameters"])
    off = {}
    cases = 0
    for (method, participants), row in table2().items():
        if method in claim.formulas:
            cases += 1
            vectors = row["communication"] * 10**6 / (participants * size_of_model * (row["rounds"] + 1))
            claimed = claim.formulas[method]
            if abs(float(vectors) / float(claimed) - 1) > 1e-3:
                off[f"{method}, {participants}"] = f"{float(vectors):.4f} in place of {float(claimed):g}"
    domain = "FedAvg, SCAFFOLD and sequential FedAMD at 20, 40 and 100 clients"
    if not off:
        return Evidence("exact", "table", "All rows agree with their round counts.", domain, cases)
    if set(off) == {"FedAMD-sequential, 40"}:
        summary = "The 40-client sequential row does not match its own round count; the other rows do, to 0.1 %."
        return Evidence("inconsistent", "table", summary, domain, cases, witness=off)
    return Evidence("refuted", "table", "Rows do not match the counts of vectors.", domain, cases, witness=off)


@checks(fedamd.ERR19, mutants=[put("in F.2.2", fedamd.b_small, 2 * fedamd.b_small), times("in Table 2", 2)])
def samples_of_a_miner(claim: Claim, depth: Depth) -> Evidence:
    """From the sequential rows with 20 and 100 clients (600 samples an anchor), and the ratio of F.2.2 at K = 20."""
    at = {fedamd.K: 10, fedamd.b_small: 64}
    printed, other = (claim.formulas[name] for name in ("in Table 2", "in F.2.2"))
    for participants in (20, 100):
        row = table2()["FedAMD-sequential", participants]
        each = row["samples"] * 10**5 / (participants * (row["rounds"] + 1))
        miner = 2 * each - 600
        if abs(float(miner) / float(printed.subs(at)) - 1) > 5e-3:
            where = {"participants": participants, "samples of a miner": f"{float(miner):.1f}"}
            return Evidence("refuted", "table", "Table 2 counts otherwise.", witness=where)
    if sympy.simplify(printed - other) == 0:
        return Evidence("exact", "table", "Both places count alike.", cases=2)
    twenty = {fedamd.K: 20, fedamd.b_small: 64}
    anchors = float(other.subs(twenty)) / 600
    where = {"Table 2, K = 20, over 600": f"{float(printed.subs(twenty)) / 600:.2f}", "F.2.2": f"{anchors:.2f}"}
    if abs(anchors - 2) > 0.25:
        return Evidence("refuted", "table", "F.2.2 says about twice an anchor's.", witness=where)
    counts = [sympy.simplify(place / (fedamd.K * fedamd.b_small)) for place in (printed, other)]
    summary = f"Gradients a local step: {counts[0]} in Table 2, {counts[1]} in F.2.2."
    return Evidence("inconsistent", "table", summary, cases=2, witness=where)


# ---- Tables 3 and 4 --------------------------------------------------------------------------------------


def _parameters(table: str) -> Tally:
    """Every layer's parameters and output from its shape, valid convolutions and full layers."""
    tally, channels, side, width = Tally(), 1, 28, 0
    for line in published(f"fedamd_{table}"):
        layer, shape = line["layer"], [int(n) for n in line["output"].split("x")]
        count = 0
        if layer == "Conv2d":
            kernel = int(line["setting"].split()[1])
            count = shape[0] * (channels * kernel**2 + 1)
            channels, side = shape[0], side - kernel + 1
        elif layer == "MaxPool2d":
            side //= int(line["setting"].split()[1])
        elif layer == "Flatten":
            width = channels * side**2
        elif layer == "Dense":
            count, width = shape[0] * (width + 1), shape[0]
        tally.equal(int(line["parameters"]), count, layer=layer)
        computed = [width] if width else [channels, side, side]
        tally.holds(shape == computed, layer=layer)
    return tally


for _table in (fedamd.tab3, fedamd.tab4):

    @checks(_table, mutants=[plus("parameters", 1), times("parameters", 2)])
    def parameters_of_a_model(claim: Claim, depth: Depth) -> Evidence:
        """Layer by layer, and in all."""
        name = claim.id.partition(".")[2]
        tally = _parameters(name)
        tally.equal(
            sum(int(line["parameters"]) for line in published(f"fedamd_{name}")), int(claim.formulas["parameters"])
        )
        return tally.evidence(
            "exact", "table", "Every layer's parameters and output agree.", domain=f"fedamd_{name}.csv"
        )


# ---- sentences of section 5 ------------------------------------------------------------------------------


def _whole(value: F) -> int:
    """A number to whole units: the text gives whole per cent and points, so that is how all of them are read."""
    return int(value + F(1, 2)) if value >= 0 else -_whole(-value)


def _per_cent(value: F) -> str:
    return f"{float(100 * value):.2f} %"


def _sentence(holds: bool, summary: str, said: str, **found: F) -> Evidence:
    shown = {name: f"{float(value):.4g}" for name, value in found.items()}
    if holds:
        return Evidence("exact", "table", f"{summary}; the text says {said}.", "Table 2", len(found))
    return Evidence(
        "inconsistent", "table", f"{summary}, where the text says {said}.", "Table 2", len(found), witness=shown
    )


@checks(fedamd.sec5_savings, mutants=[plus("saved", F(-1, 100)), times("saved", F(9, 10))])
def least_savings(claim: Claim, depth: Depth) -> Evidence:
    """Against the cheapest baseline of each kind of cost, to whole per cent."""
    ours = table2()["FedAMD-constant", 40]
    saved = {name: 1 - ours[name] / min(row[name] for row in _baselines(40)) for name in ("samples", "communication")}
    least = 100 * F(str(claim.formulas["saved"]))
    whole = [_whole(100 * value) for value in saved.values()]
    summary = (
        f"Constant probability saves {_per_cent(saved['samples'])} of the samples and "
        f"{_per_cent(saved['communication'])} of the communication of the cheapest baseline, {whole[0]} % and "
        f"{whole[1]} % to whole per cent"
    )
    return _sentence(min(whole) >= least, summary, f"at least {float(least):g} %", **saved)


def _wider(claim: Claim) -> Claim:
    return replace(claim, formulas={"least": sympy.Rational(7, 100), "most": sympy.Rational(22, 100)})


@checks(fedamd.sec5_rounds, mutants=[Mutant("7 to 22 %", _wider)])
def fewer_rounds(claim: Claim, depth: Depth) -> Evidence:
    """Both forms against the baseline with the fewest rounds, 100 clients, to whole per cent."""
    best = min(row["rounds"] for row in _baselines(100))
    fewer = {name: 1 - table2()[name, 100]["rounds"] / best for name in OURS}
    least, most = (100 * F(str(claim.formulas[name])) for name in ("least", "most"))
    whole = [_whole(100 * value) for value in fewer.values()]
    constant, sequential = map(_per_cent, fewer.values())
    summary = (
        f"Constant probability needs {constant} fewer rounds than the best baseline, the sequential form {sequential}, "
        f"{whole[0]} % and {whole[1]} % to whole per cent"
    )
    said = f"{float(least):g} to {float(most):g} %"
    return _sentence(min(whole) >= least and max(whole) <= most, summary, said, **fewer)


@checks(fedamd.sec5_all_round, mutants=[plus("margin", 10), plus("margin", 1)])
def better_in_every_column(claim: Claim, depth: Depth) -> Evidence:
    """The weakest comparison of a form of FedAMD with the best baseline of a column, relative to it."""
    margins = {}
    for name in OURS:
        ours = table2()[name, 20]
        for cost in COSTS:
            best = min(row[cost] for row in _baselines(20))
            margins[f"{name} {cost}"] = (best - ours[cost]) / best
        best = max(row["accuracy"] for row in _baselines(20))
        margins[f"{name} accuracy"] = (ours["accuracy"] - best) / best
    name, weakest = min(margins.items(), key=lambda item: item[1])
    summary = f"Both forms are better in every column; the weakest comparison is {name}, by {_per_cent(weakest)}"
    return _sentence(weakest > F(str(claim.formulas["margin"])), summary, "so", **margins)


def _gains(participants: int) -> list[F]:
    return [
        table2()[name, participants]["accuracy"] - row["accuracy"] for name in OURS for row in _baselines(participants)
    ]


@checks(fedamd.sec5_gain100, mutants=[plus("least", F(1, 10)), plus("most", F(-1, 10))])
def gains_with_all_clients(claim: Claim, depth: Depth) -> Evidence:
    """Least and largest gain."""
    least, most = (F(str(claim.formulas[name])) for name in ("least", "most"))
    found = {"least": min(_gains(100)), "most": max(_gains(100))}
    summary = f"The gains run from {float(found['least']):g} to {float(found['most']):g} points"
    said = f"{float(least):g} to {float(most):g}"
    return _sentence(found == {"least": least, "most": most}, summary, said, **found)


@checks(fedamd.sec5_gain40, mutants=[plus("most", 1), plus("most", -1)])
def largest_gain(claim: Claim, depth: Depth) -> Evidence:
    """The largest gain, constant probability, to whole points."""
    ours = table2()["FedAMD-constant", 40]["accuracy"]
    most = max(ours - row["accuracy"] for row in _baselines(40))
    summary = (
        f"The largest gain is {float(most):g} points ({float(ours):.1f} against {float(ours - most):.1f}), "
        f"{_whole(most)} to whole points"
    )
    return _sentence(_whole(most) == claim.formulas["most"], summary, f"up to {claim.formulas['most']}", most=most)


# ---- Table 1 ---------------------------------------------------------------------------------------------


def _published(method: str) -> sympy.Expr:
    """Rounds of a method without convexity, from the table."""
    names = {name: sympy.Symbol(name, positive=True) for name in ("M", "A", "K", "eps", "sigma", "mu")}
    (line,) = (r for r in published("fedamd_tab1") if r["convexity"] == "nonconvex" and r["method"] == method)
    return sympy.sympify(line["rounds"].replace("^", "**"), locals=names)


@checks(fedamd.tab1_crossovers, mutants=[times("FedAvg", 2), times("SCAFFOLD", F(1, 2)), times("VR-MARINA", 2)])
def where_rounds_cross(claim: Claim, depth: Depth) -> Evidence:
    """At the claimed accuracy both methods need the same rounds, and FedAMD fewer just below."""
    tally = Tally()
    ours = _published("FedAMD (constant)")
    eps = sympy.Symbol("eps", positive=True)
    for n, size, steps, noise in ((100, 20, 10, 1), (50, 5, 4, F(1, 2)), (12, 4, 1, 3)):
        at = {sympy.Symbol(k, positive=True): sympy.Rational(v) for k, v in zip("MAK", (n, size, steps), strict=True)}
        at[sympy.Symbol("sigma", positive=True)] = sympy.Rational(noise)
        for method, formula in claim.formulas.items():
            crossing = formula.subs(at)
            difference = (_published(method) - ours).subs(at)
            tally.holds(sympy.simplify(difference.subs(eps, crossing)) == 0, method=method, M=n, A=size)
            tally.holds(bool(difference.subs(eps, crossing * sympy.Rational(9, 10)) > 0), method=method, M=n, A=size)
    return tally.evidence(
        "exact", "table", "Equal at the claimed accuracies.", domain="three settings of M, A, K, sigma"
    )


@checks(
    fedamd.ERR21, mutants=[mutate("row", "1/(MK eps)", lambda e: e * sympy.sqrt(sympy.Symbol("eps", positive=True)))]
)
def order_under_the_condition(claim: Claim, depth: Depth) -> Evidence:
    """M = n = K = 1 satisfies both conditions for every eps <= 1."""
    eps = sympy.Symbol("eps", positive=True)
    single = {sympy.Symbol(name, positive=True): 1 for name in "MK"}
    ratio = (claim.formulas["row"] / claim.formulas["promised"]).subs(single)
    if sympy.limit(ratio, eps, 0, "+") != sympy.oo:
        return Evidence("exact", "algebra", "The row is of the promised order.", cases=1)
    where = {
        "M": 1,
        "n": 1,
        "K": 1,
        "eps": sympy.Rational(1, 10**4),
        "row over promise": ratio.subs(eps, sympy.Rational(1, 10**4)),
    }
    return Evidence(
        "inconsistent",
        "algebra",
        "The row of Table 1 exceeds 1/eps without bound under the condition.",
        cases=1,
        witness=where,
    )
