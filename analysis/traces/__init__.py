"""Participation logs of real clients: reading them, and what they say and leave unsaid."""

from analysis.traces.log import Log
from analysis.traces.read import read_log
from analysis.traces.statistics import Stretches, clopper_pearson, stretches
from analysis.traces.write import write_log

__all__ = ["Log", "Stretches", "clopper_pearson", "read_log", "stretches", "write_log"]
