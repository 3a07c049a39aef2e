"""Runs on a real clock with a slow model."""
