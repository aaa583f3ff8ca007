"""FAST's figures (edition under review), and ours on its Theorem 1.

`participation` has the paper's on data and cohorts, `training` those on runs, `floor` ours. The edition that was read
has no pictures: what they show is taken from their text and captions, the kind of drawing is our choice.
"""

from analysis.figures.fast import floor, participation, training

figures = participation.figures | training.figures | floor.figures
