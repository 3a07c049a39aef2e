"""`python -m bench curve`: quality against the share of calls, with spending as requests come and by value.

A recorded answer of a model answers each call; without a call, the heuristic answers. Of the five measures, four
compare with something that the model did not write:

* importance: 1 minus the mean error of ratings, in the nine points of the scale. The recorded ratings are the truth, so
  with all calls it is 1 by definition. The learner predicts the other ratings from those of calls.
* facts of summaries: of the words of answers to questions on a session, the share that its summary holds. Without a
  call the heuristic summarises in as many words as the recorded summary has.
* events of summaries: the same with the words of the events of a session (`event_summary`), from which its lines were
  written.
* evidence recall: of the lines that answer a question, the share among the first ten lines found. A call adds the
  recorded observations on a session to the memory, each of which leads to its line.
* coverage of reflections: of the importance of all events before a reflection and since the one before it, the share on
  which it rests, summed over all reflections.

Each recording is one day; a conversation's sessions are an hour apart, in their order. The day's limit is a share of
the recorded calls, and only admission and the evening's repairs decide which are made (`bench.recorded_admission`). A
draw breaks ties between values: for summaries and reflections, which are few, the figures by value are means over ten
draws. For these the tables also state by how much chance would make the figure by value differ from the fair one: the
standard error if the gains of a measure's calls were shuffled among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import sqrt
from pathlib import Path
from statistics import stdev
from typing import Annotated, Any, NamedTuple

from bench.quality.importance import rated_entries
from bench.quality.locomo import ADVERSARIAL, entries_of
from bench.quality.recordings import Agent, RecordedConversation, RecordedMemory, Run, load_conversations, load_runs
from bench.quality.summaries import ours, sessions
from bench.recorded_admission import Call, made
from bench.table import Row, Table
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.importance import Ratings
from cogitate.memory.language.text import stems
from cogitate.memory.retrieval.retrieval import DIALOGUE, Query, retrieve
from cogitate.ops.formatting.charts import Axis, Series, document, line_chart
from cogitate.scheduler.budget.call_value import change_of
from cogitate.scheduler.budget.repairs import MOST_TOLD
from cogitate.tasks.heuristics.insight import find_insight
from cogitate.tasks.heuristics.recalled import Recalled
from cogitate.workers.llm.requests.tokens import estimate_tokens

DRAWS = 10  # of ties between values, for days with so few calls that the figure depends on ties
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)
DEPTH = 10
TITLE = "Quality for calls: "


Answered = Callable[[Sequence[bool]], float]  # the quality of a day, by which of its calls were made


class Day(NamedTuple):
    """The calls of one kind on a recorded day, in their order."""

    name: str
    calls: Sequence[Call]
    quality: Answered
    weight: float  # of its quality in the mean over days
    draws: int = DRAWS  # of ties between values, over which quality by value is the mean
    adds_up: bool = True  # whether its quality is a sum over its calls


# -- the measures ----------------------------------------------------------------------------------------


def importance(run: Run) -> Day:
    """Return the ratings of a recorded town."""
    rated = rated_entries(run)
    calls, guesses = [], Ratings()
    for owner, entry, rating in rated:
        change = 1_000 * abs(guesses.estimate(owner, entry).rating - rating) // 9
        calls.append(Call(owner, entry.minute, 3, change, estimate_tokens(entry.text) + 1))

    def quality(answered: Sequence[bool]) -> float:
        ratings, error = Ratings(), 0
        for (owner, entry, rating), called in zip(rated, answered, strict=True):
            if called:
                ratings.learn(owner, entry, rating)
            else:
                error += abs(ratings.estimate(owner, entry).rating - rating)
        return 1 - error / len(rated) / 9

    return Day(run.name, calls, quality, len(rated), draws=1, adds_up=False)


def summaries(talk: RecordedConversation, tellings: Iterable[tuple[int, str]]) -> Day:
    """Return the summaries of a conversation's sessions; `tellings` are what they should hold, by session."""
    wanted: dict[int, list[set[str]]] = {}
    for session, text in tellings:
        if content := set(stems(text)):
            wanted.setdefault(session, []).append(content)
    told = {number: (ours(one), one.reference) for number, one in zip(talk.summaries, sessions(talk), strict=True)}
    calls = [
        _session_call(talk, at, number, change_of(_told(told[number][1]), _told(told[number][0])), told[number][1])
        for at, number in enumerate(told)
    ]

    def quality(answered: Sequence[bool]) -> float:
        held = total = 0
        for (number, texts), called in zip(told.items(), answered, strict=True):
            words = set(stems(texts[called]))
            held += sum(len(content & words) for content in wanted.get(number, ()))
            total += sum(map(len, wanted.get(number, ())))
        return held / total

    calls = [call._replace(repairs=_fits(talk, number)) for number, call in zip(told, calls, strict=True)]
    return Day(talk.name, calls, quality, sum(sum(map(len, wanted.get(number, ()))) for number in told))


