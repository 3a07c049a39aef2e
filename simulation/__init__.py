"""Reference hosts: a small town that lives from a seed, and the player of recorded runs."""
