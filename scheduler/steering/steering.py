"""The host's side of steering: apply and answer operators' requests (`cogitate.scheduler.config.controls`).

The run's state holds the steering in force in its field `steering`, the owners that wait because of a throttled cadence
in `postponed`, and in `waits` whether the run is paused. The commit of the tick writes all three, and the next host
continues from them. Readers call `read_steering`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.errors import quoted
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import AdmissionRound, Decided
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.limit_history import LimitChange, LimitHistory
from cogitate.scheduler.budget.repairs import RepairRefused, admit_retry
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.controls import (
    MOST_CANCELLED,
    CancelJobs,
    Control,
    ControlAnswer,
    ControlRequest,
    Mode,
    Retry,
    SetCadence,
    SetLimit,
    SetMode,
)
from cogitate.scheduler.config.limits import MAX_LIMIT, LimitError, parse_limit_name
from cogitate.scheduler.ledger.ledger import Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.scheduler.steering.throttle import KIND, Throttle, ThrottleState
from cogitate.tasks.job import JobKey

WAKES_FOR = 60_000  # milliseconds after which the wake-up of an operator expires; longer than an operator waits
MOST_ANSWERS = 200  # stored for waiting operators, newest last


CallOff = Callable[[Iterable[JobKey], str], tuple[int, int]]


class SteeringState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steering in force, as a run stores it."""

    mode: Mode = "running"
    limits: tuple[LimitChange, ...] = ()  # all changes, the latest last
    throttle: ThrottleState = ThrottleState()