def _fits(talk: RecordedConversation, number: int) -> bool:
    """Return whether the lines of a session fit the prompt of a repair."""
    return sum(len(turn.text) for turn in talk.sessions[number]) <= MOST_TOLD


def evidence(talk: RecordedConversation, observed: dict[int, list[tuple[str, str]]]) -> Day:
    """Return the observations on a conversation's sessions; `observed` are texts with the lines that they lead to."""
    lines, place = entries_of(talk, described=True), {turn.id: at for at, turn in enumerate(talk.turns, 1)}
    numbers = list(talk.sessions)
    calls = []
    for at, number in enumerate(numbers):
        said = " ".join(text for text, _ in observed.get(number, ()))
        calls.append(_session_call(talk, at, number, 1_000, said))

    def quality(answered: Sequence[bool]) -> float:
        leads = {at: at for at in place.values()}
        entries = list(lines)
        for number, called in zip(numbers, answered, strict=True):
            for text, turn in observed.get(number, ()) if called else ():
                if turn in place:
                    leads[len(entries) + 1] = place[turn]
                    of = lines[place[turn] - 1]
                    entries.append(
                        Entry(
                            type="reflection",
                            text=text,
                            minute=of.minute,
                            number=len(entries) + 1,
                            subjects=of.subjects,
                        )
                    )
        found = []
        for question in talk.questions:
            if question.category != ADVERSARIAL:
                query = Query(minute=lines[-1].minute, text=question.text, limit=4 * DEPTH)
                ranked = dict.fromkeys(leads[one.entry.number] for one in retrieve(entries, query, DIALOGUE))
                first = set(list(ranked)[:DEPTH])
                found.append(sum(place[turn] in first for turn in question.evidence) / len(question.evidence))
        return sum(found) / len(found)

    return Day(
        talk.name, calls, quality, sum(q.category != ADVERSARIAL for q in talk.questions), draws=1, adds_up=False
    )


