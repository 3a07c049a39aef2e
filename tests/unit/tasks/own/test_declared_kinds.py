"""Kinds that a host declares with one class: what they do by default, and what a wrong declaration is told."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from cogitate import daily, drawn, every, newest
from cogitate import kind as declare
from cogitate.effects import Append, Entry, MarkAccessed
from cogitate.errors import KindError
from cogitate.kinds import Case, Kind, Moment, Request
from cogitate.memory.clock import DAY, Clock
from cogitate.tasks.job import seconds_of, ticks_of
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.own.cadences import Repeating, minutes_in
from cogitate.tasks.own.declared_kind import declaring_modules
from cogitate.tasks.registry import kind_of, kinds, register_builtin
from tests.unit.tasks.kind_cases import KLAUS, case_of, message, moment_of, observation, stream_of

SEEN = [observation(f"Saw heron number {number}.", 100 * number) for number in range(1, 7)]
SEEN += [
    observation("Saw heron number 7.", 700, subjects=(KLAUS, "agent:maria")),
    observation("Saw heron number 8.", 800, subjects=("agent:ben", KLAUS)),
]


class Told(BaseModel):
    """What is told."""

    text: str


def declared(**arguments: Any) -> Kind:
    """The kind of a class with `instead`, declared with these arguments."""

    @declare(**({"due": daily("02:00"), "ask": "Tell it.", "answer": Told} | arguments))
    class Tell:
        def instead(self, case: Case, memories: list[Entry]) -> str | None:
            return " ".join(memory.text for memory in memories) or None

    return kind_of(arguments.get("name", "tell"))


def test_a_daily_kind_is_due_at_the_first_tick_from_its_time_on() -> None:
    kind, stream = declared(), stream_of(*SEEN)
    world = WorldFacts(clock=Clock(seconds_per_tick=420))
    minutes = [tick * 7 for tick in range(2 * 1440 // 7)]
    moments = [moment_of(stream, minute, world=world, tick=minute // 7) for minute in minutes]
    asked = [moment for moment in moments if list(kind.due(moment))]
    assert [moment.minute for moment in asked] == [126, 1561]
    assert kind.wake(asked[0]) == asked[1].tick
    assert kind.wake(moments[0]) == asked[0].tick
    assert list(kind.due(asked[0])) == [Request(kind="tell", owner=KLAUS)]


def test_a_kind_without_an_order_follows_the_built_in_ones() -> None:
    last = max(kind.order for kind in kinds())
    for name in ("tell", "greet", "count", "a"):
        assert declared(name=name).order > last
    assert kind_of("tell").order == 208_012, "for one name the same for ever: a run goes on in the order it began in"
    assert declared(name="first", order=1).order == 1


def test_it_is_not_due_for_other_owners_nor_for_one_with_nothing_to_read() -> None:
    kind, place = declared(reads=drawn(3, older="1h")), stream_of(*SEEN, owner="location:mill")
    assert list(kind.due(moment_of(stream_of(SEEN[0]), 120))) == []  # seen at 100
    assert len(list(kind.due(moment_of(stream_of(SEEN[0]), 1440 + 120)))) == 1
    assert (list(kind.due(moment_of(place, 120))), kind.wake(moment_of(place, 120))) == ([], None)
    wider = declared(name="wider", owners=("location",))
    assert [one.owner for one in wider.due(moment_of(place, 120))] == ["location:mill"]


def test_owners_are_spread_over_the_minutes_after_a_time_and_over_a_span() -> None:
    late, again = Repeating(DAY, 23 * 60 + 30, 60), Repeating(360, spread=360)
    assert (late, again) == (daily("23:30", spread=60), every("6h"))
    firsts = {late.next_after(f"agent:{number}", 0) for number in range(200)}
    assert all((first - 23 * 60 - 30) % 1440 < 60 for first in firsts)
    assert len(firsts) > 30
    whole_day = Repeating(DAY, spread=DAY)
    assert max(whole_day.next_after(f"agent:{number}", 0) for number in range(200)) > 23 * 60
    for owner in ("agent:ada", "agent:ben"):
        first = again.next_after(owner, 0)
        assert 0 < first <= 360
        assert [again.next_after(owner, first), again.next_after(owner, first + 359)] == [first + 360] * 2
    assert max(again.next_after(f"agent:{number}", 0) for number in range(200)) > 5 * 60
    assert min(again.next_after(f"agent:{number}", 0) for number in range(200)) < 60


@pytest.mark.parametrize(
    ("span", "seconds_per_tick", "every_ticks"),
    [("3 ticks", 2_592_000, 3), ("1 tick", 1, 1), ("30s", 10, 3), ("30s", 60, 1)],
)
def test_a_cadence_in_ticks_or_seconds_is_due_once_per_span(span: str, seconds_per_tick: int, every_ticks: int) -> None:
    kind, stream = declared(due=every(span), reads=newest(1)), stream_of(*SEEN)
    clock = Clock(seconds_per_tick=seconds_per_tick)
    moments = [
        moment_of(stream, 1_000_000 + clock.minute(tick), tick=tick, world=WorldFacts(clock=clock))
        for tick in range(20)
    ]
    due = [moment.tick for moment in moments if list(kind.due(moment))]
    assert [later - tick for tick, later in pairwise(due)] == [every_ticks] * (len(due) - 1)
    assert [kind.wake(moments[tick]) for tick in due[:-1]] == due[1:]


def test_a_class_may_store_answers_with_job_and_entries() -> None:
    @declare(name="keep", due=daily("02:00"), ask="Tell it.", answer=Told, on_denied="drop")
    class Keep:
        def store(self, case: Case, answer: Told, memories: list[Entry]) -> str:
            return f"{answer.text} {case.job.minute} {[memory.number for memory in memories]}"

    kind = kind_of("keep")
    append = kind.effects(case_of(kind, stream_of(*SEEN), 3_000), Told(text="Herons."), (1, 3))[0]
    assert isinstance(append, Append)
    assert append.entry.text == "Herons. 3000 [1, 3]"


def test_a_declaration_keeps_the_class_of_its_answer() -> None:
    own: Any = declared()
    assert own.declared.answer is Told
    assert (own.prompt_cap, own.output_cap) == (1_500, 300)

    @declare(name="mute")
    class Mute:
        def instead(self, case: Case, memories: list[Entry]) -> None:
            return None

    mute = kind_of("mute")
    assert (mute.prompt_cap, mute.output_cap) == (0, 0), "it asks no model"


def test_a_kind_without_instead_makes_nothing_without_a_model() -> None:
    @declare(ask="Tell it.", answer=Told, name="silent", on_denied="drop")
    class Silent:
        pass

    assert kind_of("silent").heuristic(case_of(kind_of("silent"), stream_of(*SEEN), 1_000)) == ()


def test_a_kind_without_a_time_runs_only_on_request() -> None:
    kind = declared(due=None)
    assert (list(kind.due(moment_of(stream_of(*SEEN), 120))), kind.wake(moment_of(stream_of(*SEEN), 120))) == ([], None)


def test_the_prompt_includes_the_chosen_memories_and_its_version_the_question() -> None:
    kind = declared(reads=newest(2), ask="Tell </memories> what you saw.")
    case = case_of(kind, stream_of(*SEEN), 900)
    prompt = kind.prompt(case)
    assert prompt.system.startswith("Tell ‹/memories› what you saw.")
    assert '{"text": "..."}' in prompt.system
    assert re.findall(r"heron number (\d)", prompt.user) == ["7", "8"]
    assert "Klaus Mueller, 20 years old, student of sociology" in prompt.user
    assert (prompt.used, prompt.answer) == ((7, 8), Told)
    assert not prompt.built_in, "its instructions are the host's"
    assert len(prompt.version) == 16
    assert prompt.version != declared(reads=newest(2), ask="Tell more.").prompt(case).version


def test_a_template_lies_beside_its_module(tmp_path: Path) -> None:
    (tmp_path / "saw.j2").write_text(
        "{% block system %}Be brief.{% endblock %}{% block user %}{{ name }} saw {{ memories | length }}{% endblock %}"
    )
    kind = declared(ask="", template=str(tmp_path / "saw.j2"))
    assert kind.prompt(case_of(kind, stream_of(*SEEN), 900)).user == "Klaus Mueller saw 8"


def test_a_hosts_folder_of_templates_goes_before_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "own.j2").write_text("{% block system %}{{ ask }}{% endblock %}{% block user %}Go.{% endblock %}")
    kind = declared()
    register_builtin(tmp_path)
    try:
        assert kind.prompt(case_of(kind, stream_of(*SEEN), 900)).user == "Go."
    finally:
        register_builtin()


def test_an_answer_is_remembered_with_its_evidence() -> None:
    kind = declared(reads=newest(2), importance=7)
    case = case_of(kind, stream_of(*SEEN), 900)
    append, marked = kind.effects(case, Told(text="Herons come in pairs."), (7, 8))
    assert isinstance(append, Append)
    entry = append.entry
    assert (entry.text, entry.importance, entry.minute) == ("Herons come in pairs.", 7, 900)
    assert (entry.evidence, entry.tags, entry.source) == ((7, 8), ("tell",), "internal")
    assert entry.subjects == (KLAUS, "agent:maria", "agent:ben"), "each once, in the order of the memories"
    assert marked == MarkAccessed(owner=KLAUS, numbers=(7, 8), minute=900)
    without, _ = kind.heuristic(case)
    assert isinstance(without, Append)
    assert without.entry.text == "Saw heron number 7. Saw heron number 8."
    assert kind.heuristic(case_of(kind, stream_of(), 900)) == ()


def test_only_memories_of_the_chosen_types_are_read() -> None:
    kind, told = declared(), message("I have seen a heron.", 250)
    case = case_of(kind, stream_of(*SEEN[:2], told, *SEEN[2:4]), 840)
    for choice in (newest(9, types=("observation",)), drawn(9, types=("observation",))):
        assert list(choice(case)) == [one for one in case.entries if one.type == "observation"]
    assert [one.text for one in newest(1, types=("message", "reflection"))(case)] == [told.text]


def test_a_draw_differs_between_jobs_and_is_stable_within_one() -> None:
    draw, kind = drawn(3, older="2h"), declared()
    cases = [case_of(kind, stream_of(*SEEN), minute) for minute in range(820, 840)]
    lots = [[entry.number for entry in draw(case)] for case in cases]
    assert lots == [[entry.number for entry in draw(case)] for case in cases]
    assert len({tuple(lot) for lot in lots}) > 5
    assert {number for lot in lots for number in lot} == {1, 2, 3, 4, 5, 6, 7}  # 800 is younger than two hours
    assert all(lot == sorted(lot) and len(lot) == 3 for lot in lots)


def test_methods_of_the_class_replace_the_default_ones() -> None:
    @declare(name="hum", on_denied="drop")
    class Hum:
        needs_brief = True

        def due(self, moment: Moment) -> list[Request]:
            return [Request(kind="hum", owner=moment.owner)] if moment.tick % 2 else []

        def wake(self, moment: Moment) -> int:
            return moment.tick + 1

        def instead(self, case: Case, memories: list[Entry]) -> Entry:
            return Entry(type="observation", text="I hummed.", minute=case.job.minute, importance=1)

    kind: Any = kind_of("hum")
    odd = moment_of(stream_of(), 1, tick=1)
    assert (list(kind.due(odd)), kind.wake(odd), kind.needs_brief) == ([Request(kind="hum", owner=KLAUS)], 2, True)
    assert kind.heeds(SEEN[0], stream_of(), WorldFacts(), 1)
    assert not declared().heeds(SEEN[0], stream_of(), WorldFacts(), 1)  # type: ignore[attr-defined]
    assert kind.output_cap == 0
    (append,) = kind.heuristic(case_of(kind, stream_of(), 10))
    assert append.entry.text == "I hummed."
    assert declaring_modules() == [__name__]


class Two(BaseModel):
    """Two texts."""

    one: str
    other: str


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no way without a model": ({}, "neither answer=…, the class of a model's answer, nor a method instead"),
    "no heuristic for the refused": ({"answer": Told, "ask": "x"}, 'no method instead.*on_denied="drop"'),
    "no question": ({"answer": Told, "on_denied": "drop"}, "no question: give ask=…"),
    "a question without an answer": ({"ask": "x"}, "asks a model but has no answer=…"),
    "no class": ({"answer": "Told", "ask": "x"}, "answer 'Told' is not a subclass of pydantic's BaseModel"),
    "two texts": ({"answer": Two, "ask": "x", "on_denied": "drop"}, "Two has 2 texts.*add a method store"),
    "no time": ({"due": "02:00"}, r"due '02:00' is invalid: give one such as daily"),
    "no choice": ({"reads": 3}, r"reads 3 is invalid: give one such as newest"),
    "owners": ({"owners": "agent"}, "owners 'agent' is not a tuple of owner types"),
    "importance": ({"importance": 11}, "importance 11 is not an integer from 1 to 10"),
    "latency": ({"latency": "soon"}, "latency 'soon' is invalid"),
    "name": ({"name": "a b"}, "name 'a b' is invalid"),
    "its order": ({"order": 10, "answer": Told, "ask": "x", "on_denied": "drop"}, "order 10, which is 'plan'"),
    "no file": ({"template": "nowhere.j2"}, "template: prompt template nowhere.j2 is missing"),
    "no name of a template": ({"template": {"a": 1}}, r"template .* is invalid: name a file beside the module"),
    "no template": ({"template": "nowhere.txt"}, "template 'nowhere.txt' is invalid: name a file nowhere.j2"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_is_refused_where_it_stands(arguments: dict[str, Any], said: str) -> None:
    before = kinds()
    with pytest.raises(KindError, match=rf"test_declared_kinds\.py, line \d+: the kind .*{said}"):

        @declare(**arguments)
        class Wrong:
            pass

    assert kinds() == before


def test_a_due_method_requires_a_next_method() -> None:
    with pytest.raises(KindError, match=r"it has a method due\(moment\) but no wake\(moment\)"):

        @declare(ask="Tell it.", answer=Told)
        class Wrong:
            def due(self, moment: Moment) -> list[Request]:
                return []


def test_all_mistakes_are_reported_at_once_with_lines() -> None:
    with pytest.raises(KindError) as refused:

        @declare(due=daily("02:00"), latency=0, importance=0)
        class Wrong:
            def __init__(self, town: str) -> None: ...
            def due(self, moment: Moment) -> list[Request]: ...  # type: ignore[empty-body]
            def store(self, answer: Told) -> str: ...  # type: ignore[empty-body]

    said = str(refused.value)
    for part in ("latency 0", "importance 0", "must take no arguments", "neither"):
        assert part in said
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "latency=0, importance" in text
    )
    assert f"test_declared_kinds.py, line {line}: " in said


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: daily("25:00"),
        lambda: daily("2"),
        lambda: daily("02:00", spread=-1),
        lambda: daily("02:00", spread=DAY + 1),
        lambda: every("0h"),
        lambda: every("6"),
        lambda: newest(0),
        lambda: drawn(3, older="old"),
        lambda: drawn(True),
        lambda: newest(3, types="observation"),
        lambda: drawn(3, types=("dream",)),
    ],
)
def test_invalid_times_spans_and_counts_are_refused(wrong: Any) -> None:
    with pytest.raises(KindError, match=r": give (a|game minutes)"):
        wrong()


@pytest.mark.parametrize(
    ("span", "minutes"), [("90m", 90), ("6h", 360), ("2d", 2_880), ("1 d", 1_440), ("999999m", 999_999)]
)
def test_a_span_is_of_minutes_hours_or_days(span: str, minutes: int) -> None:
    assert minutes_in(span) == minutes


@pytest.mark.parametrize("span", ["0m", "06h", "6", "m", "2w", "-1d", "1000000m", "6h ", 6, None])
def test_an_invalid_span_has_no_minutes(span: object) -> None:
    assert minutes_in(span) == 0


@pytest.mark.parametrize(
    ("latency", "rate", "minutes", "ticks"),
    [
        (7, None, 1, 7),
        ("5s", 1.0, 1, 5),
        ("5s", 20.0, 1, 100),
        ("5s", 0.1, 1, 1),
        ("0.1s", 30.0, 1, 3),
        ("5s", 1 / 3, 1, 2),
        ("5s", None, 1, 1),
        ("90s", None, 1, 2),
        ("90 s", None, 10, 1),
        ("60s", None, 1, 1),
        ("61s", None, 1, 2),
        ("600s", None, 10, 1),
        ("601s", None, 10, 2),
        (0, None, 1, 1),
        ("99999s", 20.0, 1, 100_000),
        ("5m", None, 1, 5),
        ("5m", None, 2, 3),
        ("5m", None, 5, 1),
        ("5m", None, 60, 1),
        ("20m", None, 15, 2),
        ("5m", 10.0, 1, 5),
        ("5m", 10.0, 60, 5),
        ("5m", 1.0, 60, 1),
        ("5m", 0.1, 60, 1),
        ("20m", 20.0, 10, 10),
    ],
)
def test_a_latency_follows_the_clock_that_it_names(
    latency: int | str, rate: float | None, minutes: int, ticks: int
) -> None:
    assert ticks_of(latency, tick_rate=rate, clock=Clock(seconds_per_tick=60 * minutes)) == ticks


def test_an_invalid_number_of_seconds_is_refused() -> None:
    assert [seconds_of(text) for text in ("5s", "0.25s", "0s", "5", "s", "-1s", "1m", "5s ")] == [
        5.0,
        0.25,
        None,
        None,
        None,
        None,
        None,
        None,
    ]
