"""Reflection: one insight drawn from what happened since the last (streams design, task 8).

Counters in an agent's head record its last reflection, whose own effects set them: "reflect.minute" (game time of the
request), "reflect.number" (the last entry it could read) and "reflect.repeated" (the importance of all repeats counted
until then). Reflections that a host imports do not change them. Accumulated importance is computed from the stream: the
sum over the events numbered after "reflect.number", archived ones included, and over the repeats counted since. That is
the counter of Generative Agents (Park et al. 2023; `cogitate.memory.trigger`) without any state to keep in step: events
that arrive after the request count for the next.

The request carries how often each entry was repeated: this changes, so a job cannot read it as of its tick.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.effects import Append, Effect, SetCounter, Tell
from cogitate.memory.entry import ORDINARY, Entry, is_dialogue, rating
from cogitate.memory.language.sentences import QUESTIONS, split_sentences
from cogitate.memory.language.text import words
from cogitate.memory.policies.compaction import MUNDANE
from cogitate.memory.routing.repeats import REPEATED
from cogitate.memory.stream import Stream
from cogitate.memory.trigger import ReflectionTrigger
from cogitate.prompts.answers import ReflectionAnswer
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import Templates
from cogitate.tasks import timing
from cogitate.tasks.heuristics.insight import NOTABLE, Insight, find_insight, is_quiet
from cogitate.tasks.heuristics.recalled import Recalled
from cogitate.tasks.heuristics.thinking_language import quoting_language
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Case, Kind, Moment, Prompt, WorldFacts
from cogitate.tasks.meters import Meter, format_meters, meter_params, read_meters
from cogitate.tasks.recall import (
    access_marks,
    delay_of,
    long_term_context,
    persona,
    replaced_entry,
    result_minute,
    share_of,
    stage_of,
    template_entry,
    template_time,
    without_repeats,
)

FEWEST_WORDS = 3  # of an insight, without times and numbers
SHOWN = 20  # observations (streams design)
ENOUGH = 3  # observations; fewer give a minimal reflection (streams design)
BY_MODEL, BY_HEURISTIC, MINIMAL = 7, 6, 4  # importance (streams design)
MOST_REPEATED = 20  # entries whose repeats a request names
EARLIER = 3  # earlier reflections in a prompt
_TIME = re.compile(r"\d:\d\d ?[ap]\.?m\b", re.IGNORECASE)
MINUTE, NUMBER, COUNTED = "reflect.minute", "reflect.number", "reflect.repeated"


class ReflectParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a host's request: the entry to begin after, and the agent's meters."""

    since: Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)] = 0
    status: dict[str, float | Meter] = {}


