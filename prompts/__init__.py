"""Prompt templates (one `*.j2` file each), the code that renders them, and the classes of their answers.

May import `cogitate.memory` only. Reads template files, here and in the folder that a host names; no other I/O, no
clock. Prompts contain the templates' texts and the answers' docstrings: a change to either alters their hashes.
"""
