"""Reads times of day as models write them in any language: "07:00:00", "19h30", "下午1:00", "7 p.m."."""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 60  # characters; the rest of a text is ignored
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]?|\bday \d+\W*")
_BELOW_100 = "(?:[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_HAN = re.compile(f"{_BELOW_100}(?=[点點时時分])|(?<=[点點时時]){_BELOW_100}")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2})(?:\s?[:.,h時时点點시]\s?(\d{2}|半)?)?(?!\d)")
_COMPACT = re.compile(r"t?([01]?\d|2[0-3])([0-5]\d)(?:\d\d)?(?: ?h\w*)?")
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_HOUR_WORD = re.compile(rf"\b({'|'.join(NUMBERS[1:])})\b")
_PARTS = {"half past": 30, "quarter past": 15, "quarter to": -15}
#: Words for the halves of a day, from Unicode's CLDR: the beginnings of words, or any text in scripts without spaces.
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
_HALF_AT_END = re.compile(f"(?:{_BEFORE.pattern}|{_AFTER.pattern})$")  # in Chinese, it precedes the time it belongs to
_NOON = re.compile(
    r"(?<![^\W\d_])(?:noon|midday|mittag|midi|mediodía|meio-dia|mezzogiorno|południe|poledne|полдень|öğle)|正午|中午|정오"
)
_MIDNIGHT = re.compile(
    r"(?<![^\W\d_])(?:midnight|mitternacht|minuit|medianoche|meia-noite|mezzanotte|północ|půlnoc|полночь|gece yarısı)|"
    r"午夜|真夜中|자정"
)


def minute_of_day(text: str) -> int | None:
    """Return the first time of day in a text, in minutes after midnight, or None.

    Ignores a date before it and an offset from UTC after it: a plan's times are local.
    """
    time = _DATE.sub("", unicodedata.normalize("NFKC", text[:_LONGEST]).strip().lower())
    time = _HAN.sub(_digits, time)
    if (compact := _COMPACT.fullmatch(time)) is not None:
        return int(compact[1]) * 60 + int(compact[2])
    if (begin := _CLOCK.search(time)) is not None:
        hour, minute = int(begin[1]), 30 if begin[2] == "半" else int(begin[2] or 0)
        if (end := _CLOCK.search(time, begin.end())) is not None:  # a range: "10 to 2 in the afternoon"
            first = _HALF_AT_END.sub("", time[: end.start()])
            half = time[len(first) : end.start()] or time[end.end() :].removeprefix(" in the").lstrip()
            is_noon_between = int(end[1]) % 12 < hour and _AFTER.match(half) is not None
            has_half = any(words.search(first) for words in (_BEFORE, _AFTER, _NIGHT))
            time = first if is_noon_between or has_half else time
    elif (word := _HOUR_WORD.search(time)) is not None:
        hour, minute = NUMBERS.index(word[1]), 0
    else:
        return 0 if _MIDNIGHT.search(time) else 12 * 60 if _NOON.search(time) else None
    if hour > 24 or minute > 59:
        return None
    minute += 0 if minute else next((part for words, part in _PARTS.items() if words in time), 0)
    if _is_afternoon(time, hour):
        hour += 12
    elif hour == 12 and (_BEFORE.search(time) or _NIGHT.search(time)):
        hour = 0
    return (hour * 60 + minute) % (24 * 60)


def _digits(numeral: re.Match[str]) -> str:
    """Convert a number below 100 in Chinese characters, such as "二十五", to digits."""
    tens, ten, ones = numeral[0].rpartition("十")
    whole = int(unicodedata.numeric(tens or "一")) if ten else 0
    return str(10 * whole + int(unicodedata.numeric(ones or "〇")))


def _is_afternoon(time: str, hour: int) -> bool:
    """Return whether an hour of a twelve-hour clock is after noon."""
    if hour >= 12:
        return False
    return _AFTER.search(time) is not None or (hour > 5 and _NIGHT.search(time) is not None)


def clock_text(text: str) -> str:
    """Return the time of day in a text as "7:00 AM", or the text itself if it contains none."""
    if (minute := minute_of_day(text)) is None:
        return text
    return f"{(minute // 60 - 1) % 12 + 1}:{minute % 60:02} {'AM' if minute < 12 * 60 else 'PM'}"