class Steering:
    """Applies operators' requests to a run."""

    def __init__(self, rules: Rules, view: BudgetView) -> None:
        self.mode: Mode = "running"
        self.throttle = Throttle(rules.throttle)
        self._rules = rules
        self._view = view
        self._limits = LimitHistory(view.table)
        self._taken = 0  # requests of this tick
        self._answers: list[ControlAnswer] = []
        self.retries: list[ControlRequest] = []
        self._kept: dict[str, bytes] = {}

    # -- a tick ------------------------------------------------------------------------------------

    def take(
        self, asked: Sequence[ControlRequest | None], tick: int, minute: int, call_off: CallOff
    ) -> tuple[Control, ...]:
        """Apply a tick's requests in order, and return those that change later decisions.

        Retries wait for `retry`, which runs after all other admissions.

        Args:
            call_off: cancels the admitted jobs among the given ones, with the operator's reason; returns their number,
                and the number of open jobs that were already left to their heuristics.
        """
        self._taken = len(asked)
        applied: list[Control] = []
        for item in asked:
            if item is None:
                continue
            if isinstance(item.control, Retry):
                self.retries.append(item)
                continue
            if isinstance(item.control, CancelJobs):
                applied += self._call_off(item, item.control, tick, call_off)
                continue
            drained = self.mode == "draining"
            refused = self._apply(item.control, tick, minute)
            self._answer(item, tick, refused)
            waits = isinstance(item.control, SetMode) and item.control.mode in ("paused", "running") and not drained
            if not refused and not waits:  # a pause changes no decision
                applied.append(item.control)
        if not self.admits:
            why = f"the run is {self.mode} and admits no more jobs"
            for item in self.retries:
                self._answer(item, tick, why)
            self.retries.clear()
        return tuple(applied)

    def retry(
        self, streams: Mapping[str, Stream], at: AdmissionRound, busy: Callable[[str, str], bool]
    ) -> list[Decided]:
        """Admit those of the tick's retries that fit the budget."""
        admitted: list[Decided] = []

        def taken_or_busy(kind: str, owner: str) -> bool:
            return busy(kind, owner) or any((d.request.kind, d.request.owner) == (kind, owner) for d in admitted)

        for item in self.retries:
            retry = item.control
            assert isinstance(retry, Retry)
            try:
                decided = admit_retry(streams, retry.owner, retry.numbers, at, taken_or_busy)
            except RepairRefused as error:
                self._answer(item, at.tick, str(error))
            else:
                admitted.append(decided)
                self._answer(item, at.tick, job=decided.line.key.text())
        self.retries.clear()
        return admitted

    def _call_off(self, item: ControlRequest, wanted: CancelJobs, tick: int, call_off: CallOff) -> list[Control]:
        """Cancel jobs; return the request, or nothing if the host refuses it."""
        try:
            keys = {JobKey.parse(text) for text in wanted.jobs[: MOST_CANCELLED + 1]}
        except ValueError as error:
            self._answer(item, tick, str(error))
            return []
        if len(keys) > MOST_CANCELLED:
            self._answer(item, tick, f"a request cancels at most {MOST_CANCELLED} jobs")
            return []
        self._answer(item, tick, called_off=call_off(keys, item.reason))
        return [wanted]

    def _answer(
        self, item: ControlRequest, tick: int, refused: str = "", job: str = "", called_off: tuple[int, int] = (0, 0)
    ) -> None:
        answer = ControlAnswer(item.id, tick, item.control, refused, job, *called_off, by=item.by, reason=item.reason)
        self._answers.append(answer)

    def settle(self, admitted_open: bool) -> None:
        """Mark a draining run as drained once no admitted job is open."""
        if self.mode == "draining" and not admitted_open:
            self.mode = "drained"

    @property
    def admits(self) -> bool:
        return self.mode in ("running", "paused")

    @property
    def over(self) -> bool:
        """Return whether the host leaves the run with this tick."""
        return self.mode in ("drained", "cancelled")

    def take_writes(self) -> list[Write]:
        """Return the commands that remove the current tick's requests, answer them and store the steering in force.

        Call this before `take_answers`, which clears the answers.
        """
        writes = []
        if self._taken:
            writes.append(Write("LTRIM", "controls", (self._taken, -1)))
        if self._answers:
            lines = tuple(msgspec.json.encode(answer) for answer in self._answers)
            writes += [Write("RPUSH", "answers", lines), Write("LTRIM", "answers", (-MOST_ANSWERS, -1))]
            for key in (f"answered:{answer.id}" for answer in self._answers):
                writes += [Write("RPUSH", key, ("1",)), Write("PEXPIRE", key, (WAKES_FOR,))]
        now = {
            "steering": msgspec.json.encode(self._state()),
            "postponed": msgspec.json.encode(self.throttle.postponing),
        }
        for field, value in now.items():
            if self._kept.get(field) != value:
                writes.append(Write("HSET", "state", (field, value)))
        if self.mode in ("running", "paused"):  # `waits` stops the claims of workers while the run is paused
            status, waits = (b"paused", b"1") if self.mode == "paused" else (b"running", b"0")
            if self._kept.get("waits", b"0") != waits:
                writes.append(Write("HSET", "state", ("status", status, "waits", waits)))
            now["waits"] = waits
        self._kept.update(now)
        self._taken = 0
        return writes

    def take_answers(self) -> tuple[ControlAnswer, ...]:
        """Return the answers to the current tick's requests, for the journal."""
        answers, self._answers = tuple(self._answers), []
        return answers

    # -- resume ------------------------------------------------------------------------------------

    def load(self, store: RunStore) -> None:
        """Read back the stored state.

        Raises:
            ValueError: if a part is missing.
            msgspec.ValidationError: if a part is malformed.
        """
        steering, postponed = store.state("steering", "postponed")
        if steering is None:
            return
        if postponed is None:
            raise ValueError("the run's state has the field 'steering' but not 'postponed'")
        state = typed_json.decode(steering, SteeringState)
        self.mode = state.mode
        self._limits = LimitHistory(self._limits.first, state.limits)
        self._view.table = self._limits.now
        self.throttle.state = state.throttle
        self.throttle.postponing = typed_json.decode(postponed, Postponing)
        self._kept = {"steering": steering, "postponed": postponed, "waits": b"1" if state.mode == "paused" else b"0"}

    # -- parts -------------------------------------------------------------------------------------

    def _state(self) -> SteeringState:
        return SteeringState(mode=self.mode, limits=self._limits.changes, throttle=self.throttle.state)

    def _apply(self, control: Control, tick: int, minute: int) -> str:
        """Apply a request; return the reason for a refusal, or ""."""
        match control:
            case SetLimit():
                return self._set_limit(control, tick, minute)
            case SetCadence():
                if control.kind != KIND:
                    return f"only {KIND} can be throttled; for others set a limit such as day.kind:{control.kind}.calls"
                self.throttle.set(control)
            case SetMode():
                if self.mode == "cancelled":
                    return "the run is cancelled and cannot be resumed"
                self.mode = control.mode
            case Retry() | CancelJobs():
                raise AssertionError("these requests do more than change the steering")
        return ""

    def _set_limit(self, control: SetLimit, tick: int, minute: int) -> str:
        try:
            limit = parse_limit_name(control.name)
        except LimitError as error:
            return str(error)
        name, known = limit.text(), [kind.name for kind in self._rules.kinds]
        if limit.kind and limit.kind not in known:
            return f"there is no kind {limit.kind!r}; there are {', '.join(sorted(known))}"
        if control.value is not None and not 0 <= control.value <= MAX_LIMIT:
            return f"limit {name}: {control.value} is not between 0 and {MAX_LIMIT}"
        if control.value is not None and limit.unit == "usd_micros" and self._rules.unpriced:
            models = ", ".join(map(quoted, self._rules.unpriced))
            return f"{name} cannot limit models whose price the run does not know: {models}"
        changed = self._limits.with_limit(name, control.value, tick=tick, minute=minute)
        asks = any(self._rules.model_of(k) for k in self._rules.kinds)
        if asks and not changed.now.limited("run", "run"):
            return f"{name} is the run's only overall limit, and calling a model requires one: set another first"
        self._limits = changed
        self._view.table = changed.now
        return ""


def read_steering(store: RunStore) -> SteeringState:
    """Return the steering in force after a run's last tick."""
    kept = store.field("state", "steering")
    return SteeringState() if kept is None else typed_json.decode(kept, SteeringState)
