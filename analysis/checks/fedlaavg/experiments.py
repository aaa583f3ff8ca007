"""Checks of Appendices A and D and of the numbers of section 6."""

from __future__ import annotations

from fractions import Fraction as F

import sympy

from analysis.checks import CheckBook, Depth, mutate, plus, put, times
from analysis.checks.tools import at
from analysis.evidence import Evidence, Tally
from analysis.trials import exact_value
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import experiments as paper
from fltheory.papers.fedlaavg.letters import C, K, N
from sims.algorithms.fedlaavg import fedlaavg

checks = CheckBook()


@checks(paper.appA_z, mutants=[mutate("value", "by the definition", lambda e: sympy.Integer(1))])
def value_by_the_definition(claim: Claim, depth: Depth) -> Evidence:
    """Two clients, client 1 away with probability p: E[w_i s_i]/w_i = C (1 - p) and C are not the same, so z_r = 1."""
    local_steps = 10
    for p in (F(1, 2), F(1, 10), F(99, 100)):
        contributions = {(1 - p) * local_steps, F(local_steps)}
        by_definition = int(len(contributions) > 1)
        stated = at(claim.formulas["value"], absent=p)
        if stated != by_definition:
            return Evidence(
                "inconsistent", "exact",
                "By its definition z_r is 0 or 1; the stated value reads as E[z_r], which M_R sums.",
                witness={"p": p, "E[w_1 s_1]/w_1": (1 - p) * local_steps, "E[w_2 s_2]/w_2": local_steps,
                         "z_r by the definition": by_definition, "z_r as stated": stated},
            )  # fmt: skip
    return Evidence("exact", "exact", "The value of the definition.", "p in {1/2, 1/10, 99/100}", 3)


def _steps_of_fedavg(turns: tuple[int, int], rounds: int) -> F:
    """FedAvg on Example 1 with means 1 and -1, from 7, at the steps 1/(2t)."""
    x = F(7)
    for t in range(1, rounds + 1):
        mean = 1 if (t - 1) % sum(turns) < turns[0] else -1
        x -= F(1, 2 * t) * 2 * (x - mean)
    return x


UNLIKE = (
    "t_1 is not t_2 and e_1 is not e_2 (section 3.1 sets these cases aside), and small steps: 1/(2t), or constant ones "
    "as they vanish (Theorem 1)"
)


@checks(paper.appA_MR, mutants=[mutate("distance", "may be 0", lambda e: sympy.Integer(0)), plus("share", -1)])
def divergence_is_not_implied(claim: Claim, depth: Depth) -> Evidence:
    """At the steps 1/(2t) FedAvg runs through the averages of the means of who took part, so it ends at their limit."""
    away = 1  # one of the two clients is away in every round, so z_r = 1
    if claim.formulas["share"] != away:
        return Evidence("inconsistent", "exact run", "M_R is R there.", witness={"M_R/R": away})
    tally = Tally()
    tally.equal(_steps_of_fedavg((1, 1), 200), 0, t_1=1, t_2=1)
    for first, second in ((2, 1), (1, 3), (5, 2)):
        found = abs(_steps_of_fedavg((first, second), 30 * (first + second)))
        tally.equal(found, F(abs(first - second), first + second), t_1=first, t_2=second)
        tally.holds(bool(claim.formulas["distance"].is_positive), t_1=first, t_2=second, distance=found)
    if tally.witness:
        return tally.evidence("exact", "exact runs", "", domain="means 1 and -1")
    return Evidence(
        "conditional", "exact runs",
        "M_R is R also for t_1 = t_2, where the steps 1/(2t) end at the minimiser. For other t_1 and t_2 the distance "
        "at the ends of periods is |e_1 - e_2||t_1 - t_2|/(2(t_1 + t_2)), by Theorem 1 and not by M_R.",
        "means 1 and -1, t_1, t_2 in (1, 1), (2, 1), (1, 3), (5, 2)",
        tally.cases,
        hypothesis=UNLIKE,
        witness={"t_1": 1, "t_2": 1, "e_1": 1, "e_2": -1, "x^0": 7, "step at t": "1/(2t)", "M_R/R": 1, "x^200": 0,
                 "x*": 0},
    )  # fmt: skip


@checks(paper.appD_client, mutants=[put("time", C, 1), times("space", 2), put("time", paper.size, paper.size**2)])
def cost_of_a_client(claim: Claim, depth: Depth) -> Evidence:
    """Counting: C backpropagations, one difference of Q numbers; the library keeps one vector a client."""
    tally = Tally()
    for steps, numbers in ((1, 7850), (10, 4945)):
        where = {"local_steps": steps, "backpropagation": 1000, "size": numbers}
        tally.equal(steps * 1000 + numbers, exact_value(claim.formulas["time"], where), C=steps)
        tally.equal(fedlaavg.client_vectors * numbers, exact_value(claim.formulas["space"], where), Q=numbers)
    return tally.evidence("exact", "count", "As counted, in leading terms.", domain="C in {1, 10}, Q in {7850, 4945}")


@checks(paper.appD_server, mutants=[put("time", K, N), put("space", N, N * paper.size), put("time", paper.sort, 0)])
def cost_of_the_server(claim: Claim, depth: Depth) -> Evidence:
    """Counting: a sort of N numbers, K vector additions, and besides the model one vector and N counters."""
    tally = Tally()
    for clients, size, numbers in ((1000, 100, 7850), (200, 20, 4945)):
        where = {"n_clients": clients, "cohort_size": size, "size": numbers, "sort": 12_345}
        tally.equal(12_345 + size * numbers, exact_value(claim.formulas["time"], where), N=clients)
        kept = (fedlaavg.server_vectors(clients) - 1) * numbers + clients  # besides the model
        tally.equal(kept, exact_value(claim.formulas["space"], where), N=clients)
    return tally.evidence("exact", "count", "As counted, in leading terms.", domain="N in {200, 1000}")


@checks(
    paper.exp_sizes,
    mutants=[
        plus("mean", 1),
        plus("deviation", 1),
        plus("softmax parameters", 1),
        plus("LSTM parameters", 1),
        plus("images", 1),
    ],
)
def sizes(claim: Claim, depth: Depth) -> Evidence:
    """Parameters counted layer by layer (two bias vectors a gate, as the usual libraries have)."""
    hidden, inputs = 16, 25
    layers = sum(4 * hidden * (width + hidden + 2) for width in (inputs, hidden))
    computed = {
        "images": 60_000 + 10_000, "mean": 60_000 // 1000, "deviation": 10_000 // 1000,
        "softmax parameters": 28 * 28 * 10 + 10, "LSTM parameters": layers + hidden + 1,
    }  # fmt: skip
    tally = Tally()
    for name, value in computed.items():
        tally.equal(value, int(claim.formulas[name]), number=name)
    return tally.evidence("exact", "arithmetic", "As counted.", domain="N = 1000")


@checks(paper.exp_seqsgd, mutants=[plus("iterations", 1), put("law", C, C + 1)])
def iterations_of_sequential_sgd(claim: Claim, depth: Depth) -> Evidence:
    """The defaults N = 1000, beta = 1/10, C = 10."""
    defaults = {"selected_share": F(1, 10), "n_clients": 1000, "local_steps": 10}
    tally = Tally()
    tally.equal(exact_value(claim.formulas["law"], defaults), F(int(claim.formulas["iterations"])))
    tally.equal(F(100 * 10), F(int(claim.formulas["iterations"])), count="100 clients of 10 steps")
    return tally.evidence("exact", "arithmetic", "As many as the selected clients take together.", domain="defaults")
