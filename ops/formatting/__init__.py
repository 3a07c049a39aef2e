"""Figures of a run in words, as commands and pages print them."""
