"""Summarise jobs on an owner's long-term summary: cells and the token window.

Such a job is asked for by the owner's policy. It names the entries that go into the summary, and carries the summary as
it stood; its effects hold only if that is still the summary when they are applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory.clock import clock_time, day_and_time, day_number
from memory.effects import Archive, Effect, ForgetWaiting, ReplaceSummary, SetCounter, TakeWaiting
from memory.entry import Entry
from memory.limits import Policy
from memory.policies import cells, window
from memory.summaries.long_term import count_words, estimate_tokens, format_entries, tokens_of_words
from prompts.render import Rendered, Templates
from tasks.job import Request
from tasks.kind import Case, Moment
from tasks.recall import brief, display_names, long_term_context, share_of

PRIORITY = 3
MOST_SHOWN = 900  # tokens of the entries that one job compresses: more do not fit its prompt


def due(moment: Moment, kind: str) -> Iterable[Request]:
    """Return the request that the owner's policy makes now; at most one.

    Cells: where a memory waits, one for as many of the oldest cells as memories wait. Tokens: where the limit is near,
    one for all but the newest entries of the buffer; where it is still near afterwards, one for the summary itself.
    """
    owner, stream, limits = moment.owner, moment.stream, moment.world.limits
    if limits.policy_of(owner) == "cells":
        leaving = _first(cells.surplus_cells(stream, limits))
        if leaving:
            yield _request(kind, owner, leaving, {"policy": "cells"})
        return
    live, done = window.buffer(stream.live()), stream.head.counters.get(window.PASSES, 0)
    chosen = _first(window.to_compress(stream, limits))
    again = bool(stream.head.summary) and 0 < done < limits.passes
    if not chosen and not (again and window.total_tokens(stream) >= window.compression_threshold(limits)):
        return
    params = {
        "policy": "tokens",
        "pass": 1 if chosen else done + 1,
        "room": window.summary_room(live[len(chosen) :], stream.head.character, limits),
    }
    yield _request(kind, owner, chosen, params)


def _request(kind: str, owner: str, entries: Iterable[Entry], params: dict[str, Any]) -> Request:
    numbers = tuple(entry.number for entry in entries)
    return Request(kind=kind, owner=owner, priority=PRIORITY, params=params, numbers=numbers)


def _first(entries: Sequence[Entry]) -> list[Entry]:
    """Return the oldest entries, as many as one prompt can show; at least one of them."""
    words = 0
    for count, entry in enumerate(entries):
        words += count_words(entry.text)
        if count and tokens_of_words(words) > MOST_SHOWN:
            return list(entries[:count])
    return list(entries)


def policy_of(params: Mapping[str, Any]) -> Policy | None:
    """Return the policy that asked for a job; None where it is an ordinary summary."""
    policy = params.get("policy")
    return policy if policy in ("cells", "tokens") else None


def render(case: Case, templates: Templates, share: float) -> tuple[Rendered, list[Entry]]:
    """Return the prompt of such a job, and the entries it shows: where not all fit, the most important."""
    group, names = window.buffer(case.entries), display_names(case.world)
    kept = share_of(sorted(group, key=lambda e: (-e.importance, -e.number)), share) if group else []
    ordered = sorted(kept, key=lambda e: (e.minute, e.number))
    values = {
        "name": case.profile.name,
        "day": day_number(case.job.minute),
        "time": clock_time(case.job.minute),
        **long_term_context(case, share),
        "memories": [{"when": day_and_time(e.minute), "text": brief(format_entries([e], names))} for e in ordered],
    }
    if policy_of(case.job.params) == "cells":
        return templates.render("summarise_cells", values), kept
    values["words"] = max(10, _room(case) * 10 // 13)
    return templates.render("compress", values), kept


def _room(case: Case) -> int:
    room = case.job.params.get("room")
    return room if isinstance(room, int) and room > 0 else window.MOST_SUMMARY


def _passed(case: Case) -> SetCounter:
    number = case.job.params.get("pass")
    return SetCounter(case.job.key.owner, window.PASSES, number if isinstance(number, int) else 1)


def effects(case: Case, text: str) -> tuple[Effect, ...]:
    """Return the new summary, which replaces the old one and the entries.

    Raises:
        ValueError: when there is nothing left to summarise, or a summary that was to be compressed got longer.
    """
    owner, job, group = case.job.key.owner, case.job, window.buffer(case.entries)
    numbers = tuple(entry.number for entry in group)
    replaced = ReplaceSummary(owner=owner, text=text, version=job.summary_version)
    if policy_of(job.params) == "cells":
        if not numbers:
            raise ValueError("none of the cells to be summarised can be read any more")
        return replaced, Archive(owner=owner, numbers=numbers, into_summary=True), TakeWaiting(owner, len(numbers))
    if not numbers and estimate_tokens(text) >= estimate_tokens(job.summary):
        raise ValueError("the summary that was to be compressed got no shorter")
    archive = [Archive(owner=owner, numbers=numbers, into_summary=True)] if numbers else []
    return replaced, *archive, _passed(case)


def heuristic(case: Case) -> tuple[Effect, ...]:
    """Return the summary written without a model, or nothing when memory is to stay unchanged without its model.

    The memories that waited for the summary are forgotten then (cells); entries of a token window stay where they are
    (window design), until the boundary itself must cut.
    """
    owner, job, names = case.job.key.owner, case.job, display_names(case.world)
    group = window.buffer(case.entries)
    unchanged = bool(job.model) and case.world.limits.on_failure == "unchanged"
    if policy_of(job.params) == "cells":
        if not group:
            return ()
        if unchanged:
            return (ForgetWaiting(owner, len(group)),)
        return effects(case, cells.update_summary(job.summary, group, names))
    if unchanged:
        return () if group else (_passed(case),)
    text, cut = window.compress_summary(job.summary, group, names, _room(case))
    if not group and estimate_tokens(text) >= estimate_tokens(job.summary):
        return (_passed(case),)
    replaced, *rest = effects(case, text)
    assert isinstance(replaced, ReplaceSummary)
    return (ReplaceSummary(owner=owner, text=text, version=replaced.version, cut=cut), *rest)
