"""Algorithm 1 as the library runs it: (3), caches, roles, special cases; the remark after Assumption 4.3."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import sympy

from analysis.checks import CheckBook, Depth, plus, put, times
from analysis.checks.tools import at
from analysis.evidence import Evidence, Tally
from analysis.trials import assumed
from fltheory.ledger import Claim
from fltheory.papers import fedamd
from sims.algorithms import fedamd as library
from sims.exact import Engine, Setting, paths, run
from sims.problems.base import full_gradient
from sims.problems.noise import Additive, Multiplicative
from sims.problems.quadratic import DiagonalQuadratic
from sims.scenarios import in_turn, roles, schedule, uniform_subsets

checks = CheckBook()


def setting(
    curvatures: Any,
    local_lr: F,
    *,
    global_lr: Any = 1,
    steps: int = 1,
    massive: bool = False,
    noise: Any = None,
    slope: Any = 0,
) -> Setting:
    """FedAMD on scalar quadratics from x_0 = 1, without anchor noise."""
    kind = library.fedamd_massive if massive else library.fedamd
    return Setting(
        kind, DiagonalQuadratic(curvatures, 0, noise, slope=slope), library.Hyper(local_lr, global_lr, steps, None), [1]
    )


def warm(n: int, scenario: Any) -> Any:
    """A first round of all clients, all anchors, then the scenario."""
    return in_turn(roles(schedule([[True] * n]), 1), 1, scenario)


@checks(
    fedamd.eq3, mutants=[put("probability of no miner", fedamd.A, fedamd.A + 1), times("probability of no miner", 2)]
)
def rounds_without_a_miner(claim: Claim, depth: Depth) -> Evidence:
    """Enumerated roles of the library's scenario; the model moves exactly where there is a miner."""
    tally = Tally()
    for n, size, chance in ((1, 1, F(1, 2)), (2, 2, F(1, 3)), (3, 2, F(1, 4)), (3, 3, F(2, 3))):
        one = setting([1] * n, F(1, 10))
        none: Any = 0
        for probability, states in paths(one, warm(n, roles(uniform_subsets(n, size), chance)), 2):
            none += probability * bool((states[2].linear["x"] == states[1].linear["x"]).all())
        claimed = at(claim.formulas["probability of no miner"], anchor_probability=chance, cohort_size=size)
        tally.equal(none, claimed, M=n, A=size, p=chance)
    return tally.evidence("exact", "enumeration", "As claimed.", domain="M, A up to 3")


@checks(fedamd.alg1_k0, mutants=[plus("batches that matter", 1), times("batches that matter", F(13, 10))])
def batches_of_a_miner(claim: Claim, depth: Depth) -> Evidence:
    """How many sample signs the library's miner depends on: outcomes of one round with curvature noise."""
    tally = Tally()
    for steps in (1, 2, 3):
        one = setting([1], F(1, 10), steps=steps, noise=Multiplicative(F(1, 3)))
        ends = {tuple(states[2].linear["x"]) for _, states in paths(one, warm(1, roles(schedule([[True]]), 0)), 2)}
        claimed = at(claim.formulas["batches that matter"], local_steps=steps)
        tally.holds(2.0 ** float(claimed) == len(ends), K=steps, ends=len(ends), claimed=claimed)
    return tally.evidence(
        "exact", "enumeration", "The first batch changes nothing.", domain="K up to 3, two values a batch"
    )


@checks(fedamd.alg1_init, mutants=[plus("clients before round 0", -1), times("clients before round 0", F(13, 10))])
def clients_before_the_first_round(claim: Claim, depth: Depth) -> Evidence:
    """With as many clients as claimed in the first round the mean cached gradient is grad F(x_0), with fewer not."""
    tally = Tally()
    for curvatures in ((1, 2), (1, -2, 5), (3, 1, 1, 2)):
        n = len(curvatures)
        one = setting(list(curvatures), F(1, 10))
        needed = []
        for count in range(1, n + 1):
            state = run(one, roles(schedule([[i < count for i in range(n)]]), 1), 1)[1]
            gradient = full_gradient(one.problem, state.linear["x"])
            if state.linear["caches"].sum(axis=-2)[0] / F(n) == gradient[0]:
                needed.append(count)
        tally.equal(min(needed), at(claim.formulas["clients before round 0"], n_clients=n), clients=n)
    return tally.evidence("exact", "exact run", "A gradient of every client is needed.", domain="2 to 4 clients")


