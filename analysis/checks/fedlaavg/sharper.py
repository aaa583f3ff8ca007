"""Theorem 3 over all iterations: the proof of its smaller constants, and runs.

Letters of the proof: u = gamma L, rho = u I, k = rho G, b^2 = 2 L B, phi_s = 2 L (E f(x^s) - f*), nu the noise terms,
Q_s = E|grad f(x^s)|^2. The bound is nu + 2 k^2 + 2 b^2/(u T). Since sqrt(f - f*) is sqrt(L/2)-Lipschitz and E|x^s -
x^0|^2 <= (gamma s G)^2, Q_s <= phi_s <= (b + k s/I)^2 for s <= I; and Q_s <= G^2 always.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from itertools import product
from typing import Any

from sympy import Rational, Symbol, diff, hessian, summation, symbols

from analysis.checks import CheckBook, Depth, put, times, without
from analysis.checks.certificates import Fact, at_most_one, below_one, identity, more_than, nonnegative, proved
from analysis.checks.fedlaavg import seldom
from analysis.checks.fedlaavg.descent import early, rhs
from analysis.checks.fedlaavg.model import INDEPENDENT_NOISE
from analysis.checks.fedlaavg.settings import GRID, SPACE, grid, run
from analysis.checks.fedlaavg.theorem3 import AVERAGE_MUTANTS, STALE, average_trial, together
from analysis.checks.points import held_at, tally_of
from analysis.checks.tools import reading, rests_on
from analysis.evidence import Evidence
from analysis.trials import Point, Sides, right_side
from fltheory.ledger import Claim
from fltheory.papers.fedlaavg import iterations, sharper
from fltheory.papers.fedlaavg.letters import A, B, G, I, L, N, T, gamma, iteration, sigma

checks = CheckBook()

# ---- one iteration -----------------------------------------------------------------------------------------


@checks.trial(sharper.eq29_improved, SPACE)
def last_iteration_of_a_run(claim: Claim, point: Point) -> Sides:
    """Clients with f_i' = sign_i * clip(x - centre_i, -cap_i, cap_i), at the last iteration."""
    found, t = run(point), point["rounds"]
    facts = {name: holds for name, holds in found.facts.items() if name != "f has a minimum"}
    where = found.constants | {"iteration": t}
    if not found.paths:
        return Sides(0, 0, where, facts, found.met)
    terms = found.terms(t)
    left = terms.descent + point["local_lr"] / 2 * terms.current
    return Sides(left, right_side(claim.bound, where), where, facts, found.met)


def _last_iterations(claim: Claim, depth: Depth) -> Iterator[Point]:
    """Also iterations at which not everybody has taken part, which the claim does not speak of."""
    yield from ({name: point[name] for name in SPACE} for point in early(claim))
    yield from grid(depth)


@checks(
    sharper.eq29_improved,
    mutants=[times("bound", "1/2"), put("bound", sigma, 0), put("bound", G, 0), without("late"), without("step")],
)
@reading(INDEPENDENT_NOISE)
@rests_on({"step": gamma <= 1 / (2 * L), "late": iteration > I})
def descent_at_the_current_gradient(claim: Claim, depth: Depth) -> Evidence:
    """Half the squares of the gradient, of the mean m of the stale ones and of their difference for <grad f, m>;
    (24) for the noise in g, which is uncorrelated with the gradient at the most outdated iterate; (21) with (22).
    """
    points = held_at(last_iteration_of_a_run, claim, _last_iterations(claim, depth), domain=GRID)
    left_over = gamma * (1 - 2 * gamma * L) / 2
    derived = gamma / 2 * (rhs(iterations.eq27) - A) + rhs(iterations.eq24) + L / 2 * rhs(iterations.eq22)
    facts = [
        identity("(gamma/2) (27) + (24) + (L/2) (22), but for a multiple of A", rhs(claim) - derived - left_over * A),
        nonnegative("that multiple of A is not negative", left_over, {gamma: at_most_one() / (2 * L)}),
    ]
    return proved(facts, points, "The step is compared with the current gradient.")


