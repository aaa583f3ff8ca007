"""FedAMD with a constant anchor probability under the PL condition: Theorem 4.11 and Corollary 4.12."""

from __future__ import annotations

from sympy import Symbol, sqrt

from fltheory.ledger import Bound
from fltheory.papers.fedamd.constant import probability, step_within
from fltheory.papers.fedamd.setting import (
    A41,
    A42,
    A43,
    A410,
    A,
    K,
    L,
    L_sigma,
    M,
    T,
    anchor_noise,
    b_small,
    c,
    eta,
    eta_l,
    eta_s,
    gap,
    local_step,
    moving,
    mu,
    p,
    paper,
    refresh,
)
from fltheory.symbols import Max, Min
from fltheory.units import LOSS

# ---- Theorem 4.11 and Corollary 4.12: the PL condition ---------------------------------------------------

eq170 = paper.claim(
    "eq170", "(170): step conditions of Theorem E.5",
    kind="equation", where="(168) to (171)",
    words="With 8/mu times the error of E g_t added, (113) and (168) give (170) exactly where "
    "eta <= Ap/(M mu (1-p^A)), and the squared moves may be dropped exactly where eta <= 1/(L (1 + 16ML/(mu Ap))).",
    conditions={
        "cache": eta <= refresh / (mu * moving),
        "move": eta <= 1 / (L * (1 + 16 * L / (mu * refresh))),
    },
    formulas={
        "room for the cache": 8 / mu * refresh - 4 * eta * moving - 8 / mu * (mu * eta * moving / 2),
        "room for the move": 1 / (2 * eta) - L / 2 - 8 / mu * L**2 / refresh,
    },
)  # fmt: skip

LAST = "E F(x_T) - F_*"


def _linear_rate(noise_factor):
    return (1 - mu * eta * moving / 2) ** T * gap + noise_factor * anchor_noise / mu


thm411 = paper.claim(
    "thm411", "Constant probability under the PL condition",
    kind="theorem", where="Theorem 4.11; Theorem E.5, (174)",
    words="With b' < b and eta_s eta_l K at most the smaller of Ap/(M mu (1 - p^A)) and 1/(L (1 + 16ML/(mu Ap))), "
    "E F(x_T) - F_* is at most (1 - mu eta_s eta_l K (1 - p^A)/2)^T (F(x_0) - F_*) + (6/mu) 1{b<n} sigma^2/(Mb).",
    assumes=(A41, A42, A43, A410),
    conditions={
        "probability": p < 1,
        "product of steps: cache": eta * mu * moving <= refresh,
        "product of steps: move": eta * L * (1 + 16 * L / (mu * refresh)) <= 1,
        **local_step,
    },
    bound=Bound(
        LAST, _linear_rate(6),
        order="T = O(1/(mu (1-p^A)) (1 + M/(mu A p) + M mu (1-p^A)/(A p)) log(1/eps))", unit=LOSS,
    ),
    uses=(
        "fedamd.A41", "fedamd.A42", "fedamd.A43", "fedamd.A410", "fedamd.eq170", "fedamd.lemE3.repaired",
        "fedamd.law.noise", "fedamd.law.staleness",
    ),
    gap="The printed proof uses (113) and (132) with two meanings of E g_t; through the staleness of the caches the "
    "statement holds as it stands, from caches that all clients start (section 3) and for noise that is independent "
    "over clients and samples. The printed T takes L for a constant; with L it is 1/(mu (1-p^A)) (L + L^2 M/(mu A p) + "
    "M mu (1-p^A)/(A p)) log(1/eps).",
)  # fmt: skip

thm411_improved = paper.claim(
    "thm411.improved", "PL rate O(kappa M/A) instead of O(kappa^2 M/A)",
    kind="theorem", where="ours", origin="ours",
    words="The bound of Theorem 4.11 holds for eta_s eta_l <= 1/(KL (1 + 2 sqrt(5) (M/(Ap)) sqrt(1 - p^A))), which "
    "does not shrink with mu/L.",
    assumes=(A41, A42, A43, A410),
    conditions={**step_within(2 * sqrt(5)), "curvature": mu <= L, **local_step},
    bound=Bound(LAST, _linear_rate(6), order="T = O(kappa (1/(1-p^A) + M/(A p sqrt(1-p^A))) log(1/eps))", unit=LOSS),
    uses=("fedamd.lemE3.repaired", "fedamd.law.noise", "fedamd.law.staleness", "fedamd.A410"),
)  # fmt: skip


