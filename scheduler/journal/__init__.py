"""The journal: one line per tick, its checkpoints, its history, and the totals of its lines.

It may import the rooms below it: `budget`, `latency`, `ledger`, `config` and `intake`. It reads lines through
`RunStore` and writes files of removed lines; a tick's commit writes the lines themselves. It has no clock.

Readers verify what they read. They raise `JournalError` at the first line or checkpoint that is missing or altered, and
`JournalTrimmed` for lines that are no longer in the ledger.
"""
