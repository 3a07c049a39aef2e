"""Outages of the ledger: wait until it answers, or continue without it and write the ticks afterwards.

A server is also out of service while it stalls, loads its data, has reached `maxmemory` or cannot write to its disk. In
each case it takes a step as a whole or not at all, and the host can send the same bytes again (see `lua/fence.lua`).

- `Pause`, for an experiment, repeats a step until the ledger takes it, for at most `outage_wait` seconds. Then the run
  stops; a host can resume it.
- `CarryOn`, for a live game, never waits longer than the timeout of a call. It buffers the failed step and every tick
  after it, in order and within bounds. A thread probes the server. Once the server answers, the buffered steps are
  written before anything else. A host that was fenced meanwhile discards them and stops.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import structlog
from redis.exceptions import ClusterDownError, OutOfMemoryError, ReadOnlyError, RedisError, ResponseError, TryAgainError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.errors import LedgerError, LedgerUnavailable
from cogitate.scheduler.ledger.keys import Reply

log = structlog.get_logger()

Step = Callable[[], Reply]
T = TypeVar("T")

#: Prefixes of temporary refusals; the last one ends a blocking command if its slot moves to another server.
REFUSALS = ("MISCONF", "NOREPLICAS", "MASTERDOWN", "UNBLOCKED")
_TEMPORARY = (OutOfMemoryError, ReadOnlyError, ClusterDownError, TryAgainError)
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds between two tries
GIVEN_UP = "Redis stopped and could not be restarted (server.given_up in the log says why)"


class Outage(Protocol):
    """A host's policy for times without its ledger; `LedgerUnavailable` ends a wait."""

    lost: float  # total seconds that the host has waited for the ledger

    def send(self, step: Step, size: int) -> Reply | None:
        """Return the reply to a repeatable step of `size` bytes; None: the step is buffered."""

    def read(self, look: Callable[[], T]) -> T | None:
        """Return the reply to a read; None: the ledger is away, and the host does not wait."""

    def back(self) -> bool:
        """Return whether the ledger can be reached and all buffered steps are written."""

    def missed(self, error: RedisError) -> None:
        """Note that a call other than a step has failed."""

    def settle(self) -> None:
        """Write all buffered steps before a host reports that it is done."""


def _never() -> bool:
    return False


def outage_of(
    settings: Settings, run: str, alive: Callable[[], object], given_up: Callable[[], bool] = _never
) -> Outage:
    """Return the policy that the settings name.

    Args:
        alive: a call that fails while the server is away.
        given_up: returns whether the host has stopped restarting its server, so waiting cannot help.
    """
    if settings.on_outage == "carry_on":
        return CarryOn(run, settings.outage_wait, settings.tuning.outage_buffer, alive, given_up)
    return Pause(run, settings.outage_wait, given_up=given_up)


def is_outage(error: RedisError) -> bool:
    """Return whether the server may take the same step later; other errors are faults of this program."""
    if isinstance(error, ResponseError):
        return isinstance(error, _TEMPORARY) or str(error).startswith(REFUSALS)
    return isinstance(error, RedisConnectionError | RedisTimeoutError)


