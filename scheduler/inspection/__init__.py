"""Read-only views of a run: summaries, jobs, live figures, replay and audit. Nothing here changes a run.

Readers raise `RunMissing` when the run does not exist or is deleted meanwhile, `NewerSchema` or `OlderSchema` when
another version wrote it, and `JournalError` when its journal was altered.
"""
