"""An interrupt ends what it meets, wherever Python is when the signal comes."""

from __future__ import annotations

import select
import signal
import sys
import weakref
from collections.abc import Callable

import pytest

from cogitate.ops.signals import interruptible


class _Thing:
    pass


class _InterruptedAtItsEnd:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def _drop_a_finalizer() -> None:
    _InterruptedAtItsEnd()


def _drop_what_is_watched() -> None:
    thing = _Thing()
    watch = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    assert watch() is None


@pytest.mark.parametrize("drop", [_drop_a_finalizer, _drop_what_is_watched])
def test_an_interrupt_that_python_ignores_is_raised_again(
    drop: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        drop()
        select.select([], [], [], 60)

    before = signal.getsignal(signal.SIGALRM), sys.unraisablehook
    with interruptible(print) as interruption:
        with pytest.raises(KeyboardInterrupt):
            run()
        assert interruption.signal in (signal.SIGINT, signal.SIGTERM)
    assert (signal.getsignal(signal.SIGALRM), sys.unraisablehook) == before
    assert capsys.readouterr().err == ""


def test_other_exceptions_of_a_finalizer_are_reported_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fails:
        def __del__(self) -> None:
            raise ValueError("planted")

    reported: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda ignored: reported.append(ignored.exc_type))
    with interruptible(print):
        Fails()
    assert reported == [ValueError]