def coverage(run: Run) -> Day:
    """Return the reflections of a recorded town, at their recorded times."""
    agents = {agent.name: agent for agent in run.agents}
    calls, held = [], []
    for record in run.reflections:
        agent, since = agents[record.agent], 0
        for time in record.times:
            period = [node for node in agent.nodes if since < node.number and node.created <= time and _is_event(node)]
            thoughts = [node for node in agent.nodes if node.type == "thought" and node.created == time]
            cited = {one for node in thoughts for one in node.evidence}
            heuristic = _heuristic(agent, period, since, time)
            mass = {node.text: _importance(node) for node in period}
            by_model = {node.text for node in period if node.id in cited}
            without = {node.text for node in period if node.number in heuristic}
            if mass and thoughts:
                happened = sum(mass.values())
                change = 1_000 - 2_000 * len(by_model & without) // max(1, len(by_model) + len(without))
                said = " ".join(node.text for node in (*period, *thoughts))
                calls.append(Call(agent.name, time // 60, happened, change, estimate_tokens(said), repairs=True))
                held.append((*(sum(mass[text] for text in texts) for texts in (without, by_model)), sum(mass.values())))
            since = max((node.number for node in period), default=since)
    order = sorted(range(len(calls)), key=lambda at: calls[at].minute)
    total = sum(whole for *_, whole in held)

    def quality(answered: Sequence[bool]) -> float:
        covered = sum(held[at][called] for at, called in zip(order, answered, strict=True))
        return covered / total

    return Day(run.name, [calls[at] for at in order], quality, total)


def _heuristic(agent: Agent, period: Sequence[RecordedMemory], since: int, time: int) -> set[int]:
    """Return the numbers of the memories on which the reflection without a model rests."""
    before = [node for node in agent.nodes if node.number <= since and _is_event(node)]
    recalled = Recalled(
        owner=f"agent:{agent.name}",
        recent=[_observed(node) for node in period],
        before=[_observed(node) for node in before],
        names={f"agent:{agent.name}": agent.name},
        minute=time // 60,
        repeats={},
    )
    return set(find_insight(recalled).evidence) if period else set()


def _observed(node: RecordedMemory) -> Entry:
    return Entry(
        type="observation", text=node.text, minute=node.minute, number=node.number, importance=_importance(node)
    )


def _is_event(node: RecordedMemory) -> bool:
    return node.type == "event" and not node.idle and bool(node.text.strip())


def _importance(node: RecordedMemory) -> int:
    return min(10, max(1, node.poignancy))


def _session_call(talk: RecordedConversation, at: int, number: int, change: int, answer: str) -> Call:
    """Return the call for a session: an hour each, in which every line is an ordinary event."""
    said = " ".join(turn.text for turn in talk.sessions[number])
    happened = 3 * len(talk.sessions[number])
    return Call(talk.name, 60 * at, happened, change, estimate_tokens(said) + estimate_tokens(answer))


def _told(text: str) -> tuple[Effect, ...]:
    return (Append(owner="agent:a", entry=Entry(type="summary", text=text, minute=0)),)


# -- the curve -------------------------------------------------------------------------------------------


def days(data: Path) -> dict[str, list[Day]]:
    """Return the recorded days of each measure."""
    talks = {talk.name: talk for talk in load_conversations(data)}
    raw = {sample["sample_id"]: sample for file in sorted((data / "locomo").glob("*.json")) for sample in _read(file)}
    runs = load_runs(data)
    return {
        "importance": [importance(run) for run in runs],
        "facts of summaries": [summaries(talk, _answers(raw[name])) for name, talk in talks.items()],
        "events of summaries": [summaries(talk, _events(raw[name])) for name, talk in talks.items()],
        "evidence recall": [evidence(talk, _observations(raw[name])) for name, talk in talks.items()],
        "coverage of reflections": [coverage(run) for run in runs if run.reflections],
    }


def _read(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _answers(sample: dict[str, Any]) -> Iterator[tuple[int, str]]:
    for asked in sample["qa"]:
        if asked["category"] != ADVERSARIAL:
            for session in {int(turn.partition(":")[0].lstrip("D") or 0) for turn in asked["evidence"] if ":" in turn}:
                yield session, str(asked.get("answer", ""))


def _events(sample: dict[str, Any]) -> Iterator[tuple[int, str]]:
    for name, told in sample["event_summary"].items():
        for events in told.values():
            if isinstance(events, list):
                yield from ((int(name.removeprefix("events_session_")), event) for event in events)


def _observations(sample: dict[str, Any]) -> dict[int, list[tuple[str, str]]]:
    return {
        int(name.split("_")[1]): [
            (text, turn.lstrip("D"))
            for told in of.values()
            for text, turns in told
            for turn in ([turns] if isinstance(turns, str) else turns)
        ]
        for name, of in sample["observation"].items()
    }


class Point(NamedTuple):
    """The figures of one measure at one share of the calls."""

    quality: float
    calls: int
    tokens: int


def point(found: Sequence[Day], share: float, *, by_value: bool) -> Point:
    """Return the mean quality over days, by weight, and what was spent."""
    total = calls = tokens = 0.0
    for day in found:
        drawn = _drawn(day, share, by_value=by_value)
        for answered in drawn:
            total += day.weight * day.quality(answered) / len(drawn)
            calls += sum(answered) / len(drawn)
            tokens += sum(call.tokens for call, called in zip(day.calls, answered, strict=True) if called) / len(drawn)
    return Point(total / sum(day.weight for day in found), round(calls), round(tokens))


def error_by_chance(found: Sequence[Day], share: float) -> float | None:
    """Return the standard error of the quality by value minus the fair one, if a measure's gains are shuffled.

    None for a measure whose gains do not add up.
    """
    if not all(day.adds_up for day in found):
        return None
    gains, squares, weights = list[float](), 0.0, sum(day.weight for day in found)
    for day in found:
        count = len(day.calls)
        none = day.quality([False] * count)
        gains += (
            day.weight / weights * (day.quality([at == one for at in range(count)]) - none) for one in range(count)
        )
        (fair,), drawn = _drawn(day, share, by_value=False), _drawn(day, share, by_value=True)
        squares += sum((sum(of_call) / len(drawn) - first) ** 2 for first, *of_call in zip(fair, *drawn, strict=True))
    return stdev(gains) * sqrt(squares)


def _drawn(day: Day, share: float, *, by_value: bool) -> list[Sequence[bool]]:
    """Return which calls of a day are made, for each draw of ties."""
    if not 0 < share < 1:
        return [[share == 1.0] * len(day.calls)]
    limit = max(1, round(share * len(day.calls)))
    return [made(day.calls, limit, by_value=by_value, draw=draw) for draw in range(day.draws if by_value else 1)]


def tables(data: Path) -> Iterator[Table]:
    """Yield the curve of each measure."""
    for name, found in days(data).items():
        everything = point(found, 1.0, by_value=False)

        def row(called: str, one: Point, error: float | None = None, best: float = everything.quality) -> Row:
            return Row(called, (one.quality, one.quality / best, one.calls, one.tokens, error))

        rows = [row("none", point(found, 0.0, by_value=False))]
        rows += (row(f"{share:.0%}, fair", point(found, share, by_value=False)) for share in SHARES)
        for share in SHARES:
            rows.append(row(f"{share:.0%}, value", point(found, share, by_value=True), error_by_chance(found, share)))
        columns = ("quality", "of that of all calls", "calls", "tokens", "differs from fair by chance")
        yield Table(TITLE + name, columns, (*rows, row("all", everything)))


def report(data: Path, plot: Annotated[Path | None, "an SVG file to write"] = None) -> Iterator[Table]:
    """Yield the curve of each measure, and write their plot to a file if one is named."""
    curves = []
    for curve in tables(data):
        yield curve
        curves.append(curve)
    if plot is not None:
        plot.write_text(plot_of(curves))


def plot_of(curves: Iterable[Table]) -> str:
    """Plot the measures that calls raise, each as a share of its quality with all calls, as an SVG file."""
    series, percents = [], [0.0, *(100 * share for share in SHARES), 100.0]
    for curve in curves:
        none, *some, everything = [float(row.cells[1] or 0) for row in curve.rows]
        if none < everything:
            name = curve.title.removeprefix(TITLE)
            for spending, shares in (("fair", some[: len(SHARES)]), ("value", some[len(SHARES) :])):
                points = list(zip(percents, (none, *shares, everything), strict=True))
                series.append(Series(f"{name}, {spending}", points))
    chart = line_chart(
        "Quality for a share of the calls",
        series,
        x=Axis.over(0, 100),
        y="share of the quality of all calls, by percent of the calls",
        top=1.0,
    )
    return document(chart)