class Reflect(Kind):
    """Due by interval (720 game minutes), by accumulated importance, or by either.

    By interval the first reflection comes one interval after the morning of the day of an agent's first entry, plus a
    delay of up to a sixth of the interval that differs from agent to agent, so that they do not all reflect at once. An
    agent with fewer than three new observations waits up to one interval more before it notes a quiet period.
    """

    name = "reflect"
    params = ReflectParams
    order = 20
    latency = "10m"
    latency_least, latency_most = 2, 360  # game minutes: half of the interval between two
    prompt_cap = 2_500
    output_cap = 600
    packs = True
    batches = True
    gathers = True

    def __init__(self, templates: Templates) -> None:
        self._templates = templates

    def due(self, moment: Moment) -> Iterable[Request]:
        """Return one request when the interval is over or enough has happened."""
        if not timing.is_agent(moment):
            return ()
        trigger, since = moment.world.limits.reflection_trigger, last_read(moment.stream)
        by_interval = trigger != "importance" and self._interval_over(moment, since)
        if not by_interval and not (trigger != "interval" and _enough_happened(moment)):
            return ()
        params = _params(moment, since) | _condition(moment)
        return (Request(kind=self.name, owner=moment.owner, priority=3, params=params),)

    def known_params(self, moment: Moment) -> Mapping[str, object]:
        """Return the last entry that the previous reflection read, and the meters of the host's brief."""
        return _params(moment, last_read(moment.stream)) | _condition(moment)

    def wake(self, moment: Moment) -> int | None:
        """Return the tick at which the interval is over, or at which a quiet period is noted."""
        begun = _begun(moment.stream, moment.world)
        if not timing.is_agent(moment) or moment.world.limits.reflection_trigger == "importance" or begun is None:
            return None
        interval = moment.world.limits.reflection_interval
        later = [m for m in (begun + interval, begun + 2 * interval) if m > moment.minute]
        return timing.tick_at(moment, later[0]) if later else None

    def heeds(self, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        """Return whether enough may have happened with an observed entry."""
        limits = world.limits
        if limits.reflection_trigger != "interval":
            return True
        first = next(iter(stream.entries.values()), None)
        if (
            MINUTE not in stream.head.counters
            and first is not None
            and minute < first.minute + limits.reflection_interval
        ):
            return False  # the interval begins with the first entry at the earliest
        begun = _begun(stream, world)
        return begun is None or minute >= begun + limits.reflection_interval

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        """Return a prompt with the agent, its meters, the people it may name, and its latest reflections.

        It shows the most important recent observations, mundane ones only if there are too few others, and how often
        each was repeated.
        """
        recent = without_repeats(_by_importance([*self._recent(case), *_again(case)]))
        ordinary = [e for e in recent if rating(e) >= ORDINARY]
        memories = share_of((ordinary if len(ordinary) >= ENOUGH else recent)[:SHOWN], memory_share)
        names, repeats, now = case.world.names, _repeats(case), result_minute(case.job)
        subjects = {s for e in memories for s in e.subjects if s in names and s != case.job.key.owner}
        people = [s if names[s].casefold() in case.world.namesakes else names[s] for s in sorted(subjects)]
        rendered = self._templates.render(
            self.name,
            {
                **persona(case),
                "people": people,
                **template_time(now, case.job.key.tick),
                "stage": stage_of(case.entries, case.job.minute),
                "status": format_meters(read_meters(case.job.params.get("status"))),
                "reflections": [template_entry(e, now) for e in share_of(_earlier(case), memory_share)],
                "memories": [
                    {**template_entry(e, now), "times": 1 + repeats.get(e.number, 0)}
                    for e in sorted(memories, key=lambda e: (e.minute, e.number))
                ],
                **long_term_context(case, memory_share),
            },
        )
        # A relationship may change only with people whom the prompt names.
        constraints = [Constraint(field="relationship_changes.agent_id", choices=tuple(sorted(people)))]
        return Prompt.of(rendered, ReflectionAnswer, memories, constraints if people else ())

    def effects(self, case: Case, answer: BaseModel, used: tuple[int, ...]) -> tuple[Effect, ...]:
        """Return the insight as a reflection, and the changes of relationships.

        Changes towards the owner itself, and second changes towards the same agent, are dropped.

        Raises:
            ValueError: if the insight says nothing, or only asks.
        """
        assert isinstance(answer, ReflectionAnswer)
        telling = [word for word in words(_TIME.sub(" ", answer.insight)) if not word.isdecimal()]
        if len(telling) < FEWEST_WORDS or answer.insight.strip(" .").casefold() == "this is blank":
            raise ValueError(f"the insight {answer.insight!r} says nothing")
        if all(sentence.endswith(QUESTIONS) for sentence in split_sentences(answer.insight)):
            raise ValueError(f"the insight {answer.insight!r} only asks: state a conclusion")
        recent = [e for e in case.entries if e.number in set(used)]
        reflection = self._reflection(case, answer.insight, max(BY_MODEL, answer.significance), used, recent)
        return *reflection, *self._relationship_changes(case, answer), *access_marks(case, used)

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        """Return the insight of `heuristics.insight`; after fewer than three observations, only a notable one."""
        recent, since = self._recent(case), case.job.param("since", 0)
        few = len(recent) < ENOUGH and sum(_stands_for(e, since) for e in recent) < ENOUGH
        recent = [e for e in recent if e.type != "summary" or rating(e) > MUNDANE]  # no summaries of routine events
        insight = _insight_of(case, recent, few=few)
        if is_quiet(insight.text) and (again := _again(case)):  # nothing new is notable, but an older event repeated
            recent, insight = again, _insight_of(case, again, few=True)
        importance = MINIMAL if is_quiet(insight.text) else BY_HEURISTIC
        evidence = set(insight.evidence)
        shown_by = _by_importance(e for e in recent if e.number in evidence)
        reflection = self._reflection(case, insight.text, importance, insight.evidence, shown_by)
        return *reflection, *access_marks(case, insight.evidence)

    def _interval_over(self, moment: Moment, since: int) -> bool:
        begun, interval = _begun(moment.stream, moment.world), moment.world.limits.reflection_interval
        if begun is None or moment.minute < begun + interval:
            return False
        return moment.minute >= begun + 2 * interval or _observed_after(moment.stream, since, ENOUGH)

    def _recent(self, case: Case) -> list[Entry]:
        """Return the observations since the last reflection, and their summaries."""
        since = case.job.param("since", 0)  # the last entry that the previous reflection could read
        return [
            e
            for e in case.entries
            if (e.number > since and e.type in ("observation", "message"))
            or (e.type == "summary" and _stands_for(e, since))
        ]

    def _reflection(
        self, case: Case, text: str, importance: int, evidence: Iterable[int], shown_by: Sequence[Entry]
    ) -> tuple[Effect, ...]:
        owner = case.job.key.owner
        upto = max((r.upto for r in case.job.reads if r.owner == owner), default=0)
        counted = case.job.params.get("repeated")
        entry = Entry(
            type="reflection",
            text=text,
            minute=result_minute(case.job),
            importance=min(10, importance),
            source="internal",
            subjects=tuple(dict.fromkeys(s for e in shown_by for s in e.subjects)),
            evidence=tuple(sorted(evidence)),
        )
        append = Append(owner=owner, entry=entry, replaces=replaced_entry(case.job))
        if append.replaces:  # a repair is no new reflection, and does not delay the next
            return (append,)
        return (
            append,
            SetCounter(owner=owner, name=MINUTE, value=case.job.minute),
            SetCounter(owner=owner, name=NUMBER, value=upto),
            *((SetCounter(owner=owner, name=COUNTED, value=counted),) if isinstance(counted, int) else ()),
        )

    def _relationship_changes(self, case: Case, answer: ReflectionAnswer) -> Iterable[Tell]:
        owner, names = case.job.key.owner, case.world.names
        done: set[str] = {owner}
        for changed in answer.relationship_changes:
            try:
                other = person_meant(changed.agent_id, names)
            except ValueError:  # the insight is useful without the change
                continue
            if other not in done and changed.change:
                done.add(other)
                yield Tell(
                    owner=owner,
                    topic="relationship",
                    data={"agent": other, "change": changed.change, "reason": changed.reason},
                )


def _insight_of(case: Case, recent: Sequence[Entry], *, few: bool) -> Insight:
    """Return the insight of these entries; if they are few, only a notable one."""
    new = {e.number for e in recent}
    recalled = Recalled(
        owner=case.job.key.owner,
        recent=recent,
        before=[e for e in case.entries if e.number not in new],
        names=case.world.display_names,
        minute=result_minute(case.job),
        repeats=_repeats(case),
        places=case.world.locations,
        delay=delay_of(case),
        language=quoting_language(case),
        owners=case.world.names,
    )
    return find_insight(recalled, least=NOTABLE) if few else find_insight(recalled)


def person_meant(said: str, names: Mapping[str, str]) -> str:
    """Return the agent that an answer names: by id, by name, or by a part of the name that is unique.

    Raises:
        ValueError: if it names no agent, or more than one.
    """
    if said in names:
        return said
    parts = said.casefold().split()
    whole = [owner for owner, name in sorted(names.items()) if name.casefold().split() == parts]
    in_part = [owner for owner, name in sorted(names.items()) if parts and set(parts) <= set(name.casefold().split())]
    meant = whole[:1] or in_part
    if len(meant) != 1:
        raise ValueError(f"{'nobody' if not meant else 'more than one'} is called {said!r}; name people by their ids")
    return meant[0]


def _begun(stream: Stream, world: WorldFacts) -> int | None:
    """Return the game time from which the interval counts; None for an agent without memories."""
    last = stream.head.counters.get(MINUTE)
    if last is not None:
        return last
    first = next(iter(stream.entries.values()), None)
    if first is None:
        return None
    morning = day_of(first.minute) * DAY + world.morning if world.clock.has_times else 0
    return max(first.minute, morning) + timing.offset(stream.owner, world.limits.reflection_interval // 6)


def last_read(stream: Stream) -> int:
    """Return the number of the last entry that an owner's latest reflection could read."""
    return stream.head.counters.get(NUMBER, 0)


def _stands_for(entry: Entry, since: int) -> int:
    """Return the number of entries after `since` that an entry stands for: itself, or those that a summary replaces."""
    replaced = entry.evidence if entry.type == "summary" else ()
    return sum(number > since for number in replaced) if replaced else int(entry.number > since)


def _by_importance(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries in order of importance; among equals the latest comes first."""
    return sorted(entries, key=lambda e: (-rating(e), -e.minute, -e.number))


def _observed_after(stream: Stream, since: int, enough: int) -> bool:
    """Return whether at least `enough` observations were appended after entry `since`."""
    newer = takewhile(lambda e: e.number > since, reversed(stream.entries.values()))
    return sum(1 for _ in islice((e for e in newer if e.type in ("observation", "message")), enough)) == enough


def salience(stream: Stream) -> int:
    """Return the accumulated importance of an owner's events and their repeats since its last reflection."""
    counters = stream.head.counters
    since = last_read(stream)
    events = takewhile(lambda e: e.number > since, reversed(stream.entries.values()))
    happened = sum(rating(e) for e in events if e.type == "observation" and not is_dialogue(e))
    return happened + counters.get(REPEATED, 0) - counters.get(COUNTED, 0)


def _enough_happened(moment: Moment) -> bool:
    trigger = ReflectionTrigger.fresh(moment.world.limits.reflection_trigger_max)
    return trigger.step((salience(moment.stream),))[1]


def _params(moment: Moment, since: int) -> dict[str, Any]:
    """Return the values of head and marks that the reflection needs, since a job cannot read them as of its tick."""
    stream = moment.stream
    params: dict[str, Any] = {"since": since} if since else {}
    if REPEATED in stream.head.counters:
        params["repeated"] = stream.head.counters[REPEATED]
        newer = takewhile(lambda e: e.number > since, reversed(stream.entries.values()))
        repeats = {e.number: stream.marks[e.number].repeats for e in newer if e.number in stream.marks}
        most = sorted((-times, number) for number, times in repeats.items() if times)[:MOST_REPEATED]
        params["repeats"] = {str(number): -times for times, number in sorted(most, key=lambda pair: pair[1])}
        if again := _repeated_since(stream, since):
            params["again"] = again
    return params


def _repeated_since(stream: Stream, since: int) -> list[int]:
    """Return the newest notable entries up to `since` that were repeated after the last reflection."""
    reflected = stream.head.counters.get(MINUTE, 0)
    repeated = sorted(n for n, marks in stream.marks.items() if marks.repeats and marks.last_repeat > reflected)
    older = [n for n in repeated if n <= since and stream.is_live(n) and rating(stream.entries[n]) >= NOTABLE]
    return older[-MOST_REPEATED:]


def _condition(moment: Moment) -> dict[str, object]:
    """Return the meters of the host's current brief, since a job cannot read them as of its tick."""
    status = moment.brief.get("status")
    return {"status": meter_params(status)} if isinstance(status, Mapping) else {}


def _earlier(case: Case) -> list[Entry]:
    """Return the latest reflections before this one, the newest last."""
    replaced = replaced_entry(case.job)
    written = [e for e in case.entries if e.type == "reflection" and not is_quiet(e.text) and e.number != replaced]
    return written[-EARLIER:]


def _again(case: Case) -> list[Entry]:
    """Return the entries that the request names: those before the last reflection that were repeated since."""
    named: list[int] = case.job.param("again", [])
    return [e for e in case.entries if e.number in named]


def _repeats(case: Case) -> dict[int, int]:
    """Return the repeats of entries by number."""
    named: dict[str, object] = case.job.param("repeats", {})
    return {int(n): times for n, times in named.items() if n.isdecimal() and isinstance(times, int)}
