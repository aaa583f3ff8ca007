"""FAST's figures (edition under review), and ours on its Theorem 1 and Corollary 2.

`participation` has the paper's on data and cohorts, `training` those on runs, `floor` and `rates` ours. The edition
that was read has no pictures: what they show is taken from their text and captions, the kind of drawing is our choice.
"""

from analysis.figures.fast import floor, participation, rates, training

figures = participation.figures | training.figures | floor.figures | rates.figures
