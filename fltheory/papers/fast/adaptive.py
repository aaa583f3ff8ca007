"""FAST's adaptive snapshot probability (Algorithm 2), and what it amounts to."""

from __future__ import annotations

from sympy import Rational, Symbol

from fltheory.papers.fast.setting import paper
from fltheory.symbols import Max, Min

probability = Symbol("probability", nonnegative=True)
strength = Symbol("strength", positive=True)
accuracy = Symbol("accuracy", nonnegative=True)
accuracy_before = Symbol("accuracy_before", nonnegative=True)
best_accuracy = Symbol("best_accuracy", nonnegative=True)

alg2 = paper.claim(
    "alg2", "Adaptive snapshot probability",
    kind="algorithm", where="Algorithm 2",
    words="The probability of a snapshot rises by lambda times the fall of the accuracy since the round before, is "
    "kept within [0, 1], and starts against an accuracy of 0.",
    formulas={"next": Min(1, Max(0, probability + strength * (accuracy_before - accuracy)))},
    uses=("fast.alg1",),
)  # fmt: skip

alg2_I1 = paper.claim(
    "alg2.I1", "Snapshot probability equals lambda times accuracy drawdown",
    kind="law", where="ours", origin="ours",
    words="From q_0 = 0 with accuracies in [0, 1] and lambda <= 1, q_{r+1} is lambda times the distance of the "
    "accuracy of round r from the best one so far.",
    formulas={"next": strength * (best_accuracy - accuracy), "largest strength": Rational(1)},
    uses=("fast.alg2",),
)  # fmt: skip

alg2_I2 = paper.claim(
    "alg2.I2", "Upper clip breaks the drawdown identity for lambda > 1",
    kind="law", where="ours", origin="ours",
    words="For lambda = 2 the recursion differs from lambda times the drawdown as soon as the upper limit 1 is met, "
    "also in later rounds in which the drawdown is below 1/lambda.",
    formulas={"recursion": Rational(1, 5), "drawdown": Rational(4, 5)},
    uses=("fast.alg2.I1",),
)  # fmt: skip

alg2_I3 = paper.claim(
    "alg2.I3", "Monotone accuracy gives no snapshots",
    kind="law", where="ours", origin="ours",
    words="From q_0 = 0, as long as the accuracy does not fall, q stays 0: every round is arbitrary.",
    formulas={"next": Rational(0)},
    uses=("fast.alg2.I1",),
)  # fmt: skip

alg2_I4 = paper.claim(
    "alg2.I4", "First step subtracts lambda times first accuracy",
    kind="law", where="ours", origin="ours",
    words="The accuracy before round 0 counts as 0, so the first step takes lambda times the first accuracy off q_0.",
    formulas={"next": Max(0, probability - strength * accuracy)},
    uses=("fast.alg2",),
)  # fmt: skip

alg2_I5 = paper.claim(
    "alg2.I5", "Accuracy must be a fraction, not percent",
    kind="law", where="ours", origin="ours",
    words="With percentages 10, 30, 25, 28 and lambda = 1 the probabilities from q_0 = 0 are 0, 0, 0, 1, 0; with the "
    "same accuracies as fractions they are 0, 0, 0, 1/20, 1/50.",
    formulas={"after 25 percent": Rational(1), "after .25": Rational(1, 20)},
    uses=("fast.alg2",),
)  # fmt: skip
