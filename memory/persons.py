"""First-person speech told in the third person: "Lost my job" becomes "Jon lost his job".

Rules for English only; speech in another language is reported as it was said. What is no clause is told as what it
is: a request ("Jon told Gina to keep going"), a proposal ("Jon suggested that they meet"), a thing ("Jon mentioned a
festival next month").
"""

from __future__ import annotations

import re
from collections.abc import Collection

from memory.irregular import BASE_FORMS
from memory.pronouns import Pronouns, pronouns_of
from memory.text import FUNCTION_WORDS, words

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|\s+|[^\w\s]|_", re.UNICODE)


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


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
    "cause": "because",
    "ain't": "am not",
}
_SINGULAR = {
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
}
_PLURAL = {"am": "are", "was": "were", "wasn't": "weren't"}
_ADVERBS = _set("just also still always never even already only often ever too sometimes now then both so not")
_AUXILIARIES = _set(
    "can could will would should may might must can't cannot couldn't won't wouldn't shouldn't mustn't had hadn't did "
    "didn't used left"
)
_FINITE = _AUXILIARIES | _set(
    "am is are was were isn't aren't wasn't weren't has have had hasn't haven't do does don't doesn't it's that's "
    "there's he's she's they're here's what's who's"
)
_SAME_PAST = _set("put read set let hit cut cost hurt quit shut spread bet split")  # left alone: reads as the past
_FEELINGS = _set(
    "excited glad happy proud stoked thrilled grateful thankful impressed keen sad nervous ready interested pumped "
    "lucky honored psyched eager worried sure passionate curious"
)
_STATES = _set(
    "hope love wish want need think guess feel got had made went took started found lost saw met did bought just can't "
    "won't didn't don't haven't might will would could tried finished decided agree appreciate totally really never"
)
_DOING = _set("going looking working trying planning thinking hoping feeling wishing finishing getting")
_IMPERSONAL = _set("sounds looks seems feels helps gives makes keeps means reminds takes was is")
_REQUESTS = _set(
    "keep take check try make remember go give start stay focus look believe let come tell show call send bring ask "
    "follow enjoy have be get stop put use find think don't never join visit add read watch listen gather reach"
)
_OPENS_THING = _set("a an the my our your this these those some another two three four five six seven eight nine ten")
_PARTICIPLES = _set("been had done gone seen taken")
#: After these, "you" is an object; otherwise it is a subject.
_BEFORE_OBJECT = _set(
    "to for of with about at from on by than like and see love thank help tell give show let make wish wishing hear "
    "miss support know remind ask get keep teach send call join beside behind without"
)
_BE_AND_HAVE = _set("are were aren't weren't have haven't")
_NO_VERBS = _set("guys all both two and or to in at so too for with on as but")
_COURTESIES = tuple(
    (re.compile(pattern, re.IGNORECASE), act)
    for pattern, act in (
        (r"(?:thanks|thank you)(?: so much| a lot| again)* for\b", "thanked{} for"),
        (r"(?:big )?(?:congrats|congratulations) (?:on|for)\b", "congratulated{} on"),
        (r"(?:so |really )?sorry to hear\b", "was sorry to hear"),
        (r"(?:so |really )?sorry (?:about|for)\b", "was sorry about"),
        (r"good luck (?:with|on|at)\b", "wished{} good luck with"),
        (r"(?:here's|here is|here are|check out|take a look at|look at)\b(?! (?:to|how|what|why)\b)", "showed{}"),
    )
)
_FIRST = _set("i i'm i've i'll i'd im my")
_YOU = _set("you your yours yourself")


def third_person(sentence: str, speaker: str, listener: str = "", names: Collection[str] = ()) -> str:
    """The sentence as someone else would tell it of `speaker`, and of `listener`, who is its "you" (if anyone is).

    `names` are words that keep their capital. The result starts with the speaker, unless there are no words at all.
    """
    tokens = _expand(_TOKEN.findall(sentence.replace("’", "'")))
    at_words = [i for i, token in enumerate(tokens) if token[0].isalnum()]
    if not at_words:
        return sentence
    if not is_english(sentence):
        return f"{speaker}: {sentence}"
    start = at_words[0]
    lowered = [tokens[i].lower() for i in at_words]
    tokens = tokens[start:]
    courteous = _courtesy(tokens, speaker, listener)
    if courteous:
        return courteous
    first = lowered[0]
    if first in {"let's", "lets"}:
        return _told(f"{speaker} suggested that they", _replace(tokens[1:], speaker, listener, named=True))
    asked = first in _REQUESTS and bool(listener) and (first not in _STATES or first in {"don't", "never"})
    lead = "" if asked else _left_out(lowered)
    if lead:
        tokens = [*_expand(_TOKEN.findall(lead)), " ", _uncapital(tokens[0]), *tokens[1:]]
        first = lead.lower().split()[0]
    subject = next((low for low in lowered[:4] if low not in _ADVERBS and not low.endswith("ly")), first)
    if first in _FIRST or (not lead and subject == "i"):
        return _capital(_replace(tokens, speaker, listener, named=False))
    if not (first in _YOU or tokens[0] in names or tokens[0] == "I"):
        tokens = [_uncapital(tokens[0]), *tokens[1:]]
    told = _replace(tokens, speaker, listener, named=True)
    if asked:
        return _told(f"{speaker} told {listener}", f"not to {told[6:]}" if first == "don't" else f"to {told}")
    if not has_verb(lowered) and (first not in _OPENS_THING or len(lowered) < 6):
        return _told(f"{speaker} mentioned", told)
    return _told(f"{speaker} mentioned that", told)


