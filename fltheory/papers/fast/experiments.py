"""FAST's experiments: participation laws (B.1.3), settings, tables, and what is said about the tables.

The tables stand in `fltheory/data/fast_tab*.csv`, one published cell a line.
"""

from __future__ import annotations

from sympy import Integer, Rational, Symbol, exp

from fltheory.papers.fast.setting import paper

x = Symbol("x", positive=True)
shape = Symbol("shape", positive=True)
scale = Symbol("scale", positive=True)

_density = (x / scale) ** (shape - 1) * exp(-((x / scale) ** shape))

weibull = paper.claim(
    "fact.weibull-pdf", "Printed Weibull density",
    kind="number", where="Appendix B.1.3 c)",
    words="The density of the Weibull law with shape k and scale lambda, as printed, with prefactor lambda/k.",
    formulas={"density": scale / shape * _density},
    repaired_by="fast.fact.weibull-pdf.repaired",
    gap="The prefactor is inverted; nothing else depends on it.",
)  # fmt: skip

weibull_repaired = paper.claim(
    "fact.weibull-pdf.repaired", "Weibull density with prefactor k/lambda",
    kind="number", where="ours, in place of Appendix B.1.3 c)", origin="ours",
    words="With prefactor k/lambda the density is the derivative of -exp(-(x/lambda)^k), and integrates to 1.",
    formulas={"density": shape / scale * _density, "distribution": 1 - exp(-((x / scale) ** shape))},
)  # fmt: skip

fig2_caption = paper.claim(
    "fact.fig2-caption", "Figure 2 caption gives beta = .01 for the Gamma law",
    kind="number", where="Figure 2 and Appendix B.1.3 b)",
    words="The caption names the second parameter of the Gamma law beta, the text theta = .01, a scale. Ten clients "
    "of a hundred take part in a round, a mean share of .1.",
    formulas={"shape": Integer(10), "second parameter": Rational(1, 100), "mean share": Rational(1, 10)},
    gap="As a scale .01 gives the mean .1, as a rate, for which beta usually stands, 1000.",
)  # fmt: skip

b23_ratio = paper.claim(
    "fact.b23-ratio", "B.2.3 calls the uniform share Ratio",
    kind="remark", where="Appendix B.2.3, against the note to the tables",
    words="A larger lambda gives a larger share of uniform rounds, which is called Ratio; so Ratio grows from "
    "lambda = 1 to the largest lambda of the tables.",
    formulas={"largest lambda": Integer(9)},
    gap="The share of uniform rounds does grow. Ratio is the share of arbitrary rounds, by the note to the tables and "
    "in the tables; only its name in the brackets is a slip.",
    uses=("fast.table5", "fast.table8"),
)  # fmt: skip

sampler = paper.claim(
    "sampler", "Map from a scalar law to ten clients per round",
    kind="definition", where="section 5 and Appendix B.1.3",
    words="Beta, Gamma and Weibull laws decide which ten of a hundred clients take part in a round.",
    unchecked="How a draw becomes ten clients is not given; both readings of fltheory.participation.WeightedDraws fit",
)  # fmt: skip

settings = paper.claim(
    "settings", "Experiment settings",
    kind="definition", where="section 5",
    words="Data sets, rounds, step sizes, batches and participation laws of the experiments.",
    unchecked="Definition; local steps, momentum, layer widths, repeats and the sampler are not stated",
)  # fmt: skip


def _table(number: int, title: str, unchecked: str, **parts: object) -> object:
    return paper.claim(
        f"table{number}", f"Table {number}: {title}", kind="table", where=f"Table {number}",
        words=f"{title[0].upper()}{title[1:]}.", unchecked=unchecked, **parts,
    )  # fmt: skip


table1 = _table(1, "rates of the compared algorithms", "Quoted rates; the row of FAST rests on Corollary 2",
                uses=("fast.cor2",))  # fmt: skip
table2 = _table(2, "FedAvg under four participation laws", "Published training results")
table3 = _table(3, "FAST with FedAvg", "Published training results")
table5 = _table(5, "lambda sweep, alpha = .1", "Published training results")
table7 = _table(7, "FAST with FedAvgM", "Published training results")
table8 = _table(8, "lambda sweep, alpha = .05", "Published training results")

_SAME_CELL = (
    "FedProx under uniform participation, Fashion-MNIST, alpha = .05, stands in Tables 4 and 6 with the same accuracy; "
    "the standard deviation of this cell differs between the two tables."
)
table4 = paper.claim(
    "table4", "Table 4: FedProx under four participation laws",
    kind="table", where="Table 4",
    words="FedProx under four participation laws; its uniform row is the row q = 1 of Table 6.",
    formulas={"shared cells": Integer(3)}, gap=_SAME_CELL,
)  # fmt: skip
table6 = paper.claim(
    "table6", "Table 6: FAST with FedProx",
    kind="table", where="Table 6",
    words="FAST with FedProx; its row q = 1 is the uniform row of Table 4.",
    formulas={"shared cells": Integer(3)}, gap=_SAME_CELL,
)  # fmt: skip

