"""Mechanical checks of one sentence for faults that readers notice. None contains a name or a sentence of a world.

Each check has false positives and false negatives; only changes in its counts are meaningful.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bench.readability.made import Made
from cogitate.memory.language.english.grammar import has_verb
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import BASE_FORMS, FUNCTION_WORDS
from cogitate.memory.language.times import find_times, with_quoted_days

QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|«[^»]*»")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_HE_OR_SHE = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.I)
_THEY = re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.I)
_THAT = re.compile(
    r"\b(?:this|that|these|those)(?=[.!?,;”]|$)|(?:^|, |\bthat )(?:this|these|those|that(?!'s)) (?:is|was|are|were)\b",
    re.I,
)
_IT = re.compile(r"^(?:it|its)\b(?!['’]s been| (?:is|was|has been|rained|snowed|seems?|turned out))", re.I)
_SPEECH_FORMULA = re.compile(
    r"^[^,;]*\b(?:mentioned|said|reported|recalled|explained|remarked|observed|noticed|thought|argued|predicted|announced|"
    r"relayed|told \S+(?: \S+)?) (?:that )?(?=it\b)",
    re.I,
)
_KIN = re.compile(
    r"\b(?:mother|father|brother|sister|wife|husband|son|daughter|friend|boss|aunt|uncle|neighbour|neighbor|child|"
    r"woman|man|girl|boy|captain|doctor|somebody|someone|everybody|everyone|nobody|host|people)\b",
    re.I,
)
_PLURAL = re.compile(r"\b(?!this\b|was\b|is\b|has\b|his\b|its\b|does\b)[a-z]{2,}[^s\W]s\b|\b(?:people|both|children)\b")
_YOU = re.compile(r"\b(?:you|your|yours|yourself|yourselves)\b", re.I)
_US = re.compile(r"\b(?:let's|here's|look at)\b", re.I)
_DAY = re.compile(r"\bday (\d+)\b", re.I)
_COMING = re.compile(
    r"\b(?:will|shall|(?<!was )(?<!were )(?<!not )going to|keep in mind|not (?:to )?forget|look(?:s|ing)? forward|"
    r"(?:is|am|are) (?:holding|hosting|giving|throwing|organi[sz]ing|planning|coming|expecting|meeting)|"
    r"(?:is|are) (?:to (?:be|begin|take)|still)|am to|(?:still )?ahead|coming|expects?|awaits?|upcoming)\b|['’]ll\b",
    re.I,
)
_BROKEN = re.compile(
    r"n['’]ts\b|\b(?:heres|theres|nows|thens)\b|\b(\w{2,}) \1\b(?<!had had)(?<!that that)|\bthat that\b|"
    r"\b(?:they|we|you) (?:is|has|was|does|am)\b|\b(?:he|she|it) (?:are|have|were(?! to)|do|am)\b|"
    r"(?<!and )\bI (?:is|are|has)\b|"
    r"\ba (?=[aeio]\w)(?!one|once|eu|u[nst]i)|\ban (?=[bcdfgjklmnpqrstvwxyz])(?!h|mp3|x-)|\s[,.;:!?]|[,;:][.;,]|\bi\b|"
    r"\.\.(?!\.)|\bto (?:went|was|were|did|had|made|took|came|saw|gave|found)\b",
    re.U,
)
_TAUTOLOGY = re.compile(r"\b(\w+(?: \w+)?)(?:['’]s name)? (?:is|was) \1\b", re.U)
_LOOSE_END = re.compile(r"\b(?:and|or|but|the|a|an|my|your|their|which|who)[.!?…]*$", re.I)
_VERBISH = re.compile(r"(?:ed|ing|es|ts|ks|ds|ps|ns|ls|rs|ys|ves|ms|ws|gs)$")
_PROMISE_TO_NOBODY = re.compile(r"^(?:Of course, )?I promise\b|\bmade a promise\b(?! to)|\bpromised (?:it|something)\b")


_HIDE = {ord(mark): 0xE000 + at for at, mark in enumerate(".!?…")}
_SHOW = {hidden: mark for mark, hidden in _HIDE.items()}


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text, with the text before it."""

    text: str
    before: str
    of: Made

    @property
    def bare(self) -> str:
        """Return the sentence without its quotes, which are the words of others."""
        return QUOTED.sub("“”", self.text)


