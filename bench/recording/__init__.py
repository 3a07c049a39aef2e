"""Writes recordings of the town, such as the one that ships with the package."""
