"""Keys in what an endpoint says: replaced before anything of it is kept, in any case and any spelling of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cogitate.workers.llm.replies.extract import clean
from cogitate.workers.llm.replies.reply import Reply

_SHORTEST = 12  # characters of a real key, at least
_ESCAPED = re.compile(r"\\{1,8}(?:u([0-9a-fA-F]{4})|/)")  # of the backslashes of JSON within JSON the last few


class Redaction:
    """The keys that an endpoint was sent and may repeat.

    One that is too short to be real, such as the "none" of a local server, is left alone: it may be any word.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        real = sorted((key for key in keys if len(key) >= _SHORTEST), key=len, reverse=True)
        self._keys = re.compile("|".join(map(re.escape, real)), re.IGNORECASE) if real else None

    def of_text(self, text: str) -> str:
        """Return the text with "[key]" in the place of each key.

        A text that spells a key out, so that only its reader has it (escapes, invisible characters), is left out whole.
        """
        if self._keys is None:
            return text
        found = self._keys.sub("[key]", text)
        if found.isascii() and "\\" not in found:
            return found
        letters = _ESCAPED.sub(lambda one: chr(int(one[1], 16)) if one[1] else "/", found).replace("\\", "")
        read: str = clean(letters)
        return "" if self._keys.search(read) else found

    def of_reply(self, reply: Reply) -> Reply:
        """Return the reply without keys in what is kept of it. Its text is whole here, also that of a stream."""
        failure = reply.failure
        if failure is not None and failure.detail:
            failure = replace(failure, detail=self.of_text(failure.detail))
        return replace(reply, text=self.of_text(reply.text), failure=failure)
