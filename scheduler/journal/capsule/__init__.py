"""Capsules: one file with everything that proves a run; anyone can verify it without a server.

`container` reads and writes the file, `manifest` describes its run, and `verifying` checks the proof.
"""
