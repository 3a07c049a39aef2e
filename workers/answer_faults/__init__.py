"""Judge answers that are valid JSON, but useless: placeholders, repeats, refusals, unrelated text.

`fault.fault_of` applies every rule. Rules are pure functions of an answer and its prompt, without I/O or clock, so
that all workers judge alike. Code here may import `cogitate.workers.llm` and the folders below workers.
"""
