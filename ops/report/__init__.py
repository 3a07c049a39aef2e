"""Writes the report of a run: one self-contained HTML file with charts.

May import `estimate`, `formatting` and the rooms of `cogitate.ops` below them, and every package. Reads Redis and the
journal's files; a page depends on the run only, not on the clock.
"""
