"""Sphinx: the guide, the notebooks with their committed outputs, and the reference from the docstrings.

The source folder is the root of the checkout (`make docs`), so that links between its files work here too. Formulas
are MathML, as in the report: no page needs a network.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from docutils import nodes

from analysis.report.mathematics import mathml

project = "fltheory"
author = "The fltheory developers"
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/api/**.rst", "notebooks/*.ipynb", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = [".*", "build", "experiments", "results", "tests", "benchmarks"]
extensions = ["sphinx.ext.autodoc", "sphinx.ext.apidoc", "sphinx.ext.viewcode", "myst_nb"]

# What belongs to one paper, statements and checks above all, is read in the report and in its source.
# The command line is told by `--help`.
PAPERS = ("amplified", "fast", "fedamd", "fedau", "fedlaavg")
OF_A_PAPER = [f"*/{folder}/{paper}*" for folder in ("papers", "checks", "figures", "tables") for paper in PAPERS]
apidoc_modules = [
    {
        "path": f"../{room}",
        "destination": f"docs/api/{room}",
        "exclude_patterns": [*OF_A_PAPER, "*/cli/*"],
        "separate_modules": True,
        "module_first": True,
    }
    for room in ("fltheory", "sims", "analysis")
]
apidoc_automodule_options = {"members", "show-inheritance"}
autodoc_default_options = {"ignore-module-all": True}  # a name stands where it is defined, not where it is offered
suppress_warnings = ["ref.python"]  # of types that share a name
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = False
viewcode_follow_imported_members = False  # the source of a default such as math.exp is not ours to show
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
default_role = "code"
highlight_language = "none"  # of what keeps its form in a docstring

nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
html_theme = "alabaster"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["narrow.css"]
html_theme_options = {"description": "Theory, exact computation and verification", "page_width": "64rem"}


def as_rst(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: paragraphs stay so, columns and indented parts keep their form, examples run."""
    text = "\n".join(lines).strip("\n")
    lines[:] = "\n\n".join(map(_paragraph, re.split(r"\n\s*\n", text))).split("\n") if text else []
    lines.append("")


def _paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return text
    if re.search(r"^ |\S {2,}\S", text, flags=re.MULTILINE):
        return "::\n\n" + "\n".join(f"    {line}" for line in text.split("\n"))
    parts = enumerate(text.split("`"))
    return "".join(
        rf"\ ``{part}``\ " if odd % 2 and part else re.sub(r"([\\*_|])", r"\\\1", part) for odd, part in parts
    )


def claims_in_notebooks(app: Any, tree: nodes.document) -> None:
    """The formula between dollar signs in what a claim shows of itself as HTML."""
    for node in list(tree.findall(nodes.raw)):
        shown = re.sub(
            r"\$\$(.*?)\$\$", lambda found: mathml(unescape(found[1]), "block"), node.rawsource, flags=re.DOTALL
        )
        if shown != node.rawsource:
            node.replace_self(nodes.raw(shown, shown, format="html"))


def _inline(writer: Any, node: nodes.Node) -> None:
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Node) -> None:
    writer.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", as_rst)
    app.connect("doctree-read", claims_in_notebooks)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