def sentences_of(made: Made) -> list[Sentence]:
    """Return the sentences of a text."""
    found, before = [], ""
    hidden = QUOTED.sub(lambda quote: quote[0].translate(_HIDE), made.text)  # quoted stops end no sentence
    for text in (part.translate(_SHOW) for part in split_sentences(hidden)):
        found.append(Sentence(text, before, made))
        before += f" {text}"
    return found


def _names(sentence: Sentence, text: str) -> bool:
    known = (sentence.of.name, *sentence.of.others)
    return any(name in text or name.split()[0] in text for name in known) or _KIN.search(text) is not None


def _dangling(sentence: Sentence) -> bool:
    """Return whether a pronoun has no antecedent."""
    bare = sentence.bare
    for pronoun in _HE_OR_SHE.finditer(bare):
        if not _names(sentence, sentence.before + bare[: pronoun.start()]):
            return True
    for pronoun in _THEY.finditer(bare):
        earlier = sentence.before + bare[: pronoun.start()]
        if re.search(r"\bthat they say\b|^they say\b", bare, re.I) or not (
            _names(sentence, earlier) or _PLURAL.search(earlier)
        ):
            return True
    if _THAT.search(bare):
        return True
    return bool(_IT.search(_SPEECH_FORMULA.sub("", bare))) and not sentence.before


def _past_as_coming(sentence: Sentence) -> bool:
    """Return whether the text describes a past moment as a future one."""
    # A reflection's quotes count too: their words for days refer to the day on which they were said.
    is_reflection = sentence.of.type == "reflection"
    told = with_quoted_days(sentence.text, sentence.of.minute) if is_reflection else sentence.bare
    days = [int(day) for day in _DAY.findall(told)]
    if not days or not _COMING.search(told):
        return False
    times = find_times(told)
    latest = (max(days) - 1) * 1440 + (max(time.minute for time in times) if times else 1439)
    return latest < sentence.of.minute


def _unresolved_you(sentence: Sentence) -> bool:
    return _YOU.search(sentence.bare) is not None


def _fragment(sentence: Sentence) -> bool:
    words = _WORD.findall(sentence.text)
    if not words or _LOOSE_END.search(sentence.bare) or sentence.text[0].islower():
        return True
    if sentence.of.type == "plan item":
        return len(words) < 2 or words[0].lower() in FUNCTION_WORDS - {"do", "have", "be"}
    low = [word.lower().replace("’", "'") for word in words]
    verbal = has_verb(low) or any(w in BASE_FORMS or _VERBISH.search(w) for w in low[1:])
    return len(words) < 3 or not verbal


def _broken(sentence: Sentence) -> bool:
    return _BROKEN.search(sentence.bare) is not None or _TAUTOLOGY.search(sentence.bare) is not None


def _several_quotes(sentence: Sentence) -> bool:
    quotes = len(QUOTED.findall(sentence.before)) + len(QUOTED.findall(sentence.text))
    return quotes > 1 and bool(QUOTED.search(sentence.text))


def _day_zero(sentence: Sentence) -> bool:
    return re.search(r"\bday 0\b", sentence.text, re.I) is not None


def _promise_to_nobody(sentence: Sentence) -> bool:
    inside = " ".join(quote.strip('“”"«»') for quote in QUOTED.findall(sentence.text))
    return _PROMISE_TO_NOBODY.search(sentence.text) is not None or (
        re.search(r"\bpromise\b", inside, re.I) is not None
        and not _names(sentence, f"{inside} {sentence.bare}")
        and not re.search(r"\btold me\b", sentence.bare)
    )


CHECKS: dict[str, Callable[[Sentence], bool]] = {
    "dangling pronoun": _dangling,
    "past told as coming": _past_as_coming,
    "“you” without a referent": _unresolved_you,
    "fragment": _fragment,
    "broken inflection": _broken,
    "second quote": _several_quotes,
    "promise to nobody": _promise_to_nobody,
    "day 0": _day_zero,
}
