"""What happens: Monte Carlo and data. Imports `fltheory`, never `analysis`."""
