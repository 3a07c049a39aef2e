"""The parts of a comparison of two runs: each run's identity, the first difference, and how it reached each owner."""
