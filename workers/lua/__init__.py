"""The Lua scripts of the gate: `cogitate.workers.gate.gate` loads them."""
