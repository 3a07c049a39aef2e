"""The topics of conversations. Each function returns lines, or no lines if its topic does not apply."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cogitate.memory.clock import DAY, clock_time, day_of
from cogitate.simulation.town.appointments import is_taken
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.town.people import Person
from cogitate.simulation.town.phrases import PHRASES, for_me, sky
from cogitate.simulation.town.places import public_id
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import FULL, Body, Meeting, News, Promise, SpokenLine, State


@dataclass(frozen=True)
class Pair:
    """Two people in conversation: `me` begins, `you` answers."""

    me: Person
    you: Person
    place: str  # id of a location
    setting: Setting
    state: State
    minute: int
    chance: Chance
    told_feelings: bool = False  # a speaker has mentioned feelings

    @property
    def live_together(self) -> bool:
        return self.me.profile.home == self.you.profile.home

    @property
    def are_at_home(self) -> bool:
        return self.live_together and self.place == self.me.profile.home

    def turned(self) -> Pair:
        """Return the pair with the roles exchanged."""
        return replace(self, me=self.you, you=self.me)

    def body(self, person: Person) -> Body:
        return self.state.bodies[person.owner]

    def fill(self, text: str) -> str:
        """Return a phrase with names, time of day and feelings filled in."""
        hour = self.minute % DAY // 60
        return text.format(
            me=self.me.first_name,
            you=self.you.first_name,
            me_full=self.me.profile.name,
            you_full=self.you.profile.name,
            job=f"{self.me.trade.article} {self.me.trade.title}",
            your_job=f"{self.you.trade.article} {self.you.trade.title}",
            place=self.setting.where(self.place),
            part="morning" if hour < 12 else "afternoon" if hour < 18 else "evening",
            feel=self.chance.pick(self._feelings(self.you)),
            my_feel=self.chance.pick(self._feelings(self.me)),
        )

    def _feelings(self, person: Person) -> tuple[str, ...]:
        mood = self.body(person).mood * 100 // FULL
        return next(options for least, options in PHRASES.feelings if mood >= least)

    def mine(self, text: str, importance: int) -> SpokenLine:
        return SpokenLine(speaker=self.me.owner, text=text, importance=importance)

    def yours(self, text: str, importance: int) -> SpokenLine:
        return SpokenLine(speaker=self.you.owner, text=text, importance=importance)


def when(minute: int, now: int) -> str:
    """Return a future game time in words: "tomorrow at 5:00 PM"."""
    days = day_of(minute) - day_of(now)
    day = "today" if days == 0 else "tomorrow" if days == 1 else f"in {days} days"
    return f"{day} at {clock_time(minute)}"


def greeting(pair: Pair) -> list[SpokenLine]:
    """Return greetings; strangers introduce themselves."""
    known = pair.you.owner in pair.body(pair.me).talked or pair.you.owner in pair.body(pair.me).feelings
    at_home = PHRASES.greetings_at_home if pair.are_at_home else PHRASES.greetings
    opening, answer, *rest = pair.chance.pick(at_home if known else PHRASES.first_meeting)
    importance = 1 if known else 4
    return [
        SpokenLine(speaker=pair.me.owner, text=pair.fill(opening), importance=importance, warmth=2 if known else 6),
        pair.yours(pair.fill(answer), importance),
        *(pair.mine(pair.fill(text), importance) for text in rest),
    ]


def farewell(pair: Pair) -> list[SpokenLine]:
    at_home = PHRASES.farewells_at_home if pair.are_at_home else PHRASES.farewells
    fitting = [phrases for phrases in at_home if not (pair.live_together and phrases == PHRASES.regards)]
    opening, answer = pair.chance.pick(fitting)
    return [pair.mine(pair.fill(opening), 1), pair.yours(pair.fill(answer), 1)]


def small_talk(pair: Pair) -> list[SpokenLine]:
    """Return small talk, such as the weather; nothing that either of the two said recently.

    Feelings are mentioned at most once, and housemates do not discuss their common neighbours.
    """
    _, remark, reply = sky(pair.state.seed, day_of(pair.minute))
    options = [*PHRASES.small_talk, *PHRASES.of_sleep, *PHRASES.between_neighbours, (remark, reply)]
    lately = {*pair.body(pair.me).remarks, *pair.body(pair.you).remarks}
    unfit = {
        *(PHRASES.of_sleep if pair.told_feelings else ()),
        *(PHRASES.between_neighbours if pair.live_together else ()),
    }
    fresh = [number for number, option in enumerate(options) if number not in lately and option not in unfit]
    number = pair.chance.pick(fresh)
    opening, answer = options[number]
    return [
        SpokenLine(speaker=pair.me.owner, text=opening, importance=2, remark=number),
        SpokenLine(speaker=pair.you.owner, text=answer, importance=2, warmth=1),
    ]


def work(pair: Pair) -> list[SpokenLine]:
    """Return lines on how the day's work goes."""
    return [
        pair.yours(f"{pair.me.trade.asked}, {pair.me.first_name}?", 2),
        pair.mine(pair.chance.pick(pair.me.trade.shares), 3),
        pair.yours(pair.chance.pick(PHRASES.replies_to_work), 2),
    ]


