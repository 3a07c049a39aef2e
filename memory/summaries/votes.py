"""A collective vote from one member's side: its own vote, or its speech or proposal before the vote.

"The council voted 4 to 1 to dig the well" is the same for all observers. The observer's part is in its other memories
of the same day and place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.summaries.statements import news_of, topic_of

_DECISION = re.compile(
    r"(?P<body>(?:The|Our) [a-z]+(?: [a-z]+)?) voted (?:(?P<count>(?P<ayes>\d{1,6}) to (?P<noes>\d{1,6})) )?"
    r"(?P<what>(?:to|for|against) \w[^.!?]*)[.!]?$"
)
_OWN = re.compile(r"(?P<act>voted|proposed) (?P<what>(?:to|for|against) \w[^.!?]*)[.!]?$")
_SPOKE = "spoke"
_MOST = 32  # acts that are looked at: a matter is decided after a few


class _Act(NamedTuple):
    """An act about a matter, and its time: a vote, a proposal or a statement."""

    at: tuple[int, int]  # game time and number of the entry
    act: str
    what: str


class OwnVotes:
    """The owner's part in votes, according to its memories."""

    def __init__(self, name: str, remembered: Iterable[Entry]) -> None:
        self._name = name
        self._acts: dict[tuple[str, str], list[_Act]] = {}  # by place and topic, in order of time
        for entry in remembered:
            found = self._act(entry)
            if found is not None:
                self._acts.setdefault((entry.location, topic_of(entry)), []).append(found)
        for acts in self._acts.values():
            acts.sort()

    def _act(self, entry: Entry) -> _Act | None:
        """Return the owner's act or the group's decision in an entry; None for any other entry."""
        at = (entry.minute, entry.number)
        news = news_of(entry)
        for subject in (f"{self._name} ", "I "):
            own = _OWN.match(news, len(subject)) if news.startswith(subject) and entry.type == "observation" else None
            if own:
                return _Act(at, own["act"], own["what"])
        if entry.type == "observation" and _DECISION.match(news):
            return _Act(at, "", "")
        if is_dialogue(entry) and entry.text.startswith(f"{self._name} ") and topic_of(entry):
            return _Act(at, _SPOKE, "")
        return None

    def told(self, entry: Entry) -> str:
        """Return a decision from the owner's side, in the third person; "" for an entry that tells of no decision.

        Without memories of the owner's part, only the decision is told.
        """
        decision = _DECISION.match(news_of(entry)) if entry.type == "observation" else None
        if decision is None:
            return ""
        part = self._part(entry)
        name, what = self._name, decision["what"]
        body = decision["body"][:1].lower() + decision["body"][1:]
        count = f" {decision['count']}" if decision["count"] else ""
        voted = [act.what for act in part if act.act == "voted"]
        proposed = [act.what for act in part if act.act == "proposed"]
        if voted:
            return f"{_vote(name, voted, body, decision)}."
        if proposed:
            outcome = f"and {body} voted{count} for it" if proposed[-1] == what else f"but {body} voted{count} {what}"
            return f"{name} proposed {proposed[-1]}, {outcome}."
        spoke = f"{name} spoke before {body}" if part else decision["body"]
        return f"{spoke} voted{count} {what}."

    def _part(self, entry: Entry) -> list[_Act]:
        """Return what the owner did of a matter on the day before it was decided, in order of time.

        Of a matter without a topic only what came after the decision before.
        """
        topic = topic_of(entry)
        acts = self._acts.get((entry.location, topic), [])
        end = bisect_right(acts, (entry.minute, entry.number), key=lambda act: act.at)
        part: list[_Act] = []
        for act in reversed(acts[max(0, end - _MOST) : end]):
            if act.at[0] < entry.minute - DAY or (not act.act and not topic and act.at[1] != entry.number):
                break
            part.append(act)
        return [act for act in reversed(part) if act.act]


def _vote(name: str, voted: list[str], body: str, decision: re.Match[str]) -> str:
    """Return the owner's latest vote beside the decision."""
    own, what, count = voted[-1], decision["what"], decision["count"]
    tally = f" {count}" if count else ""
    if own == what:
        turned = f"{name} changed sides and voted" if any(earlier != own for earlier in voted) else f"{name} voted"
        if decision["noes"] == "0":
            return f"{turned} {own}, as did all of {body}"
        return f"{turned} {own}, as {body} did{f', {count}' if count else ''}"
    opposed = own.split()[0] == what.split()[0] or own.startswith("against ")
    return f"{name} voted {own}, {'but' if opposed else 'and'} {body} voted{tally} {what}"
