"""The trades of the town's people: hours and places of work, visible activities, and possible events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trade:
    """An occupation. Times are minutes after 00:00."""

    title: str
    article: str
    place: str  # kind of a public place, or "home"
    start: int
    end: int
    duty: str  # "who …", for the background
    activities: tuple[str, ...]  # visible activities, "-ing" forms
    episodes: tuple[tuple[str, int], ...]  # events at work, with their importance
    shares: tuple[str, ...]  # remarks about work
    ages: tuple[int, int] = (22, 64)
    asked: str = "How is work"  # opens the question that others ask about it


#: events at any work, with their importance
COMMON_EPISODES: tuple[tuple[str, int], ...] = (
    ("A lost purse was found under a bench, with all the money in it.", 5),
    ("A dog without a collar came along and would not leave.", 4),
    ("Two tourists asked the way and stayed to talk for half an hour.", 3),
    ("The delivery boy fell off his bicycle, but only the eggs were hurt.", 4),
    ("A letter for the wrong address arrived, from far away.", 3),
    ("There was a smell of smoke, but nobody found where it came from.", 5),
    ("A child asked for work and was given an apple.", 3),
)
#: … and only under a roof
INDOOR_EPISODES: tuple[tuple[str, int], ...] = (
    ("The lights went out for a quarter of an hour.", 4),
    ("Somebody left a bunch of flowers at the door, without a name.", 5),
    ("An inspector announced a visit for next week.", 6),
    ("A window was broken by a football.", 4),
    ("A photograph from 1961 turned up between two boards.", 4),
)

TRADES: tuple[Trade, ...] = (
    Trade(
        "café owner",
        "a",
        "cafe",
        450,
        1020,
        "who knows every guest by name",
        ("serving coffee", "wiping the tables", "writing the menu on the blackboard", "talking with the guests"),
        (
            ("A guest praised the apple cake and ordered two more pieces.", 3),
            ("The coffee machine broke down in the middle of the rush.", 6),
            ("A travelling couple asked for a room for the night.", 4),
            ("The milk delivery came an hour late.", 3),
        ),
        (
            "I tried a new blend this morning and half the guests noticed.",
            "We were full from nine to eleven, I hardly sat down.",
            "I am thinking of opening on Sunday evenings as well.",
            "The new waiter drops a plate a day.",
        ),
    ),
    Trade(
        "teacher",
        "a",
        "school",
        480,
        930,
        "who teaches the upper classes and runs the reading club",
        ("teaching a class", "marking essays", "supervising the schoolyard", "preparing tomorrow's lesson"),
        (
            ("A pupil recited a whole poem by heart without being asked.", 4),
            ("The school needs a volunteer to repair the stage before the play.", 6),
            ("Two classes had to share one room because of a leaking roof.", 5),
            ("The attendance list was short by four names.", 2),
        ),
        (
            "The children ask better questions than I can answer.",
            "I still have thirty essays to mark before the week is over.",
            "We are rehearsing the school play, the king forgets his lines.",
            "One of my pupils has won a prize in the city.",
        ),
    ),
    Trade(
        "librarian",
        "a",
        "library",
        540,
        1020,
        "who keeps the archive of the town",
        ("shelving returned books", "cataloguing old letters", "helping a reader", "mending a torn map"),
        (
            ("An old map with an unknown street turned up in the archive.", 6),
            ("A book came back after eleven years, with a note of apology.", 5),
            ("A reader fell asleep over the encyclopaedia.", 2),
            ("Three new readers signed up for cards.", 3),
        ),
        (
            "I found letters from the founding year, hardly anyone has read them.",
            "It was quiet, which is how I like it.",
            "We will move the newspapers to the first floor.",
            "People return books with the strangest bookmarks.",
        ),
    ),
    Trade(
        "baker",
        "a",
        "bakery",
        420,
        900,
        "who bakes before the town wakes",
        ("kneading dough", "selling rolls", "cleaning the oven", "decorating a cake"),
        (
            ("The bakery sold out of rye bread before ten.", 3),
            ("The flour delivery was cancelled until further notice.", 6),
            ("Someone ordered a wedding cake for forty guests.", 6),
            ("A tray of rolls burned.", 3),
        ),
        (
            "The new oven bakes hotter than it says.",
            "Rye is what everyone wants this week.",
            "I get up at four and still I am late.",
            "I have a recipe with walnuts that I want to try.",
        ),
    ),
    Trade(
        "nurse",
        "a",
        "clinic",
        480,
        960,
        "who remembers every patient's story",
        ("taking someone's blood pressure", "sorting bandages", "calling in the next patient", "updating the records"),
        (
            ("A child was brought in with a broken wrist and left with a smile.", 5),
            ("The clinic is running low on cold medicine.", 6),
            ("An elderly patient told the story of the great flood again.", 3),
            ("The waiting room was empty for an hour.", 2),
        ),
        (
            "Half the town seems to have the same cough.",
            "Nobody keeps the exercise schedule I give them.",
            "We are two people short this month.",
            "Somebody brought us a cake to say thank you.",
        ),
    ),
    Trade(
        "carpenter",
        "a",
        "workshop",
        480,
        990,
        "who built half the doors on Lime Street",
        ("planing a board", "measuring a window frame", "gluing a chair", "sharpening tools"),
        (
            ("A customer asked for a table that seats twelve, by the end of the week.", 5),
            ("The big saw stopped working and a spare part must be ordered.", 6),
            ("A plank of very old oak was found under the floor.", 4),
            ("The order for the school benches was finished.", 4),
        ),
        (
            "Oak is getting dear, I may have to raise my prices.",
            "I have a table for twelve to finish.",
            "My back tells me to hire somebody.",
            "The school benches are done, thirty of them.",
        ),
    ),
    Trade(
        "shopkeeper",
        "a",
        "market",
        540,
        1080,
        "who sells a little of everything",
        ("arranging vegetables", "weighing apples", "counting the till", "haggling with a customer"),
        (
            ("The market will close early on the day of the fair.", 5),
            ("A crate of lemons was left over and given away.", 2),
            ("A stranger bought every candle in the shop.", 5),
            ("The till was short by a few coins.", 4),
        ),
        (
            "Strawberries are in, but not for long.",
            "People buy less than last month, I notice it every evening.",
            "I will set up a second stall for the fair.",
            "The apples from the hills are the best in years.",
        ),
    ),
    Trade(
        "gardener",
        "a",
        "park",
        420,
        930,
        "who planted the willows on the pond",
        ("pruning the hedges", "watering the flower beds", "raking leaves", "feeding the ducks"),
        (
            ("A heron has begun to nest by the pond.", 4),
            ("Someone trampled the new tulip bed overnight.", 5),
            ("The old willow lost a heavy branch, and the path is closed.", 6),
            ("The first roses opened.", 3),
        ),
        (
            "It needs to rain soon, the beds are dry.",
            "The ducks follow me around as if I were their mother.",
            "I would like to plant a cherry tree by the gate.",
            "Nobody walks on the grass since I put up the sign.",
        ),
    ),
    Trade(
        "town clerk",
        "a",
        "hall",
        510,
        960,
        "who signs every permit",
        ("stamping forms", "answering letters", "taking minutes", "looking for a missing file"),
        (
            ("The council decided to repair the fountain this month.", 6),
            ("A petition for a night bus was handed in with many names.", 5),
            ("The file on the harbour wall cannot be found.", 4),
            ("The council meeting ended without a decision.", 4),
        ),
        (
            "The council talks a lot and decides little.",
            "You would not believe how many forms a market stall needs.",
            "The mayor wants the archive in order by spring.",
            "I have found a permit signed in the wrong century.",
        ),
    ),
    Trade(
        "innkeeper",
        "an",
        "pub",
        690,
        1260,
        "who hears all the news first",
        ("polishing glasses", "pouring drinks", "chalking up the quiz scores", "listening to the regulars"),
        (
            ("Two regulars quarrelled over the quiz and made up again.", 4),
            ("A barrel of the dark ale turned out sour.", 3),
            ("A band from the coast asked to play at the pub this week.", 6),
            ("The quiz record was broken by a single point.", 4),
        ),
        (
            "The quiz gets louder every week.",
            "A band wants to play here, I am tempted.",
            "I need a new dartboard, the old one has more holes than board.",
            "On Fridays I could use three more hands.",
        ),
    ),
    Trade(
        "ferry pilot",
        "a",
        "harbour",
        450,
        960,
        "who takes people and parcels across the bay",
        ("coiling ropes", "loading parcels", "checking the engine", "watching the tide"),
        (
            ("The morning ferry was late because of fog.", 4),
            ("A parcel without a name is waiting at the harbour.", 5),
            ("The ferry engine makes a worrying noise.", 6),
            ("Dolphins swam beside the ferry.", 4),
        ),
        (
            "The tide tables were wrong by ten minutes today.",
            "The engine will not last the winter.",
            "I took forty people across this morning, standing.",
            "A captain from the north has asked for my charts.",
        ),
    ),
    Trade(
        "student",
        "a",
        "library",
        570,
        960,
        "who came here to write a thesis",
        ("reading", "taking notes", "typing a chapter", "staring out of the window"),
        (
            ("A source for the thesis turned out to be a forgery.", 6),
            ("The third chapter is finally finished.", 5),
            ("The professor sent comments on every page.", 4),
            ("A seat by the window was free all day.", 2),
        ),
        (
            "Chapter three took me a month.",
            "My professor answers at midnight, always.",
            "I count footnotes in my sleep.",
            "Only the conclusion is missing, and the beginning.",
        ),
        (19, 27),
        "How is the thesis",
    ),
    Trade(
        "painter",
        "a",
        "home",
        600,
        1020,
        "who paints the harbour in every weather",
        ("mixing colours", "stretching a canvas", "painting", "looking at a half-finished picture"),
        (
            ("A gallery in the city asked for three paintings.", 7),
            ("The blue paint has run out.", 3),
            ("A canvas was spoiled by a spilled cup of tea.", 4),
            ("The light was perfect for an hour.", 3),
        ),
        (
            "I have the light right at last, only the water is wrong.",
            "A gallery has written to me, imagine.",
            "I have painted the same boat eleven times now.",
            "Nobody tells you how much canvas costs.",
        ),
    ),
    Trade(
        "pensioner",
        "a",
        "plaza",
        600,
        720,
        "who sailed for thirty years and now watches the town",
        ("feeding the pigeons", "reading the newspaper", "playing dominoes", "watching the fountain"),
        (
            ("The fountain stopped running for an hour.", 4),
            ("A letter from an old shipmate arrived.", 6),
            ("The pigeons have found the new bench.", 1),
            ("A stranger asked the way to the harbour.", 2),
        ),
        (
            "At my age every day is a Sunday.",
            "The newspaper gets thinner every year.",
            "I could tell you the tide without looking at the sea.",
            "My old ship was sold for scrap, I read.",
        ),
        (66, 84),
        "How do you spend your days",
    ),
)
