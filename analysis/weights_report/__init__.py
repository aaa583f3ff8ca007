"""FedAU's weights after a real participation log: computed, printed, plotted."""

from analysis.weights_report.plot import plot
from analysis.weights_report.report import WeightsReport, weights_report

__all__ = ["WeightsReport", "plot", "weights_report"]
