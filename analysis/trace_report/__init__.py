"""Which guarantees apply to the clients of a log: statistics, tests, fits, assumptions, and what follows."""
