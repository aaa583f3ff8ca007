"""How the statements of amplified are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.units import unit_checks
from fltheory.papers.amplified import paper

checks = CheckBook(unit_checks(paper))
