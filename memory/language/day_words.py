"""The words of a language for days, and what tells a day by its number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from cogitate.memory.language.word_patterns import WORD, alternatives, runs_on

DAYS = {"before": -2, "yesterday": -1, "today": 0, "tomorrow": 1, "after": 2}  # placeholders, by days from today
PLACEHOLDER = re.compile(r"\\\{\w+\\\}")  # in an escaped phrase


class DayWords:
    """The words for days of one language.

    Args:
        told: what tells the day of each word by its number.
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
        return re.compile(rf"(?<!{WORD}){before}{found}(?!{WORD})", re.IGNORECASE)

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

    def phrase_of(self, word: str) -> str:
        """Return what tells the day of a word by its number, with a placeholder for the number."""
        return self.told.get(word.casefold().replace("’", "'"), "")

    def by_number(self, match: re.Match[str], numbers: Mapping[str, int]) -> str:
        """Return a match of `pattern` with the day told by its number.

        Args:
            numbers: of the days that phrases name.
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
            numbers: of the days that phrases name.
        """
        phrase = self.phrase_of(match["day"])
        meant = next((f"{{{name}}}" for name, number in numbers.items() if number == today), "")
        word = self._words.get(phrase.replace(meant, "{today}")) if meant and meant in phrase else None
        return match[0][: match.start("day") - match.start()] + _capital(word, match["day"]) if word else ""


def _capital(text: str, like: str) -> str:
    return text[:1].upper() + text[1:] if like[:1].isupper() else text
