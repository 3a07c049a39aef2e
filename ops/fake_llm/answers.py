"""Writes a valid answer for any schema from words of the prompt.

An answer depends only on the messages and a seed. A field's name determines its value: times ascend, places and people
are among those that the prompt lists ("Places:" and lines "- name (type)", "People: a; b"), and an action is one of the
"Available actions: a; b".
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from cogitate.memory.language.truncation import shorten

_TIME = re.compile(r"(^|_)(time|start|end|begin|at)(_|$)")
_PLACE = re.compile(r"place|location|where")
_PERSON = re.compile(r"agent|person|who$|name|target|participant|speaker")
_NUMBER = re.compile(r"(^|_)(number|numbers|entry|entries|index|evidence|id|ids)(_|$)")
_RANGES = (  # of integers whose schema has no bounds, by name
    (re.compile(r"priority"), 1, 5),
    (re.compile(r"change"), -2, 2),
    (re.compile(r"duration|minutes"), 30, 90),
)
_PHRASES = (
    "Work on {0} and {1}",
    "Talk with others about {0}",
    "Take a walk and think about {0}",
    "Read about {0} and {1}",
    "Prepare {0} for later",
    "Rest after {0}",
)
_CLOCK = r"(\d{1,2}):(\d\d) ([AP]M)\b"
_NOW = re.compile(r"\bIt is (?:[^\n.]{0,200}? )??" + _CLOCK)
_END = re.compile(r"\bends at " + _CLOCK)
_LIST_HEADING = re.compile(r"^(?P<title>[^\n:]*?)(?: \([^)\n]{0,200}\))?:[ \t]*$")
_ACTIONS = re.compile(r"^Available actions: (.+)$", re.MULTILINE)
_PEOPLE = re.compile(r"^People: (.+)$", re.MULTILINE)
_DOES = ("doing", "action")  # fields that hold one of the listed actions
_TYPE = re.compile(r" \([^()]*\)$")
_MEMORY = re.compile(r"^- \[[^\]\n]*\] (.+)$", re.MULTILINE)
_CONCLUDED, _END_OF_CONCLUDED = ("<reflections>", "</reflections>")  # around earlier insights
_NUMBERED = re.compile(r"^(?:- )?(?:\[|#)?(\d{1,6})[\].:)]? ", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{5,}")
_MOST_QUOTED = 160  # characters of a memory
_NO_BRACKETS = str.maketrans("", "", "[]{}")  # removed, since a cut would leave unpaired ones
_EVENING = 22 * 60  # minutes after midnight; the latest time of an item
_LEAST_SPAN = 120  # minutes over which items are spread even if that is later


class AnswerWriter:
    """A writer of the answer to one request."""

    def __init__(self, messages: Sequence[Mapping[str, Any]], seed: object) -> None:
        self._prompt = "\n".join(text_of(m) for m in messages if m.get("role") == "user")
        key = json.dumps([text_of(m) for m in messages], ensure_ascii=False)
        self._random = random.Random(f"{seed}\x1f{key}")  # a text as seed gives the same numbers in every process
        self._phrases = cycle(self._random.sample(_PHRASES, len(_PHRASES)))  # so that fields differ
        self._places = self._listed("place", "location")
        people = _PEOPLE.search(self._prompt)
        self._people: list[str] = (
            people[1].split("; ") if people else self._listed("people", "person", "agent", "character")
        )
        actions = _ACTIONS.search(self._prompt)
        self._actions = actions[1].split("; ") if actions else []
        self._memories = _MEMORY.findall(_without_conclusions(self._prompt))
        self._words = sorted(set(_WORD.findall(" ".join(self._memories) or self._prompt)))
        self._words = self._words if len(self._words) > 1 else ["today", "tomorrow"]
        self._numbers = sorted({int(number) for number in _NUMBERED.findall(self._prompt)})

    def write(self, schema: Mapping[str, Any]) -> Any:
        """Return a JSON value that the schema accepts; its `$defs` must be resolved."""
        return self._value(schema, "")

    def _value(self, schema: Mapping[str, Any], name: str, turn: tuple[int, int] = (0, 1)) -> Any:
        """Return a value for a schema; `turn` is the index in a list and its length."""
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        variants = schema.get("anyOf") or schema.get("oneOf")
        if variants:
            return self._value(next((v for v in variants if v.get("type") != "null"), variants[0]), name, turn)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next(k for k in kind if k != "null")
        if kind == "object" or "properties" in schema:
            return {key: self._value(sub, key, turn) for key, sub in schema.get("properties", {}).items()}
        if kind == "array":
            return self._list(schema, name)
        if kind == "string":
            return self._string(schema, name, turn)
        if kind in ("integer", "number"):
            return self._amount(schema, name, turn)
        return self._random.random() < 0.5 if kind == "boolean" else None

    def _list(self, schema: Mapping[str, Any], name: str) -> list[Any]:
        items = schema.get("items", {"type": "string"})
        fields = items.get("properties", {})
        numbered = [f for f, sub in fields.items() if sub.get("type") == "integer" and _NUMBER.search(f)]
        if numbered and self._numbers:
            count = len(self._numbers)
        elif any(_TIME.search(field) for field in fields):
            count = self._random.randint(5, 8)
        elif any(_PERSON.search(field) for field in fields):
            count = min(self._random.randint(0, 2), len(self._people))
        else:
            count = self._random.randint(1, 3)
        count = min(max(count, schema.get("minItems", 0)), schema.get("maxItems", count))
        values = [self._value(items, name, (turn, count)) for turn in range(count)]
        if items.get("type") == "integer" and _NUMBER.search(name) and self._numbers:
            return sorted(self._random.sample(self._numbers, min(count, len(self._numbers))))
        return values

    def _string(self, schema: Mapping[str, Any], name: str, turn: tuple[int, int]) -> str:
        if _TIME.search(name):
            return self._clock(turn)
        if _PLACE.search(name):
            return self._random.choice(self._places) if self._places else ""
        if self._actions and name in _DOES:
            return str(self._random.choice(self._actions))
        if _PERSON.search(name) and self._people:
            return self._random.choice(self._people)
        if self._memories and re.search(r"insight|summary|reflection|content|text", name):
            chosen = self._random.choice(self._memories)
            text = "What matters to me about {} and {}: {}".format(*self._two_words(), _quoted(chosen))
        else:
            text = next(self._phrases).format(*self._two_words())
        return text[: int(schema.get("maxLength", len(text)))]

    def _amount(self, schema: Mapping[str, Any], name: str, turn: tuple[int, int]) -> int:
        if _NUMBER.search(name) and self._numbers:
            return self._numbers[turn[0] % len(self._numbers)]
        low, high = next(((a, b) for pattern, a, b in _RANGES if pattern.search(name)), (1, 10))
        low = int(schema.get("minimum", low))
        return self._random.randint(low, max(low, int(schema.get("maximum", high))))

    def _clock(self, turn: tuple[int, int]) -> str:
        """Return the time of an item; the times in a list ascend from the prompt's time to the evening."""
        now, end = self._time_in_prompt(_NOW, 7 * 60), self._time_in_prompt(_END, 24 * 60)
        end += 24 * 60 if end <= now else 0
        place, count = turn
        step = max(1, (min(end, max(_EVENING, now + _LEAST_SPAN)) - now) // count)
        at = min(now + place * step + self._random.randrange(step), end - 1) % (24 * 60)
        return f"{(at // 60 + 11) % 12 + 1}:{at % 60:02d} {'AM' if at < 720 else 'PM'}"

    def _time_in_prompt(self, pattern: re.Pattern[str], otherwise: int) -> int:
        """Return a time in the prompt, in minutes after midnight."""
        match = pattern.search(self._prompt.partition("<memories>")[0])
        if not match:
            return otherwise
        hour, minute, half = match.groups()
        return (int(hour) % 12 + (12 if half == "PM" else 0)) * 60 + int(minute)

    def _two_words(self) -> list[str]:
        return self._random.sample(self._words, 2)

    def _listed(self, *titles: str) -> list[str]:
        """Return the ids in the lists whose headings contain one of these words."""
        ids: list[str] = []
        within = False
        for line in self._prompt.splitlines():
            heading = _LIST_HEADING.match(line)
            if heading:
                within = any(title in heading["title"].lower() for title in titles)
            elif line.startswith("- ") and within:
                ids.append(_TYPE.sub("", line[2:].partition(": ")[0].strip()))
            elif line.strip():
                within = False
        return ids


def _quoted(memory: str) -> str:
    """Return a memory as the end of a statement; a question or a fragment goes in quotation marks."""
    text = memory.translate(_NO_BRACKETS)
    if len(text) > _MOST_QUOTED:
        text = shorten(text, _MOST_QUOTED, "…")
    return text if text.endswith((".", "!")) else f"“{text}”"


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message's content, which may be a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content)


def wanted_schema(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema in a request's parameter or in a message; without one, a schema for any text."""
    form = request.get("response_format")
    if isinstance(form, Mapping) and form.get("type") == "json_schema":
        schema = form["json_schema"].get("schema", {})
        return _schema(schema)
    for message in request["messages"]:
        text = text_of(message)
        start = text.find('{"type":"object"')
        if start >= 0:
            return _schema(json.JSONDecoder().raw_decode(text, start)[0])
    return {"type": "object", "properties": {"text": {"type": "string"}}}


def _schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return dict(_resolved(schema, schema.get("$defs", {})))


def _resolved(node: Any, defs: Mapping[str, Any]) -> Any:
    """Return a schema with its references resolved."""
    if isinstance(node, list):
        return [_resolved(item, defs) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        return _resolved(defs[node["$ref"].rpartition("/")[2]], defs)
    return {key: _resolved(value, defs) for key, value in node.items() if key != "$defs"}


def _without_conclusions(prompt: str) -> str:
    """Return a prompt without its earlier insights."""
    first, *others = prompt.split(_CONCLUDED)
    rest = (part.partition(_END_OF_CONCLUDED)[2] if _END_OF_CONCLUDED in part else part for part in others)
    return "".join((first, *rest))
