"""Figures: a module or package a paper, and `ledger`; one function a figure, each found through `fltheory.figures`
(`analysis.exhibits`).

A function gives an `analysis.figures.style.Picture`; `fltheory figures` writes it with its data beside it, and what
it is of, scale, data and seeds, above it.
"""
