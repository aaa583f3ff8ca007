"""How the statements of FAST are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.fast import adaptive, tables
from analysis.checks.units import unit_checks
from fltheory.papers.fast import paper

checks = CheckBook(adaptive.checks, tables.checks, unit_checks(paper))
