"""Read-only views of a run: summaries, jobs, live figures, replay and audit. Nothing here changes a run."""
