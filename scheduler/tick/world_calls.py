"""What a world may call in its turn. Each call is checked at once; what is wrong changes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from memory.effects import Effect
from memory.entry import Entry
from memory.errors import InputError, UsageError, quoted
from memory.profile import Profile
from scheduler.engine.engine import RunEngine
from scheduler.engine.turn import WorldTurn
from scheduler.intake.checks import check_owner, check_params, check_profile, check_request, check_within
from scheduler.intake.effects import check_effect
from scheduler.intake.observations import Observation, check_entry
from tasks.job import Reads, Request

MAX_STATE = 500_000_000  # bytes of a world's state: Redis keeps no larger value


class WorldCalls:
    """The calls of a world's turn, and what they have said so far. A tick loop is one."""

    def __init__(self, mind: RunEngine) -> None:
        self.mind = mind
        self.present = 1  # the tick whose turn it is
        self._turn = WorldTurn()
        self._checkpoint: bytes | None = None
        self._redelivering = False  # ticks are handed over again: what an older version took is taken again
        self._body = False  # the world has the turn
        self._process = os.getpid()

    def observe(self, owner: str, entry: Entry | Observation | Mapping[str, Any]) -> None:
        """An owner perceived something; it is appended to its stream with this tick.

        Its game time is at most a day after the tick's and thirty days before it.

        Raises:
            InputError: for an unknown owner, a malformed entry or one that is too long; nothing else is affected.
            UsageError: outside of the loop's body, as for each of these calls.
        """
        self._check_turn()
        known = self._known(owner)
        now = None if self._redelivering else self.mind.facts.minute(self.present)
        checked = check_entry(known, entry, now)
        length, most = len(checked.text), self.mind.rules.max_text
        if length > most:
            raise InputError(
                f"observation for {quoted(known)}: its text has {length:,} characters; this run takes at most {most:,} "
                "(`max_text`)"
            )
        self._turn.observed.append((known, checked))

    def request(
        self,
        kind: str,
        owner: str,
        *,
        numbers: tuple[int, ...] | None = None,
        reads: tuple[Reads, ...] = (),
        priority: int = 0,
        params: Mapping[str, Any] | None = None,
        within: int | None = None,
    ) -> None:
        """Ask for a job outright, beyond what its cadence would do.

        Args:
            numbers: read just these entries of the owner; None: all live ones.
            reads: what to read of other owners' streams as well.
            params: what the kind takes: `act` "location", "activity" and "status", `plan` "status" and "unfinished",
                `reflect` "since", other built-in kinds nothing; a kind of the host's own whatever it likes.
            within: ticks after which the result is of no use any more; None: as the kind says. No model is asked whose
                answer would come later: the kind's heuristic applies by then.

        Raises:
            InputError: for an unknown kind or owner, or parameters that are no JSON or that the kind does not take.
        """
        self._check_turn()
        known = self._known(owner)
        request = Request(
            kind=kind, owner=known, numbers=numbers, reads=reads, priority=priority, within=check_within(within),
            params={} if params is None else params,  # type: ignore[arg-type]  # checked below
        )  # fmt: skip
        checked = check_request(request, [kind.name for kind in self.mind.rules.kinds])
        check_params(checked, self.mind.rules.kind_of(checked.kind))
        for other in checked.reads:
            self._known(other.owner)
        if checked.kind in self.mind.rules.disabled:
            raise InputError(f"kind {quoted(kind)} is switched off in this run: its settings name it in `disable`")
        self._turn.requests.append(checked)

    def ask(self, effect: Effect) -> None:
        """Apply an effect of the world's own with this tick, such as a plan item's status.

        One whose precondition does not hold then is left out and counted as a warning.

        Raises:
            InputError: for a malformed effect.
        """
        self._check_turn()
        self._turn.world_effects.append(check_effect(effect))

    def join(self, owner: str, profile: Profile) -> None:
        """An owner joins with this tick.

        Raises:
            InputError: for a name that is no owner's, is taken, or belonged to an owner that has left.
        """
        self._check_turn()
        self._join(check_owner(owner), profile)

    def leave(self, owner: str) -> None:
        """An owner leaves with this tick: its open jobs are cancelled, its stream is retired.

        Raises:
            InputError: for an unknown owner.
        """
        self._check_turn()
        known = self._known(owner)
        if known not in self._turn.leaves:
            self._turn.leaves.append(known)

    def checkpoint(self, data: bytes) -> None:
        """Keep the world's state with this tick; on resume the world is restored from the last one.

        Raises:
            InputError: for anything but bytes.
        """
        self._check_turn()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InputError(f"checkpoint({quoted(data)}): give bytes, such as json.dumps(state).encode()")
        state = bytes(data)
        if len(state) > MAX_STATE:
            raise InputError(f"checkpoint: the state has {len(state):,} bytes, at most {MAX_STATE:,} fit")
        self._checkpoint = state

    def _join(self, owner: str, profile: Profile) -> None:
        here = owner in self.mind.streams and not self._redelivering
        if here or owner in self._turn.joins:
            raise InputError(f"owner {quoted(owner)} is in this run already")
        if owner in self.mind.retired and not self._redelivering:
            raise InputError(f"owner {quoted(owner)} has left this run, its stream is retired; join under another name")
        self._turn.joins[owner] = check_profile(owner, profile)

    def _known(self, owner: object) -> str:
        """Return the name of an owner of this run.

        Raises:
            InputError: when there is none of that name.
        """
        there = isinstance(owner, str) and (owner in self.mind.streams or owner in self._turn.joins)
        if not there and not (self._redelivering and isinstance(owner, str)):
            raise InputError(
                f"there is no owner {quoted(owner)} in this run; owners join with loop.join(owner, profile)"
            )
        return str.__str__(owner)

    # -- where it may be used ------------------------------------------------------------------------

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that opened the loop."""
        return os.getpid() != self._process

    def _check_process(self) -> None:
        if self.forked:
            raise UsageError(
                f"process {self._process} opened this loop, and process {os.getpid()} is a fork of it: leave the loop "
                "to the process that opened it, and hand results back to that"
            )

    def _check_turn(self) -> None:
        self._check_process()
        if not self._body:
            raise UsageError(
                f"run {self.mind.run!r} is not at a tick: call this in the body of `for tick in loop`, as what is said "
                "there happens with that tick"
            )

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            f"the loop of run {self.mind.run!r} cannot be pickled or copied, with connections and processes of its "
            "own: use it where it was opened"
        )
