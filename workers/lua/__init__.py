"""The Lua scripts of the gate: `workers.gate.gate` loads them."""
