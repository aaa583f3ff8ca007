"""Do theory and simulation agree: checks, verdicts, figures, command line. Imports `fltheory` and `sims`."""
