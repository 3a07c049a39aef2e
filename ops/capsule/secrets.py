"""Finds secrets that a capsule would publish: those in the settings, and texts that look like a secret.

A secret outside the journal is replaced. One in the journal cannot be, since the chain covers each byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.config.urls import HIDDEN
from cogitate.workers.processes.logs import secrets_in

SHORTEST = 8  # characters of a key or password; a shorter one, such as "none" for a local server, may be a common word

#: The end of a name whose value is secret; "stop_token_ids" does not match.
_SECRET = (
    r"(?:api[-_]?key|secret|passw(?:or)?d|passphrase|authorization|credentials?|private[-_]?key|cookie|x-auth|"
    r"(?<![a-z])token)"
)
_NAME = re.compile(f"{_SECRET}$", re.IGNORECASE)
_NAMED = rf'"[^"\\]{{0,40}}{_SECRET}\\*"\s*:\s*\\*"(?!\*\*\*)[^"\\]{{8,}}'  # in JSON, or in JSON within a text of JSON
#: The same in a line of a shell, a file or a header, and in the query of a URL.
_ASSIGNED = rf"(?:{_SECRET}|access[-_]?key|account[-_]?key)[ ]?=[ ]?[\"']{{0,2}}[^\s\"'\\&<>*]{{8,}}"
_HEADER = r"api[-_]?key[ ]?:[ ]?[A-Za-z0-9_-]{16,}"
_QUERY = r"[?&](?:key|sig|signature|auth)=[^\s\"'\\&<>*]{8,}"
#: The forms of providers' keys, and a URL with a password.
_FORMS = (
    r"(?<![A-Za-z0-9])(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}",
    r"(?<![A-Za-z0-9])(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}",
    r"(?<![A-Za-z0-9])(?:gsk_|csk-|xai-|pplx-|r8_|fw_|nvapi-|npm_|pypi-|dop_v1_)(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}",
    r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}",
    r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}",
    r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{16,})",
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"(?<![A-Za-z0-9])(?:AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|xox[abprs]-[A-Za-z0-9-]{10,})",
    r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----",
    r"(?:Bearer|Basic) +[A-Za-z0-9+/=_.~-]{16,}",
    r"[a-z][a-z0-9+.-]{1,20}:(?:\\{0,4}/){2}[^\s/@\"'\\<>*]{0,200}:[^\s/@\"'\\<>*]{1,200}@",
)


class Secrets:
    """The secrets to search for.

    Args:
        settings: this machine's settings, whose keys, tokens and passwords are searched for verbatim.
    """

    def __init__(self, settings: Settings) -> None:
        known = {secret for secret in secrets_in(settings) if len(secret) >= SHORTEST}
        known |= {json.dumps(secret, ensure_ascii=False)[1:-1] for secret in known}
        self._known = _any_of(map(re.escape, sorted(known))) if known else None
        self._forms = _any_of((_NAMED, _ASSIGNED, _HEADER, _QUERY, *_FORMS))

    def found_in(self, data: bytes) -> str:
        """Describe the secret in a text without showing it; "" if there is none."""
        if self._known is not None and self._known.search(data):
            return "a key, token or password of this machine's settings"
        if self._forms.search(data):
            return "a text that looks like a key, a token or an address with a password"
        return ""

    def without(self, value: Any) -> Any:
        """Return a JSON value with "***" in place of each secret."""
        if isinstance(value, Mapping):
            return {
                self.without(name): HIDDEN if part and _NAME.search(str(name)) else self.without(part)
                for name, part in value.items()
            }
        if isinstance(value, list):
            return [self.without(item) for item in value]
        return HIDDEN if isinstance(value, str) and self.found_in(value.encode()) else value


def _any_of(patterns: Iterable[str]) -> re.Pattern[bytes]:
    return re.compile("|".join(patterns).encode(), re.IGNORECASE)
