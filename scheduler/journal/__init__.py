"""The journal: one line a tick, its checkpoints, its history, and what its lines come to."""
