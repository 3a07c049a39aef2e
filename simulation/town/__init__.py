"""The built-in town: a small world that lives from a seed."""
