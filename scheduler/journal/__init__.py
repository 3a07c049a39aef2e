"""The journal: one line a tick, its checkpoints, its history, and what its lines come to.

It may import the rooms below it: `budget`, `latency`, `ledger`, `config` and `intake`. It reads lines through
`RunStore` and writes files of removed lines; the lines themselves are written by the commit of a tick. It has no clock.
"""
