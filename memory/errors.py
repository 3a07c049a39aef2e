"""The class that every error derives from which a host may meet; it stands below all that raises one."""

from __future__ import annotations


class CogitateError(Exception):
    """Something cannot be used or was refused; the message says what, with which value, and what to do."""
