"""Importance of unrated entries: known, predicted, or worth a call of a model.

At the boundary at which an unrated entry is appended it gets the rating that its text got before in this run, for any
owner; else the learner's prediction, unless a model is asked in this run and the prediction is so uncertain that the
entry is among the share that is worth a call. Such an entry stays unrated, counts as ordinary, and waits for a job of
kind `rate`. The learner learns only from ratings that models gave and that were applied, in the order of boundaries.
Its knowledge is kept with the run, and its decisions are in the journal, so a replay needs neither.

Keys under the run's prefix:
    ratings   hash  text's key -> [order, what is known of the text], JSON; the highest order was touched last
    state     hash, field "rating": everything else that the learner knows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.effects import Effect, Rate
from cogitate.memory.entry import Entry
from cogitate.memory.importance import RatedText, Ratings, RatingState
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.boundary import Closing
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.engine.part import Part, TickState
from cogitate.scheduler.journal.lines import Rated
from cogitate.scheduler.ledger.ledger import Value, Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import chunked


class _Kept(msgspec.Struct, frozen=True):
    """A text as the ledger keeps it."""

    order: int
    text: RatedText


_KEPT = typed_json.decoder(_Kept)


class Rater(Part):
    """The ratings of one run, and their changes since they were written last."""

    def __init__(self, *, share: float) -> None:
        self._share = share
        self._ratings = Ratings()
        self._order = 0
        self._touched: dict[str, int] = {}  # texts to be written, by their new order
        self._gone: set[str] = set()
        self._rest = b""  # the rest as it was written last
        self._learned = False  # in this tick

    # -- a tick --------------------------------------------------------------------------------------

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Learn the ratings that a job has brought."""
        if closing.ended.end == "applied":
            self.learn(tick.run.streams, closing.ended.effects)

    def end(self, tick: TickState) -> None:
        """Rate the entries that the tick appended, and waiting entries whose text was rated in this tick."""
        rated = self.rate(tick.run.streams, tick.changed, tick.number)
        tick.core["rated"] = (*rated, *(self._shared(tick.run.streams, tick.number) if self._learned else ()))
        self._learned = False

    def rate(self, streams: Mapping[str, Stream], owners: Iterable[str], tick: int) -> tuple[Rated, ...]:
        """Rate the unrated entries that this tick appended to these owners' streams, as far as they need no call."""
        found: list[Rated] = []
        for owner in owners:
            stream = streams[owner]
            for number in stream.new:
                if stream.is_unrated(number):
                    rating = self._without_a_call(owner, stream.entries[number])
                    if rating is not None:
                        stream.rate(number, rating, tick)
                        found.append(Rated(owner, number, rating))
        return tuple(found)

    def _shared(self, streams: Mapping[str, Stream], tick: int) -> Iterator[Rated]:
        """Rate the waiting entries whose text has become known by another owner's job, and yield them."""
        for owner, stream in sorted(streams.items()):
            for number in stream.unrated():
                entry = stream.entries[number]
                if known := self._ratings.known(owner, entry) or self._ratings.known(None, entry):
                    stream.rate(number, known, tick)
                    yield Rated(owner, number, known)

    def estimate(self, owner: str, entry: Entry) -> int:
        """Return the rating that the run's model would probably give, 1 to 10."""
        known = self._ratings.known(owner, entry) or self._ratings.known(None, entry)
        return known or self._ratings.estimate(owner, entry).rating

    def learn(self, streams: Mapping[str, Stream], effects: Iterable[Effect]) -> None:
        """Learn the ratings among applied effects that a model gave."""
        texts = self._ratings.state.texts
        for effect in effects:
            if not isinstance(effect, Rate) or not effect.paid:
                continue
            stream = streams[effect.owner]
            self._learned = True
            for number, rating in zip(effect.numbers, effect.ratings, strict=True):
                if number not in stream.entries:
                    continue
                oldest = next(iter(texts), "")
                self._ratings.learn(effect.owner, stream.entries[number], rating)
                self._order += 1
                self._touched[next(reversed(texts))] = self._order
                if oldest and oldest not in texts:
                    self._touched.pop(oldest, None)
                    self._gone.add(oldest)

    def _without_a_call(self, owner: str, entry: Entry) -> int | None:
        known = self._ratings.known(owner, entry) or self._ratings.known(None, entry)
        if known is not None:
            return known
        estimate = self._ratings.estimate(owner, entry)
        if self._share and self._ratings.deserves_call(estimate, self._share):
            return None
        return estimate.rating

    # -- with the ledger -----------------------------------------------------------------------------

    def take_writes(self) -> list[Write]:
        texts = self._ratings.state.texts
        touched: list[Value] = []
        for key, order in self._touched.items():
            touched += (key, msgspec.json.encode(_Kept(order, texts[key])))
        gone: list[Value] = sorted(self._gone - self._touched.keys())
        writes = [*chunked("HSET", "ratings", touched, 2), *chunked("HDEL", "ratings", gone)]
        rest = msgspec.json.encode(msgspec.structs.replace(self._ratings.state, texts={}))
        if rest != self._rest:
            writes.append(Write("HSET", "state", ("rating", rest)))
            self._rest = rest
        self._touched, self._gone = {}, set()
        return writes

    def load(self, store: RunStore) -> None:
        kept = store.mapping("ratings")
        texts = sorted(((key.decode(), _KEPT.decode(raw)) for key, raw in kept.items()), key=lambda t: t[1].order)
        rest = store.field("state", "rating")
        state = typed_json.decode(rest, RatingState) if rest else RatingState()
        state.texts = {key: text.text for key, text in texts}
        self._ratings = Ratings(state)
        self._order = texts[-1][1].order if texts else 0
        self._rest = rest or b""
