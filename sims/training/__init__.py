"""Training on real image and text tasks: the same algorithms, on torch."""