def hobby(pair: Pair) -> list[SpokenLine]:
    """Return lines on a speaker's hobby, once for each listener; warmer when both share it."""
    if pair.me.owner in pair.body(pair.you).hobbies:
        return []
    shared = pair.me.hobby == pair.you.hobby
    where = pair.setting.where(pair.me.hobby_place)
    answer = (
        f"{pair.me.hobby.capitalize()}! I love that too. We should do it together."
        if shared
        else f"I know little about {pair.me.hobby}. I prefer {pair.you.hobby}."
    )
    text = f"Lately I spend every free hour on {pair.me.hobby}, mostly at {where}."
    return [
        SpokenLine(speaker=pair.me.owner, text=text, importance=3, hobby=True),
        SpokenLine(
            speaker=pair.you.owner, text=answer, importance=5 if shared else 3, hobby=True, warmth=8 if shared else 1
        ),
    ]


def gossip(pair: Pair) -> list[SpokenLine]:
    """Return lines with `you`'s opinion on a person for whom `you` has feelings."""
    known = {o: f for o, f in pair.body(pair.you).feelings.items() if o != pair.me.owner and abs(f) >= 12}
    if not known:
        return []
    other = pair.chance.pick(sorted(known))
    name, first = pair.setting.name(other), pair.setting.people[other].first_name
    opinion = pair.chance.pick(PHRASES.praise if known[other] > 0 else PHRASES.blame).format(name=first)
    return [
        pair.mine(f"Tell me, what do you think of {name}?", 3),
        pair.yours(opinion, 4 if known[other] > 0 else 5),
        pair.mine(pair.chance.pick(PHRASES.replies_to_opinions), 2),
    ]


def trouble(pair: Pair) -> list[SpokenLine]:
    """Return lines in which `me` admits a low mood and `you` comforts."""
    if pair.body(pair.me).mood * 100 >= 45 * FULL:
        return []
    door = "You can always talk to me." if pair.live_together else "Come by whenever you like, the door is open."
    tired = pair.body(pair.me).energy < FULL * 4 // 10
    return [
        pair.mine("I am worn out, I hardly sleep." if tired else "I feel a bit lonely these days.", 5),
        pair.yours(f"I am sorry to hear that. {door}", 5),
        SpokenLine(speaker=pair.me.owner, text="Thank you, that means a lot to me.", importance=4, warmth=10),
    ]


def news(pair: Pair) -> list[SpokenLine]:
    """Return lines with news that only `me` knows, or an invitation that `me` passes on."""
    known = pair.body(pair.you).news
    items = [pair.state.news[n] for n in pair.body(pair.me).news if n not in known and n in pair.state.news]
    fresh = [i for i in items if not i.host or (i.minute > pair.minute + 15 and i.host != pair.you.owner)]
    if not fresh:
        return []
    item = max(fresh, key=lambda item: (item.importance, item.id))
    if item.host:
        return _invitation(pair, item)
    where = pair.setting.where(item.place)
    serious, said = item.importance >= 5, item.text[0].lower() + item.text[1:]
    told = f"At {where}, {said}" if pair.me.profile.work == item.place else f"They say at {where} that {said}"
    return [
        SpokenLine(
            speaker=pair.me.owner,
            text=f"{pair.chance.pick(PHRASES.news_openings)} {told}",
            importance=min(item.importance, 6),
            tells=item.id,
        ),
        pair.yours(pair.chance.pick(PHRASES.news_reactions[serious]), 3),
    ]