class Pause:
    """Wait for the ledger, at most `wait` seconds at a time.

    Args:
        stop: called before each further try; True ends the wait.
        given_up: returns whether the host has stopped restarting its server.
    """

    def __init__(
        self,
        run: str,
        wait: float,
        *,
        stop: Callable[[], bool] = _never,
        given_up: Callable[[], bool] = _never,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._run, self._wait, self._stop, self._given_up = run, wait, stop, given_up
        self._clock, self._sleep = clock, sleep
        self.lost = 0.0

    def send(self, step: Step, size: int) -> Reply:
        return self.read(step)

    def read(self, look: Callable[[], T]) -> T:
        """Retry until the ledger answers; after a closed connection, the second try follows at once.

        Raises:
            LedgerUnavailable: if it does not answer within `wait` seconds, or `stop` or `given_up` ends the wait.
        """
        began, tries, pause = self._clock(), 0, FIRST_PAUSE
        while True:
            try:
                answer = look()
            except RedisError as error:
                if not is_outage(error):
                    raise
                waited, tries = self._clock() - began, tries + 1
                if self._stop():
                    raise LedgerUnavailable(
                        f"run {self._run!r} was stopped while Redis did not answer: {_words(error)}; nothing is lost "
                        "up to the last tick that it has taken"
                    ) from error
                if self._given_up():
                    raise LedgerUnavailable(
                        f"run {self._run!r}: {GIVEN_UP}: {_words(error)}; nothing is lost up to the last tick that it "
                        "has taken"
                    ) from error
                if waited >= self._wait:
                    raise LedgerUnavailable(
                        f"run {self._run!r}: Redis stopped answering and was not back within {self._wait:g} s "
                        f"(outage_wait): {_words(error)}; nothing is lost up to the last tick that it has taken"
                    ) from error
                if tries > 1:
                    if tries == 2:
                        log.warning("ledger.away", run=self._run, policy="pause", error=_words(error))
                    self._sleep(min(pause, self._wait - waited))
                    pause = min(2 * pause, LONGEST_PAUSE)
            else:
                if tries:
                    self.lost += self._clock() - began
                if tries > 1:
                    log.warning("ledger.back", run=self._run, steps=1)
                return answer

    def back(self) -> bool:
        return True  # with this policy, every call waits

    def missed(self, error: RedisError) -> None:
        """Do nothing: the next step waits."""

    def settle(self) -> None:
        """Do nothing: no step is buffered."""


class _BufferedStep(NamedTuple):
    step: Step
    size: int  # bytes


class CarryOn:
    """Continue without the ledger, and write the buffered steps once it is back.

    Args:
        wait: seconds to wait for the ledger at the end of the run, when only the buffered steps are left.
        buffer: bytes of steps that may be buffered.
        alive: a call that fails while the server is away; a separate thread makes it.
        given_up: returns whether the host has stopped restarting its server, so waiting cannot help.
    """

    def __init__(
        self, run: str, wait: float, buffer: int, alive: Callable[[], object], given_up: Callable[[], bool] = _never
    ) -> None:
        self._run, self._wait, self._buffer, self._alive = run, wait, buffer, alive
        self._given_up = given_up
        self._buffered: deque[_BufferedStep] = deque()
        self._bytes = 0
        self._logged = False  # whether the log says that the ledger is away
        self._answers = threading.Event()  # set while the server seems to answer
        self._answers.set()
        self.lost = 0.0

    def send(self, step: Step, size: int) -> Reply | None:
        if self.back():
            try:
                return _twice(step)
            except RedisError as error:
                self.missed(error)
        self._buffered.append(_BufferedStep(step, size))
        self._bytes += size
        if self._bytes > self._buffer:
            raise self._gives_up(f"it has buffered more than {self._buffer} bytes (outage_buffer)")
        return None

    def read(self, look: Callable[[], T]) -> T | None:
        if self.back():
            try:
                return _twice(look)
            except RedisError as error:
                self.missed(error)
        return None

    def back(self) -> bool:
        """Write the buffered steps if the server answers again; stop at the first failed call."""
        if not self._answers.is_set():
            return False
        steps = len(self._buffered)
        while self._buffered:
            try:
                _twice(self._buffered[0].step)
            except RedisError as error:
                self.missed(error)
                return False
            except LedgerError as error:
                error.add_note(f"the {len(self._buffered)} buffered steps are discarded")
                raise
            self._bytes -= self._buffered.popleft().size
        if self._logged:
            log.warning("ledger.back", run=self._run, steps=steps)
            self._logged = False
        return True

    def missed(self, error: RedisError) -> None:
        """Start a thread that probes the server; the host calls the server again only after it answers."""
        if not is_outage(error):
            raise error
        if not self._logged:
            log.warning("ledger.away", run=self._run, policy="carry_on", error=_words(error))
            self._logged = True
        if self._answers.is_set():
            self._answers.clear()
            threading.Thread(target=self._look, name="ledger-probe", daemon=True).start()

    def settle(self) -> None:
        began = time.monotonic()
        while not self.back():
            if self._given_up():
                raise self._gives_up(GIVEN_UP)
            left = began + self._wait - time.monotonic()
            if left <= 0:
                raise self._gives_up(f"Redis was not back within {self._wait:g} s of the end (outage_wait)")
            self._answers.wait(min(left, LONGEST_PAUSE))

    def _gives_up(self, why: str) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"run {self._run!r}: {why}; {len(self._buffered)} steps are not written, the world goes back to the last "
            "tick that the ledger has taken"
        )

    def _look(self) -> None:
        pause = FIRST_PAUSE
        while True:
            time.sleep(pause)  # between two tries: a Redis that is away announces nothing
            pause = min(2 * pause, LONGEST_PAUSE)
            try:
                self._alive()
            except RedisError:
                continue
            self._answers.set()
            return


def _twice(step: Callable[[], T]) -> T:
    """Repeat a step at once after a closed connection, but not after a timeout."""
    try:
        return step()
    except RedisConnectionError:
        return step()


def _words(error: RedisError) -> str:
    return f"{type(error).__name__}: {error}"[:200]
