"""Reference hosts: a small town and a story from a seed, and the player of recorded runs."""
