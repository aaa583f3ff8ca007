"""What theory asks of a run: estimates of the constants in its bounds, at the recorded rounds.

Each is a metric of `[record] what` and says what it is: "exact" for the run at hand, a "sample" (of a supremum over
all models at the models that are recorded, or of an expectation by a few draws), or a "lower bound" of a supremum. A
supremum may be larger than every sample of it, so a bound that is evaluated at such estimates is no bound.
Gradients are those at the model x_t of the recorded round (`sims.training.survey`).

What is said of all rounds so far (`Trace`) is followed in every round, recorded or not, and covers the rounds before
x_t: at the record of round t it is about a run of T = t rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sims.training.survey import DRAWS, REACH, STEPS, FloatArray, Survey, host

if TYPE_CHECKING:
    from sims.recorder import Moment

Kind = Literal["exact", "sample", "lower bound"]


class Trace:
    """Who took part with which weight in all rounds so far; R replicates of N clients.

    An interval is that of the algorithm, if it counts the rounds of one, else what lies between two records. Weights
    that an algorithm does not have are NaN, and so is what needs rates where they are not known.
    """

    def __init__(self) -> None:
        self._sums: dict[str, npt.NDArray[Any]] = {}

    def begin(self, now: Moment, recorded: bool) -> None:
        """See a round, or the end of the run, before it is recorded."""
        if not self._sums:
            replicates, n_clients = now.participated.shape
            one, all_ = np.zeros(replicates), np.zeros((replicates, n_clients))
            unknown = np.full_like(all_, np.nan)
            names = ("error", "largest_error", "largest_square", "largest_norm", "largest_total_error", "absence")
            self._sums = dict.fromkeys(names, one) | {"current": all_, "finished": unknown}
            self._sums |= {"rounds": np.array(0), "length": np.array(0)}
        clock = now.state.discrete.get("clock")
        if self._sums["length"] and (recorded if clock is None else bool((host(clock) == 0).all())):
            self._sums["finished"] = self._sums["current"] / self._sums["length"]
            self._sums["current"], self._sums["length"] = np.zeros_like(self._sums["current"]), np.array(0)

    def add(self, now: Moment) -> None:
        """Take in a round."""
        sums, shares = self._sums, participation(now)
        error, square = weight_errors(now), weight_squares(now)
        absence = np.where(now.participated, 0, now.round - now.last).max(axis=-1)
        self._sums = {
            "error": sums["error"] + error,
            "largest_error": np.maximum(sums["largest_error"], error),
            "largest_square": np.maximum(sums["largest_square"], square),
            "largest_norm": np.maximum(sums["largest_norm"], np.sqrt((shares**2).sum(axis=-1))),
            "largest_total_error": np.maximum(sums["largest_total_error"], np.abs(shares.sum(axis=-1) - 1)),
            "absence": np.maximum(sums["absence"], absence),
            "current": sums["current"] + shares,
            "finished": sums["finished"],
            "rounds": sums["rounds"] + 1,
            "length": sums["length"] + 1,
        }

    def over_rounds(self, name: str) -> FloatArray:
        """A sum or a maximum over the rounds so far (R,); NaN before the first."""
        found = np.asarray(self._sums[name], dtype=np.float64)
        return found if self._sums["rounds"] else np.full_like(found, np.nan)

    @property
    def rounds(self) -> int:
        """How many rounds it has seen."""
        return int(self._sums["rounds"])

    @property
    def finished(self) -> FloatArray:
        """Participation weights averaged over the last finished interval (R, N); NaN before there is one."""
        return np.asarray(self._sums["finished"])

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """All that changes over time."""
        return dict(self._sums)

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from there."""
        self._sums = dict(state)


def participation(now: Moment) -> FloatArray:
    """Participation weights q_n = w_n 1{n takes part} / N of a round (R, N); NaN without weights."""
    weights = np.full(now.participated.shape, np.nan) if now.weights is None else now.weights
    return np.asarray(np.where(now.participated, weights, 0 * weights) / now.participated.shape[-1])


def weight_errors(now: Moment) -> FloatArray:
    """(1/N) sum_n (p_n w_n - 1)^2 of a round, (R,); NaN without weights or rates."""
    if now.weights is None or now.rates is None:
        return np.full(now.participated.shape[0], np.nan)
    return np.asarray(((now.rates * now.weights - 1) ** 2).mean(axis=-1))


def weight_squares(now: Moment) -> FloatArray:
    """(1/N) sum_n p_n w_n^2 of a round, (R,); NaN without weights or rates."""
    if now.weights is None or now.rates is None:
        return np.full(now.participated.shape[0], np.nan)
    return np.asarray((now.rates * now.weights**2).mean(axis=-1))


def survey(now: Moment) -> Survey:
    """The gradients at the model of a moment, and the sums over clients that go with its participation."""
    shares = {"round": participation(now)}
    if now.trace is not None:
        shares["interval"] = now.trace.finished
    return Survey(now.problem, now.state.linear["x"], now.round, shares)


def _largest(squares: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(squares.max(axis=-1)))