@checks(fedamd.massive, mutants=[times("share of a change", 2), put("share of a change", fedamd.M, fedamd.A)])
def mean_kept_by_the_server(claim: Claim, depth: Depth) -> Evidence:
    """The library's massive-client form, on every path, and the share of one anchor's change in its direction."""
    tally = Tally()
    for n, size in ((2, 1), (3, 2)):
        one, other = (setting(list(range(1, n + 1)), F(1, 20), steps=2, massive=m) for m in (False, True))
        scenario = warm(n, roles(uniform_subsets(n, size), F(1, 2)))
        share = at(claim.formulas["share of a change"], n_clients=n, cohort_size=size)
        rounds = 3 if depth == "quick" else 4
        both = zip(paths(one, scenario, rounds), paths(other, scenario, rounds), strict=True)
        for (_, plain), (_, massive) in both:
            for before, state, kept in zip(plain[:-1], plain[1:], massive[1:], strict=True):
                tally.equal(kept.linear["x"][0], state.linear["x"][0], M=n, A=size)
                change = (state.linear["caches"] - before.linear["caches"]).sum()
                mean = before.linear["caches"].sum() / F(n) + share * change
                tally.equal(kept.linear["direction"][0], mean, M=n, A=size)
    return tally.evidence("exact", "exact paths", "Equal on every path.", domain="M = 2, 3; up to four rounds")


@checks(fedamd.special, mutants=[times("rate", F(1, 2)), plus("rate", F(1, 10))])
def minibatch_sgd_every_second_round(claim: Claim, depth: Depth) -> Evidence:
    """The model of the library at A = M, p = 1, 0, 1, 0, ..., K = 1 against gradient steps."""
    tally = Tally()
    for curvatures, global_lr in (((1,), 1), ((1, 2), F(1, 3)), ((1, -1, 3), 2)):
        one = setting(list(curvatures), F(1, 8), global_lr=global_lr)
        n = len(curvatures)
        states = run(one, roles(schedule([[True] * n]), (1, 0)), 8)
        rate = at(claim.formulas["rate"], local_lr=F(1, 8), global_lr=global_lr)
        x = F(1)
        for t in range(0, 8, 2):
            tally.equal(states[t].linear["x"][0], x, t=t)
            tally.equal(states[t + 1].linear["x"][0], x, t=t + 1)
            x = x - rate * sum(curvatures) * x / n
    return tally.evidence(
        "exact", "exact run", "A gradient step every second round.", domain="8 rounds, 1 to 3 clients"
    )


@checks(fedamd.comm, mutants=[put("extra by line 3", F(1, 2), 0), times("extra in the text", 2)])
def vectors_of_a_round(claim: Claim, depth: Depth) -> Evidence:
    """FedAvg moves 2 vectors, an anchor 2 and a miner 3; the literal line 3 sends 3 to everyone."""
    p = fedamd.p
    text = claim.formulas["extra in the text"] - ((2 * p + 3 * (1 - p)) / 2 - 1)
    literal = claim.formulas["extra by line 3"] - (sympy.Rational(3, 2) - 1)
    if sympy.simplify(text) != 0:
        return Evidence(
            "refuted",
            "algebra",
            "The count of vectors differs from the text.",
            witness={"p": 0, "off by": text.subs(p, 0)},
        )
    if literal != 0:
        return Evidence("proved", "algebra", "Text and line 3 agree.", cases=2)
    return Evidence(
        "inconsistent", "algebra", "The text counts the mean cached gradient for miners only, line 3 sends it to all.",
        cases=2, witness=dict(claim.formulas),
    )  # fmt: skip


@checks(
    fedamd.A43_remark,
    mutants=[
        put("noise square", fedamd.distance, fedamd.distance**2),
        put("noise square", fedamd.distance, fedamd.distance**3),
    ],
)
def noise_that_bends_at_a_point(claim: Claim, depth: Depth) -> Evidence:
    """The squared noise difference over the squared distance has no bound near 0."""
    v = fedamd.distance
    ratio = claim.formulas["noise square"] / v**2
    if sympy.limit(ratio, v, 0, "+") != sympy.oo:
        return Evidence("proved", "algebra", "Some L_sigma exists for this noise.", cases=1)
    near = sympy.Rational(1, 10**4)
    return Evidence(
        "refuted", "algebra",
        "For noise s min(1, sqrt|v|) no L_sigma exists, though it is bounded by 1 and small at near points.",
        cases=1,
        witness={
            "noise bound": 1, **assumed(claim, {"A42": max(min(F(1), F(k, 10)) for k in range(21)) <= 1}),
            "distance": near,
            "squared difference over squared distance": ratio.subs(v, near),
        },
    )  # fmt: skip


# ---- recursions that the exact engine shows --------------------------------------------------------------


