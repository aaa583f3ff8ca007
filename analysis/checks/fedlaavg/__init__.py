"""How the statements of fedlaavg are checked, by topic."""

from analysis.checks import CheckBook
from analysis.checks.units import unit_checks
from fltheory.papers.fedlaavg import paper

checks = CheckBook(unit_checks(paper))
