"""Capsules on the command line: written from a run, without secrets, and put back for the commands that read runs."""
