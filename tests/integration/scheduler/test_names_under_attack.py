"""Owners with hostile but valid names: separators, patterns, markup, any script, any length."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cogitate import Profile, Settings, TickLoop
from cogitate.memory.entry import MAX_TEXT
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.intake.checks import MAX_OWNER, InputError, check_owner
from cogitate.tasks.job import split_job_id
from cogitate.workers.processes.embedded import EmbeddedServer

HOSTILE = (
    "a/b",
    "1/plan/agent:b/0/0",
    "a|calls|reserved",
    "a:b::",
    "{town",
    "*?[a-z]",
    "\\",
    "..",
    "<b>",
    "'--",
    "%s{",
    "é",
    "李",
    "\u3000x",
    "a\u200db",
)
names = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"), exclude_characters="}"), min_size=1, max_size=30
).filter(str.strip)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=names, other=names, text=st.text(max_size=40))
@example(
    name="n" * (MAX_OWNER - len("agent:")), other="𝔫" * (MAX_OWNER - len("agent:")), text="word " * (MAX_TEXT // 5)
)
@example(name="a:0123456789abcdef:job:x", other="a:state", text="{run}:journal")
def test_a_run_accepts_owners_with_hostile_names(valkey: EmbeddedServer, name: str, other: str, text: str) -> None:
    owners = {f"agent:{one}": Profile(name=one) for one in (name, other)}
    with valkey.client() as client, TemporaryDirectory() as folder:
        client.flushall()
        given_settings = Settings(data_dir=Path(folder), seconds_per_tick=3600, workers=0)
        with TickLoop(run="town", owners=owners, settings=given_settings, ticks=9, inline=True, client=client) as loop:
            for tick in loop:
                for owner in owners:
                    loop.observe(owner, {"text": f"{tick.number} {text}"[:MAX_TEXT], "minute": tick.minute})
        assert audit(client, "town") == []
        ended = list(JobHistory(client, "town").all())
        assert {job.owner for job in ended} == set(owners)
        assert {split_job_id(job.id)[1].owner for job in ended} == set(owners)


@given(st.text(max_size=300))
@example("agent:" + "x" * 100_000)
@example("agent:\ud800")
@example("world:")
def test_a_name_is_accepted_or_refused_with_a_short_error(owner: str) -> None:
    said = ""
    try:
        assert check_owner(owner) == owner
    except InputError as error:  # no other error may be raised
        said = str(error)
    assert len(said) < 500
