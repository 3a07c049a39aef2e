"""Capsules: one file with everything that proves a run, which is verified without a server.

`container` is the file, `manifest` what it says about its run, and `verifying` the proof.
"""
