"""Which guarantees apply to the clients of a log: statistics, tests, fits, assumptions, and what follows."""

from analysis.trace_report.as_json import to_json
from analysis.trace_report.labels import read_labels
from analysis.trace_report.page import to_page
from analysis.trace_report.plan import planned
from analysis.trace_report.report import TraceReport, trace_report
from analysis.trace_report.text import to_text

__all__ = ["TraceReport", "planned", "read_labels", "to_json", "to_page", "to_text", "trace_report"]
