"""Redaction of keys in an endpoint's replies, before any part is stored: in any case and any JSON escaping."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cogitate.workers.llm.replies.extract import clean
from cogitate.workers.llm.replies.reply import Reply

_SHORTEST = 12  # characters; real keys are no shorter
_ESCAPED = re.compile(r"\\{1,8}(?:u([0-9a-fA-F]{4})|/)")  # JSON within JSON multiplies the backslashes


class Redaction:
    """The keys that were sent to an endpoint, which may repeat them.

    A key that is too short to be real, such as "none" for a local server, is not redacted: it may be any word.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        real = sorted((key for key in keys if len(key) >= _SHORTEST), key=len, reverse=True)
        self._keys = re.compile("|".join(map(re.escape, real)), re.IGNORECASE) if real else None

    def of_text(self, text: str) -> str:
        """Replace each key in a text with "[key]".

        A text that hides a key behind escapes or invisible characters is dropped as a whole.
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
        """Return the reply with keys redacted in its stored parts. Its text is complete here, even if streamed."""
        failure = reply.failure
        if failure is not None and failure.detail:
            failure = replace(failure, detail=self.of_text(failure.detail))
        return replace(reply, text=self.of_text(reply.text), failure=failure)