def _so_far(name: str) -> Callable[[Moment], FloatArray]:
    def compute(now: Moment) -> FloatArray:
        assert now.trace is not None  # the record follows it
        return now.trace.over_rounds(name)

    return compute


def _mean_weight_error(now: Moment) -> FloatArray:
    assert now.trace is not None
    return now.trace.over_rounds("error") / max(now.trace.rounds, 1)


@dataclass(frozen=True)
class Estimate:
    """One estimate.

    about        in words, with the letters of the paper that has it
    kind         exact, a sample, or a lower bound of a supremum
    compute      of a moment, (R,)
    of_a_round   it describes a round and not just the state, so there is none after the last round
    follows      it needs all rounds so far (`Trace`)
    needs_rates  it needs exact participation rates
    """

    about: str
    kind: Kind
    compute: Callable[[Moment], FloatArray]
    of_a_round: bool = False
    follows: bool = False
    needs_rates: bool = False


ESTIMATES: Mapping[str, Estimate] = {
    # gradients at x_t
    "heterogeneity": Estimate(
        "delta: max_n ||grad F_n - grad f|| at x_t", "sample", lambda now: _largest(now.survey.distances)
    ),
    "mean_heterogeneity": Estimate(
        "root mean square over clients of ||grad F_n - grad f|| at x_t",
        "exact",
        lambda now: np.sqrt(now.survey.distances.mean(axis=-1)),
    ),
    "client_gradient": Estimate("max_n ||grad F_n|| at x_t", "sample", lambda now: _largest(now.survey.squares)),
    "gradient_moment": Estimate(
        f"G: max_n (E||stochastic gradient||^2)^(1/2) at x_t, its noise from {DRAWS} minibatches a client",
        "sample",
        lambda now: _largest(now.survey.squares + now.survey.noise),
    ),
    "noise_std": Estimate(
        f"sigma: max_n (E||stochastic gradient - grad F_n||^2)^(1/2) at x_t, from {DRAWS} minibatches a client",
        "sample",
        lambda now: _largest(now.survey.noise),
    ),
    "smoothness": Estimate(
        f"L: max_n ||grad F_n(x_t + v) - grad F_n(x_t)|| / ||v||, {STEPS} steps v of a power iteration, "
        f"{REACH:.0%} of the model long",
        "lower bound",
        lambda now: now.survey.smoothness.max(axis=-1),
    ),
    "noise_smoothness": Estimate(
        "L_sigma: max_n (E||noise of a stochastic gradient at x_t + v - its noise at x_t||^2)^(1/2) / ||v||, from "
        f"{DRAWS} minibatches a client at one v along grad f, {REACH:.0%} of the model long",
        "sample",
        lambda now: now.survey.noise_smoothness.max(axis=-1),
    ),
    # a round
    "weight_square": Estimate(
        "(1/N) sum_n p_n w_n^2 of the round", "exact", weight_squares, of_a_round=True, needs_rates=True
    ),
    "participation_norm": Estimate(
        "(sum_n q_n^2)^(1/2) of the round, q_n = w_n / N of those who take part",
        "exact",
        lambda now: np.sqrt((participation(now) ** 2).sum(axis=-1)),
        of_a_round=True,
    ),
    "round_divergence": Estimate(
        "beta: ||sum_n q_n (grad F_n - grad f)|| of the round, at x_t",
        "sample",
        lambda now: now.survey.divergence("round"),
        of_a_round=True,
    ),
    "cohort_divergence": Estimate(
        "nu: (sum_n q_n ||grad F_n - sum_m q_m grad F_m||^2)^(1/2) of the round, at x_t",
        "sample",
        lambda now: now.survey.spread("round"),
        of_a_round=True,
    ),
    # the rounds before x_t
    "interval_divergence": Estimate(
        "delta(P): ||sum_n q_n (grad F_n - grad f)|| at x_t, q averaged over the last finished interval, of the "
        "algorithm or else between records",
        "sample",
        lambda now: now.survey.divergence("interval"),
        follows=True,
    ),
    "mean_weight_error": Estimate(
        "W: (1/N) sum_n (p_n w_n - 1)^2, mean over the rounds before this one",
        "sample",
        _mean_weight_error,
        follows=True,
        needs_rates=True,
    ),
    "largest_weight_error": Estimate(
        "(1/N) sum_n (p_n w_n - 1)^2, largest of the rounds before this one",
        "exact",
        _so_far("largest_error"),
        follows=True,
        needs_rates=True,
    ),
    "largest_weight_square": Estimate(
        "Q: (1/N) sum_n p_n w_n^2, largest of the rounds before this one",
        "exact",
        _so_far("largest_square"),
        follows=True,
        needs_rates=True,
    ),
    "largest_participation_norm": Estimate(
        "rho: (sum_n q_n^2)^(1/2), largest of the rounds before this one",
        "exact",
        _so_far("largest_norm"),
        follows=True,
    ),
    "largest_total_error": Estimate(
        "|sum_n q_n - 1|, largest of the rounds before this one", "exact", _so_far("largest_total_error"), follows=True
    ),
    "longest_absence": Estimate(
        "rounds without a client, the round itself counted where it is absent, largest of the rounds before this one",
        "exact",
        _so_far("absence"),
        follows=True,
    ),
}
