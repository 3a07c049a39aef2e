"""Routing: the memory update that an event causes (routing design, "Memory Management Decision Flow").

The boundary appends every event as an entry, without a model: the simple update of the routing design. If its rule says
"integrate", the entry is also tagged for the job that integrates it into the owner's long-term summary (the complex
update), so a failing or slow model loses no event.

Pure: the same event, rules and minute give the same entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field

from cogitate.memory.checks import check_text
from cogitate.memory.entry import MAX_TEXT, UNRATED, Entry, resolve_name
from cogitate.memory.errors import HostInput, require_list
from cogitate.memory.language.sentences import has_end, with_end
from cogitate.memory.language.truncation import Content, Truncation
from cogitate.memory.routing.statement_parts import Ask, parts_of

Strategy = Literal["simple", "integrate"]
Style = Literal["narrative", "structured"]


def _refuse_huge(amount: object) -> object:
    """Return the amount, or raise ValueError for an integer so large that a float may not hold all its digits."""
    if isinstance(amount, int) and abs(amount) > _MOST_AMOUNT:
        raise ValueError(f"a whole amount lies between -{_MOST_AMOUNT} and {_MOST_AMOUNT}; give {amount} as text")
    return amount


_MOST_AMOUNT = 10**15
Amount = Annotated[int | float | Annotated[str, Field(max_length=200)], BeforeValidator(_refuse_huge)]

INTEGRATE = "integrate"  # tag of entries that are to be integrated
_SEPARATOR = " | "


Name = Annotated[str, Field(max_length=200)]


class Event(HostInput):
    """An event that a host reports. `speaker` and `subjects` are owners or names."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    _label: ClassVar[str] = "event"

    kind: str = Field(min_length=1, max_length=100)  # "discussion_statement", …, or a type of the host's own
    text: str = Field("", max_length=5 * MAX_TEXT)  # a statement may be longer than an entry: it is cut
    speaker: str = Field("", max_length=200)
    name: str = Field("", max_length=200)  # the speaker's display name; empty: from its owner
    topic: str = Field("", max_length=500)
    reasoning: str = Field("", max_length=5 * MAX_TEXT)
    certainty: str = Field("", max_length=100)
    consensus: bool | None = None  # of a ballot
    earnings: Amount | None = None  # of a result
    counterfactuals: Mapping[Name, Amount] = Field(default_factory=dict, max_length=100)  # earnings of the alternatives
    phase: str = Field("", max_length=100)  # of an experiment or a story: "deliberation"
    stage: str = Field("", max_length=100)  # of the phase: "voting"
    round: int | None = Field(None, ge=0, le=10**15)
    location: str = Field("", max_length=500)
    subjects: Annotated[
        tuple[Name, ...], BeforeValidator(require_list), Field(max_length=1_000)
    ] = ()  # others involved
    group: str = Field("", max_length=200)  # owner of the shared history that the event belongs to

    @classmethod
    def of_statement(cls, text: str, speaker: str = "", *, ask: Ask | None = None, **given: Any) -> Event:
        """Return the event of a raw statement, with its topic, its reasoning and the certainty of its speaker.

        Args:
            ask: returns a model's answer to a prompt; None: a rule finds the parts.
            given: further fields of the event, which override the parts found.

        Raises:
            InputError: for an invalid text or field.
        """
        text = check_text("an event's text", text, 5 * MAX_TEXT, blank=True)
        parts = {name: part for name, part in parts_of(text, ask)._asdict().items() if part}
        return cls(**{"kind": "discussion_statement", "text": text, "speaker": speaker, **parts, **given})


@dataclass(frozen=True, kw_only=True)
class EventRule:
    """The rule for events of one type."""

    strategy: Strategy = "simple"
    with_consensus: Strategy | None = None  # strategy for a ballot that reached consensus; None: the same
    content: Content = "other"  # selects the length limit of its text
    verb: str = ""  # of the narrative style: "Alice discussed …"; empty: the sentence names the event's type
    importance: int = UNRATED


#: The event types of the routing design.
RULES: Mapping[str, EventRule] = {
    "discussion_statement": EventRule(content="statement", verb="discussed"),
    "voting_initiated": EventRule(),
    "voting_confirmed": EventRule(),
    "ballot_completed": EventRule(with_consensus="integrate", importance=7),
    "final_results": EventRule(strategy="integrate", content="result", importance=8),
}


