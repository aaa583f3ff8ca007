"""FedAMD's figures (ICML 2023), and one of our own.

`training` has the paper's, on runs; `period` ours, on the theorem that fails for long periods. The edition of the paper
that was read has captions and text, no pictures: where they are silent, the choice is said to be ours.
"""

from analysis.figures.fedamd import period, training

figures = training.figures | period.figures
