"""Figures: one module a paper, one function a figure, each found through `fltheory.figures`.

A module offers a mapping `figures` of name to function; a function takes the folder to write to, which is there, and
returns the paths it wrote: the picture and, beside it, a CSV file with the plotted data.
"""
