"""The kinds of job in this process by name: the built-in ones and those that a host registers."""

from __future__ import annotations

from pathlib import Path

from cogitate.memory.errors import CogitateError
from cogitate.memory.language.packs import use_packs
from cogitate.prompts.render import Templates, check_templates
from cogitate.tasks.act import Act
from cogitate.tasks.integrate import Integrate
from cogitate.tasks.kind import Kind
from cogitate.tasks.kind_check import KindError, check_kind
from cogitate.tasks.plan import Plan
from cogitate.tasks.prune import Prune
from cogitate.tasks.rate import RateImportance
from cogitate.tasks.recount import Recount
from cogitate.tasks.reflect import Reflect
from cogitate.tasks.summarise import Summarise


class UnknownKind(CogitateError, LookupError):
    """A job or a run names a kind that this process has not registered; register it before the run is opened."""


_kinds: dict[str, Kind] = {}
_templates = Templates()  # active


def register(kind: Kind) -> None:
    """Register a kind; it replaces the one of its name, if any.

    Raises:
        KindError: naming each missing or invalid field, or the other kind with its order.
    """
    check_kind(kind)
    for other in _kinds.values():
        if other.name != kind.name and other.order == kind.order:
            raise KindError(
                f"the kind {kind.name!r} has order {kind.order}, which is {other.name!r}'s: give it a different order"
            )
    _kinds[kind.name] = kind


def register_builtin(prompts: Path | None = None) -> None:
    """Register the built-in kinds; files in `prompts` override the built-in templates and phrases of the same names.

    Raises:
        TemplateError: if a template is missing, or a template or the phrases are invalid.
    """
    check_templates(prompts)
    use_packs(prompts)
    _register_with(Templates(prompts))


def use_prompts(prompts: Path | None) -> None:
    """Register the templates in `prompts`, if given, which override the built-in ones in this process.

    Raises:
        TemplateError: if the folder is missing, or a template is invalid.
    """
    if prompts is not None:
        register_builtin(prompts)


def _register_with(templates: Templates) -> None:
    global _templates
    _templates = templates
    asking = (kind(templates) for kind in (RateImportance, Plan, Act, Reflect, Integrate, Summarise, Recount))
    for kind in (*asking, Prune()):
        register(kind)


def kinds() -> list[Kind]:
    """Return all kinds in the order in which their effects are applied within a boundary."""
    return sorted(_kinds.values(), key=lambda kind: (kind.order, kind.name))


def templates() -> Templates:
    """Return the active templates."""
    return _templates


def is_kind(name: str) -> bool:
    """Return whether a kind of that name is registered."""
    return name in _kinds


def kind_names() -> list[str]:
    """Return the names of all kinds, in the same order."""
    return [kind.name for kind in kinds()]


def kind_of(name: str) -> Kind:
    """Return the kind of that name.

    Raises:
        UnknownKind: if no such kind is registered.
    """
    try:
        return _kinds[name]
    except KeyError:
        known = ", ".join(kind.name for kind in kinds())
        raise UnknownKind(f"there is no kind of job {name!r}; known kinds: {known}") from None


# Templates are checked at the start of a run, so that a broken one does not fail an import.
_register_with(_templates)
