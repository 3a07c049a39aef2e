"""Every function over text that others write, as a function of that text alone.

Others are hosts (observations, events, profiles, names), models (answers), endpoints (errors) and recordings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from pydantic import ValidationError

from cogitate.memory.appointments import appointments
from cogitate.memory.entry import Character
from cogitate.memory.importance import Ratings, rate_by_rule
from cogitate.memory.language.english.address import clean
from cogitate.memory.language.english.clauses import split_clauses
from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.english.notes import noted, says_i
from cogitate.memory.language.english.persons import third_person, tokens_of
from cogitate.memory.language.english.references import stands_alone
from cogitate.memory.language.english.tense import told_after
from cogitate.memory.language.entities import name_words
from cogitate.memory.language.hidden_characters import without_hidden
from cogitate.memory.language.markup import prose
from cogitate.memory.language.place_names import find_place
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.talk import Speakers, Utterance
from cogitate.memory.language.text import extract_keywords, normal, stems, words
from cogitate.memory.language.times import anchor_days, find_times, parse_clock
from cogitate.memory.language.truncation import shorten
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.compaction import by_place
from cogitate.memory.policies.window import compress_summary, fitting_character
from cogitate.memory.profile import PlaceIndex, Profile
from cogitate.memory.retrieval.candidates import Candidates, Matching, Query, asks
from cogitate.memory.retrieval.measures import speaker
from cogitate.memory.retrieval.retrieval import DIALOGUE, retrieve
from cogitate.memory.routines import read_routine
from cogitate.memory.routing.context import context_window, memory_line
from cogitate.memory.routing.repeats import repeat_key
from cogitate.memory.routing.routing import Event, route
from cogitate.memory.routing.scopes import mentions
from cogitate.memory.summaries.conversations import first_person, parse_line, summarise_entries
from cogitate.memory.summaries.long_term import cut_oldest, estimate_tokens, fold
from cogitate.memory.summaries.summary import summarise
from cogitate.prompts.answers import ActionAnswer, DailyPlan, RatingsAnswer, ReflectionAnswer, SummaryAnswer
from cogitate.prompts.render import Templates, neutral
from cogitate.scheduler.engine.triggers import recounts, story_event
from cogitate.scheduler.intake.checks import InputError, check_owner
from cogitate.scheduler.intake.observations import check_entry
from cogitate.simulation.naming import distinct, slug
from cogitate.simulation.recorded.nodes import read_nodes, sound_text
from cogitate.simulation.town.action import MEAL_WORDS, SLEEP_WORDS
from cogitate.tasks.heuristics.identity import pursuit_of
from cogitate.tasks.heuristics.insight import find_insight
from cogitate.tasks.heuristics.plans.day_plan import Duties, Owner, build
from cogitate.tasks.heuristics.promises import find_promises
from cogitate.tasks.heuristics.recalled import Recalled
from cogitate.tasks.kind import Case, Kind, Prompt, WorldFacts
from cogitate.tasks.plan import Plan
from cogitate.tasks.recount import Recount
from cogitate.tasks.reflect import Reflect, person_meant
from cogitate.tasks.summarise import Summarise
from cogitate.workers.answer_faults.fault import fault_of
from cogitate.workers.answer_faults.prompt_content import PromptContent, is_about
from cogitate.workers.jobs.judging import describe_fault, repairs_of
from cogitate.workers.llm.replies.error_responses import error_text, from_status, requested_wait
from cogitate.workers.llm.replies.extract import json_values
from cogitate.workers.llm.replies.reply import read_completion, validated
from cogitate.workers.llm.requests import tokens
from cogitate.workers.llm.requests.dialect import Dialect
from tests.unit.tasks.kind_cases import (
    KLAUS,
    PLACES,
    PROFILE,
    WORLD,
    case_of,
    message,
    moment_of,
    observation,
    stream_of,
)

NAMES = WORLD.names
TEMPLATES = Templates()
SPEAKERS = Speakers(["Melanie", "Jon"])
START = datetime(2023, 2, 13)  # noqa: DTZ001 - game time has no zone


def _said(text: str) -> Any:
    return message(text, 600)


def _seen(text: str) -> Any:
    return observation(text, 600)


def _candidates(text: str) -> Candidates:
    return Candidates([_seen(text)], Query(minute=700, text=text), Matching())


def _prompted(kind: Kind, text: str) -> Any:
    return kind.prompt(_case(kind, text))


def _case(kind: Kind, text: str) -> Case:
    stream = stream_of(*(observation(f"{n} {text}", n) for n in range(4)), message(text, 5), message(text, 6))
    return case_of(kind, stream, 700, profile=_profile(text))


def _profile(text: str) -> Profile:
    return msgspec.structs.replace(PROFILE, routine=text, currently=text, background=text, occupation="")


def _rated(text: str) -> Any:
    ratings = Ratings()
    ratings.learn(KLAUS, _seen(text), 5)
    return ratings.estimate(KLAUS, _seen(text))


def _planned(profile: Profile) -> Any:
    owner = Owner(profile=profile, routine=profile.routine, places=PlaceIndex(PLACES))
    return build(owner, Duties(), (420, 1860))


def _attempted(made: Callable[[], object]) -> None:
    """Refusing is a way of dealing with it."""
    with suppress(ValueError, InputError, ValidationError):
        made()


def _answered(text: str) -> None:
    """A model's answer, field by field."""
    item = {"time": text, "description": text, "location": text, "priority": text}
    _attempted(lambda: DailyPlan.model_validate({"activities": [item]}))
    _attempted(lambda: RatingsAnswer.model_validate({"ratings": [{"number": 1, "importance": f"1{text}"}]}))
    _attempted(lambda: SummaryAnswer.model_validate({"summary": text, text: text}))
    action = {"location": text, "doing": text, "reason": text, "completing_plan_item": True}
    _attempted(lambda: ActionAnswer.model_validate(action))
    change = {"agent_id": text, "change": f"1{text}", "reason": text}
    insight = {"insight": text, "significance": f"{text}1", "relationship_changes": [change]}
    _attempted(lambda: ReflectionAnswer.model_validate(insight))


