"""FedLaAvg's figures (arXiv 2002.07399), and ours on its Example 1.

`availability` has the paper's on who is available when; `training` those on runs; `example1` ours. The edition that was
read has no pictures: values that the text does not give are those of the authors' commands, as the experiment files
say. The paper has no tables.
"""

from analysis.figures.fedlaavg import availability, example1, training

figures = availability.figures | training.figures | example1.figures