def tuned_probability(square):
    """Corollary 4.12's probability with `square` for mu^2."""
    ratio = (A + 1) / (2 * square)
    return (1 + ratio - sqrt(ratio**2 + A / square)) ** (1 / A) / c


def _tuned_rate(probability, factor):
    """Theorem 4.11's bound at that probability and the corollary's step, `factor` being what 32Mc/(mu A) carries."""
    step = Min(A / (2 * M * mu * c), 1 / (L * (1 + 32 * M * factor * c / (mu * A))))
    return (1 - mu * step * (1 - probability**A) / 2) ** T * gap + 6 * anchor_noise / mu


def _tuned_global_step(factor):
    return Min(sqrt(6) * A * L / (M * mu * c), 2 * sqrt(6) / (1 + 32 * M * factor * c / (mu * A)))


_probability412 = tuned_probability(mu**2)
_enough_local_steps = {"local steps": Max(1, 2 * L_sigma**2 / (b_small * L**2)) <= K}
no_move_power = Symbol("no_move_power", positive=True)  # z = p^A
inverse_square = Symbol("inverse_square", positive=True)  # 1/mu^2
cor412 = paper.claim(
    "cor412", "PL rate with tuned probability",
    kind="corollary", where="Corollary 4.12",
    words="With p = (1/c)(1 + (A+1)/(2mu^2) - sqrt(((A+1)/(2mu^2))^2 + A/mu^2))^(1/A), c >= 1, "
    "eta_l = 1/(2 sqrt(6) KL) and eta_s = min(sqrt(6) AL/(M mu c), 2 sqrt(6)/(1 + 32Mc/(mu A))) the bound of Theorem "
    "4.11 holds: T = O((1/mu + M/(mu^2 A) + M/A) log(1/eps)).",
    assumes=(A41, A42, A43, A410),
    conditions={"thinning": c >= 1, **_enough_local_steps},
    bound=Bound(
        LAST, _tuned_rate(_probability412, 1), order="T = O((1/mu + M/(mu^2 A) + M/A) log(1/eps))", unit=LOSS
    ),
    formulas={
        "probability": _probability412,
        "local step": 1 / (2 * sqrt(6) * K * L),
        "global step": _tuned_global_step(1),
        "rounds to minimise": inverse_square / (probability * (1 - probability**A)) + 1 / probability,
        "power of the minimiser": 1 + inverse_square * (A + 1) / 2
        - sqrt((inverse_square * (A + 1) / 2) ** 2 + A * inverse_square),
    },
    uses=("fedamd.thm411",),
    repaired_by="fedamd.cor412.repaired",
    gap="Theorem 4.11 has 16ML/(mu Ap), the corollary 32Mc/(mu A) without L; the paper treats L as a constant, and for "
    "L = 1 its step is one that Theorem 4.11 admits.",
    mentions=(eta_l, eta_s),
)  # fmt: skip
_relative412 = tuned_probability((mu / L) ** 2)
cor412_repaired = paper.claim(
    "cor412.repaired", "PL rate with tuned probability, for losses of any scale",
    kind="corollary", where="ours", origin="ours",
    words="With mu/L for mu in the probability of Corollary 4.12 and 32MLc/(mu A) in its global step, its bound holds "
    "for every c > 0 that leaves a probability below 1. (thm411.improved has a longer step.)",
    assumes=(A41, A42, A43, A410),
    conditions={"below one": _relative412 < 1, **_enough_local_steps},
    bound=Bound(LAST, _tuned_rate(_relative412, L), unit=LOSS),
    formulas={
        "probability": _relative412,
        "local step": 1 / (2 * sqrt(6) * K * L),
        "global step": _tuned_global_step(L),
    },
    uses=("fedamd.thm411",),
)  # fmt: skip
