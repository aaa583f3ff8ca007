"""FedAU's stated numbers, the set-up of its experiments (Appendix C), its tables, and what is said about them.

The tables stand in `fltheory/data/fedau_*.csv`, one published number a line.
"""

from __future__ import annotations

from sympy import Integer, Rational

from fltheory.papers.fedau.setting import enter, leave, miss, p, paper

# ---- stated numbers and Appendix C.6 ---------------------------------------------------------------------

facts = paper.claim(
    "facts", "Interval example: 14, 200, 43.9, 58.1, 50",
    kind="number", where="section 5, Results",
    words="Over T = 10,000 rounds at p = 0.02 the number of participations has mean 200 and standard deviation 14; "
    "two standard deviations up and down give average intervals 43.9 and 58.1 around 1/p = 50.",
    formulas={
        "standard deviation": Integer(14), "mean": Integer(200), "shortest": Rational(439, 10),
        "longest": Rational(581, 10), "mean interval": Integer(50),
    },
)  # fmt: skip

C6 = paper.claim(
    "C6", "Label-correlated participation rates with floor .02",
    kind="definition", where="Appendix C.6.2, (C.6.1)",
    words="p_n = <kappa_n, q>/lambda with kappa_n ~ Dir(alpha_d), q ~ Dir(alpha_p) drawn once, lambda = 1/(C mu); "
    "values below 0.02 are raised to it.",
    latex=r"p_n = \max\Big(\frac{\langle \kappa_n, q \rangle}{\lambda}, 0.02\Big), \quad \kappa_n \sim "
    r"\mathrm{Dir}(\alpha_d), \quad q \sim \mathrm{Dir}(\alpha_p), \quad \lambda = \frac{1}{C \mu}",
    unchecked="Definition",
)  # fmt: skip

C6_mean = paper.claim(
    "C6.mean", "Mean participation rate equals .1",
    kind="number", where="Appendix C.6.1 and C.6.2",
    words="The normalisation lambda = 1/(C mu) makes the mean participation rate mu = 0.1.",
    formulas={"mean": Rational(1, 10)},
    uses=("fedau.C6",),
    gap="The mean is set before the floor, which the text announces as a further step and which raises it a little.",
)  # fmt: skip

C6_markov = paper.claim(
    "C6.markov", "Two-state Markov participation with stationary rate p",
    kind="definition", where="Appendix C.6.1",
    words="A client off turns on with probability a, a client on turns off with probability b = a(1-p)/p; the chain "
    "keeps rate p in every round, with lag-one correlation 1 - a - b.",
    formulas={"leave": enter * miss / p, "lag-one correlation": 1 - enter - leave},
    uses=("fedau.C6",),
)  # fmt: skip

C6_markov05 = paper.claim(
    "C6.markov05", "Maximum transition probability set to .05",
    kind="definition", where="Appendix C.6.1",
    words="The probability of turning on is at most 0.05.",
    latex=r"\Pr\{\mathbb{I}_{t+1}^n = 1 \mid \mathbb{I}_t^n = 0\} \le 0.05",
    unchecked="Setting: a maximum, so the smaller a = p/(1-p) below p = 1/21 is consistent with it",
    uses=("fedau.C6.markov",),
)  # fmt: skip

C6_cyclic = paper.claim(
    "C6.cyclic", "Cyclic participation, period 100, random offset",
    kind="definition", where="Appendix C.6.1",
    words="Each client is on for a run of consecutive rounds in every cycle of 100, with a random initial offset.",
    unchecked="Definition",
    uses=("fedau.C6",),
)  # fmt: skip

# ---- published tables ------------------------------------------------------------------------------------

tab1 = paper.claim(
    "tab1", "Table 1: seven methods, three participation patterns, four data sets",
    kind="table", where="Table 1",
    words="Training and test accuracy of every method, mean and deviation over five seeds (fedau_tab1.csv).",
    unchecked="Published training results",
)  # fmt: skip

tabC41 = paper.claim(
    "tabC41", "Table C.4.1: selected step sizes",
    kind="table", where="Table C.4.1; Appendix C.4",
    words="Every selected step size is on the announced grid of powers of ten, in quarter steps of the exponent, from "
    "10^-2 to 10^-1/2 for gamma and from 1 to 10^(3/2) for eta (fedau_tabC41.csv).",
    formulas={
        "step of the exponent": Rational(1, 4),
        "least local exponent": Integer(-2), "largest local exponent": -Rational(1, 2),
        "least global exponent": Integer(0), "largest global exponent": Rational(3, 2),
    },
)  # fmt: skip

tabD11 = paper.claim(
    "tabD11", "Table D.1.1: accuracy for five values of alpha_p",
    kind="table", where="Table D.1.1",
    words="CIFAR-10 with Bernoulli participation; the column alpha_p = 0.1 repeats Table 1 (fedau_tabD11.csv).",
    unchecked="Published training results",
)  # fmt: skip

tabD31 = paper.claim(
    "tabD31", "Table D.3.1: spread of loss and accuracy over clients",
    kind="table", where="Table D.3.1",
    words="Standard deviation over clients of the loss and of both accuracies (fedau_tabD31.csv).",
    unchecked="Published training results",
)  # fmt: skip

