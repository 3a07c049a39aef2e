"""Read-only views of a run: summaries, jobs, live figures, replay and audit. Nothing here changes a run.

Readers raise `RunMissing` if the run does not exist or is deleted while they read it, `NewerSchema` or `OlderSchema` if
another version wrote it, and `JournalError` if its journal was altered.
"""
