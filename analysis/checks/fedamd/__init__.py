"""How the statements of fedamd are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.units import unit_checks
from fltheory.papers.fedamd import paper

checks = CheckBook(unit_checks(paper))
