"""The public tick loop and what it starts: a server, workers, metrics, warnings."""
