"""A discrete-event model of fleets that are too large for one machine, with costs that the same run measures.

`rig` runs real hosts, workers and servers, `costs` derives the cost of each step from it, and `model` simulates a fleet
with these costs. `fleet` compares the two for small fleets, and simulates large ones. `idle` opens a million agents.
"""
