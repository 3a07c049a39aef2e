"""A language's words for days and hours, and its phrases for numbered days."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial

from cogitate.memory.language.word_patterns import WORD, alternatives, runs_on

DAYS = {"before": -2, "yesterday": -1, "today": 0, "tomorrow": 1, "after": 2}  # placeholders, by days from today
_DAY = 24 * 60  # minutes
PLACEHOLDER = re.compile(r"\\\{\w+\\\}")  # in an escaped phrase


class DayWords:
    """The words for days of one language.

    Args:
        told: the phrase for a numbered day, by the word that it replaces.
        day: the phrase for a day.
        not_after: words after which such a word means something else.
        merged: "before beginning=both": what a word before a day and the beginning of what tells the day become.
    """

    def __init__(self, told: Mapping[str, str], day: str, not_after: Iterable[str], merged: Iterable[str]) -> None:
        self.told = {way.casefold(): tells for way, tells in told.items()}
        self._words = {tells: way for way, tells in reversed([*told.items()])}  # the first of each meaning
        self._day = day
        self._not_after = not_after
        pairs = (way.partition("=") for way in merged)
        self._merged = [(*pair.partition(" ")[::2], both) for pair, _, both in pairs]

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """Return the pattern that finds a word for a day, and the preposition that merges with the numbered day."""
        ways = alternatives(self.told)
        if not ways:
            return None
        spaced = not runs_on(ways)
        not_after = (rf"(?<!\b{re.escape(way)} )" if spaced else f"(?<!{way})" for way in self._not_after)
        found = f"{''.join(not_after)}(?P<day>{ways})"
        if not spaced:
            return re.compile(f"(?P<before>(?!))?{found}", re.IGNORECASE)
        merging = alternatives({before for before, _, _ in self._merged}) or "(?!)"
        before = rf"(?:(?P<before>{merging})(?:(?<=['’])|\s))??"
        return re.compile(rf"(?<!{WORD})(?<!-){before}{found}(?!-?{WORD})", re.IGNORECASE)

    @cached_property
    def _phrases(self) -> list[str]:
        """Return all phrases for a numbered day, the longest first."""
        told = {self._day, *self.told.values()}
        for _, beginning, both in self._merged:
            told |= {both + way[len(beginning) :] for way in self.told.values() if way.startswith(beginning)}
        return sorted((way for way in told if "{" in way), key=lambda way: (-len(way), way))

    @cached_property
    def numbered(self) -> re.Pattern[str] | None:
        """Return the pattern that finds a numbered day; the number is a group of the match."""
        ways = [PLACEHOLDER.sub(r"(\\d{1,6})", re.escape(way)) for way in self._phrases]
        return re.compile("|".join(ways), re.IGNORECASE) if ways else None

    @cached_property
    def not_a_day(self) -> str:
        """Return a pattern that matches where no number of a day follows."""
        words = {re.split(r"(?<=\s)(?=\S)", way.partition("{")[0])[-1] for way in self._phrases}
        return "".join(f"(?<!{re.escape(word)})" for word in sorted(words) if word)

    def with_today(self, text: str, number: int) -> str:
        """Return a text with the word for today, or for a part of it, in place of the phrase for a day of a number."""
        for phrase, word in self._of_today:
            told = re.escape(phrase.replace("{today}", str(number)))
            text = re.sub(rf"{told}(?!\d)", partial(_capital_as, word), text, flags=re.IGNORECASE)
        return text

    @cached_property
    def _of_today(self) -> list[tuple[str, str]]:
        """Return the phrases for the day of a number and their words on that day, the longest first."""
        found: dict[str, str] = {}
        for phrase in self._words:
            if "{today}" not in phrase:
                continue
            word = found[phrase] = self._words[phrase]
            for before, beginning, both in self._merged:
                if phrase.startswith(beginning):
                    found[both + phrase[len(beginning) :]] = f"{before} {word}".replace("' ", "'")
        return sorted(found.items(), key=lambda pair: (-len(pair[0]), pair[0]))

    def phrase_of(self, word: str) -> str:
        """Return the phrase for the numbered day of a word, with a placeholder for the number."""
        return self.told.get(word.casefold().replace("’", "'"), "")

    def by_number(self, match: re.Match[str], numbers: Mapping[str, int]) -> str:
        """Return a match of `pattern` with its word replaced by a numbered day.

        Args:
            numbers: numbers of days by their placeholder in phrases.
        """
        before = match["before"] or ""
        told = _capital(self.phrase_of(match["day"]).format_map(numbers), match["day"])
        for word, beginning, both in self._merged:
            if before.casefold().replace("’", "'") == word and told.casefold().startswith(beginning):
                return _capital(both + told[len(beginning) :], before)
        return match[0][: match.start("day") - match.start()] + told

    def by_today(self, match: re.Match[str], numbers: Mapping[str, int], today: int) -> str:
        """Return a match of `pattern` with the word for today; "" if it means another day, or has no such word.

        Args:
            numbers: numbers of days by their placeholder in phrases.
        """
        phrase = self.phrase_of(match["day"])
        if numbers["today"] == today:
            return match[0] if "{today}" in phrase else ""
        meant = next((f"{{{name}}}" for name, number in numbers.items() if number == today), "")
        word = self._words.get(phrase.replace(meant, "{today}")) if meant and meant in phrase else None
        return match[0][: match.start("day") - match.start()] + _capital(word, match["day"]) if word else ""


class HourWords:
    """The words for times of day of one language.

    Args:
        ways: returns the words or phrases that a key of the language's pack lists.
        days: the words for days.
    """

    def __init__(self, ways: Callable[[str], Sequence[str]], days: DayWords) -> None:
        self._ways = ways
        self._days = days

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """Return the pattern that finds a time of day; None if the pack has no words for one."""
        if not any(map(self._ways, ("hours", "at", "units"))):
            return None
        words = self._any("numbers") + self._any("noon")
        begins, ends = ("", "") if runs_on(words) else (rf"(?<!{WORD})", rf"(?!{WORD})")
        part, inside = self._any("am", "pm"), WORD if begins else "(?!)"
        ahead, behind = (alternatives(words) or "(?!)" for words in self._fractions)
        return re.compile(
            rf"{begins}{self._any('up_to')}\s(?P<last>{self._any('numbers')})(?!{WORD})"
            rf"(?=\s?(?:[.,;:!?…)\"”“»؟،।]|$|{self._any('then')}(?!{WORD})|{alternatives(self._days.told) or '(?!)'}))"
            rf"|(?:(?P<part>{begins}{part})(?:\s{WORD}{{1,3}}(?=\s)|[の的])??\s?)?"
            rf"(?:(?P<at>{begins}{self._any('at')})\s?|(?P<before>{begins}{self._any('before')})\s?)?"
            rf"(?:{begins}(?P<ahead>{ahead})\s)?"
            rf"(?:(?P<hour>(?<![\d:.,]){self._days.not_a_day}\d{{1,2}}(?![\d,]))|(?P<word>{begins}{self._any('numbers')}))"
            rf"(?::(?P<minutes>\d\d)(?!\d))?"
            rf"(?:\s?(?:(?P<mark>{self._any('hours')})(?![間间간작])|(?P<unit>{self._any('units')})(?![^\W\d_]))"
            rf"(?P<past>\d{{1,2}}(?!\d))?)?"
            rf"(?:\s?(?P<behind>{behind})(?!{inside}))?(?:,?\s?(?P<of>{part}))?{ends}"
            rf"|{begins}(?:(?P<noon>{self._any('noon')})|(?P<midnight>{self._any('midnight')})){ends}",
            re.IGNORECASE,
        )

    def minute(self, match: re.Match[str]) -> int | None:
        """Return the minute of the day that a match of `pattern` tells; None if the match is too vague."""
        if match["noon"] or match["midnight"]:
            return 12 * 60 if match["noon"] else 0
        if match["last"]:
            return of_afternoon(self._numbers[match["last"].casefold()]) * 60
        part, unit = match["part"] or match["of"], match["unit"] or match["mark"]
        by_unit = unit and (match["mark"] or match["before"] or part or match["past"])
        enough = match["at"] or match["of"] or match["ahead"] or by_unit or (part and match["minutes"])
        hour = int(match["hour"]) if match["hour"] else self._numbers[match["word"].casefold()]
        minute = int(match["minutes"] or match["past"] or 0)
        if not enough or hour > 23 or minute > 59 or (hour == 1 and match["word"] and not part and not match["at"]):
            return None  # "one" hour is often "a little" or "an hour"
        if part and hour <= 12:
            late = part.casefold() in [way.casefold() for way in self._ways("pm")]
            hour = hour % 12 + 12 * late
        elif not match["minutes"]:
            hour = of_afternoon(hour)
        for side, words in enumerate((match["ahead"], match["behind"])):
            minute += self._fractions[side][words.casefold()] if words else 0
        return (hour * 60 + minute) % _DAY

    def _any(self, *keys: str) -> str:
        """Return a pattern that matches any word of these keys; it never matches if they have none."""
        ways = (way for key in keys for one in self._ways(key) for way in one.split("/"))
        return f"(?:{alternatives(ways) or '(?!)'})"

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """Return the hours from 1 on, by their folded words."""
        listed = enumerate(self._ways("numbers"), 1)
        return {way.casefold(): value for value, one in listed for way in one.split("/")}

    @cached_property
    def _fractions(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return the minutes that words add to an hour: words before it, and words after it."""
        before: dict[str, int] = {}
        behind: dict[str, int] = {}
        for way in self._ways("fractions"):
            words, _, minutes = way.partition("=")
            for found, said in zip((before, behind), words.casefold().split("{hour}"), strict=True):
                if said.strip():
                    found[said.strip()] = int(minutes)
        return before, behind


def of_afternoon(hour: int) -> int:
    """Return an hour said without a part of the day: as in English, one to six are in the afternoon."""
    return hour + 12 if 1 <= hour <= 6 else hour


def _capital_as(word: str, match: re.Match[str]) -> str:
    return _capital(word, match[0])


def _capital(text: str, like: str) -> str:
    return text[:1].upper() + text[1:] if like[:1].isupper() else text
