"""What theory says about partial client participation: statements, exact laws, processes, estimators.

This package states and computes; `sims` simulates, `analysis` compares. Importing it loads nothing heavy:
import the submodule you need (`fltheory.distributions`, `fltheory.participation`, `fltheory.weights`,
`fltheory.ledger`, `fltheory.papers`).
"""

__version__ = "0.1.0"
