"""Plans of heuristics: what was agreed, promised, said for the day and called off, and the routine around it.

Imports `cogitate.memory` and the other heuristics. Pure functions, as these are.
"""
