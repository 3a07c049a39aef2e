"""Detects answers that are valid JSON but useless: placeholders, repetition, refusals, unrelated text.

`fault.fault_of` applies every rule. Rules are pure functions of an answer and its prompt, without I/O or clock, so
every worker reaches the same verdict. Code here may import `cogitate.workers.llm` and the folders below workers.
"""
