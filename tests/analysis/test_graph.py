"""The dependency graph: every claim stands to the right of what it rests on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.graph import draw, positions, uses
from fltheory.errors import InputError
from fltheory.ledger import ledger
from tests.analysis import toy


def test_claims_stand_to_the_right_of_what_they_rest_on() -> None:
    claims = dict(ledger)
    places = positions(claims)
    assert len(places) == len(set(places.values())) > 20
    for id_, (column, _) in places.items():
        assert all(places[used][0] < column for used in uses(claims, id_))


def test_everything_that_a_claim_rests_on_exists() -> None:
    missing = {id_: [used for used in claim.uses if used not in ledger] for id_, claim in ledger.items()}
    assert not {id_: used for id_, used in missing.items() if used}


def test_circles_are_refused() -> None:
    claims = {"a": replace(toy.false, id="a", uses=("a",))}
    with pytest.raises(InputError, match="free of circles"):
        positions(claims)


def test_the_same_picture_every_time(tmp_path: Path) -> None:
    first, again = (Path(draw("fedau", tmp_path / f"{k}.svg")).read_bytes() for k in (1, 2))
    assert first == again
    assert b"lemB61" in first


@pytest.mark.parametrize(("paper", "out"), [("fedu", None), ("fedau", Path("graph.txt"))])
def test_bad_input(paper: str, out: Path | None) -> None:
    with pytest.raises(InputError):
        draw(paper, out)
