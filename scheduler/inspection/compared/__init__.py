"""The parts of a comparison of two runs: what is known of each, and what carried a difference to an owner."""