# ---- all iterations ----------------------------------------------------------------------------------------

theorem_3_improved, eq33_repaired = map(average_trial, (sharper.thm3_improved, iterations.eq33_repaired))

MOST = F(71, 100)  # of rho: from there on 2 (rho G)^2 is at least G^2


def _descents() -> list[Fact]:
    """u times the sum of n gradients is at most phi (1 - (1-u)^n) + (k^2 + nu)(n u - 1 + (1-u)^n), by induction:
    phi becomes phi - u Q + u (k^2 + nu) where Q <= phi, and the rest grows with phi and so with Q."""
    u, n_u, power, phi, floor = symbols("u n_u power phi floor", positive=True)  # power = (1 - u)^n

    def most(phi: Any, power: Any, n_u: Any) -> Any:
        return phi * (1 - power) + floor * (n_u - 1 + power)

    one_more = u * phi + most(phi - u * phi + u * floor, power, n_u)
    ends = (Rational(0), Rational(1, 2))
    return [
        identity("sum of no gradients", most(phi, 1, 0)),
        identity("one gradient more", one_more - most(phi, (1 - u) * power, n_u + u)),
        Fact("1 - u >= 4^(-u) up to 1/2: equal at both ends, and 4^(-u) is convex", all(4**-v == 1 - v for v in ends)),
    ]


def _short() -> list[Fact]:
    """T <= I. If u T <= 1, the average of (b + k s/I)^2 is at most b^2 + b k + k^2/3, the bound at least 2 b^2 + 2 k^2;
    if not, or if 2 rho^2 >= 1 for any T, the bound is at least G^2."""
    b, k = symbols("b k", nonnegative=True)
    s, count = Symbol("s", integer=True), more_than(1)
    once, twice = (summation(s**power, (s, 0, I - 1)) for power in (1, 2))
    return [
        nonnegative("sum of s over s < I is at most I^2/2", I**2 / 2 - once),
        nonnegative("sum of s^2 over s < I is at most I^3/3", (I**3 / 3 - twice).subs(I, count)),
        nonnegative("u T <= 1", 2 * b**2 + 2 * k**2 - (b**2 + b * k + k**2 / 3) - (b - k / 2) ** 2),
        nonnegative("u T > 1: 2 (rho G)^2 >= G^2", 2 * more_than(1) ** 2 - 1),
    ]


Form = tuple[Any, Any, Any]  # (x, y, z) for x b^2 - 2 y b k + z k^2


def _by_smoothness(rho: Any, late: Any, e: Any) -> Form:
    """What is left of u T times the bound if (b + k s/I)^2 bounds the first I gradients, and the others, which start
    from phi = (b + k)^2, are as in `_descents`, with e for 1 - (1-u)^(T-I)."""
    return 2 - rho - e, rho / 2 + e, late + 5 * rho / 3


def _by_size(rho: Any, late: Any, e: Any) -> Form:
    """The same if G^2 = (k/rho)^2 bounds the first I gradients."""
    return 2 - e, e, late + 2 * rho - 1 / rho


def _room(form: Form) -> Any:
    """If it is not negative, nor x, the form is not negative for any b and k."""
    x, y, z = form
    return x * z - y**2


