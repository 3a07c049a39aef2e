"""Plans of heuristics: promises, appointments made in conversation, cancellations, and the routine around them.

Imports `cogitate.memory` and the other heuristics. Pure functions, as these are.
"""