@dataclass(frozen=True, kw_only=True)
class Routing:
    """The rules of a run."""

    rules: Mapping[str, EventRule] = field(default_factory=lambda: RULES)
    style: Style = "narrative"
    truncation: Truncation = Truncation()

    def with_types(self, types: Mapping[str, Strategy | EventRule]) -> Routing:
        """Return these rules with further event types, or with other rules for known ones."""
        further = {
            kind: rule if isinstance(rule, EventRule) else EventRule(strategy=rule) for kind, rule in types.items()
        }
        return replace(self, rules={**self.rules, **further})


class Routed(NamedTuple):
    """An entry to append, and its update strategy."""

    entry: Entry
    strategy: Strategy


def route(event: Event, *, minute: int, routing: Routing | None = None) -> Routed:
    """Return the entry for an event in the style of the rules, each part cut to the limit of its type of content.

    Args:
        minute: game time of the event, total minutes.

    Raises:
        ValueError: for a type of event without a rule.
    """
    routing = routing or Routing()
    rule = routing.rules.get(event.kind)
    if rule is None:
        known = ", ".join(sorted(routing.rules))
        raise ValueError(f"no rule for events of type {event.kind!r}; known types: {known}")
    strategy = rule.with_consensus if event.consensus and rule.with_consensus else rule.strategy
    speaker = event.name or resolve_name(event.speaker, {})
    cut = event.model_copy(
        update={
            "text": routing.truncation.cut(event.text, rule.content),
            "reasoning": routing.truncation.cut(event.reasoning, "reasoning"),
        }
    )
    text = _narrative(cut, rule, speaker) if routing.style == "narrative" else _structured(cut, speaker)
    spoken = rule.content == "statement" and bool(event.speaker)
    tags = [f"event:{event.kind}"]
    tags += [f"phase:{event.phase}"] if event.phase else []
    tags += [f"stage:{event.stage}"] if event.stage else []
    tags += [f"round:{event.round}"] if event.round is not None else []
    tags += [INTEGRATE] if strategy == "integrate" else []
    entry = Entry(
        type="message" if spoken else "observation",
        text=text,
        minute=minute,
        location=event.location,
        subjects=tuple(dict.fromkeys(s for s in (event.speaker, *event.subjects) if s)),
        importance=rule.importance,
        source="dialogue" if spoken else "social",
        source_id=event.group,
        tags=tuple(tags),
    )
    return Routed(entry, strategy)


def _label(event: Event) -> str:
    return event.kind.replace("_", " ").strip().capitalize()


def _narrative(event: Event, rule: EventRule, speaker: str) -> str:
    """Return sentences: "Alice discussed the floor: …", "Voting initiated by Bob.", "Final results: … Earnings: …"."""
    if speaker and rule.verb:
        subject = f"{speaker} {rule.verb} {event.topic}".rstrip()
    else:
        subject = _label(event) + {True: " with consensus", False: " without consensus", None: ""}[event.consensus]
        subject += f" by {speaker}" if speaker else ""
        subject += f" on {event.topic}" if event.topic else ""
    sentences = [f"{subject}: {event.text}" if event.text else subject]
    if event.reasoning:
        sentences.append(f"Reasoning: {event.reasoning}")
    if event.certainty:
        sentences.append(f"Certainty: {event.certainty}")
    if event.earnings is not None:
        sentences.append(f"Earnings: {_amount(event.earnings)}")
    if event.counterfactuals:
        sentences.append(f"Otherwise: {_counterfactuals(event)}")
    return " ".join(_ended(sentence) for sentence in sentences)


def _structured(event: Event, speaker: str) -> str:
    """Return "Speaker: Alice | Topic: … | Reasoning: …", without empty parts."""
    consensus = None if event.consensus is None else "yes" if event.consensus else "no"
    parts: list[tuple[str, Any]] = [
        ("Event", None if event.kind == "discussion_statement" else _label(event)),
        ("Speaker", speaker),
        ("Topic", event.topic),
        ("Reasoning", event.reasoning),
        ("Certainty", event.certainty),
        ("Consensus", consensus),
        ("Earnings", None if event.earnings is None else _amount(event.earnings)),
        ("Counterfactuals", _counterfactuals(event)),
        ("Statement" if event.kind == "discussion_statement" else "Text", event.text),
    ]
    return _SEPARATOR.join(f"{key}: {_value(value)}" for key, value in parts if value)


def _value(value: str) -> str:
    """Return one line without the separator, so that a speaker's text cannot add parts."""
    return " ".join(value.replace("|", "/").split())


def _counterfactuals(event: Event) -> str:
    return "; ".join(f"{name} {_amount(amount)}" for name, amount in event.counterfactuals.items())


def _amount(amount: Amount) -> str:
    return amount if isinstance(amount, str) else f"{amount:,}"


def _ended(sentence: str) -> str:
    return sentence if has_end(sentence) else with_end(sentence)
