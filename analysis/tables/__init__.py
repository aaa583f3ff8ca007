"""Tables: one module a paper, one function a table, each found through `fltheory.tables` (`analysis.exhibits`).

A function gives a `analysis.tables.layout.Table`, in which every published number stands beside the measured one.
Published numbers are the rows of `fltheory/data/*.csv`, each with its place in the paper.
"""
