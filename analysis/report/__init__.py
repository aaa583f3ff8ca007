"""The report: what `fltheory list`, `show`, `algorithms`, `figures` and `tables` tell, as a static site.

`html` writes elements and escapes text, `mathematics` makes MathML of the one LaTeX there is, each other module
makes one kind of page, and `site` puts the pages together and writes them.
"""

from analysis.report.site import write

__all__ = ["write"]
