"""Looking at a run from outside: summaries, jobs, vital signs, replay. Nothing here changes a run."""
