"""What the papers claim: one module a paper, each with its `paper`, found through `fltheory.claims`."""
