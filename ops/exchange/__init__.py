"""Memories come and go: files of other programs become runs, and runs become their files."""
