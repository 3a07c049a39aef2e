"""First-person speech told in the third person: "I lost my job" becomes "Jon lost their job".

Nobody's gender is known, so a second mention is the singular "they". Rules for English only; speech in another
language is reported as it was said.
"""

from __future__ import annotations

import re

from memory.irregular import BASE_FORMS

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|\s+|[^\w\s]|_", re.UNICODE)
_EXPANSIONS = {
    "i'm": "I am",
    "i've": "I have",
    "i'll": "I will",
    "im": "I am",
    "you're": "you are",
    "you've": "you have",
    "you'll": "you will",
    "you'd": "you would",
    "we're": "we are",
    "we've": "we have",
    "we'll": "we will",
    "we'd": "we would",
    "gonna": "going to",
    "wanna": "want to",
    "gotta": "have to",
    "kinda": "kind of",
    "ya": "you",
    "'cause": "because",
    "ain't": "am not",
}
_ADVERBS = frozenset("just also still always never even already only often ever too sometimes now then both".split())
_AUXILIARIES = frozenset(
    "can could will would should may might must can't cannot couldn't won't wouldn't shouldn't mustn't had hadn't did "
    "didn't used".split()
)
_THIRD = {
    "am": "is",
    "are": "is",
    "were": "was",
    "weren't": "wasn't",
    "aren't": "isn't",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
    "was": "was",
    "wasn't": "wasn't",
}
_PLURAL = {"am": "are", "was": "were", "wasn't": "weren't"}
#: Words whose past is spelled like their present: left alone, which reads as the past.
_SAME_PAST = frozenset("put read set let hit cut cost hurt quit shut spread bet split".split())
_FEELINGS = frozenset(
    "excited glad happy proud stoked thrilled grateful thankful impressed keen sad nervous ready interested pumped lucky "
    "honored psyched eager worried sure".split()
)
_DROPPED = frozenset(
    "hope love wish want need think guess feel got had made went took started found lost saw met did bought just can't "
    "won't didn't don't haven't might will would could tried finished decided".split()
)
_DOING = frozenset("going looking working trying planning thinking hoping feeling wishing finishing getting".split())
_PARTICIPLE = frozenset("been had done gone seen taken".split())
_BEFORE_SUBJECT = frozenset(
    "that if when because since while as what how why where who and but so or though although until after before think "
    "know hope glad believe sure say said bet guess".split()
)
#: First and second persons; a sentence without one needs no change.
_PERSONS = frozenset("i i'm i've i'll i'd im me my mine myself you your yours yourself we us our ours".split())


def third_person(sentence: str, speaker: str, listener: str = "") -> str:
    """The sentence as someone else would tell it of `speaker` (and of `listener`, who is its "you").

    A sentence that neither names nor implies the speaker is reported: "Ann said that …".
    """
    tokens = _expand(_TOKEN.findall(sentence.replace("’", "'")))
    words = [i for i, token in enumerate(tokens) if token[0].isalnum()]
    if not words:
        return sentence
    lowered = [tokens[i].lower() for i in words]
    if lowered[:1] in (["let's"], ["lets"]):
        rest = "".join(tokens[words[0] + 1 :]).strip()
        return third_person(f"{speaker} suggested that we {rest}", speaker, listener)
    lead = _dropped_subject(lowered)
    if lead is not None:
        tokens = _expand(_TOKEN.findall(f"{lead} ")) + [_uncapital(tokens[words[0]]), *tokens[words[0] + 1 :]]
    told = _replace(tokens, speaker, listener)
    first_word = told.split(None, 1)[0]
    if first_word not in {speaker, listener, f"{speaker}'s", f"{listener}'s"} and not told.startswith(
        (speaker, listener or speaker)
    ):
        keep = first_word.isupper() or not first_word.isascii() or first_word.rstrip("'s,.") in {speaker, listener}
        told = f"{speaker} said {told if keep else _uncapital_text(told)}"
    return told[0].upper() + told[1:]