q_half = paper.claim(
    "fact.q-half", "q = .5 nearly matches uniform participation",
    kind="table", where="section 5.1, 2.",
    words="With q = .5 FAST nearly matches FedAvg under uniform participation.",
    unchecked="A judgement: on Fashion-MNIST with alpha = .05 it is 3.36, 6.71 and 5.00 points behind",
    uses=("fast.table3",),
)  # fmt: skip

ten_percent = paper.claim(
    "fact.10pct", "Default adaptive FAST uses under 10 % snapshots",
    kind="table", where="section 5.1, 2.",
    words="In all cases of Table 3 the default adaptive form (lambda = 1) takes less than 10 % snapshots.",
    formulas={"largest share": Integer(10), "cases": Integer(12)},
    uses=("fast.table3",),
    gap="Two of the twelve cases are a little above 10 %.",
)  # fmt: skip

five_percent = paper.claim(
    "fact.5pct", "Under 5 % snapshots at lambda = 1",
    kind="table", where="section 5.1, 4.",
    words="In Table 5 with lambda = 1 less than 5 % of the rounds are snapshots under each law.",
    formulas={"largest share": Integer(5), "cases": Integer(3)},
    uses=("fast.table5",),
)  # fmt: skip

gap_3_18 = paper.claim(
    "fact.gap-3-18", "Arbitrary participation costs 3 % to 18 %",
    kind="table", where="section 3.2, Observations",
    words="Against uniform participation the worst law costs from 3 to 18 points, column by column of Table 2.",
    formulas={"least": Rational(278, 100), "largest": Rational(1745, 100)},
    uses=("fast.table2",),
)  # fmt: skip

b21 = paper.claim(
    "fact.b21", "Accuracy drops stated in B.2.1",
    kind="table", where="Appendix B.2.1",
    words="FedProx from alpha = 1 to alpha = .05 on Fashion-MNIST loses 8, 15, 16 and 11 points, from alpha = 1 to .1 "
    "on CIFAR-10 2, 4, 14 and 5 (uniform, Beta, Gamma, Weibull).",
    formulas={
        "fmnist uniform": Rational(851, 100), "fmnist beta": Rational(1519, 100), "fmnist gamma": Rational(1588, 100),
        "fmnist weibull": Rational(1142, 100), "cifar10 uniform": Rational(229, 100),
        "cifar10 beta": Rational(378, 100), "cifar10 gamma": Rational(1406, 100),
        "cifar10 weibull": Rational(469, 100),
    },
    uses=("fast.table4",),
)  # fmt: skip

beyond_baseline = paper.claim(
    "fact.beyond-baseline", "Every FAST with FedAvg cell beats q = 0",
    kind="table", where="Appendix B.2.2",
    words="Every cell of Table 3 with snapshots is above the one without (q = 0).",
    formulas={"comparisons": Integer(84)},
    uses=("fast.table3",),
    gap="One cell is below, well within its standard deviation.",
)  # fmt: skip

below_q1 = paper.claim(
    "fact.below-q1", "FAST stays below or almost equal to q = 1",
    kind="table", where="Appendix B.2.2",
    words="Every cell of Table 3 is below uniform participation or almost equal to it.",
    formulas={"largest excess": Rational(2, 100), "cells above": Integer(1)},
    uses=("fast.table3",),
)  # fmt: skip

monotone_q = paper.claim(
    "fact.monotone-q", "Accuracy improves by increasing q (trend)",
    kind="table", where="section 5.1, 2.",
    words="Accuracy improves with q: a trend, q = .5 beats q = 0 in every series of Tables 3, 6 and 7.",
    formulas={"series": Integer(36), "wins": Integer(36)},
    uses=("fast.table3", "fast.table6", "fast.table7"),
)  # fmt: skip

adaptive_gamma = paper.claim(
    "fact.adaptive-gamma", "Adaptive FAST lifts 66.65 to 71.48 with 8.2 % snapshots",
    kind="number", where="section 5.1, 2.",
    words="Gamma law, Fashion-MNIST, alpha = .05: the default adaptive form has 8.2 % snapshots and lifts the accuracy "
    "from 66.65 to 71.48, lambda = 7 to 79.95.",
    formulas={
        "snapshots": Rational(82, 10), "without": Rational(6665, 100), "default": Rational(7148, 100),
        "lambda = 7": Rational(7995, 100),
    },
    uses=("fast.table3",),
)  # fmt: skip
