"""The built-in town: a small world generated from a seed."""