def is_english(sentence: str) -> bool:
    """Whether the rules here may be applied: the sentence is short or holds an English function word."""
    found = words(sentence)
    return all(w.isascii() for w in found[:1]) and (len(found) < 4 or any(w in FUNCTION_WORDS for w in found))


def has_verb(lowered: list[str]) -> bool:
    """Whether the words (lower case) seem to hold a finite verb. A guess from forms, so that it can err both ways."""
    return any(
        w in _FINITE or w in BASE_FORMS or w in _STATES or (w.endswith("ed") and len(w) > 4) or w.endswith("n't")
        for w in lowered
    ) or any(w in {"i", "you", "we", "they", "he", "she", "it"} for w in lowered[:-1])


def _courtesy(tokens: list[str], speaker: str, listener: str) -> str:
    """Thanks, congratulations and things shown, as acts towards the listener; "" for all else."""
    whom = f" {listener}" if listener else ""
    text = "".join(tokens)
    for pattern, act in _COURTESIES:
        match = pattern.match(text)
        if match:
            rest = _TOKEN.findall(text[match.end() :])
            return _told(f"{speaker} {act.format(whom)}", _replace(rest, speaker, listener, named=True))
    return ""


def _told(frame: str, rest: str) -> str:
    return f"{frame} {rest.strip()}"


def _left_out(lowered: list[str]) -> str:
    """What spoken English left out at the start: "Lost my job" means "I lost my job"."""
    first, second = lowered[0], lowered[1] if len(lowered) > 1 else ""
    if first in _DOING and second in {"to", "forward", "on", "about", "for", "up"}:
        return "I am"
    if first in _FEELINGS or (first in {"so", "super", "really", "pretty", "very"} and second in _FEELINGS):
        return "I am"
    if first == "been":
        return "I have"
    if first in _STATES and second and second not in {"i", "you", "we", "the", "and", "or", "is"}:
        return "" if first in {"just", "totally", "really", "never"} and not has_verb(lowered[1:]) else "I"
    if first in _IMPERSONAL and second:
        return "It"
    return ""


def _replace(tokens: list[str], speaker: str, listener: str, *, named: bool) -> str:
    forms: Pronouns = pronouns_of(speaker)
    out: list[str] = []
    agreement: dict[str, str] | None = None  # that the coming verb must take
    previous = ""
    for at, token in enumerate(tokens):
        low = token.lower()
        if not token[0].isalnum():
            out.append(token)
            if token in ",;:-":
                agreement = None
            continue
        if low == "i":
            out.append(forms.subject if named else speaker)
            agreement = _PLURAL if named and forms.plural else _SINGULAR
            named = True
        elif low in {"me", "my", "mine", "myself"}:
            spoken = {"me": speaker, "myself": forms.reflexive}.get(low, f"{speaker}'s")
            known = {"me": forms.object, "my": forms.possessive, "mine": forms.absolute, "myself": forms.reflexive}
            out.append(known[low] if named else spoken)
            named = True
        elif low in _THEIRS:
            out.append(_THEIRS[low])
        elif listener and low in {"you", "your", "yours", "yourself"}:
            out.append({"you": listener, "yourself": pronouns_of(listener).reflexive}.get(low, f"{listener}'s"))
            if low == "you" and (_next(tokens, at) in _BE_AND_HAVE or not _takes_object(previous)):
                agreement = _SINGULAR
        elif previous == "you" and low in {"guys", "all", "two"}:
            if out[-1].isspace():
                out.pop()
            continue
        elif agreement is not None and low not in _ADVERBS and not (low.endswith("ly") and len(low) > 4):
            out.append(_agree(token, agreement))
            agreement = None
        else:
            out.append(token)
        previous = low
    return "".join(out).strip()


_THEIRS = {"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"}


def _agree(verb: str, agreement: dict[str, str]) -> str:
    low = verb.lower()
    if low in agreement:
        return agreement[low]
    if agreement is _PLURAL or low in _AUXILIARIES or low in _SAME_PAST or low in BASE_FORMS or low.endswith("ed"):
        return verb
    if low in _NO_VERBS or low in {"is", "was", "has", "who", "that"} or not low.isascii() or low.endswith("ing"):
        return verb
    if low.endswith("s") and not low.endswith(("ss", "us")):
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
            following = _next(tokens, at)
            long_form = "I had" if following in _PARTICIPLES or following.endswith("ed") else "I would"
        elif low == "cause" and (at == 0 or tokens[at - 1] != "'"):
            long_form = ""  # the noun, or the verb
        else:
            long_form = _EXPANSIONS.get(low, "")
            if low == "cause":
                out.pop()
        out.extend(_TOKEN.findall(long_form) if long_form else [token])
    return out


def _next(tokens: list[str], at: int) -> str:
    return next((t.lower() for t in tokens[at + 1 :] if t[0].isalnum()), "")


def _takes_object(word: str) -> bool:
    return word in _BEFORE_OBJECT or word.removesuffix("s") in _BEFORE_OBJECT or word.endswith("ing")


def _uncapital(word: str) -> str:
    return word if word.isupper() and len(word) > 1 else word[:1].lower() + word[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
