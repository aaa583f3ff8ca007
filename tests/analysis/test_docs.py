"""Docstrings on the pages of `make docs`, which itself fails on anything that it cannot set."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("docutils", reason="needs the extra docs")
pytest.importorskip("latex2mathml", reason="needs the extra docs")

CONF = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "conf.py"))


def set_as_html(docstring: str) -> str:
    from docutils.core import publish_parts

    lines = docstring.split("\n")
    CONF["as_rst"](None, "function", "f", None, None, lines)
    settings = {"halt_level": 2, "report_level": 2}  # a warning is an error
    return str(publish_parts("\n".join(lines), writer="html5", settings_overrides=settings)["body"])


def test_plain_text_keeps_its_form() -> None:
    page = set_as_html("The sum |S| of x_ and `g(x_)`s, a*b*c.\n\nrate   of a client\nk      a cutoff, x_\n\nEnd.")
    assert '<p>The sum |S| of x_ and <span class="docutils literal">g(x_)</span>s, a*b*c.</p>' in page
    assert "rate   of a client\nk      a cutoff, x_</pre>" in page
    assert page.strip().endswith("<p>End.</p>")


def test_examples_stay_examples() -> None:
    page = set_as_html("Twice.\n\n>>> f(2)\n4\n\nOr more.")
    assert "doctest" in page
    assert "&gt;&gt;&gt; f(2)\n4" in page


def test_formulas_of_claims_in_notebooks() -> None:
    from docutils import nodes
    from docutils.utils import new_document

    tree = new_document("notebook")
    tree += nodes.raw("<p>$$a &lt; b$$</p>", "<p>$$a &lt; b$$</p>", format="html")
    CONF["claims_in_notebooks"](None, tree)
    (shown,) = tree.children
    assert shown.astext().startswith("<p><math")
    assert "<mo>&#x0003C;</mo>" in shown.astext()
