"""The parts of a comparison of two runs: who each is, and the changes that carried a difference to an owner."""
