"""Steering: the cadence of kinds, throttling under pressure, and operators' requests.

The cadence and the controller depend only on their arguments. Only `operators` waits on the real clock. It and the
`load` functions use Redis. Code here may import every room of the scheduler but `inspection`, `tick` and `engine`.
"""
