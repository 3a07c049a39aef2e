"""Imports other programs' files as runs, and exports runs as their files.

May import every package. Reads and writes files that users name, and checks each item on reading it. Creates runs only
through the public tick loop.
"""
