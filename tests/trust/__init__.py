"""Trust: malformed input, kill -9, full disks. `python -m tests.trust` runs what the suite samples, in full."""
