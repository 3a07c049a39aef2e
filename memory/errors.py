"""The class that every error derives from which a host may meet; it stands below all that raises one."""

from __future__ import annotations

_LONGEST = 80  # characters of a value


class CogitateError(Exception):
    """Something cannot be used or was refused; the message says what, with which value, and what to do."""


class InputError(CogitateError, ValueError):
    """Something a host passed in cannot be used; the message names the value and what would be right."""


def quoted(value: object) -> str:
    """Return a value as an error shows it: cut, in printable characters, whatever it is."""
    try:
        text = ascii(value if not isinstance(value, str) else value[:_LONGEST])
    except Exception:  # nested too deep, an integer of too many digits, a __repr__ of somebody's own
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST + 2 else text[: _LONGEST - 1] + "…"