def _invitation(pair: Pair, item: News) -> list[SpokenLine]:
    where, at = pair.setting.where(item.place), when(item.minute, pair.minute)
    if item.host == pair.me.owner:
        opening = f"I am holding {item.what} at {where} {at}. Will you come?"
    else:
        host = pair.setting.name(item.host)
        opening = f"{host} is holding {item.what} at {where} {at}. Are you coming too?"
    lines = [SpokenLine(speaker=pair.me.owner, text=opening, importance=7, tells=item.id)]
    feeling = pair.body(pair.you).feelings.get(item.host, 0)
    if is_taken(pair.state, pair.you.owner, item.minute):
        lines.append(pair.yours("What a pity, I have already promised to be somewhere else then.", 3))
    elif pair.chance.percent(min(90, 55 + feeling)):
        text = f"I would love to. I will be at {where} {at}."
        lines.append(SpokenLine(speaker=pair.you.owner, text=text, importance=7, joins=item.id, warmth=4))
        if pair.chance.percent(40):
            lines.append(pair.mine("Wonderful! Tell the others, the more the merrier.", 3))
    else:
        lines.append(pair.yours(f"I am not sure yet. I will think about it. {item.what.capitalize()}, you say?", 4))
    return lines


def meeting(pair: Pair) -> list[SpokenLine]:
    """Return lines in which the two agree on an appointment, later today or tomorrow, or `you` declines."""
    what, kind = pair.chance.pick(PHRASES.meetings)
    later_today = pair.minute % DAY < 840 and pair.chance.percent(50)
    minute = day_of(pair.minute) * DAY + (0 if later_today else DAY) + 1020 + pair.chance.below(8) * 15
    if is_taken(pair.state, pair.me.owner, minute) or is_taken(pair.state, pair.you.owner, minute):
        return []
    place = public_id(kind, pair.me.district)
    where, at = pair.setting.where(place), when(minute, pair.minute)
    if not pair.chance.percent(75):
        return [
            pair.mine(f"Shall we {what} at {where} {at}?", 4),
            pair.yours("I cannot, I am sorry. Some other time.", 3),
        ]
    appointment = Meeting(
        id=f"meeting-{pair.minute}-{pair.me.owner}",
        what=what,
        place=place,
        minute=minute,
        people={pair.me.owner: pair.minute, pair.you.owner: pair.minute},
    )
    return [
        pair.mine(f"Shall we {what} at {where} {at}?", 5),
        SpokenLine(
            speaker=pair.you.owner,
            text=f"Yes, gladly. I will see you at {where} {at}.",
            importance=6,
            agrees=appointment,
            warmth=4,
        ),
    ]


def favour(pair: Pair) -> list[SpokenLine]:
    """Return lines in which `you` keeps or breaks a promise, or else `me` asks for a new favour."""
    owed = next((p for p in pair.state.promises if (p.giver, p.taker) == (pair.you.owner, pair.me.owner)), None)
    if owed is None:
        if any(p.taker == pair.me.owner for p in pair.state.promises):
            return []
        elsewhere = () if pair.live_together else PHRASES.favours_of_neighbours
        thing, done = pair.chance.pick((*PHRASES.favours, *elsewhere))
        ask = for_me(thing)
        promise = Promise(giver=pair.you.owner, taker=pair.me.owner, thing=ask, done=done, minute=pair.minute)
        return [
            pair.mine(f"I have a favour to ask, {pair.you.first_name}. Could you {ask}?", 4),
            SpokenLine(
                speaker=pair.you.owner,
                text=f"Of course, I promise: I will {thing}.",
                importance=6,
                promises=promise,
                warmth=3,
            ),
            pair.mine("You are a treasure.", 2),
        ]
    if pair.minute - owed.minute < 180:
        return []
    if pair.chance.percent(75):
        return [
            pair.mine("You had promised me something, remember?", 4),
            SpokenLine(
                speaker=pair.you.owner, text=f"And I kept my word: I {owed.done}.", importance=6, keeps=True, warmth=10
            ),
            pair.mine("So you did. Thank you!", 3),
        ]
    return [
        pair.mine(f"Did you not promise to {owed.thing}?", 5),
        SpokenLine(
            speaker=pair.you.owner, text="Oh no, I forgot. I am so sorry!", importance=6, keeps=True, warmth=-12
        ),
        pair.mine("Never mind. But I was counting on you.", 5),
    ]


TOPICS = (news, favour, meeting, trouble, hobby, gossip, work, small_talk)
