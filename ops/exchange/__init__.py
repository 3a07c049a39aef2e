"""Import of other programs' files as runs, and export of runs as their files."""