tabD61 = paper.claim(
    "tabD61", "Table D.6.1: accuracy at very low participation rates",
    kind="table", where="Table D.6.1",
    words="CIFAR-10 at mean rates 0.1, 0.01 and 0.001 without a floor on the rates (fedau_tabD61.csv).",
    unchecked="Published training results",
)  # fmt: skip

# ---- what is said about them -----------------------------------------------------------------------------

claim_top = paper.claim(
    "claim.top", "FedAU strictly best of the four same-setting methods",
    kind="table", where="section 5, Table 1",
    words="In every column of Table 1 a form of FedAU is strictly better than both averages, which work in the same "
    "setting.",
    formulas={"columns": Integer(24), "wins": Integer(24)},
    uses=("fedau.tab1",),
)  # fmt: skip

claim_k50 = paper.claim(
    "claim.k50", "K = 50 generally better than K infinite",
    kind="table", where="section 5, Results",
    words="K = 50 does better than K infinite in 22 of 24 columns of Table 1.",
    formulas={"columns": Integer(24), "wins": Integer(22)},
    uses=("fedau.tab1",),
)  # fmt: skip

claim_known = paper.claim(
    "claim.known", "FedAU better than known participation rates",
    kind="table", where="section 5, Results",
    words="FedAU does better than weights from known rates: with K = 50 in all columns of Table 1 but a tie, with K "
    "infinite in 21 of 24.",
    formulas={"wins of K = 50": Integer(23), "ties of K = 50": Integer(1), "wins of K infinite": Integer(21)},
    uses=("fedau.tab1",),
)  # fmt: skip

E14 = paper.claim(
    "E14", "FedAU better than almost all baselines, except CIFAR-10 test accuracy (FedVarp)",
    kind="table", where="section 5, Results",
    words="FedAU with K = 50 is strictly ahead of its five baselines in 115 of 120 comparisons of Table 1; FedVarp is "
    "ahead in the CIFAR-10 test accuracy.",
    formulas={"comparisons": Integer(120), "wins": Integer(115)},
    uses=("fedau.tab1",),
)  # fmt: skip

claim_het_gap = paper.claim(
    "claim.het_gap", "Test gap FedAU minus average-all grows with heterogeneity",
    kind="table", where="Appendix D.1",
    words="The more the rates differ, the more the methods do: the test accuracy of FedAU (K = 50) exceeds that of "
    "average-all by 7.4, 6.5, 4.6, 3.2 and 2.1 points for alpha_p = 0.01, 0.05, 0.1, 0.5 and 1.",
    formulas={f"gap {i}": Rational(gap) for i, gap in enumerate(("7.4", "6.5", "4.6", "3.2", "2.1"))},
    uses=("fedau.tabD11",),
)  # fmt: skip

claim_D11_top = paper.claim(
    "claim.D11_top", "FedAU best in its setting for all degrees of participation heterogeneity",
    kind="table", where="Appendix D.1",
    words="In every column of Table D.1.1 a form of FedAU is strictly better than both averages.",
    formulas={"columns": Integer(10), "wins": Integer(10)},
    uses=("fedau.tabD11",),
)  # fmt: skip

claim_D31_spread = paper.claim(
    "claim.D31_spread", "Spread over clients is smaller with FedAU (D.3.1)",
    kind="table", where="Appendix D.3",
    words="In Table D.3.1 both forms of FedAU have a smaller spread over clients than both averages, in the loss and "
    "in both accuracies.",
    formulas={"comparisons": Integer(12)},
    uses=("fedau.tabD31",),
    gap="The text stresses K = 50, for which it holds throughout; one of the other six comparisons differs, by 0.1.",
)  # fmt: skip

claim_D4_similar = paper.claim(
    "claim.D4_similar", "FedAU and known rates are closer under cyclic participation",
    kind="table", where="Appendix D.4",
    words="The accuracies of FedAU (K infinite) and of known rates differ less under cyclic than under Bernoulli "
    "participation: on average over the columns of Table 1, and in 7 of 8 columns.",
    formulas={"columns": Integer(8), "closer": Integer(7)},
    uses=("fedau.tab1",),
)  # fmt: skip

claim_D6_order = paper.claim(
    "claim.D6_order", "Averages better than three baselines in D.6",
    kind="table", where="Appendix D.6",
    words="In Table D.6.1, on low participation rates, both averages are better than FedVarp, MIFA and known rates.",
    formulas={"comparisons": Integer(36)},
    uses=("fedau.tabD61",),
    gap="At mean rates .01 and .001 it holds throughout; at .1 one test accuracy of MIFA is higher and one the same, "
    "within the printed spread.",
)  # fmt: skip

claim_D6_top = paper.claim(
    "claim.D6_top", "FedAU with K = 50 best at low participation rates",
    kind="table", where="Appendix D.6",
    words="FedAU with K = 50 is strictly the best method in every column of Table D.6.1.",
    formulas={"columns": Integer(6), "wins": Integer(6)},
    uses=("fedau.tabD61",),
)  # fmt: skip

E15 = paper.claim(
    "E15", "Round counts in the note of Table 1 and in C.5",
    kind="number", where="note of Table 1; Appendix C.5",
    words="Numbers of rounds: 2,000 for SVHN, 10,000 for CIFAR-10 and CINIC-10, 20,000 for CIFAR-100.",
    unchecked="Our copy of the note of Table 1 is incomplete; Appendix C.5 has all four numbers",
)  # fmt: skip
