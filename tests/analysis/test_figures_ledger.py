"""The figures of the ledger against the recorded verdicts and the claims themselves."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from matplotlib.patches import FancyArrowPatch

from analysis.exhibits import Given
from analysis.figures.ledger import PAPERS, RIGHT, figures, found_ratios
from fltheory.ledger import ledger

NOTHING = Given("laptop", {})


def test_every_recorded_ratio_is_a_point() -> None:
    """A claim of which several were recorded has the largest, as theorem 4.6 of FedAMD."""
    known = json.loads((files("fltheory") / "data" / "verdicts.json").read_text(encoding="utf-8"))["claims"]
    with_ratio = {id_ for id_, entry in known.items() if any("largest" in found for found in entry["evidence"])}
    conditional = {
        id_: found["witness"] for id_, entry in known.items() if ledger[id_].bound is not None
        for found in entry["evidence"] if found["verdict"] == "conditional" and "left" in found.get("witness", {})
    }  # fmt: skip
    assert {"fedlaavg.thm3", "fedlaavg.lem1", "fedamd.lemE3"} <= conditional.keys() - with_ratio
    picture = figures["tightness"].make(NOTHING)
    ratio = {f"{row['paper']}.{row['claim']}": float(str(row["ratio"])) for row in picture.rows}
    assert set(ratio) == with_ratio | conditional.keys()
    sides = [float(conditional["fedlaavg.lem1"][side]) for side in ("left", "right")]
    assert ratio["fedlaavg.lem1"] == sides[0] / sides[1] == 5
    assert all(ratio[id_] > 1 for id_ in conditional)
    assert ratio["fedamd.thm46"] == max(
        float(found["largest"]) for found in known["fedamd.thm46"]["evidence"] if "largest" in found
    )
    panels = {
        axes.get_title().partition(":")[0]: axes
        for axes in picture.figure.subfigs[0].axes + picture.figure.subfigs[1].axes
    }
    assert sum(1 for title in panels if title) == len(PAPERS)
    for paper in PAPERS:
        rows = [row for row in picture.rows if row["paper"] == paper]
        assert [tick.get_text() for tick in panels[paper].get_yticklabels()] == [row["claim"] for row in rows]
        drawn = [line.get_xdata() for line in panels[paper].lines if line.get_marker() in ("o", "s")]
        assert [float(x[0]) for x in drawn] == [min(float(str(row["ratio"])), RIGHT / 1.3) for row in rows]  # type: ignore[index]


def test_what_holds_has_no_ratio_above_one_and_what_was_refuted_has_one() -> None:
    for row in figures["tightness"].make(NOTHING).rows:
        if row["verdict"] in ("proved", "exact", "supported"):
            assert float(str(row["ratio"])) <= 1, row
        if row["verdict"] == "refuted":
            assert float(str(row["ratio"])) > 1, row


def test_a_ratio_of_one_but_for_rounding_is_one() -> None:
    entry = {"verdict": "exact", "origin": "ours", "evidence": [
        {"largest": 1 + 4e-14, "method": "a"}, {"largest": 0.5, "method": "b"}, {"method": "c"}]}  # fmt: skip
    (row,) = found_ratios({"fedau.x.repaired": entry, "fedau.y": {**entry, "evidence": []}})
    assert (row["claim"], row["ratio"], row["method"]) == ("x.repaired", 1.0, "a")


@pytest.mark.parametrize("paper", ["amplified"])
def test_the_graph_has_an_arrow_for_each_row(paper: str) -> None:
    picture = figures[f"graph_{paper}"].make(NOTHING)
    wanted = {
        (id_, used)
        for id_, claim in ledger.items()
        for used in claim.uses
        if claim.paper == paper and ledger[used].kind != "assumption"
    }
    assert {(row["claim"], row["rests on"]) for row in picture.rows} == wanted
    arrows = [patch for patch in picture.figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == len(picture.rows) == len(wanted)


def test_no_claim_rests_on_one_of_another_paper() -> None:
    """So a graph for each paper shows all there is."""
    assert set(PAPERS) == {claim.paper for claim in ledger.values()}
    assert all(used.startswith(f"{claim.paper}.") for claim in ledger.values() for used in claim.uses)


def test_a_label_below_does_not_run_into_the_names_of_the_next_column() -> None:
    figure = figures["tightness"].make(Given("laptop", {})).figure
    figure.draw_without_rendering()
    names = [label.get_window_extent() for axes in figure.axes for label in axes.get_yticklabels()]
    below = [axes.xaxis.label.get_window_extent() for axes in figure.axes]
    space = 0.1 * figure.dpi
    assert not [1 for box in below for name in names if box.padded(space).overlaps(name) and box.x0 < name.x0]
