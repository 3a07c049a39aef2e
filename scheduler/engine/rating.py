"""Rate unrated entries: by a known text, by a prediction, or by a call of a model.

A tick rates the unrated entries that it appends. An entry gets the rating that its text got before in this run, for any
owner, or else the learner's prediction. If the run asks a model, the entries with the most uncertain predictions are
worth a call: such an entry stays unrated, counts as ordinary, and waits for a job of kind `rate`. The learner learns
only from applied ratings of models, in the order of boundaries. The run stores its state, and the journal its
decisions, so a replay needs no learner.

Keys under the run's prefix:
    ratings   hash  text's key -> [order, the text's ratings], JSON; the highest order was touched last
    state     hash, field "rating": the rest of the learner's state
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


class _StoredText(msgspec.Struct, frozen=True):
    """A rated text in the form that the ledger stores."""

    order: int
    text: RatedText


_STORED_TEXT = typed_json.decoder(_StoredText)


class Rater(Part):
    """Rates entries, and learns from the ratings of models."""

    def __init__(self, *, share: float) -> None:
        self._share = share
        self._ratings = Ratings()
        self._order = 0
        self._touched: dict[str, int] = {}  # new order of each text that the next commit writes
        self._gone: set[str] = set()
        self._rest = b""  # the rest of the state as last written
        self._learned = False  # whether a rating was learned in this tick

    # -- a tick --------------------------------------------------------------------------------------

    def ended(self, tick: TickState, closing: Closing, item: OpenJob) -> None:
        """Learn the ratings of an applied job."""
        if closing.ended.end == "applied":
            self.learn(tick.run.streams, closing.ended.effects)

    def end(self, tick: TickState) -> None:
        """Rate the entries that the tick appended, and waiting entries whose text was rated in this tick."""
        rated = self.rate(tick.run.streams, tick.changed, tick.number)
        tick.core["rated"] = (*rated, *(self._shared(tick.run.streams, tick.number) if self._learned else ()))
        self._learned = False

    def rate(self, streams: Mapping[str, Stream], owners: Iterable[str], tick: int) -> tuple[Rated, ...]:
        """Rate the unrated entries that this tick appended to these owners' streams, if they need no call."""
        rated: list[Rated] = []
        for owner in owners:
            stream = streams[owner]
            for number in stream.new:
                if stream.is_unrated(number):
                    rating = self._without_a_call(owner, stream.entries[number])
                    if rating is not None:
                        stream.rate(number, rating, tick)
                        rated.append(Rated(owner, number, rating))
        return tuple(rated)

    def _shared(self, streams: Mapping[str, Stream], tick: int) -> Iterator[Rated]:
        """Rate the waiting entries whose text another owner's job has rated, and yield the ratings."""
        for owner, stream in sorted(streams.items()):
            for number in stream.unrated():
                entry = stream.entries[number]
                if known := self._ratings.known(owner, entry) or self._ratings.known(None, entry):
                    stream.rate(number, known, tick)
                    yield Rated(owner, number, known)

    def estimate(self, owner: str, entry: Entry) -> int:
        """Return the rating, 1 to 10, that the run's model would probably give."""
        known = self._ratings.known(owner, entry) or self._ratings.known(None, entry)
        return known or self._ratings.estimate(owner, entry).rating

    def learn(self, streams: Mapping[str, Stream], effects: Iterable[Effect]) -> None:
        """Learn the model's ratings among applied effects."""
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
            touched += (key, msgspec.json.encode(_StoredText(order, texts[key])))
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
        texts = sorted(
            ((key.decode(), _STORED_TEXT.decode(raw)) for key, raw in kept.items()), key=lambda text: text[1].order
        )
        rest = store.field("state", "rating")
        state = typed_json.decode(rest, RatingState) if rest else RatingState()
        state.texts = {key: text.text for key, text in texts}
        self._ratings = Ratings(state)
        self._order = texts[-1][1].order if texts else 0
        self._rest = rest or b""
