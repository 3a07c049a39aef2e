"""The configuration of a run: settings, endpoints, models, prices, limits, tiers, and operators' control requests.

Code here reads `cogitate.toml`, `COGITATE_*` variables and arguments, and validates them once. It may read files and
the environment, but uses neither Redis nor the clock. Of the scheduler's rooms it may import `intake` only.
"""
