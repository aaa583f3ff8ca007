"""Which guarantees apply to the clients of a log: statistics, tests, fits, assumptions, and what follows."""

from analysis.trace_report.labels import read_labels
from analysis.trace_report.plan import planned
from analysis.trace_report.render import to_json, to_text
from analysis.trace_report.report import TraceReport, trace_report

__all__ = ["TraceReport", "planned", "read_labels", "to_json", "to_text", "trace_report"]
