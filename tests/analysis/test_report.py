"""The report: every claim has its page, links lead somewhere, markup is well-formed, nothing is written halfway."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

from analysis import stored_runs
from analysis.exhibits import chosen
from analysis.figures.style import COLUMN, WIDTH, new_figure, save
from analysis.report import write
from analysis.report.algorithm import algorithm_page
from analysis.report.claim import claim_page
from analysis.report.claims import KINDS, claims_page, kinds_of_check
from analysis.report.exhibits import Shown, exhibits_page, find
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

ROOT = Path(__file__).parents[2]
Pages = dict[str, ElementTree.Element]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A report in which pictures are no more than files: drawing the graphs takes seconds, and has its own tests."""
    folder, picture = tmp_path_factory.mktemp("report"), "<svg xmlns='http://www.w3.org/2000/svg'/>"
    pictures = folder / "pictures"
    pictures.mkdir()
    for name in ("fedau_figC61.svg", "fedau_figC61.csv"):
        (pictures / name).write_text(picture)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analysis.report.site.draw", lambda _, out: out.write_text(picture))
        yield write(folder / "site", "laptop", ROOT / "results", pictures).parent


@pytest.fixture(scope="module")
def pages(site: Path) -> Pages:
    """Path within the site -> the page, read as XML: a tag that is not closed, or text not escaped, is no XML."""
    texts = {str(path.relative_to(site)): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    return {at: ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n")) for at, text in texts.items()}


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


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ONE_OF_A_KIND = ("index", "claims", "claims/fast.thm1", "papers/fast", "algorithms", "algorithms/fedvarp", "exhibits",
                 "provenance", "contest")  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (the extra docs)")
    if CHROMIUM is None:
        pytest.skip("needs a chromium on this machine")
    quiet = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield opened
        opened.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A phone's tab; whatever a page complains of, or asks a network for, is an error."""
    tab, complaints = browser.new_page(viewport={"width": 360, "height": 740}), []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
    tab.on("requestfailed", lambda request: complaints.append(request.url))
    yield tab
    tab.close()
    assert not complaints


def test_pages_fit_a_phone(site: Path, tab: Any) -> None:
    for at in ONE_OF_A_KIND:
        tab.goto((site / f"{at}.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, at


def test_letters_of_pictures_are_equally_large_whatever_their_width_and_kind(
    site: Path, tab: Any, tmp_path: Path
) -> None:
    """One column wide and two, as pixels and as vectors: each is as many times as large as it is in print."""
    tab.set_viewport_size({"width": 1280, "height": 740})
    images = []
    for width in (COLUMN, WIDTH):
        for kind in ("png", "svg"):
            images.append(
                f"<figure><img src='{save(new_figure(1, width), tmp_path / f'{width}.{kind}').name}'></figure>"
            )
    (tmp_path / "style.css").write_bytes((site / "style.css").read_bytes())
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html><link rel='stylesheet' href='style.css'>{''.join(images)}")
    tab.goto((tmp_path / "page.html").as_uri())
    shown = tab.eval_on_selector_all("img", "all => all.map(one => one.getBoundingClientRect().width)")
    inches = [COLUMN, COLUMN, WIDTH, WIDTH]
    assert [width / inch for width, inch in zip(shown, inches, strict=True)] == pytest.approx([1.4 * 96] * 4, rel=0.01)


def test_on_a_phone_a_wide_picture_is_as_large_as_in_print_and_scrolls(site: Path, tab: Any, tmp_path: Path) -> None:
    sizes = [(width, f"{width}.{kind}") for width in (COLUMN, WIDTH) for kind in ("png", "svg")]
    files = [save(new_figure(1, width), tmp_path / name).name for width, name in sizes]
    images = "".join(f"<figure><div class='wide'><a href='x'><img src='{name}'></a></div></figure>" for name in files)
    (tmp_path / "style.css").write_bytes((site / "style.css").read_bytes())
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html><link rel='stylesheet' href='style.css'>{images}")
    tab.goto((tmp_path / "page.html").as_uri())
    shown = tab.eval_on_selector_all("img", "all => all.map(one => one.getBoundingClientRect().width)")
    assert shown == pytest.approx([96 * COLUMN] * 2 + [96 * WIDTH] * 2, rel=0.01)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_caption_of_a_picture_wraps_on_a_phone_and_stands_in_the_picture_elsewhere(
    site: Path, tab: Any, tmp_path: Path
) -> None:
    name, words = "amplified.fig2", "Laptop scale. Fashion-MNIST, 100 rounds, run 0123456789ab. " * 4
    figure = new_figure(1, WIDTH)
    figure.suptitle(words.replace(". ", ".\n").strip())
    files = {kind: save(figure, tmp_path / f"picture.{kind}") for kind in ("png", "svg")}
    exhibit = chosen("figures", [name])[name]
    (tmp_path / "style.css").write_bytes((site / "style.css").read_bytes())
    (tmp_path / "figures").mkdir()
    for kind, file in files.items():
        shown = Shown("laptop", tmp_path, {}, {name: exhibit}, {name: {kind: file}}, frozenset(), [], {})
        shutil.copyfile(file, tmp_path / "figures" / file.name)
        (tmp_path / "page.html").write_text(exhibits_page(shown), encoding="utf-8")
        box = "one => (({left, right, height}) => [left, right, height])(one.getBoundingClientRect())"
        for width in (390, 1280):
            tab.set_viewport_size({"width": width, "height": 740})
            tab.goto((tmp_path / "page.html").as_uri())
            assert tab.inner_text(".above") == words.strip()
            left, right, height = tab.eval_on_selector(".above", box)
            assert (left >= 0 and right <= 390 and height > 100) if width == 390 else height == 1
            assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_names_in_a_graph_are_as_large_as_it_was_drawn(site: Path, tab: Any, tmp_path: Path) -> None:
    """However wide it is: it scrolls."""
    save(new_figure(1, 20), tmp_path / "graph.svg")
    (tmp_path / "style.css").write_bytes((site / "style.css").read_bytes())
    graph = "<main><div class='wide graph'><a href='x'><img src='graph.svg'></a></div></main>"
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html><link rel='stylesheet' href='style.css'>{graph}")
    tab.set_viewport_size({"width": 1280, "height": 740})
    tab.goto((tmp_path / "page.html").as_uri())
    assert tab.eval_on_selector("img", "one => one.getBoundingClientRect().width") == pytest.approx(20 * 96, rel=0.01)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280


def test_lines_do_not_end_inside_names(site: Path, tab: Any) -> None:
    """Whatever has a hyphen stands in one line, unless it is longer than that."""
    tab.goto((site / "exhibits.html").as_uri())
    broken = (
        "all => all.filter(one => one.getClientRects().length > 1 || one.offsetHeight > 40).map(one => one.textContent)"
    )
    names = tab.eval_on_selector_all(".word", "all => all.length")
    assert names > 100
    assert all(len(name) > 30 for name in tab.eval_on_selector_all(".word", broken))


def test_filters_search_and_what_the_address_keeps(site: Path, tab: Any) -> None:
    shown = "[...document.querySelectorAll('tbody tr')].filter(row => row.offsetHeight).map(row => row.dataset)"
    tab.goto((site / "claims.html").as_uri())
    assert len(tab.evaluate(shown)) == len(ledger)
    tab.select_option("[name=verdict]", "refuted")
    refuted = {id_ for id_, entry in recorded().items() if entry["verdict"] == "refuted"}
    assert len(tab.evaluate(shown)) == len(refuted)
    tab.select_option("[name=paper]", "fast")
    found = tab.evaluate(shown)
    assert {row["paper"] for row in found} == {"fast"}
    assert 0 < len(found) < len(refuted)
    assert tab.inner_text("#number") == f"{len(found)} of {len(ledger)} claims"
    assert tab.url.endswith("?paper=fast&verdict=refuted")
    tab.fill("[name=q]", "Maxima  LOWER")
    assert tab.eval_on_selector_all("tbody tr:not([hidden]) a", "links => links.map(a => a.textContent)") == [
        "fast.thm1.e"
    ]
    tab.reload()
    assert len(tab.evaluate(shown)) == 1
    tab.click("button[type=reset]")
    tab.wait_for_function(f"{shown}.length === {len(ledger)}")
    tab.fill("[name=q]", "sigma")
    spelt = tab.inner_text("#number")
    tab.fill("[name=q]", "σ")
    assert tab.inner_text("#number") == spelt != f"0 of {len(ledger)} claims"
    tab.fill("[name=q]", "")
    tab.select_option("[name=check]", "algebra")
    assert all("algebra" in row["check"] for row in tab.evaluate(shown))


FOUND = "rows => rows.filter(row => !row.hidden).map(row => row.cells[0].textContent)"


@pytest.mark.parametrize(
    ("spellings", "has", "lacks"),
    [
        (("σ²", "sigma^2", r"\sigma^{2}", "sigma**2"), "fast.thm1", "fedau.thm3"),
        (("≤", "<=", r"\leq"), "fedau.thm3", "fedlaavg.def.grad"),
        (("η", "eta"), "fast.thm1", "fedlaavg.cor1.speedup"),  # which has a beta
        (("∇F", "∇f"), "fast.thm1", "fedau.thm3"),
        (("√", "sqrt", r"\sqrt"), "fedlaavg.thm3", "fast.thm1"),
        (("√(N)", "sqrt(N)"), "fedlaavg.thm3", "fast.thm1"),
        (("γ²", "gamma^2"), "fedlaavg.thm3", "fast.thm1"),
        (("σ_G²", "sigma_G^2"), "fast.thm1", "fedlaavg.thm3"),
        (("q=1", "q = 1", "q =1"), "fast.thm1.special", "fedamd.cor49"),
        (("tau>=2", "tau >= 2", "τ≥2", r"\tau \geq 2", r"\tau\ge 2"), "fedamd.tau2", "fast.thm1"),
        (("theorem1", "Theorem 1", "Thm. 1", "thm1"), "fast.thm1", "fedau.lemB31"),
        (("½", "1/2"), "fedlaavg.thm3", "amplified.alg1"),
        (("x0", "x_0", "x₀", "x_{0}"), "fedamd.alg1.k0", "fast.ass2"),
        (("Σ", "∑", "sum"), "amplified.rho", "amplified.cor32"),
    ],
)
def test_formulas_are_found_however_they_are_spelled(
    spellings: tuple[str, ...], has: str, lacks: str, site: Path, tab: Any
) -> None:
    """What stands in the bound alone, and not in the words, too."""
    tab.goto((site / "claims.html").as_uri())
    found = []
    for spelling in spellings:
        tab.fill("[name=q]", spelling)
        found.append(tab.eval_on_selector_all("tbody tr", FOUND))
    assert {has, lacks} <= set(ledger)
    assert has in found[0]
    assert lacks not in found[0]
    assert all(one == found[0] for one in found)


def test_a_relation_is_found_as_a_whole(site: Path, tab: Any) -> None:
    tab.goto((site / "claims.html").as_uri())
    found = {}
    for asked in ("K = 1", "K = 10", "σ", "Σ", "\\"):
        tab.fill("[name=q]", asked)
        found[asked] = set(tab.eval_on_selector_all("tbody tr", FOUND))
    assert "fast.law.floor" in found["K = 1"]
    assert "fast.fact.weibull-pdf" in found["K = 10"] - found["K = 1"]
    assert "amplified.cor32" in found["σ"] - found["Σ"]
    assert found["\\"] == set(ledger)


def test_without_scripts_there_is_no_form_that_does_nothing(site: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "claims.html").as_uri())
    assert (page.is_visible("#filter"), page.is_visible("tbody tr")) == (False, True)
    context.close()


def test_exact_names_come_first(site: Path, tab: Any) -> None:
    tab.goto((site / "claims.html").as_uri())
    for asked, first in (
        ("Theorem 3", "fedau.thm3"),
        ("fast.thm2.main", "fast.thm2.main"),
        ("lemma B.3", "fedamd.lemB3"),
    ):
        tab.fill("[name=q]", asked)
        assert tab.eval_on_selector_all("tbody tr", FOUND)[0] == first
    tab.fill("[name=q]", "no such words")
    assert tab.inner_text("#number") == f"0 of {len(ledger)} claims"
    tab.fill("[name=q]", "")
    assert tab.eval_on_selector_all("tbody tr", FOUND) == list(ledger)


def test_the_keyboard_reaches_a_claim(site: Path, tab: Any) -> None:
    tab.goto((site / "claims.html").as_uri())
    focused = "document.activeElement.textContent || document.activeElement.name"
    tab.keyboard.press("Tab")
    assert tab.evaluate(focused) == "Skip to the content"
    assert tab.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    assert tab.evaluate(focused) == "q"
    tab.keyboard.type("fast.thm1.q1")
    for _ in range(5):  # three choices and the button
        tab.keyboard.press("Tab")
    assert tab.evaluate(focused) == "fast.thm1.q1"
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/claims/fast.thm1.q1.html")


def test_formulas_are_drawn(site: Path, tab: Any) -> None:
    """A numerator stands above its denominator, an exponent above its base: MathML is drawn, not just read out."""
    tab.goto((site / "claims" / "fast.thm1.html").as_uri())
    for pair in ("mfrac", "msup"):
        over = (
            "nodes => nodes.map(node => [...node.children].map(part => part.getBoundingClientRect()))"
            ".map(([first, second]) => first.bottom - second.bottom)"
        )
        gaps = tab.eval_on_selector_all(f"math[display=block] {pair}", over)
        assert gaps
        assert all(gap < 0 if pair == "mfrac" else gap > 0 for gap in gaps), pair
