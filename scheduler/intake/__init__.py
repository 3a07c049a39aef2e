"""Validate input from hosts, kinds and models once, before it changes any state.

Each function returns a checked copy, or raises `InputError` with the value and a remedy. Code here does no I/O and
reads no clock. It may import `tasks`, `prompts` and `memory`, but no other room of the scheduler.
"""
