"""Renders prompt templates: files in this folder, which a host may override with files of the same names.

A template has two blocks: `system` (stable text, the same for every agent, so that prefix caches hit) and `user`
(the world first, then the identity, then what changes). Every inserted value is data. Rendering escapes it in every
template, including a host's: a value can neither close a fence such as ``</memories>`` nor begin a line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from cogitate.memory.errors import CogitateError, InputError, quoted
from cogitate.memory.language.hidden_characters import without_hidden
from cogitate.memory.language.packs import read_packs

if TYPE_CHECKING:
    from jinja2.environment import Environment, Template

FOLDER = Path(__file__).parent
BLOCKS = ("system", "user")


def _values(names: str, *shared: str) -> frozenset[str]:
    return frozenset(" ".join((names, *shared)).split())


#: The values of an owner's identity, and the language to write in; "" for the language of the memories.
_PERSONA = "name age occupation traits background currently language"
#: The values of a game time: the number of its day, its time of day, and both in words.
_TIME = "day time now"
_KNOWN = "known summary memories"
_PLAN = "stage places more_places status previous unfinished"
_SUMMARY = "name words language"
_RECOUNT = "name place lines words language earlier"

#: Every template of the product, and its values.
VALUES: dict[str, frozenset[str]] = {
    "rate": _values("memories", _PERSONA),
    "plan": _values("routine home work end", _PLAN, _KNOWN, _PERSONA, _TIME),
    "plan_steps": _values(_PLAN, _KNOWN, _PERSONA, _TIME),
    "act": _values("places more_places place activity status near actions stage item later", _KNOWN, _PERSONA, _TIME),
    "reflect": _values("stage people status reflections", _KNOWN, _PERSONA, _TIME),
    "summarise": _values("participants place lines", _SUMMARY, _TIME),
    "summarise_cells": _values(_KNOWN, _SUMMARY, _TIME),
    "compress": _values(_KNOWN, _SUMMARY, _TIME),
    "integrate": _values("stage summary history memories events words", _PERSONA, _TIME),
    "recount_location": _values(_RECOUNT, _TIME),
    "recount_npc": _values(_RECOUNT, _TIME),
    "recount_world": _values("events related", _RECOUNT, _TIME),
    "own": _values("ask example params", _KNOWN, _PERSONA, _TIME),
    "repair": _values("answer complaint"),  # appended to the prompt of another kind
}

_LONGEST_KNOWN = 600  # characters; a memory in a prompt has at most 500
_SPACE = re.compile(r"\s+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")  # Unicode's category Cc


class TemplateError(CogitateError):
    """A prompt template is missing or broken; the message names the file and the error."""


class Rendered(NamedTuple):
    """A prompt's two parts, and the version of their template."""

    system: str
    user: str
    version: str
    built_in: bool = False  # not overridden by the host


def plain(text: str) -> str:
    """Return a text on one line, without control and hidden characters."""
    if text.isascii() and text.isprintable():  # nearly all memories: spaces are their only white space
        return " ".join(text.split()) if "  " in text else text.strip()
    return _CONTROL.sub("", _SPACE.sub(" ", without_hidden(text))).strip()


def neutral(value: Any) -> Any:
    """Return a value that is safe to insert: text becomes one line without angle brackets, so it closes no fence."""
    if not isinstance(value, str):
        return neutral(str(value)) if isinstance(value, list | tuple | set | Mapping) else value
    return (_known_neutral if len(value) <= _LONGEST_KNOWN else _neutral)(value)


def _neutral(text: str) -> str:
    # Three calls of `replace` take a twentieth of the time of one `translate`; a prompt inserts forty values.
    return plain(text).replace("<", "‹").replace(">", "›").replace("`", "'")


_known_neutral = lru_cache(maxsize=20_000)(_neutral)  # many prompts show the same memory; 20 for each of 1,000 agents


_REPLACED: ContextVar[Mapping[str, str]] = ContextVar("replaced", default=MappingProxyType({}))


@contextmanager
def replaced(templates: Mapping[str, str]) -> Iterator[None]:
    """Use these texts, by template name, instead of the files while the block runs a job of the run that has them."""
    token = _REPLACED.set(templates)
    try:
        yield
    finally:
        _REPLACED.reset(token)


