"""Phrases of the town's people: openings, small talk, the weather, farewells. Callers fill in `{me}` and the like."""

from __future__ import annotations

import re

from cogitate.simulation.town.chance import Chance

#: Lines in turn; `me` begins.
GREETINGS: tuple[tuple[str, ...], ...] = (
    ("Good {part}, {you}!", "Good {part}, {me}. Nice to see you."),
    ("{you}! I was hoping to run into you.", "Here I am, {me}."),
    ("How nice to see you, {you}.", "And you, {me}. Sit down with me."),
    ("Is this seat free, {you}?", "For you it is. Sit down, {me}."),
    ("I nearly walked past you, {you}!", "You were deep in thought, {me}."),
    ("Hello {you}, how are you today?", "{feel} And you?", "{my_feel}"),
    ("Hi {you}, do you have a minute?", "For you, always."),
    ("Good {part}, {you}. You look busy.", "Not too busy for a chat, {me}."),
)
#: between housemates, at home
GREETINGS_AT_HOME: tuple[tuple[str, ...], ...] = (
    ("Good {part}, {you}!", "Good {part}, {me}."),
    ("There you are, {you}.", "I have been here all the time, {me}."),
    ("How are you today, {you}?", "{feel} And you?", "{my_feel}"),
    ("Do you have a minute, {you}?", "For you, always."),
    ("You look busy, {you}.", "Not too busy for a chat, {me}."),
)
FIRST_MEETING: tuple[tuple[str, ...], ...] = (
    (
        "I do not think we have talked before. I am {me_full}, {job}.",
        "Pleased to meet you, {me}. I am {you_full}.",
    ),
    (
        "Hello, I have seen you here before. My name is {me_full}.",
        "Nice to meet you at last. I am {you_full}, {your_job}.",
    ),
)
FEELINGS: tuple[tuple[int, tuple[str, ...]], ...] = (  # from this mood in per cent
    (70, ("Wonderful, thank you.", "Very well, it is a good day.")),
    (45, ("I am fine, thanks.", "All in all quite well.")),
    (0, ("To be honest, I have had better days.", "A little tired, if I am honest.")),
)
_OF_SLEEP: tuple[tuple[str, str], ...] = (
    ("You look as if you had good news.", "No, I only slept well for once."),
    ("I slept badly, the gulls were at it again.", "Close the window and think of the sea, that is what I do."),
    ("Did you hear the church bells this morning?", "They rang twice. I thought I had overslept."),
)
_BETWEEN_NEIGHBOURS: tuple[tuple[str, str], ...] = (
    ("How is the family?", "Well, as far as one hears. They write too seldom."),
    ("My neighbour has bought a trumpet.", "You have my sympathy."),
    ("I found your cat in my kitchen again.", "She knows where the good milk is."),
    ("I am reading a book about lighthouses.", "Lend it to me when you are done, will you?"),
)
#: an opening and its answer
SMALL_TALK: tuple[tuple[str, str], ...] = (
    ("I have lost my umbrella again.", "It is surely where you left the last one."),
    ("Do you still go swimming in the morning?", "Only when the water is warmer than the air."),
    ("Have you ever tried plum dumplings?", "Twice. They need more cinnamon."),
    ("The town is quiet today.", "Quiet is fine with me, there was noise enough last week."),
    ("I have started to walk to the harbour every evening.", "That must do you good. Perhaps I will try that."),
    ("Do you remember when the plaza had no fountain?", "Of course, we played football there."),
    ("My clock stopped at a quarter past three.", "Better a clock than the heart, as my aunt used to say."),
    ("I cannot get used to the new street lamps.", "They are too bright, everybody says so."),
    ("Someone has painted the bench by the pond.", "In green, I sat on it. Look at my sleeve."),
    *_OF_SLEEP,
    *_BETWEEN_NEIGHBOURS,
)
OF_SLEEP = frozenset(_OF_SLEEP)  # not after a speaker has mentioned feelings
BETWEEN_NEIGHBOURS = frozenset(_BETWEEN_NEIGHBOURS)  # not between housemates
REPLIES_TO_WORK = (
    "I can imagine.",
    "You always have a story to tell.",
    "So it goes. Do not let it worry you.",
    "I could never do what you do.",
    "I could listen to you for hours.",
)
#: remarks about people whom the speaker likes or dislikes
OPINIONS: tuple[tuple[str, ...], tuple[str, ...]] = (
    (
        "I like {name} a lot. One can rely on {name}.",
        "{name} has helped me more than once.",
        "With {name} I could talk for hours.",
        "{name} is the first I would ask for help.",
    ),
    (
        "Between us, {name} has let me down.",
        "I waited for {name} in vain. I will not forget that soon.",
        "{name} promises much and keeps little.",
    ),
)
REPLIES_TO_OPINIONS = (
    "My experience exactly.",
    "That is good to know.",
    "I hardly know what to say to that.",
)
NEWS_OPENINGS = (
    "Have you heard?",
    "You will not believe it!",
    "Something happened that you should know.",
    "There is news.",
)
NEWS_REACTIONS: tuple[tuple[str, ...], ...] = (  # by how much it matters
    ("Well, well.", "That explains a lot.", "Such things happen."),
    ("Really? I had no idea.", "I had better tell the others.", "That is news to me. What else do you know?"),
)
FAREWELLS_AT_HOME: tuple[tuple[str, str], ...] = (
    ("Well, back to it.", "Yes, me too."),
    ("I have kept you long enough, {you}.", "You never disturb me, {me}."),
    ("It was good to talk to you, {you}.", "Likewise, {me}."),
    ("I had better get on.", "So had I."),
)
REGARDS = ("Give my regards at home, {you}.", "I will. And you mind your step, {me}.")  # not to a housemate
FAREWELLS: tuple[tuple[str, str], ...] = (
    ("I must be going. See you soon, {you}.", "Take care, {me}."),
    ("Well, back to it.", "Yes, me too. Goodbye, {me}."),
    ("It was good to talk to you, {you}.", "Likewise. Until next time!"),
    ("I will not keep you any longer.", "You never do. Bye, {me}."),
    ("Look at the time! I have to run.", "Run, then. Until soon, {me}."),
    REGARDS,
    ("Let us talk again soon.", "Any time. You know where to find me."),
    ("I had better get on.", "So had I. Have a good {part}, {me}."),
)
#: favours to ask of people other than housemates
FAVOURS_OF_NEIGHBOURS: tuple[tuple[str, str], ...] = (
    ("lend you the tall ladder", "brought you the tall ladder"),
    ("repair your garden gate", "repaired your garden gate"),
)
#: favours: requested with "could you …?", promised with "I will …", kept with "I …"
FAVOURS: tuple[tuple[str, str], ...] = (
    ("bring you the book on lighthouses", "brought you the book on lighthouses"),
    ("help you carry the new cupboard upstairs", "carried the cupboard upstairs with you"),
    ("look after your plants while you are away", "looked after your plants"),
    ("bring you two jars of plum jam", "brought you two jars of plum jam"),
    ("show you how to knit a scarf", "showed you how to knit a scarf"),
    ("find out about the night bus for you", "found out about the night bus for you"),
    ("post your parcel at the harbour", "posted your parcel at the harbour"),
    ("fix the flat tyre on your bicycle", "fixed the flat tyre on your bicycle"),
    *FAVOURS_OF_NEIGHBOURS,
)
#: joint activities and their kinds of place
MEETINGS: tuple[tuple[str, str], ...] = (
    ("have coffee", "cafe"),
    ("take a walk", "park"),
    ("have a drink", "pub"),
    ("watch the boats come in", "harbour"),
    ("look at the old maps", "library"),
    ("play dominoes", "plaza"),
    ("choose vegetables for a stew", "market"),
)
#: events for invitations, kind of place, minutes after 00:00
EVENTS: tuple[tuple[str, str, int], ...] = (
    ("a birthday party", "cafe", 1050),
    ("a quiz night", "pub", 1170),
    ("an open-air supper", "plaza", 1080),
    ("a reading of old letters", "library", 1050),
    ("a chess tournament", "park", 1035),
    ("a rowing race", "harbour", 1050),
    ("an evening of folk songs", "pub", 1185),
    ("a plant exchange", "park", 1020),
    ("a school concert", "school", 1065),
)
SKIES: tuple[tuple[str, str, str], ...] = (  # a description of the weather, a remark about it, the answer
    ("a clear, cold", "My fingers are frozen, and not a cloud in the sky.", "Put your gloves on, it stays cold."),
    ("a foggy", "You can hardly see your own feet in this fog.", "The ferry will be late, I am sure."),
    ("a rainy", "This rain does not want to stop.", "The gardens need it, I keep telling myself."),
    ("a warm and sunny", "What sunshine! One should be outside all day.", "I wish I could sit by the fountain."),
    ("a windy", "The wind almost carried off my hat.", "Hold on to it, there is a storm coming."),
    ("a mild and cloudy", "Not warm, not cold, what kind of weather is this?", "The kind one forgets, I suppose."),
)


def sky(seed: int, day: int) -> tuple[str, str, str]:
    """Return the weather of a day: in words ("a foggy"), a remark about it, and an answer to the remark."""
    return Chance(seed, "weather", day).pick(SKIES)


def for_me(favour: str) -> str:
    """Return a favour in the requester's words: "lend me the tall ladder"."""
    return re.sub(r"\byou\b", "me", favour.replace("you are", "I am").replace("your", "my"))


def for_other(favour: str, name: str) -> str:
    """Return a favour in the third person: "lend Klára the tall ladder"."""
    return re.sub(r"\byou\b", name, favour.replace("you are", f"{name} is").replace("your", f"{name}'s"))
