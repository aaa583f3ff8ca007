"""Objectives whose constants are known exactly, and the named ones of experiment files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fltheory.errors import InputError, one_of
from sims.problems.base import Problem
from sims.problems.least_squares import LeastSquares
from sims.problems.logistic import Logistic
from sims.problems.matrix_quadratic import MatrixQuadratic
from sims.problems.noise import KINDS, Additive, Multiplicative, Noise
from sims.problems.quadratic import DiagonalQuadratic, example_1, groups, linear, plus_minus_one
from sims.problems.shifted import log_cosh, pseudo_huber
from sims.problems.tilted import cosine, geman_mcclure, pl_sine
from sims.training.problem import training

__all__ = ["make", "noises", "problems"]

problems: dict[str, Callable[..., Problem]] = {
    "quadratic": DiagonalQuadratic,
    "matrix-quadratic": MatrixQuadratic,
    "linear": linear,
    "groups": groups,
    "fedlaavg-example-1": example_1,
    "plus-minus-one": plus_minus_one,
    "log-cosh": log_cosh,
    "pseudo-huber": pseudo_huber,
    "cosine": cosine,
    "geman-mcclure": geman_mcclure,
    "pl-sine": pl_sine,
    "logistic": Logistic,
    "least-squares": LeastSquares,
    "training": training,
}

noises: dict[str, Callable[..., Noise]] = {
    **{kind: partial(Additive, kind=kind) for kind in KINDS},
    "multiplicative": Multiplicative,
}


def make(name: str, noise: Mapping[str, Any] | None = None, **parameters: Any) -> Problem:
    """A named problem from plain numbers and lists, its noise as {"kind": "gaussian", "std": 1}.

    Problems on data take `batch` instead of noise. Raises InputError for unknown names, parameters and values.

    >>> make("log-cosh", centres=[-1, 1], noise={"kind": "rademacher", "std": "1/2"}).constants.noise_std
    Fraction(1, 2)
    """
    if noise is not None:
        if not isinstance(noise, Mapping):
            raise InputError("noise", noise, "a table with its kind and parameters")
        rest = {key: value for key, value in noise.items() if key != "kind"}
        if "kind" not in noise:
            raise InputError("noise.kind", None, f"given, {one_of('', noises)}")
        parameters["noise"] = _call(noises, "noise", str(noise["kind"]), rest)
    problem: Problem = _call(problems, "problem", name, parameters)
    return problem


def _call(known: Mapping[str, Callable[..., Any]], what: str, name: str, parameters: Mapping[str, Any]) -> Any:
    if name not in known:
        raise InputError(what, name, one_of(name, known))
    try:
        inspect.signature(known[name]).bind(**parameters)
    except TypeError as mismatch:
        allowed = ", ".join(inspect.signature(known[name]).parameters)
        raise InputError(f"{what} {name}", dict(parameters), f"given by {allowed} ({mismatch})") from None
    return known[name](**parameters)