@checks(
    fedamd.lemE1a,
    mutants=[times("weight of the new gradient", 2), put("weight of the new gradient", fedamd.A, fedamd.A / 2)],
)
def mean_of_the_caches(claim: Claim, depth: Depth) -> Evidence:
    """E g_t and E grad F(x_t) of the library's FedAMD, round by round."""
    tally = Tally()
    for curvatures, size, chance in (((1,), 1, F(1, 2)), ((1, -2), 1, F(1, 3)), ((1, 2, -1), 2, F(1, 4))):
        n = len(curvatures)
        engine = Engine(setting(list(curvatures), F(1, 10), steps=2), warm(n, roles(uniform_subsets(n, size), chance)))
        weight = at(
            claim.formulas["weight of the new gradient"], n_clients=n, cohort_size=size, anchor_probability=chance
        )
        means = [(m.mean("caches").sum() / n, m.mean("x")[0] * F(sum(curvatures), n)) for m in engine.moments(6)][1:]
        tally.equal(means[0][0], means[0][1], t=0)
        for t, ((g, gradient), (later, _)) in enumerate(itertools.pairwise(means)):
            tally.equal(later, (1 - weight) * g + weight * gradient, t=t, M=n, A=size, p=chance)
    return tally.evidence("exact", "exact moments", "Equal in every round.", domain="1 to 3 clients, t <= 5")


@checks(
    fedamd.law_invariance, mutants=[plus("change of the model", fedamd.linear_shift), plus("change of the model", 1)]
)
def linear_terms(claim: Claim, depth: Depth) -> Evidence:
    """All paths of the library with and without linear terms that add up to zero."""
    tally, rounds = Tally(), 3 if depth == "quick" else 4
    for curvatures, slopes in (((1, -2), (3, -3)), ((1, 2, -1), (1, 1, -2))):
        n = len(curvatures)
        scenario = warm(n, roles(uniform_subsets(n, n - 1), F(1, 2)))
        claimed = claim.formulas["change of the model"].subs(fedamd.linear_shift, slopes[0])
        change = F(int(claimed.p), int(claimed.q))
        bare, tilted = (setting(list(curvatures), F(1, 10), steps=2, slope=list(s)) for s in ((0,) * n, slopes))
        for (_, states), (_, others) in zip(
            paths(bare, scenario, rounds), paths(tilted, scenario, rounds), strict=True
        ):
            for state, other in zip(states[1:], others[1:], strict=True):
                tally.equal(other.linear["x"][0] - state.linear["x"][0], change, slopes=slopes)
                tally.equal(other.linear["caches"].sum() - state.linear["caches"].sum(), change, slopes=slopes)
    return tally.evidence("exact", "exact paths", "No path changes.", domain="2 and 3 clients, up to four rounds")


@checks(fedamd.law_cycle, mutants=[times("stationary value", 2), plus("stationary value", F(1, 100))])
def start_of_a_cycle(claim: Claim, depth: Depth) -> Evidence:
    """The limit cycle of the library's FedAMD, exactly."""
    tally = Tally()
    for tau, global_lr in ((2, 1), (3, F(1, 2)), (10, 2)):
        problem = DiagonalQuadratic([1], 0, Additive(1))
        one = Setting(library.fedamd, problem, library.Hyper(F(1, 20), global_lr, 1, 1), [0])
        engine = Engine(one, roles(schedule([[True]]), [1] + [0] * (tau - 1)))
        square = engine.quadratic(lambda state: (state["x"] ** 2).sum(axis=-1))
        move = claim.formulas["move of a cycle"]
        values = {"anchor_period": tau, "global_lr": sympy.Rational(global_lr), "local_lr": F(1, 20), "local_steps": 1}
        claimed = (
            claim.formulas["stationary value"]
            .subs(fedamd.cycle_move, move)
            .subs({s: values[s.name] for s in move.free_symbols})
        )
        claimed = sympy.nsimplify(claimed)
        tally.equal(engine.limit_cycle()[0].expected(square), F(int(claimed.p), int(claimed.q)), tau=tau)
    return tally.evidence("exact", "exact moments", "Equal.", domain="tau in {2, 3, 10}")


@checks(fedamd.law_stability, mutants=[times("critical value", 2), times("critical value", F(1, 2))])
def mean_square_stability(claim: Claim, depth: Depth) -> Evidence:
    """Routh's criterion for E e_1^2, E e_2^2, E e_1 e_2, e_m a cache less its gradient, as p goes to 0.

    Per refresh of a given client e_m drops to 0 at unit rate, while the model moves by theta (e_1 + e_2)/2.
    """
    theta, root = fedamd.step_over_refresh, sympy.Symbol("root")
    rates = sympy.Matrix([[theta - 1, 0, theta], [0, -1 - theta, -theta], [-theta / 2, theta / 2, -2]])
    second, first, constant = rates.charpoly(root).all_coeffs()[1:]
    critical = claim.formulas["critical value"]
    tally = Tally()
    tally.equal(sympy.expand(constant - (2 - theta**2)), 0)
    tally.equal(sympy.expand(constant.subs(theta, critical)), 0)
    for value in (critical / 2, critical * sympy.Rational(99, 100)):
        stable = [v.subs(theta, value) > 0 for v in (second, constant, second * first - constant)]
        tally.holds(all(stable), theta=value)
    tally.holds(bool(constant.subs(theta, critical * sympy.Rational(101, 100)) < 0), theta="beyond")
    return tally.evidence("exact", "algebra", "The determinant is theta^2 - 2.", domain="M = 2, h = (1, -1), p -> 0")
