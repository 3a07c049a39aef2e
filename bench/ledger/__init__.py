"""Measure the ledger's steps and the publishing of hints."""
