"""FedAU's figures (ICLR 2024), and two of our own.

`weight_error` has ours, on how well FedAU knows its weights; `participation` the paper's on patterns and rates;
`weights` on aggregation weights; `training` on runs, and `spread` on single clients of them. The editions of the
papers that were read have no pictures: what they show is taken from their text, and where that is silent the choice is
said to be ours.
"""

from analysis.figures.fedau import participation, spread, training, weight_error, weights

figures = participation.figures | weights.figures | training.figures | spread.figures | weight_error.figures
