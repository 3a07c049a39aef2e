"""Capsules on the command line: written from a run, without secrets, and restored for commands that read runs."""
