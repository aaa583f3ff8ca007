"""Malformed witness files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from analysis.checks import all_trials
from analysis.witness import _plain
from fltheory.ledger import ledger
from tests.trust.case import Case
from tests.trust.mutate import mutated

JSON = st.recursive(
    st.sampled_from([
        None, True, 0, 1, -1, 2**70, 0.5, 1e308, float("inf"), float("nan"), "", "nan", "a", "fast.thm1", "\ud800",
        "1/3", "1/0", "-1/7", "0x1f/0x3", "1e99999999", "9" * 5000, "\u0661", "1_0", " 1/2 ",
    ]),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["x", "", "rounds"]), inner)),
    max_leaves=5,
)  # fmt: skip


def _witness(claim: str, number: int, seed: int) -> dict[str, Any]:
    """A file that is well formed: a point of the space of a trial."""
    trials = all_trials()[claim]
    trial, rng = trials[number % len(trials)], np.random.default_rng(seed)
    point = {name: _plain(domain.exact(domain.draw(rng))) for name, domain in trial.space.items()}
    about = {"schema": 1, "claim": claim, "claim_sha256": ledger[claim].digest, "trial": trial.name}
    told = {"trial_in_words": "", "constants": {}, "conditions": {}, "facts": {}, "left": "1", "right": "0"}
    return {**about, "point": point, **told}


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each part of a JSON value, as what holds it and where."""
    for key in range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ():
        yield value, key
        yield from _places(value[key])


@st.composite
def witnesses(draw: st.DrawFn) -> Case:
    """A witness file with odd values in place of some."""
    content = _witness(draw(st.sampled_from(sorted(all_trials()))), draw(st.integers(0, 9)), draw(st.integers(0, 999)))
    for _ in range(draw(st.integers(0, 3))):
        holder, key = draw(st.sampled_from(list(_places(content))))
        holder[key] = draw(JSON)
    return Case(["replay", "w.json"], {"w.json": json.dumps(content).encode(errors="surrogatepass")})


def mutated_witness(random: Random) -> Case:
    content = _witness(random.choice(sorted(all_trials())), random.randrange(10), random.randrange(1000))
    return Case(["replay", "w.json"], {"w.json": mutated(json.dumps(content, indent=1).encode(), random)})
