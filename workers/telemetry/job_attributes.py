"""What every span of a job says about it. No text of a memory, a prompt or an answer."""

from __future__ import annotations

from cogitate.tasks.job import JobKey, job_id


def job_attributes(run: str, key: JobKey) -> dict[str, str | int]:
    """Return the attributes of a job: its run as the session, its owner as the user."""
    return {
        "session.id": run,
        "gen_ai.conversation.id": run,
        "user.id": key.owner,
        "cogitate.job.id": job_id(run, key),
        "cogitate.job.kind": key.kind,
        "cogitate.tick": key.tick,
    }
