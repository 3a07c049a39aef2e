"""Kinds that a host declares with one class: cadences, choices of memories, and the kind made of them.

Imports `cogitate.memory`, `cogitate.prompts` and `cogitate.tasks`. Calls the host's methods, and names file and line of
their faults. Reads files only to declare: a template beside the module, and source code for its hash. No clock.
"""
