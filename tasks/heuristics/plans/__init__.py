"""Plans of heuristics: promises, appointments made in conversation, cancellations, and the routine around them.

It imports `cogitate.memory` and the other heuristics. Like theirs, its functions are pure.
"""
