"""Elements and whole pages. Any text that goes into an element is escaped; markup is what `element` gave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

VOID = {"meta", "link", "input", "img", "wbr"}
PAGES = {
    "index.html": "Report",
    "claims.html": "Claims",
    "algorithms.html": "Algorithms",
    "exhibits.html": "Figures and tables",
    "provenance.html": "Provenance",
    "contest.html": "Contest a verdict",
}


class Html(str):
    """Markup, which goes into an element as it is."""


def element(name: str, /, *children: str, **attributes: str | None) -> Html:
    """An element; children that are no `Html` are escaped, attributes of None left out. Well-formed XML too.

    >>> element("a", "x < y", href="b.html", class_="c")
    '<a href="b.html" class="c">x &lt; y</a>'
    """
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    head = "".join([name, *(f' {key}="{escape(value)}"' for key, value in given.items())])
    return Html(f"<{head} />" if name in VOID else f"<{head}>{join(*children)}</{name}>")


def join(*children: str) -> Html:
    """Children one after the other, without an element around them."""
    return Html("".join(child if isinstance(child, Html) else escape(child) for child in children))


def items(entries: Iterable[str], kind: str = "ul", **attributes: str) -> Html:
    """A list."""
    return element(kind, *(element("li", entry) for entry in entries), **attributes)


def terms(pairs: Iterable[tuple[str, str]]) -> Html:
    """A list of terms, each with what it is."""
    return element("dl", *(join(element("dt", term), element("dd", what)) for term, what in pairs))


def breakable(name: str) -> Html:
    """A name of several parts, which a line may end between."""
    return join(*(join(part, element("wbr")) if part in (".", "_") else part for part in re.split("([._])", name)))


def unbroken(text: str) -> Html:
    """Text that a line may end in between words and after a slash, but not inside options, names and their values.

    >>> unbroken("by K = 10 in a/b-c.toml")
    'by <span class="word">K = 10</span> in a/<span class="word">b-c.toml</span>'
    >>> unbroken("at 52.7 %")
    'at <span class="word">52.7 %</span>'
    """
    parts = re.split(r"(\S+ [=≥] \S+|[\d.]+ %|\s+|(?<=/))", text)
    return join(*(element("span", part, class_="word") if re.search("-| [=≥] | %", part) else part for part in parts))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table whose first column names the rows; it scrolls by itself where it is too wide."""
    columns = element("thead", element("tr", *(element("th", cell, scope="col") for cell in head)))
    body = [
        element("tr", element("th", _whole(row[0]), scope="row"), *(element("td", c) for c in row[1:])) for row in rows
    ]
    return scrolled(element("table", columns, element("tbody", *body)))


def _whole(text: str) -> Html:
    return text if isinstance(text, Html) else unbroken(text)


def scrolled(child: Html, kind: str = "") -> Html:
    """What may be wider than a phone; browsers let the keyboard scroll it."""
    return element("div", child, class_=f"wide {kind}".strip())


def prose(text: str) -> Html:
    """Text with code between backticks; names in it stay whole."""
    parts = map(unbroken, text.split("`"))
    return join(*(element("code", part) if odd % 2 else part for odd, part in enumerate(parts)))


def section(title: str, *children: str, **attributes: str) -> Html:
    """A part of a page; nothing if it is empty."""
    return element("section", element("h2", title), *children, **attributes) if any(children) else Html()


def page(title: str, *body: str, at: str) -> str:
    """A whole page that stands at this path of the site.

    Links in it are relative: the site works from any folder, also without a server.
    """
    root = "../" * at.count("/")
    links = [
        element("a", name, href=root + path, aria_current="page" if path == at else None)
        for path, name in PAGES.items()
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{title} · fltheory"),
        element("link", rel="stylesheet", href=f"{root}style.css"),
        element("script", src=f"{root}filter.js", defer="defer") if at == "claims.html" else "",
    )
    parts = (
        element("a", "Skip to the content", class_="skip", href="#main"),
        element("header", element("nav", items(links), aria_label="Pages")),
        element("main", element("h1", title), *body, id="main"),
    )
    return f"<!DOCTYPE html>\n{element('html', head, element('body', *parts), lang='en')}\n"
