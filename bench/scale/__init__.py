"""A discrete-event model of fleets that no machine here can run, fed by costs that are measured in the same run.

`rig` runs real hosts, workers and servers, `costs` derives the cost of each step from it, `model` simulates a fleet
with these costs, and `fleet` compares the two where both are possible, and asks the model where they are not. `idle`
opens a million agents.
"""