def _long() -> list[Fact]:
    """T > I and 2 rho^2 <= 1, with late = u (T - I) and e = 1 - (1-u)^(T-I), at most 1, late and 1 - 4^(-late).

    nu enters with late - e, less than u T. The rooms fall with e and grow with late, the second also with rho; the
    first is concave in rho, so that the ends of a cell decide, and up to late = 1/2, with e = late, in both.
    """
    b, k, rho, late, e = symbols("b k rho late e", positive=True)
    rest = 2 * b**2 + 2 * (rho + late) * k**2 - e * (b + k) ** 2 - (late - e) * k**2
    smooth, size = (
        (x * b**2 - 2 * y * b * k + z * k**2) for x, y, z in (_by_smoothness(rho, late, e), _by_size(rho, late, e))
    )
    room, linear = _room(_by_smoothness(rho, late, e)), _room(_by_smoothness(rho, late, late))
    corners = [linear.subs({rho: x, late: y}) for x, y in product((0, MOST), (0, F(1, 2)))]
    return [
        identity("what smoothness leaves", rest - rho * (b**2 + b * k + k**2 / 3) - smooth),
        identity("what G leaves", rest - rho * (k / rho) ** 2 - size),
        Fact("concave in rho", bool(diff(room, rho, 2) < 0)),
        Fact("concave in rho and late at e = late", bool(hessian(linear, (rho, late)).is_negative_definite)),
        Fact("corners of late <= 1/2", min(corners) >= 0),
        Fact("cells of late >= 1/2", all(_in_cell(*cell) for cell in _cells())),
        Fact("2 rho^2 >= 1 beyond the last cell", 2 * MOST**2 >= 1),
    ]


def _in_cell(left: F, late: F, e: F) -> bool:
    """rho in [left, left + 1/50], u (T - I) at least `late`, and at most e."""
    smooth = min(_room(_by_smoothness(rho, late, e)) for rho in (left, left + F(1, 50)))
    return smooth >= 0 or (left > 0 and _room(_by_size(left, late, e)) >= 0)


def _cells() -> Iterator[tuple[F, F, F]]:
    """Least rho and late of each cell, and the largest e: cells of a sixteenth of late up to 6, then one."""
    strips = [(F(j, 16), min(1 - _power(j + 1), F(j + 1, 16))) for j in range(8, 96)] + [(F(6), F(1))]
    yield from ((F(i, 50), late, e) for late, e in strips for i in range(int(50 * MOST) + 1))


def _power(j: int) -> F:
    """A rational number just below 4^(-j/16)."""
    power = F(int(4 ** (-j / 16) * 10**6), 10**6)
    if power**8 > F(1, 2**j):
        raise ArithmeticError(f"{power} is above 4^(-{j}/16)")
    return power


@checks(
    sharper.thm3_improved, mutants=[*AVERAGE_MUTANTS[:3], put("bound", sigma, 0), put("bound", G, 0), without("step")]
)
@reading(INDEPENDENT_NOISE)
@rests_on({"step": gamma <= 1 / (2 * L)})
def from_the_first_iteration_on(claim: Claim, depth: Depth) -> Evidence:
    """Smoothness and G for the first I iterations, descents at the current gradient for the others."""
    points = _runs(claim, theorem_3_improved, seldom.theorem_3_improved, depth)
    descents = 2 / gamma * rhs(sharper.eq29_improved)
    facts = [
        identity("the bound is nu + 2 k^2 + 4 B/(gamma T)", rhs(claim) - descents - STALE - 4 * B / (gamma * T)),
        *_descents(), *_short(), *_long(),
    ]  # fmt: skip
    return proved(facts, points, "The first I iterations by smoothness, the others by descent.")


@checks(iterations.eq33_repaired, mutants=[times("bound", "1/10"), put("bound", B, 0), without("step")])
@reading(INDEPENDENT_NOISE)
@rests_on({"step": gamma < 1 / (2 * L)})
def at_least_the_smaller_constants(claim: Claim, depth: Depth) -> Evidence:
    """Not below the bound of thm3.improved, term by term."""
    points = _runs(claim, eq33_repaired, seldom.eq33_repaired, depth)
    short = {gamma: below_one() / (2 * L), N: Symbol("root_n", positive=True) ** 2}
    facts = [nonnegative("not below thm3.improved", rhs(claim) - rhs(sharper.thm3_improved), short)]
    return proved(facts, points, "Not below the bound of thm3.improved.")


def _runs(claim: Claim, average: Any, long: Any, depth: Depth) -> Evidence:
    tally = together(tally_of(average, claim, grid(depth)), tally_of(long, claim, seldom.LONG))
    summary = f"No violation at {tally.cases} points; largest ratio found {tally.largest:.4g}."
    return tally.evidence("exact", "enumeration", summary, domain=f"{GRID}; {seldom.DOMAIN}", ratio=True)
