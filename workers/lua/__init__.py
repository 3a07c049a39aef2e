"""The Lua scripts of the gate: `workers.gate` loads them."""
