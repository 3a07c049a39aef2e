"""The steering requests that a host may send to its run."""

from __future__ import annotations

from cogitate.hosting.protocol.messages import Steer
from cogitate.hosting.protocol.refusals import malformed
from cogitate.memory.errors import quoted
from cogitate.scheduler.config.controls import FULL, Control, SetCadence, SetLimit, SetMode
from cogitate.scheduler.config.limits import LimitError, parse_limit_name
from cogitate.scheduler.steering.throttle import KIND


def control_of(message: Steer) -> Control:
    """Return the request in a message.

    Raises:
        Refusal: when the message has no request, several, or an invalid one.
    """
    named = [name for name in ("mode", "limit", "throttle") if getattr(message, name) is not None]
    if len(named) != 1:
        raise malformed(f"a request gives one of mode, limit and throttle, this one {' and '.join(named) or 'none'}")
    if message.limit is not None:
        try:
            parse_limit_name(message.limit)
        except LimitError as error:
            raise malformed(f"limit {quoted(message.limit)}: {error}") from error
        return SetLimit(message.limit, message.value)
    if message.throttle is not None:
        if message.throttle != KIND:
            raise malformed(f"throttle {quoted(message.throttle)}: only {KIND} can be; set a limit for others")
        factor = None if message.factor is None else round(message.factor * FULL)
        return SetCadence(kind=message.throttle, factor=factor, pinned=message.pinned)
    assert message.mode is not None, "one of three is given"
    return SetMode(message.mode)
