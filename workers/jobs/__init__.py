"""Running a job: claim, ask or fall back, settle; what a worker process keeps and shares while it does."""
