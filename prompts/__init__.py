"""Prompt templates (one `*.j2` file each), the code that renders them, and the classes of their answers.

May import `cogitate.memory` only. Reads template files, here and in the folder that a host names; no other I/O, no
clock. The text of templates and the docstrings of answers are part of prompts: a change alters their hashes.
"""
