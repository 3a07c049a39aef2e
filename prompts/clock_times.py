"""Times of day as models write them in an answer, whatever the language: "07:00:00", "19h30", "下午1:00", "7 p.m."."""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 60  # characters that are looked at
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]?|\bday \d+\W*")
_BELOW_100 = "(?:[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_HAN = re.compile(f"{_BELOW_100}(?=[点點时時分])|(?<=[点點时時]){_BELOW_100}")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2})(?:\s?[:.,h時时点點시]\s?(\d{2}|半)?)?(?!\d)")
_COMPACT = re.compile(r"t?([01]?\d|2[0-3])([0-5]\d)(?:\d\d)?(?: ?h\w*)?")
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_HOUR_WORD = re.compile(rf"\b({'|'.join(NUMBERS[1:])})\b")
_PARTS = {"half past": 30, "quarter past": 15, "quarter to": -15}
#: Words of the halves of a day, after Unicode's CLDR: the beginnings of words, or of words in scripts without spaces.
_AFTER = re.compile(
    r"(?<![^\W\d_])(?:p\.? ?m\b|afternoon|evening|tonight|nachm|abend|après|soir|de la tarde|da tarde|tarde|noite|"
    r"pomer|sera\b|avond|middag|eftermid|kväll|popoł|wiecz|odpol|več|вечер|вечір|дня\b|akşam|öğleden sonra|chiều|tối|"
    r"sore|siang|مساء|م\b|शाम|दोपहर)|下午|晚上|傍晚|中午|午後|夕方|오후|저녁"
)
_NIGHT = re.compile(r"(?<![^\W\d_])(?:night|nacht|noche|notte|natt|noc|nuit|gece|đêm|malam|ноч|ніч|ليل|रात)|夜|深夜|밤")
_BEFORE = re.compile(
    r"(?<![^\W\d_])(?:a\.? ?m\b|morning|vorm|morgen|matin|mañana|madrugada|manhã|matt|ochtend|förm|rano|ráno|утр|ранк|"
    r"sabah|sáng|pagi|صباح|सुबह)|上午|早上|凌晨|清晨|午前|朝|오전|아침|새벽"
)
_HALF_AT_END = re.compile(f"(?:{_BEFORE.pattern}|{_AFTER.pattern})$")  # of the next time, in Chinese
_NOON = re.compile(
    r"(?<![^\W\d_])(?:noon|midday|mittag|midi|mediodía|meio-dia|mezzogiorno|południe|poledne|полдень|öğle)|正午|中午|정오"
)
_MIDNIGHT = re.compile(
    r"(?<![^\W\d_])(?:midnight|mitternacht|minuit|medianoche|meia-noite|mezzanotte|północ|půlnoc|полночь|gece yarısı)|"
    r"午夜|真夜中|자정"
)


def minute_of_day(text: str) -> int | None:
    """Return the first time of day that a text tells, in minutes after midnight, or None.

    A date before it and an offset from UTC after it do not count: a plan's times are local.
    """
    said = _DATE.sub("", unicodedata.normalize("NFKC", text[:_LONGEST]).strip().lower())
    said = _HAN.sub(_digits, said)
    if (compact := _COMPACT.fullmatch(said)) is not None:
        return int(compact[1]) * 60 + int(compact[2])
    if (found := _CLOCK.search(said)) is not None:
        hour, minute = int(found[1]), 30 if found[2] == "半" else int(found[2] or 0)
        if (until := _CLOCK.search(said, found.end())) is not None:
            first = _HALF_AT_END.sub("", said[: until.start()])
            half = said[len(first) : until.start()] or said[until.end() :].removeprefix(" in the").lstrip()
            is_noon_between = int(until[1]) % 12 < hour and _AFTER.match(half) is not None
            said = first if is_noon_between or any(one.search(first) for one in (_BEFORE, _AFTER, _NIGHT)) else said
    elif (word := _HOUR_WORD.search(said)) is not None:
        hour, minute = NUMBERS.index(word[1]), 0
    else:
        return 0 if _MIDNIGHT.search(said) else 12 * 60 if _NOON.search(said) else None
    if hour > 24 or minute > 59:
        return None
    minute += 0 if minute else next((part for words, part in _PARTS.items() if words in said), 0)
    if _is_later(said, hour):
        hour += 12
    elif hour == 12 and (_BEFORE.search(said) or _NIGHT.search(said)):
        hour = 0
    return (hour * 60 + minute) % (24 * 60)


def _digits(numeral: re.Match[str]) -> str:
    """Return a number below 100 in Chinese characters, such as "二十五", in digits."""
    tens, ten, ones = numeral[0].rpartition("十")
    whole = int(unicodedata.numeric(tens or "一")) if ten else 0
    return str(10 * whole + int(unicodedata.numeric(ones or "〇")))


def _is_later(said: str, hour: int) -> bool:
    """Return whether an hour of a twelve-hour clock is after noon."""
    if hour >= 12:
        return False
    return _AFTER.search(said) is not None or (hour > 5 and _NIGHT.search(said) is not None)


def clock_text(text: str) -> str:
    """Return the time of day that a text tells as "7:00 AM", or the text if it tells none."""
    if (minute := minute_of_day(text)) is None:
        return text
    return f"{(minute // 60 - 1) % 12 + 1}:{minute % 60:02} {'AM' if minute < 12 * 60 else 'PM'}"
