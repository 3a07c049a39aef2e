"""What an owner did, as an insight tells it: several deeds in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from cogitate.memory.entry import Entry, is_dialogue, is_of_event
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import SPACED, UNSPACED, with_end
from cogitate.tasks.heuristics.promises import MOST_QUOTED
from cogitate.tasks.heuristics.recalled import Finding, Recalled

_ENDS = SPACED + UNSPACED
_LOOSE = frozenset(f',;:"“”„«»、，；：()\n{_ENDS}')  # a deed with one of these is told alone


def with_deeds_joined(recalled: Recalled, findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with one in the place of those that tell their owner's deeds, in the order of time.

    Deeds are told apart where the language needs other forms of the words.
    """
    deeds = [f for f in findings if is_deed(recalled, recalled.by_number[f.evidence[0]], f.text)]
    text = _joined(recalled, [f.text for f in sorted(deeds, key=attrgetter("evidence"))])
    if not text:
        return [*findings]
    one = Finding(text, tuple(n for f in deeds for n in f.evidence))
    return [one if f is deeds[0] else f for f in findings if f is deeds[0] or f not in deeds]


def is_deed(recalled: Recalled, entry: Entry, told: str) -> bool:
    """Return whether a text tells what its owner did, and nothing else."""
    who, bare = recalled.me, told.rstrip(_ENDS)
    if is_dialogue(entry) or is_of_event(entry) or not bare.startswith(f"{who} ") or not _LOOSE.isdisjoint(bare):
        return False
    with_another = language_of(bare, recalled.language).all_of([who, ""])
    return not with_another or not bare.startswith(with_another)


def _joined(recalled: Recalled, told: Sequence[str]) -> str:
    """Return deeds as one sentence, which does not repeat their first word; "" if they are better told apart."""
    if len(told) < 2:
        return ""
    deeds = [text.rstrip(_ENDS).removeprefix(f"{recalled.me} ") for text in told]
    first = f"{deeds[0].partition(' ')[0]} "
    if all(deed.startswith(first) for deed in deeds):
        deeds = [deeds[0], *(deed.removeprefix(first) for deed in deeds[1:])]
    text = language_of(told[0], recalled.language).all_of(deeds)
    return with_end(f"{recalled.me} {text}") if text and len(text) <= MOST_QUOTED else ""
