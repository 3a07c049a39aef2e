"""Jobs of the kind `summarise` on an owner's long-term summary: cells and the token window.

The owner's policy requests such a job. The request names the entries to summarise and carries the summary as of its
tick; the effects apply only if the summary is still the same at their boundary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cogitate.memory.clock import day_and_time
from cogitate.memory.effects import Archive, Effect, ForgetWaiting, ReplaceSummary, SetCounter, TakeWaiting
from cogitate.memory.entry import Entry
from cogitate.memory.language.word_count import count_words
from cogitate.memory.limits import Policy
from cogitate.memory.policies import cells, window
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import SummarySize, estimate_tokens, format_entries, tokens_of_words
from cogitate.prompts.answers import SummaryAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.heuristics.thinking_language import language_params, quoting_language
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Moment, Prompt
from cogitate.tasks.recall import language_of_texts, long_term_context, template_time
from cogitate.tasks.shown import (
    Piece,
    begun_in,
    begun_params,
    everything,
    oldest_first,
    progress,
    showing,
    whole_numbers,
    within,
)

PRIORITY = 3
MOST_SHOWN = 900  # tokens of entries that fit into one job's prompt
LARGEST = SummarySize(window.MOST_SUMMARY)  # for a window: what exceeds its room goes into a second pass
_CELLS = SummarySize(cells.SUMMARY_TOKENS)


def due(moment: Moment, kind: str) -> Iterable[Request]:
    """Return the request of the owner's policy, at most one.

    Cells: if memories wait, a request for that many of the oldest cells. Tokens: near the limit, a request for all but
    the newest entries of the buffer; if that does not suffice, one for the summary itself.
    """
    owner, stream, limits = moment.owner, moment.stream, moment.world.limits
    if limits.policy_of(owner) == "cells":
        leaving = _first(cells.surplus_cells(stream, limits))
        if leaving:
            yield _request(kind, stream, leaving, {"policy": "cells"} | language_params(moment))
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
    yield _request(kind, stream, chosen, params | language_params(moment))


def _request(kind: str, stream: Stream, entries: Iterable[Entry], params: dict[str, Any]) -> Request:
    numbers = tuple(entry.number for entry in entries)
    params |= begun_params(stream, kind, numbers)
    return Request(kind=kind, owner=stream.owner, priority=PRIORITY, params=params, numbers=numbers)


def _first(entries: Sequence[Entry]) -> list[Entry]:
    """Return as many of the oldest entries as one prompt can show, at least one."""
    words = 0
    for count, entry in enumerate(entries):
        words += count_words(entry.text)
        if count and tokens_of_words(words) > MOST_SHOWN:
            return list(entries[:count])
    return list(entries)


def policy_of(params: Mapping[str, Any]) -> Policy | None:
    """Return the policy that requested a job; None for an ordinary summary."""
    policy = params.get("policy")
    return policy if policy in ("cells", "tokens") else None


def prompt(case: Case, templates: Templates, share: float) -> Prompt:
    """Return a prompt with the full summary that the job replaces, and the oldest entries that fit."""
    group, names = window.buffer(case.entries), case.world.display_names
    pieces = oldest_first([(e, format_entries([e], names)) for e in group], share, begun_in(case.job))
    values = {
        "name": case.profile.name,
        **template_time(case.job.minute, case.job.key.tick),
        **long_term_context(case),
        "memories": [{"when": day_and_time(e.minute, e.tick), "text": text} for e, text, _ in pieces],
        "words": _size(case).words,
        "language": language_of_texts(case, group),
    }
    template = "summarise_cells" if policy_of(case.job.params) == "cells" else "compress"
    return showing(templates.render(template, values), SummaryAnswer, pieces, lambda shown: _passed(case, shown))


def _size(case: Case) -> SummarySize:
    return _CELLS if policy_of(case.job.params) == "cells" else SummarySize(_room(case))


def _room(case: Case) -> int:
    room = case.job.param("room", 0)
    return room if room > 0 else window.MOST_SUMMARY


def _pass_done(case: Case) -> SetCounter:
    return SetCounter(case.job.key.owner, window.PASSES, case.job.param("pass", 1))


def effects(case: Case, answer: SummaryAnswer, used: tuple[int, ...]) -> tuple[Effect, ...]:
    """Return the new summary, which replaces the old one and covers what the prompt showed.

    Raises:
        TooLong: if it exceeds the size of a stored summary.
        ValueError: if nothing is left to summarise, or compression did not shorten the summary.
    """
    job = case.job
    if not used and policy_of(job.params) == "cells":
        raise ValueError("none of the cells to summarise can be read any more")
    bound = _CELLS if policy_of(job.params) == "cells" else LARGEST
    text = within(bound, answer, answer.summary, words=_size(case).words)
    if not used and estimate_tokens(text) >= estimate_tokens(job.summary):
        raise ValueError("the compressed summary is no shorter than the old one: write a shorter one")
    return (ReplaceSummary(owner=job.key.owner, text=text, version=job.summary_version),)


def _passed(case: Case, shown: Sequence[Piece]) -> tuple[Effect, ...]:
    """Return the effects that archive the shown entries and move waiting memories into the free cells."""
    owner, kind, numbers = case.job.key.owner, case.job.key.kind, whole_numbers(shown)
    archived = (Archive(owner=owner, numbers=numbers, into_summary=True),) if numbers else ()
    if policy_of(case.job.params) == "cells":
        taken = (TakeWaiting(owner, len(numbers)),) if numbers else ()
        return *archived, *taken, *progress(kind, owner, shown)
    return *archived, _pass_done(case), *progress(kind, owner, shown)


def heuristic(case: Case) -> tuple[Effect, ...]:
    """Return a summary made without a model, or none if the settings leave memory unchanged after a model failed.

    In that case cells forget the memories that waited for the summary, and a token window keeps its entries until the
    boundary must cut them (window design).
    """
    owner, job, names = case.job.key.owner, case.job, case.world.display_names
    group = window.buffer(case.entries)
    language = quoting_language(case)
    unchanged = bool(job.model) and case.world.limits.on_failure == "unchanged"
    if policy_of(job.params) == "cells":
        if not group:
            return ()
        if unchanged:
            return (ForgetWaiting(owner, len(group)),)
        text, cut = cells.update_summary(job.summary, group, names, job.minute, language)
    elif unchanged:
        return () if group else (_pass_done(case),)
    else:
        text, cut = window.compress_summary(job.summary, group, names, _room(case), now=job.minute, language=language)
        if not group and estimate_tokens(text) >= estimate_tokens(job.summary):
            return (_pass_done(case),)
    replaced = ReplaceSummary(owner=owner, text=text, version=job.summary_version, cut=cut)
    return replaced, *_passed(case, everything(group))
