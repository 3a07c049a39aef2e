"""The Lua scripts of workers: of the gate, of stored texts (`keep`) and of the turns of runs (`turn`)."""
