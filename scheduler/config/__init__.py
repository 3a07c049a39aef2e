"""The configuration of a run: settings, endpoints, models, prices, limits, tiers, and operators' control requests.

Read `cogitate.toml`, `COGITATE_*` variables and arguments, and validate them once. Code here may read files and the
environment, but uses neither Redis nor the clock. Among the rooms of the scheduler it may import `intake` only.
"""
