"""Recorded runs in the Generative Agents format: read, played and written."""