def speaks_of_persons(sentence: str) -> bool:
    """Whether the sentence has a first or second person in it (English)."""
    return any(token.lower() in _PERSONS for token in _TOKEN.findall(sentence.replace("’", "'")))


def _dropped_subject(lowered: list[str]) -> str | None:
    """What spoken English left out at the start: "Lost my job" means "I lost my job"."""
    first = lowered[0]
    if first in _DOING and (len(lowered) > 1 and lowered[1] in {"to", "forward", "on", "about", "for", "up"}):
        return "I am"
    if first in _FEELINGS or (first in {"so", "super", "really"} and len(lowered) > 1 and lowered[1] in _FEELINGS):
        return "I am"
    if first == "been":
        return "I have"
    if first in _DROPPED and len(lowered) > 2 and lowered[1] not in {"i", "you", "we"}:
        return "I"
    return None


def _replace(tokens: list[str], speaker: str, listener: str) -> str:
    out: list[str] = []
    named = False
    verb: dict[str, str] | None = None  # agreement that the coming verb must take
    previous = ""
    for at, token in enumerate(tokens):
        low = token.lower()
        if not token[0].isalnum():
            out.append(token)
            if token in ",;:-" and verb is not None:
                verb = None
            continue
        if low == "i":
            out.append("they" if named else speaker)
            verb = _PLURAL if named else _THIRD
            named = True
        elif low in {"me", "my", "mine", "myself"}:
            if low == "myself":
                out.append("themselves")
            elif named:
                out.append({"me": "them", "my": "their", "mine": "theirs"}[low])
            else:
                out.append(speaker if low == "me" else f"{speaker}'s")
                named = True
        elif low in {"we", "us", "our", "ours", "ourselves"}:
            out.append({"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"}[low])
        elif listener and low in {"you", "your", "yours", "yourself"}:
            out.append({"you": listener, "yourself": "themselves"}.get(low, f"{listener}'s"))
            if low == "you" and (not previous or previous in _BEFORE_SUBJECT or _is_auxiliary(tokens, at)):
                verb = _THIRD
        elif verb is not None:
            if low in _ADVERBS or (low.endswith("ly") and len(low) > 4):
                out.append(token)
            else:
                out.append(_agree(token, verb))
                verb = None
        else:
            out.append(token)
        if low == speaker.lower():
            named = True
        previous = low
    return "".join(out).strip()


def _is_auxiliary(tokens: list[str], at: int) -> bool:
    following = next((t.lower() for t in tokens[at + 1 :] if t[0].isalnum()), "")
    return following in _AUXILIARIES or following in {"are", "were", "have", "do", "don't", "aren't", "haven't"}


def _agree(verb: str, agreement: dict[str, str]) -> str:
    low = verb.lower()
    if low in agreement:
        return agreement[low]
    if agreement is _PLURAL or low in _AUXILIARIES or low in _SAME_PAST or low in BASE_FORMS or low.endswith("ed"):
        return verb
    if low in {"is", "was", "has"} or not low.isascii():
        return verb
    if low.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def _expand(tokens: list[str]) -> list[str]:
    out: list[str] = []
    for at, token in enumerate(tokens):
        low = token.lower()
        if low == "i'd":
            following = next((t.lower() for t in tokens[at + 1 :] if t[0].isalnum()), "")
            long_form = "I had" if following in _PARTICIPLE or following.endswith("ed") else "I would"
        else:
            long_form = _EXPANSIONS.get(low, "")
        out.extend(_TOKEN.findall(long_form) if long_form else [token])
    return out


def _uncapital(word: str) -> str:
    return word if word.isupper() and len(word) > 1 else word[0].lower() + word[1:]


def _uncapital_text(text: str) -> str:
    first, _, rest = text.partition(" ")
    return f"{_uncapital(first)} {rest}" if rest else _uncapital(first)
