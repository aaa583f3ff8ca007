"""The report in a browser: on a phone, by keyboard, its search and its formulas."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.exhibits import chosen
from analysis.figures.style import COLUMN, WIDTH, new_figure, save
from analysis.report.exhibits import Shown, exhibits_page
from fltheory.ledger import ledger
from fltheory.verdicts import recorded

pytest.importorskip("latex2mathml", reason="needs the extra docs")


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
        (
            ("1/(8KL)", "1/(8 K L)", "1 /(8 KL)", r"\frac{1}{8KL}", r"$\frac{1}{8 K L}$", "1/(8·K·L)", "1/(8*K*L)"),
            "fast.thm1",
            "fast.thm2.main",
        ),
        (("8KL", "8*K*L", "8·K·L"), "fast.thm1", "fedamd.eq78"),  # which has 48 K L
        ((r"\frac{\sigma^{2}}{M \epsilon}", r"\frac{\sigma^2}{M\epsilon}", "σ²/(M ε)"), "fedamd.thm48", "fast.thm1"),
        ((r"\frac{1}{\sqrt{m K R}}", "1/sqrt(m K R)", "1/√(mKR)"), "fast.cor2", "fedamd.thm48"),
        (("Theorem 2 (main text)", "Theorem 2 main text"), "fast.thm2.main", "fast.thm1"),
        (("1-q", "1 - q", r"1 - q"), "fast.thm1.averages", "fedlaavg.thm3"),
        (
            ("gamma = 1/(2 sqrt T)", r"\gamma = \frac{1}{2\sqrt{T}}", "γ=1/(2√T)"),
            "fedlaavg.thm2.final",
            "fedlaavg.thm3",
        ),
        (("Eq. (113)", "eq 113", "(113)"), "fedamd.lemE1b", "fedamd.thm46"),
        (("|x - y|", "|x-y|", r"\|x - y\|"), "fast.ass1", "fast.thm1"),
        ((r"\frac1P", "1/P", r"\frac{1}{P}"), "amplified.ass3p", "fast.thm1"),
        (("η ≤ 1/(8KL)", "eta <= 1/(8 K L)", r"\eta \leq \frac{1}{8KL}"), "fast.thm1", "fast.thm2.main"),
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
    assert all(set(one) == set(found[0]) for one in found)


def test_a_relation_is_found_as_a_whole(site: Path, tab: Any) -> None:
    tab.goto((site / "claims.html").as_uri())
    found = {}
    for asked in ("K = 1", "K = 10", "σ", "Σ", "\\", "K → ∞"):
        tab.fill("[name=q]", asked)
        found[asked] = set(tab.eval_on_selector_all("tbody tr", FOUND))
    assert "fast.law.floor" in found["K = 1"]
    assert "fast.fact.weibull-pdf" in found["K = 10"] - found["K = 1"]
    assert "amplified.cor32" in found["σ"] - found["Σ"]
    assert found["\\"] == set(ledger)
    assert "fast.rem2" in found["K → ∞"] < set(ledger)


def test_what_is_quoted_is_found_as_a_whole(site: Path, tab: Any) -> None:
    """Whatever the quotes; one that is not closed yet stands for nothing."""
    tab.goto((site / "claims.html").as_uri())

    def found(asked: str) -> set[str]:
        tab.fill("[name=q]", asked)
        return set(tab.eval_on_selector_all("tbody tr", FOUND))

    phrase = {id_ for id_, claim in ledger.items() if "local steps" in f"{claim.title} {claim.words}".lower()}
    for asked in ('"local  steps"', "“Local steps”", "'local steps'", "‘local steps’", "«local steps»"):
        assert phrase <= found(asked) < found("steps local")
        assert found(f"{asked} stepsize") == found(f"{asked} step-size") == found("step-size") & found(asked)
    assert found('"q = 1"') == found("q = 1") == found("q=1")
    assert found('local, "steps".') == found("local steps")
    assert found('"local') == found("local")
    assert found('"') == set(ledger)


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
