"""Decodes JSON into typed values, from any thread.

msgspec resolves the annotations of a struct at its first use. A second thread that uses the struct meanwhile reads
types that are not resolved yet, and the process crashes (SIGSEGV, msgspec 0.22). This module resolves each type under
a lock before anything decodes with it.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

_resolving = threading.RLock()  # an annotation may be evaluated by code that decodes
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


@overload
def decoder(wanted: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def decoder(wanted: Any) -> msgspec.json.Decoder[Any]: ...
def decoder(wanted: Any) -> msgspec.json.Decoder[Any]:
    """Return the decoder of a type.

    Raises:
        TypeError: if msgspec supports no such type.
    """
    cached = _decoders.get(wanted)
    if cached is None:
        with _resolving:
            cached = _decoders.setdefault(wanted, msgspec.json.Decoder(wanted))
    return cached


@overload
def decode(data: bytes | str | msgspec.Raw, wanted: type[T]) -> T: ...
@overload
def decode(data: bytes | str | msgspec.Raw, wanted: Any = Any) -> Any: ...
def decode(data: bytes | str | msgspec.Raw, wanted: Any = Any) -> Any:
    """Decode a JSON text into a value of a type.

    Raises:
        msgspec.DecodeError: if the text is not JSON.
        msgspec.ValidationError: if its value is not of the type.
    """
    return (_decoders.get(wanted) or decoder(wanted)).decode(data)


@overload
def convert(value: object, wanted: type[T]) -> T: ...
@overload
def convert(value: object, wanted: Any) -> Any: ...
def convert(value: object, wanted: Any) -> Any:
    """Convert a tree of dicts, lists and scalars into a value of a type.

    Raises:
        msgspec.ValidationError: if it is not of the type.
    """
    decoder(wanted)
    return msgspec.convert(value, wanted)


Struct = TypeVar("Struct", bound=msgspec.Struct)


def with_shared_defaults(value: Struct) -> Struct:
    """Return the struct with the default object itself in each field that equals its default.

    msgspec omits a field only if it holds the very object of its default. It would write an equal float, string or
    large integer from elsewhere, and equal structs would differ as JSON.
    """
    fields, defaults = value.__struct_fields__, value.__struct_defaults__  # the last fields have defaults
    shared = {
        name: default
        for name, default in zip(fields[len(fields) - len(defaults) :], defaults, strict=True)
        if getattr(value, name) == default
    }
    return msgspec.structs.replace(value, **shared)
