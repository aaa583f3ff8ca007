"""The report: every claim has its page, links lead somewhere, markup is well-formed, nothing is written halfway."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

from analysis import stored_runs
from analysis.exhibits import chosen
from analysis.figures.style import new_figure, save
from analysis.report import write
from analysis.report.algorithm import algorithm_page
from analysis.report.claim import claim_page
from analysis.report.claims import KINDS, claims_page, kinds_of_check
from analysis.report.exhibits import exhibits_page, find
from analysis.report.facts import AGAINST, Facts
from analysis.report.html import PAGES, element
from analysis.report.provenance import provenance, provenance_page
from analysis.report.pseudocode import RECIPES
from fltheory.errors import InputError
from fltheory.ledger import ledger
from fltheory.verdicts import recorded
from sims.algorithms import algorithms
from tests.analysis.runs import made_up

pytest.importorskip("latex2mathml", reason="needs the extra docs")

ROOT = Path(__file__).parents[3]
Pages = dict[str, ElementTree.Element]


def links(page: ElementTree.Element) -> Iterator[str]:
    for node in page.iter():
        yield from (value for key, value in node.items() if key in ("href", "src"))


def text_of(page: ElementTree.Element) -> str:
    return " ".join("".join(page.itertext()).split())


def test_every_claim_paper_and_algorithm_has_its_page(pages: Pages) -> None:
    expected = {f"claims/{id_}.html" for id_ in ledger} | {f"papers/{name}.html" for name in ledger.papers}
    expected |= {f"algorithms/{name}.html" for name in algorithms()} | set(PAGES)
    assert set(pages) == expected
    assert [row.find("th/a").get("href") for row in pages["claims.html"].iter("tr") if row.get("data-paper")] == [  # type: ignore[union-attr]
        f"claims/{id_}.html" for id_ in ledger
    ]


def test_links_and_anchors_lead_somewhere(site: Path, pages: Pages) -> None:
    anchors = {at: {node.get("id") for node in page.iter()} for at, page in pages.items()}
    for at, page in pages.items():
        for href in links(page):
            parts = urlsplit(href)
            assert not parts.scheme, f"{at} needs a network for {href}"
            target = (site / at).parent / unquote(parts.path) if parts.path else site / at
            assert target.is_file(), f"{at}: {href}"
            if parts.fragment:
                assert parts.fragment in anchors[str(target.resolve().relative_to(site.resolve()))], f"{at}: {href}"


def test_a_page_says_what_was_recorded(pages: Pages) -> None:
    entries = recorded()
    for id_, claim in ledger.items():
        said = text_of(pages[f"claims/{id_}.html"])
        entry = entries[id_]
        expected = [claim.title, claim.words, claim.edition, claim.gap, entry["verdict"], entry["claim_sha256"]]
        expected += [evidence["summary"] for evidence in entry["evidence"]]
        expected += [name for evidence in entry["evidence"] for name in evidence.get("witness", {})]
        assert not [text for text in expected if " ".join(text.replace("`", "").split()) not in said], id_
        against = entry["verdict"] in AGAINST
        assert ("How to contest it." in said) is against, id_
        assert (f"the one that was read: {claim.edition}." in said) is against, id_


def test_what_is_ours_is_counted_apart_where_verdicts_are(pages: Pages) -> None:
    """A paper is not to be charged with a reading that nobody printed."""
    for at, claims in [("index.html", ledger), *((f"papers/{n}.html", p.claims) for n, p in ledger.papers.items())]:
        found = [(claim.origin, recorded()[claim.id]["verdict"]) for claim in claims.values()]
        for verdict in {verdict for _, verdict in found}:
            ours = found.count(("ours", verdict))
            said = f"{verdict} {ours + found.count(('paper', verdict))}" + (f", {ours} of them ours" if ours else "")
            entries = ["".join(one.itertext()) for one in pages[at].iterfind(".//ul[@class='counts']/li")]
            assert said in entries, at


def test_every_formula_is_set(pages: Pages) -> None:
    for id_, claim in ledger.items():
        page = pages[f"claims/{id_}.html"]
        formulas = len(list(page.iter("{http://www.w3.org/1998/Math/MathML}math")))
        assert formulas >= len(claim.conditions) + len(claim.formulas) + bool(claim.bound) + bool(claim.latex), id_
    for at, page in pages.items():
        for node in page.iter():
            if node.tag.startswith("{http://www.w3.org/1998/Math/MathML}"):
                assert not re.search(r"[\\&$]", node.text or ""), f"{at}: {node.text}"


def test_every_kind_of_check_can_be_chosen() -> None:
    methods = {evidence["method"] for entry in recorded().values() for evidence in entry["evidence"]}
    assert not [method for method in methods if not kinds_of_check(method)]
    assert {kind for method in methods for kind in kinds_of_check(method)} == set(KINDS)


def test_every_algorithm_is_told_in_our_words() -> None:
    assert set(RECIPES) == set(algorithms())


def test_a_guarantee_stands_with_its_verdict_under_a_heading_that_it_bears_out(pages: Pages) -> None:
    """What search supports is not said to hold."""
    headings = {
        "Guarantees that nothing was found against": {"proved", "exact", "supported"},
        "Guarantees that do not hold as stated": set(AGAINST),
        "Guarantees not checked": {"not checked"},
    }
    seen = set()
    for name in RECIPES:
        for part in pages[f"algorithms/{name}.html"].iter("section"):
            for entry in part.iter("li") if part.find("h2").text in headings else ():  # type: ignore[union-attr]
                id_ = text_of(entry).partition(":")[0]
                verdict = next(node.text for node in entry.iter("span") if "verdict" in node.get("class", ""))
                assert verdict == recorded()[id_]["verdict"]
                assert verdict in headings[part.find("h2").text], id_  # type: ignore[index,union-attr]
                if verdict in AGAINST:
                    assert ledger[id_].edition in text_of(part)
                    assert "../contest.html" in [node.get("href") for node in part.iter("a")]
                seen.add(id_)
    assert {"fedamd.thm46", "fast.thm1.special", "fast.thm1"} <= seen


def test_figures_tables_and_their_claims(site: Path, pages: Pages) -> None:
    page = pages["exhibits.html"]
    ids = {node.get("id") for node in page.iter()}
    assert ids >= {*chosen("figures", []), *chosen("tables", [])}
    assert (site / "figures" / "fedau_figC61.csv").is_file()
    assert "fltheory report --figures pictures --scale laptop" in text_of(page)
    assert "figures/fedau_figC61.svg" in [img.get("src") for img in page.iter("img")]
    assert "not run" in text_of(page)
    assert "../exhibits.html#fedau.tab1" in links(pages["claims/fedau.tab1.html"])
    assert "../exhibits.html#fedamd.ratio_over_period" in links(pages["claims/fedamd.thm44.html"])
    assert {claim for exhibit in chosen("figures", []).values() for claim in exhibit.claims} <= set(ledger)
    assert {"algorithms/fedavg.html#FAST", "algorithms/fedavg.html#FedAU"} <= set(links(pages["algorithms.html"]))
    (contents,) = (node for node in page.iter("ul") if node.get("class") == "contents")
    assert {f"#{name}" for name in (*chosen("figures", []), *chosen("tables", []))} < set(links(contents))
    assert {"Figure C.6.1", "Table D.6.1", "tightness"} < {text_of(link) for link in contents.iter("a")}


def test_a_damaged_run_leaves_its_table_in_the_report_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made_up("experiments/fedamd/table2-20.toml", "laptop", tmp_path / "store")
    (run.folder / f"{run.sha256}.parquet").unlink()
    monkeypatch.setattr("analysis.report.site._pages", lambda _, shown, __: iter([("e.html", exhibits_page(shown))]))
    monkeypatch.setattr("analysis.report.site.draw", lambda *_: None)
    broken: list[str] = []
    write(tmp_path / "site", "laptop", tmp_path / "store", broken=broken)
    (sentence,) = broken
    file = "experiments/fedamd/table2-20.toml"
    assert sentence.startswith(f"fedamd.tab2 is made without {file}: run must be one whose data can be read")
    again = f"fltheory tables fedamd.tab2 --scale laptop --store {shlex.quote(str(tmp_path / 'store'))} --run"
    assert sentence.endswith(f" (to make its run again: {again})")
    page = ElementTree.fromstring((tmp_path / "site" / "e.html").read_text().removeprefix("<!DOCTYPE html>\n"))
    (part,) = (node for node in page.iter() if node.get("id") == "fedamd.tab2")
    assert sentence in text_of(part)
    assert f"left out, as the file or its stored run is faulty: {file}" in text_of(part)


def test_a_picture_that_is_none_or_not_whole_is_told_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("fedau.figC61", "fedau.figC62", "fedau.figD41", "fedau.figD42")
    monkeypatch.setattr(
        "analysis.report.exhibits.chosen", lambda kind, _: chosen(kind, names) if kind == "figures" else {}
    )
    monkeypatch.setattr("analysis.report.site._pages", lambda _, shown, __: iter([("e.html", exhibits_page(shown))]))
    monkeypatch.setattr("analysis.report.site.draw", lambda *_: None)
    good, pictures = new_figure(1), tmp_path / "pictures"
    pictures.mkdir()
    for name in ("fedau_figC61.svg", "fedau_figC61.png", "fedau_figC62.png", "fedau_figD42.svg"):
        save(good, pictures / name)
    for name in ("fedau_figC61.svg", "fedau_figC62.png"):
        whole = (pictures / name).read_bytes()
        (pictures / name).write_bytes(whole[: len(whole) // 2])
    (pictures / "fedau_figD41.svg").write_text("<html/>")
    (pictures / "fedau_figD41.png").touch()
    broken: list[str] = []
    write(tmp_path / "site", "laptop", tmp_path / "store", pictures, broken)
    assert broken == [
        "fedau.figC61 is shown without fedau_figC61.svg, which cannot be read as a whole picture",
        "fedau.figC62 is not shown: fedau_figC62.png cannot be read as a whole picture",
        "fedau.figD41 is not shown: fedau_figD41.svg and fedau_figD41.png cannot be read as a whole picture",
    ]
    copied = sorted(path.name for path in (tmp_path / "site" / "figures").iterdir())
    assert copied == ["fedau_figC61.png", "fedau_figD42.svg"]
    page = ElementTree.fromstring((tmp_path / "site" / "e.html").read_text().removeprefix("<!DOCTYPE html>\n"))
    assert [img.get("src") for img in page.iter("img")] == [f"figures/{name}" for name in copied]
    for sentence in broken:
        (part,) = (node for node in page.iter() if node.get("id") == sentence.split()[0])
        assert sentence in text_of(part)


def test_a_figure_that_is_not_there_has_the_command_that_draws_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --run only where no run of it is stored, and with the store; nothing is trained to say so."""
    monkeypatch.setattr("analysis.missing_runs._pace", lambda *_: pytest.fail("the report trains nothing"))
    monkeypatch.chdir(ROOT)
    store = tmp_path / "my runs"
    made_up("experiments/fast/table5-beta.toml", "laptop", store)
    place = f"--store {shlex.quote(str(store))}"
    page = ElementTree.fromstring(exhibits_page(find("laptop", store, None)).removeprefix("<!DOCTYPE html>\n"))
    for name, run in (("fast.fig4", ""), ("fast.fig1", ""), ("fast.fig3", " --run")):
        (part,) = (node for node in page.iter() if node.get("id") == name)
        codes = [text_of(code) for code in part.iter("code")]
        assert codes[0] == f"fltheory figures {name} --format svg --out pictures --scale laptop {place}{run}"
        assert ("none of its runs is stored" in text_of(part)) is bool(run)
    assert f"fltheory report --figures pictures --scale laptop {place}" in text_of(page)