class Templates:
    """The active templates: a run's own texts override a host's files, which override the built-in ones."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._kept = cache(self._read)

    def _load(self, name: str) -> tuple[Template, str, bool, frozenset[str]]:
        return self._kept(name, _REPLACED.get().get(name))

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, StrictUndefined  # here: a host that renders nothing needs no Jinja

        class Quick(Environment):  # resolves `memory.text` faster: it tries a dict's keys before its attributes
            def getattr(self, obj: Any, attribute: str) -> Any:
                return obj[attribute] if isinstance(obj, dict) and attribute in obj else super().getattr(obj, attribute)

        return Quick(
            undefined=StrictUndefined,
            finalize=neutral,
            autoescape=False,  # prompts are not HTML; `finalize` guards what is inserted
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def check(self, names: Iterable[str]) -> None:
        """Load every named template, so that a missing or broken one stops a run at its start.

        Raises:
            TemplateError: for the first template that is missing or broken.
        """
        for name in names:
            self._load(name)

    def unknown_in(self, name: str, known: Collection[str]) -> list[str]:
        """Return the unknown variables of a template, sorted.

        Raises:
            TemplateError: when the template is missing or broken.
        """
        return sorted(self._load(name)[3] - set(known))

    def version(self, name: str) -> str:
        """Return the content hash of a template: 16 hexadecimal digits."""
        return self._load(name)[1]

    def render(self, name: str, values: Mapping[str, Any]) -> Rendered:
        """Render a template's two blocks.

        Raises:
            TemplateError: when the template is missing or broken, or uses an unknown variable.
        """
        from jinja2 import UndefinedError

        template, version, built_in, _ = self._load(name)
        try:
            context = template.new_context(dict(values))
            system, user = ("".join(template.blocks[block](context)).strip() for block in BLOCKS)
        except UndefinedError as error:
            raise TemplateError(f"prompt template {self._named(name)}: {error.message}") from error
        return Rendered(system, user, version, built_in)

    def _path(self, name: str) -> Path:
        for folder in (self.folder, FOLDER):
            if folder is not None and (folder / f"{name}.j2").is_file():
                return folder / f"{name}.j2"
        looked = [str(folder) for folder in (self.folder, FOLDER) if folder is not None]
        raise TemplateError(f"prompt template {name}.j2 is missing; looked in {' and '.join(looked)}")

    def _named(self, name: str) -> str:
        return f"{name}.j2 of the run" if name in _REPLACED.get() else str(self._path(name))

    def _read(self, name: str, text: str | None) -> tuple[Template, str, bool, frozenset[str]]:
        from jinja2 import TemplateSyntaxError, meta

        path = self._named(name)
        built_in = text is None and self._path(name).parent == FOLDER
        try:
            source = self._path(name).read_text(encoding="utf-8") if text is None else text
            template = self._environment.from_string(source)
            undeclared = meta.find_undeclared_variables(self._environment.parse(source))
            used = frozenset(undeclared - set(self._environment.globals))
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(f"prompt template {path} cannot be read: {error}") from error
        except TemplateSyntaxError as error:
            raise TemplateError(f"prompt template {path}, line {error.lineno}: {error.message}") from error
        if name in VALUES and (unknown := sorted(used - VALUES[name])):
            raise TemplateError(
                f"prompt template {path} uses {', '.join(unknown)}; its values are {', '.join(sorted(VALUES[name]))}"
            )
        for block in BLOCKS:
            if block not in template.blocks:
                raise TemplateError(f"prompt template {path} has no block {block!r}; it needs {' and '.join(BLOCKS)}")
        return template, hashlib.sha256(source.encode()).hexdigest()[:16], built_in, used


def check_template(name: str, text: str) -> None:
    """Check a text that replaces a built-in template.

    Raises:
        InputError: when no template has this name.
        TemplateError: when the text is broken.
    """
    if name not in VALUES:
        raise InputError(f"there is no prompt template {quoted(name)}; the templates are {', '.join(sorted(VALUES))}")
    with replaced({name: text}):
        Templates().check([name])


def check_templates(folder: Path | None = None) -> dict[str, str]:
    """Return the versions of all built-in templates; a file of the same name in `folder` overrides one.

    Also checks the phrases in `folder`, if any.

    Raises:
        TemplateError: when one is missing or broken, or when `folder` does not exist.
    """
    if folder is not None and not folder.is_dir():
        raise TemplateError(f"the folder of prompt templates {folder} does not exist")
    try:
        read_packs(folder)
    except InputError as error:
        raise TemplateError(str(error)) from error
    templates = Templates(folder)
    return {name: templates.version(name) for name in VALUES}
