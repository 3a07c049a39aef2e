"""The mutants of a Lua script: slips of the pen in one line of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPERATORS = (
    ("<=", "<"),
    (">=", ">"),
    ("==", "~="),
    ("~=", "=="),
    ("<", "<="),
    (">", ">="),
    (" and ", " or "),
    (" or ", " and "),
    (" + ", " - "),
    (" - ", " + "),
    ("not ", ""),
    ("math.min", "math.max"),
    ("math.max", "math.min"),
)
_TOKEN = re.compile("|".join(re.escape(old) for old, _ in _OPERATORS) + r"|(?<![\w.'])\d+(?![\w.'])")
_STATEMENT = re.compile(r"\s*(?:redis\.call|[a-z_]+)\(.*\)\s*|\s*if .* then .* end\s*|\s*[\w.\[\]]+ = [^{]*")


def variants(line: str) -> Iterator[str]:
    """Yield each line that may stand in the place of `line`; an empty one where a statement is deleted."""
    code = _without_texts(line)
    for found in _TOKEN.finditer(code):
        token = found.group()
        changed = str(int(token) + 1) if token.isdigit() else dict(_OPERATORS)[token]
        yield line[: found.start()] + changed + line[found.end() :]
    is_whole = code.count("(") == code.count(")") and code.count("{") == code.count("}")
    if is_whole and _STATEMENT.fullmatch(code) and not code.lstrip().startswith(("local", "function")):
        yield ""


def _without_texts(line: str) -> str:
    """Return the line with its texts and its comment blanked out, as long as it was up to there."""
    code = re.sub(r"'[^']*'", lambda text: "'" + "_" * (len(text.group()) - 2) + "'", line)
    return code.partition("--")[0].rstrip()
