"""How the statements of fast are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.units import unit_checks
from fltheory.papers.fast import paper

checks = CheckBook(unit_checks(paper))
