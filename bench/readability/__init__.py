"""Readability of the texts that heuristics write: texts of several worlds, checks of each sentence, and samples."""
