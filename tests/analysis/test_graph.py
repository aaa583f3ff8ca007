"""The dependency graph: every claim stands below what it rests on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.graph import draw, picture, positions, uses
from fltheory.errors import InputError
from fltheory.ledger import ledger
from tests.analysis import toy


def test_claims_stand_below_what_they_rest_on() -> None:
    claims = dict(ledger)
    places = positions(claims)
    assert len(places) == len(set(places.values())) > 20
    for id_, (level, _) in places.items():
        assert all(places[used][0] < level for used in uses(claims, id_))


@pytest.mark.parametrize("paper", ["fedlaavg", "fedamd"])
def test_a_graph_is_as_wide_as_a_page_and_no_name_lies_on_another(paper: str) -> None:
    figure = picture(paper).figure
    figure.draw_without_rendering()
    assert figure.get_figwidth() == 7
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts] + [axes.get_legend().get_window_extent()]
    assert all(0 <= box.x0 < box.x1 <= figure.bbox.width for box in boxes)
    assert all(0 <= box.y0 < box.y1 <= figure.bbox.height for box in boxes)
    assert not [1 for k, box in enumerate(boxes) for other in boxes[:k] if box.overlaps(other)]


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
