"""Kinds that a host declares with `@cogitate.kind`: cadences, choices of memories, and the kind built from them.

May import `cogitate.memory`, `cogitate.prompts` and `cogitate.tasks`. Calls the host's methods and reports the file and
line of their errors. Reads files only during declaration: a template beside the module, and source code. No clock.
"""