def test_the_runs_behind_a_picture_are_those_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(
        "analysis.report.exhibits.chosen", lambda kind, _: chosen(kind, ["fedlaavg"]) if kind == "figures" else {}
    )
    runs = [
        made_up(f"experiments/fedlaavg/mnist-{size}.toml", "laptop", tmp_path / "store") for size in ("N200", "N600")
    ]
    figure = new_figure(1)
    figure.suptitle(f"mnist, 3 seeds; run {runs[0].key[:12]}")
    save(figure, tmp_path / "fedlaavg_fig5_laptop.svg")
    assert [run.key for run in find("laptop", tmp_path / "store", tmp_path).runs] == [runs[0].key]


def test_runs_whose_experiment_file_is_not_here_are_not_called_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be in the store: cells, pages and who called it are told what is not known."""
    monkeypatch.chdir(tmp_path)
    stored_runs.asked.cache_clear()  # of what other tests read by the same names in another folder
    monkeypatch.setattr("analysis.report.site._pages", lambda _, shown, __: iter([("e.html", exhibits_page(shown))]))
    monkeypatch.setattr("analysis.report.site.draw", lambda *_: None)
    told: list[str] = []
    broken: list[str] = []
    write(tmp_path / "site", "laptop", ROOT / "results", None, broken, told.append)
    (sentence,) = told
    assert re.search(r"\.toml and \d+ more experiment files are not in this folder; type the same in the one", sentence)
    assert not broken
    page = ElementTree.fromstring((tmp_path / "site" / "e.html").read_text().removeprefix("<!DOCTYPE html>\n"))
    assert sentence in text_of(page)
    assert not [cell.text for cell in page.iter("td") if cell.text == "not run"]
    for name in ("fedamd.tab2", "fedau.tab1", "fedlaavg.fig5"):
        (part,) = (node for node in page.iter() if node.get("id") == name)
        assert "experiment file not found" in text_of(part), name


def test_a_picture_whose_runs_the_store_does_not_have_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "analysis.report.exhibits.chosen", lambda kind, _: chosen(kind, ["fedlaavg"]) if kind == "figures" else {}
    )
    for number, above in (("4", "mnist; runs 0123456789ab, 123456789abc"), ("5", "mnist")):
        figure = new_figure(1)
        figure.suptitle(above)
        save(figure, tmp_path / f"fedlaavg_fig{number}_laptop.svg")
    shown = find("laptop", tmp_path, tmp_path)
    assert provenance(Facts({}, {}, frozenset(), {}), shown)["pictures"] == {
        "fedlaavg.fig4": ["0123456789ab", "123456789abc"], "fedlaavg.fig5": []
    }  # fmt: skip
    page = provenance_page(Facts({}, {}, frozenset(), {}), shown)
    assert "2 pictures of runs came from a folder as they were" in page
    for text in (page, exhibits_page(shown)):
        assert "the store here does not have what it names: 0123456789ab, 123456789abc." in text
        assert "does not say of which runs it is." in text


def test_provenance_without_a_place_of_this_machine(site: Path) -> None:
    for path in (path for path in site.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert str(ROOT).encode() not in content
        assert str(site).encode() not in content
    found = json.loads((site / "fltheory-report.json").read_text())
    assert found["packages"]["sympy"]
    assert found["runs"][0]["versions"]["fltheory"]


def test_ids_are_unique(pages: Pages) -> None:
    for at, page in pages.items():
        ids = [node.get("id") for node in page.iter() if node.get("id")]
        assert len(ids) == len(set(ids)), at


def test_a_customary_reading_is_no_need() -> None:
    for id_, said, unsaid in (("amplified.thm31", "Read with", "Needs"), ("fedau.eqB68a", "Needs", "Read with")):
        page = claim_page(Facts(recorded(), {}, frozenset(), {id_: []}), ledger[id_])
        assert (f">{said}<" in page, f">{unsaid}<" in page) == (True, False), id_
    both = claim_page(Facts(recorded(), {}, frozenset(), {"fedlaavg.thm3": []}), ledger["fedlaavg.thm3"])
    assert -1 < both.index(">Needs<") < both.index(">Read with<")


def test_what_is_not_recorded_or_out_of_date_says_so() -> None:
    claim = ledger["fast.thm1"]
    used_by: dict[str, list[str]] = {claim.id: []}
    unknown = Facts({}, {}, frozenset(), used_by)
    assert "not recorded" in claim_page(unknown, claim)
    assert 'data-verdict="not recorded" data-check="none"' in claims_page(unknown)
    changed = Facts(recorded(), {claim.id: "its checks have changed"}, frozenset(), used_by)
    assert "Out of date: its checks have changed since." in claim_page(changed, claim)


def test_an_algorithm_of_another_package_is_told_in_its_own_words() -> None:
    page = algorithm_page(Facts({}, {}, frozenset(), {}), "late", replace(algorithms()["fedvarp"], name="late"))
    assert "corrected by a table of latest updates" in page
    assert "none is recorded" in page


def test_text_is_escaped() -> None:
    assert element("p", "<script>", title='"a" & b') == '<p title="&quot;a&quot; &amp; b">&lt;script&gt;</p>'


def test_only_a_report_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "analysis.report.site._pages", lambda *_: iter([("fltheory-report.json", "{}"), ("a.html", "new")])
    )
    monkeypatch.setattr("analysis.report.site.draw", lambda *_: None)
    out = tmp_path / "deep" / "site"
    write(out, "laptop", tmp_path)
    (out / "a.html").write_text("old")
    write(out, "laptop", tmp_path)
    assert (out / "a.html").read_text() == "new"
    assert [path.name for path in out.parent.iterdir()] == ["site"], "temporary folders are left behind"
    (out / "claims" / "note.txt").write_text("mine")
    with pytest.raises(InputError, match=r"else in it \(claims/note.txt, not in its files.txt, would be lost\)"):
        write(out, "laptop", tmp_path)
    assert (out / "claims" / "note.txt").read_text() == "mine"
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("mine")
    for place in ("thesis", "thesis/chapter.tex"):
        with pytest.raises(InputError, match="--out must be a new folder, an empty one or an older report; got"):
            write(tmp_path / place, "laptop", tmp_path)
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "mine"


def test_what_fails_halfway_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "fltheory-report.json").write_text("old")
    (out / "files.txt").write_text("files.txt\nfltheory-report.json\n")

    def broken(*_: object) -> Iterator[tuple[str, str]]:
        yield "fltheory-report.json", "new"
        raise KeyboardInterrupt

    monkeypatch.setattr("analysis.report.site._pages", broken)
    monkeypatch.setattr("analysis.report.site.draw", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        write(out, "laptop", tmp_path)
    assert (out / "fltheory-report.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="--figures must be a folder of `fltheory figures --scale laptop`"):
        write(tmp_path / "site", "laptop", tmp_path, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="output folder must be a folder that can be made"):
        write(tmp_path / "file" / "site", "laptop", tmp_path)
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    with pytest.raises(InputError, match="the extra `docs`"):
        write(tmp_path / "site", "laptop", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
