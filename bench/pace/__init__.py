"""Runs on a real clock before a model that takes its time."""
