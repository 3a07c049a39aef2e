"""The report of a run: one self-contained HTML file with charts."""