def _recorded(text: str) -> Any:
    event = {"type": "event", "created": "2023-02-13 08:00:00", "description": text, "subject": text, "object": text}
    chat = {**event, "type": "chat", "filling": [[text, text]], "keywords": [text], "poignancy": 3}
    return read_nodes({"node_1": event, "node_2": chat}, START, Counter())


def _completion(text: str) -> Any:
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return validated(read_completion(json.dumps(body).encode(), {}), SummaryAnswer)


def _refused(text: str) -> Any:
    body = {"error": {"message": text, "code": text, "type": text}}
    failure = from_status(400, body, {"retry-after": text})
    return failure, Dialect().without_named(error_text(body) + text)


def _noticed(text: str) -> Any:
    recent = [_seen(f"I will {text}"), _said(text), _said(f"Ann {text}")]
    striking = [msgspec.structs.replace(entry, importance=8) for entry in recent]
    recalled = Recalled(
        owner=KLAUS,
        recent=striking,
        before=recent,
        names=NAMES,
        minute=900,
        repeats={},
        places=PLACES,
    )
    return find_insight(recalled)


def _event(text: str) -> Any:
    return route(Event(kind="discussion_statement", speaker="Ann", text=text, reasoning=text), minute=3)


#: By name; each takes the hostile text. What a result is does not matter here.
FUNCTIONS: Mapping[str, Callable[[str], object]] = {
    "sentences.split_sentences": split_sentences,
    "clauses.split_clauses": split_clauses,
    "address.clean": clean,
    "courtesies.is_small_talk": lambda text: is_small_talk(text, SPEAKERS),
    "persons.tokens_of": tokens_of,
    "persons.third_person": lambda text: third_person(text, "Jon"),
    "notes.noted": lambda text: noted(text, "I", "Klaus", NAMES.values(), set),
    "notes.noted of a talk": lambda text: noted(
        f"Klaus is conversing about {text}", "Klaus", "Klaus", ["Klaus"], lambda: ["Klaus"]
    ),
    "notes.says_i": says_i,
    "markup.prose": prose,
    "references.stands_alone": stands_alone,
    "tense.told_after": lambda text: told_after(f"{text} on day 1", 5000),
    "conversations.first_person": lambda text: first_person(_said(f"Maria: {text}"), KLAUS, NAMES),
    "promises.find_promises": lambda text: find_promises(
        KLAUS, [_said(f"I promise to {text}"), _said(text), _seen(text)], NAMES
    ),
    "entities.name_words": lambda text: name_words([text]),
    "hidden_characters.without_hidden": without_hidden,
    "text.words": words,
    "text.normal": normal,
    "text.stems": stems,
    "text.extract_keywords": extract_keywords,
    "times.find_times": find_times,
    "times.parse_clock": parse_clock,
    "times.anchor_days": lambda text: anchor_days(text, 5000),
    "appointments.appointments": lambda text: appointments([_seen(f"party at 5 pm {text}")], PLACES, 600, 2000),
    "appointments.appointments of a host": lambda text: appointments(
        [_seen(f"Ann is holding a {text} at 5 pm")], PLACES, 600, 2000
    ),
    "place_names.find_place": lambda text: find_place(text, PLACES),
    "truncation.shorten": lambda text: shorten(text, 300),
    "truncation.shorten to half": lambda text: shorten(text, max(10, len(text) // 2)),
    "repeats.repeat_key": lambda text: repeat_key(_seen(text)),
    "routing.route": _event,
    "scopes.mentions": lambda text: mentions(text, "Klaus"),
    "scopes.mentions by a name": lambda text: mentions(f"{text} b", text),
    "scope_context.memory_line": lambda text: memory_line(_seen(text)),
    "context.context_window": lambda text: context_window(memories=[_seen(text)], history=[_said(text)]),
    "importance.rate_by_rule": lambda text: rate_by_rule(_seen(text)),
    "importance.Ratings": _rated,
    "dialogue.asks": lambda text: asks(_said(text)),
    "dialogue.speaker": lambda text: speaker(_candidates(text)),
    "retrieval.retrieve": lambda text: retrieve([_seen(text)], Query(minute=700, text=text)),
    "retrieval.retrieve dialogue": lambda text: retrieve([_said(text)], Query(minute=700, text=text), DIALOGUE),
    "conversations.parse_line": lambda text: parse_line(_said(f"Maria: {text}"), NAMES),
    "conversations.summarise_entries": lambda text: summarise_entries([_said(text), _said(f"Thanks! {text}")], NAMES),
    "conversations.summarise_entries of what was seen": lambda text: summarise_entries([_seen(text)], NAMES),
    "summary.summarise": lambda text: summarise([Utterance("Jon", text, 3), Utterance("Gina", text, 4)], max_words=60),
    "compaction.by_place": lambda text: by_place([_seen(text)], NAMES),
    "long_term.estimate_tokens": estimate_tokens,
    "long_term.cut_oldest": lambda text: cut_oldest(text, 10),
    "long_term.cut_oldest to half": lambda text: cut_oldest(text, len(text) // 8),
    "long_term.fold": lambda text: fold(text, [_said(text)], NAMES, 250),
    "long_term.fold to half": lambda text: fold(text, [_said(text)], NAMES, len(text) // 8),
    "window.compress_summary": lambda text: compress_summary(text, [_said(text)], NAMES, 400, now=0),
    "window.fitting_character": lambda text: fitting_character(Character(names=tuple(text.split())), len(text) // 8),
    "routines.read_routine": lambda text: read_routine(f"wakes at 7am, {text} at 5pm", "Klaus"),
    "routines.read_routine of a time": lambda text: read_routine(f"7:00 {text}", "Klaus"),
    "routines.read_routine of any text": lambda text: read_routine(text),
    "identity.pursuit_of": lambda text: pursuit_of(Profile(name="Klaus", currently=f"Klaus is writing{text}")),
    "day_plan.build": lambda text: _planned(_profile(text)),
    "day_plan.build of an occupation": lambda text: _planned(Profile(name="K", occupation=f"cook at Hobbs Cafe{text}")),
    "insight.find_insight": _noticed,
    "reflect.person_meant": lambda text: _attempted(lambda: person_meant(text, NAMES)),
    "reflect.prompt": lambda text: _prompted(Reflect(TEMPLATES), text),
    "plan.prompt": lambda text: _prompted(Plan(TEMPLATES), text),
    "plan.heuristic": lambda text: Plan(TEMPLATES).heuristic(_case(Plan(TEMPLATES), text)),
    "summarise.prompt": lambda text: _prompted(Summarise(TEMPLATES), text),
    "recount.prompt": lambda text: _prompted(Recount(TEMPLATES), text),
    "render.neutral": neutral,
    "intake.check_entry": lambda text: _attempted(lambda: check_entry(KLAUS, {"text": text[:4000], "minute": 3}, 3)),
    "intake.check_owner": lambda text: _attempted(lambda: check_owner(f"agent:{text}")),
    "tokens.estimate_tokens": tokens.estimate_tokens,
    "nodes.sound_text": sound_text,
    "nodes.read_nodes": _recorded,
    "naming.slug": slug,
    "action.SLEEP_WORDS": lambda text: (SLEEP_WORDS.search(text), MEAL_WORDS.search(text)),
}

#: The same of text that models and endpoints write.
FUNCTIONS_OF_ANSWERS: Mapping[str, Callable[[str], object]] = {
    "answers": _answered,
    "llm_extract.json_values": lambda text: json_values(text),
    "llm_extract.json_values after prose": lambda text: json_values(f"Here: {text} {{}}"),
    "llm_reply.read_completion": _completion,
    "error_responses.from_status": _refused,
    "requested_waits.requested_wait": lambda text: (
        requested_wait({"x-ratelimit-reset": text, "x-ratelimit-reset-tokens": text}, text),
        requested_wait({"retry-after": text}),
    ),
    "answer_faults.fault_of": lambda text: fault_of(
        SummaryAnswer.model_construct(summary=text), Prompt(system=text, user=text, answer=SummaryAnswer, version="v")
    ),
    "relation.is_about": lambda text: is_about(
        text, ["Ann sings."], PromptContent(_prompted(Reflect(TEMPLATES), text))
    ),
    "repair.repairs_of": lambda text: repairs_of(TEMPLATES, text, text),
    "repair.complaint_of": lambda text: describe_fault(
        "wrong_schema", f'{{"{text[:9]}": 1}} {text}', SummaryAnswer, 100
    ),
}


def _cells(count: int) -> Callable[[], object]:
    """Many empty memories, which take no tokens."""
    stream = stream_of(*(observation("", n) for n in range(count)))
    stream.head.waiting = [observation("", n) for n in range(count)]
    moment = moment_of(stream, count, world=WorldFacts(limits=MemoryLimits(policy="cells", cells=count)))
    return lambda: list(Summarise(TEMPLATES).due(moment))


def _story(count: int) -> Callable[[], object]:
    world = {"world": stream_of(observation("Rain", 1), owner="world")}
    triggers = [story_event(f"event {n}", [f"tag {n}"], {"npc_ids": [f"npc:{n}"]}, n) for n in range(count)]
    return lambda: recounts(triggers, world, {}, lambda kind, owner: True)


def _many_speakers(count: int) -> Callable[[], object]:
    lines = [Utterance(f"S{n} Smith", "Thanks, I will bring the book.", n) for n in range(count)]
    return lambda: summarise(lines, max_words=60)


def _long_names(length: int) -> Callable[[], object]:
    speaker, listener = "agent:" + "a " * (length // 2), "agent:" + "b " * (length // 2)
    said = [message("you " * (length // 4), n, speaker=speaker, hearer=listener) for n in range(2)]
    said.append(message("Yes, I know you.", 3, speaker=listener, hearer=speaker))
    return lambda: summarise_entries(said, {})


def _similar_texts(count: int) -> Callable[[], object]:
    """Texts of which each has a little in common with every other."""
    ratings = Ratings()
    entries = [observation(f"common {' '.join(f'w{n}x{m}' for m in range(60))}", n) for n in range(count)]
    for entry in entries:
        ratings.learn(KLAUS, entry, 5)
    return lambda: ratings.estimate(KLAUS, entries[0])


#: The same with many texts or names: each takes how many, and gives what is to be done.
LISTS: Mapping[str, Callable[[int], Callable[[], object]]] = {
    "long_term.due": _cells,
    "triggers.recounts": _story,
    "summary.summarise of many speakers": _many_speakers,
    "conversations.summarise_entries of long names": _long_names,
    "importance.Ratings of similar texts": _similar_texts,
    "naming.distinct": lambda count: lambda: distinct(["a"] * count, "x"),
}
