"""Days without a model: profiles, what is known of the day, and the plan that comes of it, item by item."""

from __future__ import annotations

from typing import Any

from cogitate.memory.appointments import Appointment
from cogitate.memory.profile import Location
from cogitate.simulation.meters import energy, fed

PLACES = (
    Location(id="cafe", name="Hobbs Cafe", type="cafe", tags=("social",)),
    Location(id="lib", name="Oak Library", type="library"),
    Location(id="dorm", name="Dorm", type="home"),
    Location(id="park", name="Johnson Park", type="park"),
    Location(id="bar", name="Rose Bar", type="bar", tags=("social",)),
    Location(id="garden", name="Rose Garden", tags=("outdoors",)),
)
BAKER: dict[str, Any] = {
    "name": "Klaus",
    "occupation": "baker",
    "home": "dorm",
    "work": "cafe",
    "currently": "Klaus is writing a novel.",
    "routine": "Klaus goes to bed around 11pm, awakes up around 7am, eats dinner around 6pm.",
}


CASES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (
        "a usual day",
        BAKER,
        {},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "who joins a little late gets up then",
        BAKER,
        {"start": 510},
        """
        8:30 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "who joins later than that has had breakfast",
        BAKER,
        {"start": 511},
        """
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "who joins during working hours begins at once",
        BAKER,
        {"start": 800},
        """
        13:20 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "an hour before the end of work is too late for that",
        BAKER,
        {"start": 960},
        """
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        20:30 Relax and meet people at Rose Bar | bar 3 5
        21:45 Tidy up at home | dorm 2 6
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "who joins at night goes to bed soon",
        BAKER,
        {"start": 1370},
        """
        23:00 Take a walk at Rose Garden | garden 2 6
        23:15 Spend time writing a novel | - 3 4
        23:30 Tidy up at home | dorm 2 6
        23:45 Read and rest at home | dorm 2 6
        24:05 Go to bed | dorm 4 1
        """,
    ),
    (
        "a window of a few minutes holds them all",
        BAKER,
        {"start": 1380, "end": 1384},
        """
        23:00 Spend time writing a novel | - 3 4
        23:00 Tidy up at home | dorm 2 6
        23:00 Read and rest at home | dorm 2 6
        23:00 Take a walk at Rose Garden | garden 2 6
        23:03 Go to bed | dorm 4 1
        """,
    ),
    (
        "the second day",
        BAKER,
        {"start": 1800, "end": 3240},
        """
        31:00 Get up and have breakfast at home | dorm 4 3
        33:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        36:00 Have lunch at Hobbs Cafe | cafe 4 3
        37:00 Continue working at Hobbs Cafe | cafe 5 2
        42:00 Have dinner at home | dorm 4 3
        43:15 Spend time writing a novel | - 3 4
        44:30 Relax and meet people at Rose Bar | bar 3 5
        47:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "nobody in particular",
        {"name": "Ann"},
        {"places": ()},
        """
        6:00 See to what comes up | - 3 5
        """,
    ),
    (
        "a student",
        {"name": "Ann", "occupation": "student of law", "home": "dorm", "work": "lib"},
        {},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Study at Oak Library | lib 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue studying at Oak Library | lib 5 2
        17:30 Relax and meet people at Rose Bar | bar 3 5
        19:00 Have dinner at home | dorm 4 3
        22:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "a robot",
        {"name": "R7", "occupation": "maintenance robot", "currently": "R7 is checking the seals."},
        {"owed": ("Mend the gate",), "unfinished": ({"description": "Charge"},)},
        """
        6:00 Work as a maintenance robot | - 4 1
        10:30 Mend the gate | - 4 2
        12:00 Spend time checking the seals | - 4 1
        15:00 Take up again: Charge | - 3 2
        """,
    ),
    (
        "a student without a place",
        {
            "name": "Ann",
            "occupation": "Student",
            "currently": "Ann is writing a thesis.",
            "routine": "Ann lives by the day.",
        },
        {},
        """
        7:00 Get up and have breakfast at home | - 4 3
        8:00 Go to class and study | - 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Spend time writing a thesis | - 5 2
        17:30 Relax and meet people at Rose Bar | bar 3 5
        19:00 Have dinner at home | - 4 3
        22:00 Go to bed | - 4 1
        """,
    ),
    (
        "a pensioner",
        {"name": "Ann", "occupation": "a retired teacher", "home": "dorm", "work": "lib"},
        {},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Spend time at Oak Library | lib 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Stay at Oak Library | lib 5 2
        17:30 Relax and meet people at Rose Bar | bar 3 5
        19:00 Have dinner at home | dorm 4 3
        22:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "who works at home",
        {
            "name": "Ann",
            "occupation": "an artist",
            "home": "dorm",
            "work": "dorm",
            "currently": "Ann is painting a wall.",
        },
        {},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        8:00 Work at home as an artist | dorm 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Spend time painting a wall | dorm 5 2
        17:30 Relax and meet people at Rose Bar | bar 3 5
        19:00 Have dinner at home | dorm 4 3
        22:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "who works at night",
        BAKER | {"routine": "Klaus works from 10pm to 6am, goes to bed at 8am."},
        {},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        17:00 Spend time writing a novel | - 3 4
        19:00 Have dinner at home | dorm 4 3
        20:15 Relax and meet people at Rose Bar | bar 3 5
        21:00 Have lunch at Hobbs Cafe | cafe 4 3
        22:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        23:00 Continue working at Hobbs Cafe | cafe 5 2
        """,
    ),
    (
        "a routine of one's own",
        BAKER
        | {
            "routine": "Klaus wakes at 5am, has breakfast at 5:30am, works from 8am to 2pm, eats lunch at 1pm, "
            "takes a walk at 4pm, watches the birds at 4:30pm, eats dinner at 5pm, goes to bed at 9pm."
        },
        {},
        """
        8:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        13:00 Have lunch at Hobbs Cafe | cafe 4 3
        16:00 Take a walk | - 3 2
        16:15 Spend time writing a novel | - 3 4
        16:30 Watch the birds | - 3 2
        17:00 Have dinner at home | dorm 4 3
        18:15 Relax and meet people at Rose Bar | bar 3 5
        21:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "dinner in working hours",
        BAKER | {"routine": "Klaus works from 11am to 9pm, eats dinner at 6pm, goes to bed at 11pm."},
        {},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        11:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Take a break for dinner | cafe 4 3
        19:15 Relax and meet people at Rose Bar | bar 3 5
        21:30 Spend time writing a novel | - 3 4
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "a trade that names its place",
        {
            "name": "Bo",
            "occupation": "barkeeper at Rose Bar",
            "work": "bar",
            "home": "dorm",
            "currently": "Bo is running Rose Bar.",
        },
        {},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Rose Bar as a barkeeper | bar 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Rose Bar | bar 5 2
        17:30 Relax and meet people at Hobbs Cafe | cafe 3 5
        19:00 Have dinner at home | dorm 4 3
        22:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "hunger and weariness",
        BAKER,
        {"status": {"hunger": fed(19), "energy": energy(19.5)}},
        """
        6:00 Eat something, being very hungry, at Hobbs Cafe | cafe 5 0
        6:30 Rest at home to recover energy | dorm 5 0
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "weariness alone",
        BAKER,
        {"status": {"hunger": fed(20), "energy": energy(19)}},
        """
        6:00 Rest at home to recover energy | dorm 5 0
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "neither, at the limit",
        BAKER,
        {"status": {"hunger": fed(20), "energy": energy(20)}},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "appointments in place of meals",
        BAKER,
        {
            "booked": [
                Appointment(minute=750, what="Have lunch with Bo", location="park", number=1),
                Appointment(minute=1110, what="Have supper", location="cafe", number=2),
            ]
        },
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:30 Have lunch with Bo | park 5 0
        18:30 Have supper | cafe 5 0
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "an appointment beside ordinary items",
        BAKER,
        {"booked": [Appointment(minute=765, what="Attend the party", location="cafe", number=1)]},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        12:45 Attend the party | cafe 5 0
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "an appointment that just lets them be",
        BAKER,
        {"booked": [Appointment(minute=1125, what="Attend the party", location="cafe", number=1)]},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        18:45 Attend the party | cafe 5 0
        20:30 Relax and meet people at Rose Bar | bar 3 5
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "an appointment late at night",
        BAKER,
        {"booked": [Appointment(minute=1400, what="Attend the party", location="bar", number=1)]},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        23:20 Attend the party | bar 5 0
        24:20 Go to bed | dorm 4 1
        """,
    ),
    (
        "more appointments than a day has room for",
        BAKER,
        {
            "booked": [
                Appointment(minute=600, what="Meet 0", location=None, number=0),
                Appointment(minute=630, what="Meet 1", location=None, number=1),
                Appointment(minute=660, what="Meet 2", location=None, number=2),
                Appointment(minute=690, what="Meet 3", location=None, number=3),
                Appointment(minute=720, what="Meet 4", location=None, number=4),
                Appointment(minute=750, what="Meet 5", location=None, number=5),
                Appointment(minute=780, what="Meet 6", location=None, number=6),
                Appointment(minute=810, what="Meet 7", location=None, number=7),
                Appointment(minute=840, what="Meet 8", location=None, number=8),
            ]
        },
        """
        10:00 Meet 0 | - 5 0
        10:30 Meet 1 | - 5 0
        11:00 Meet 2 | - 5 0
        11:30 Meet 3 | - 5 0
        12:00 Meet 4 | - 5 0
        12:30 Meet 5 | - 5 0
        13:00 Meet 6 | - 5 0
        13:30 Meet 7 | - 5 0
        """,
    ),
    (
        "unfinished items",
        BAKER,
        {
            "unfinished": [
                {"description": "Buy 3 eggs", "priority": 2, "location": "park"},
                {"description": "Take up again: Call Bo", "location": "x"},
                {"description": "Write a novel chapter", "priority": 5},
                {"description": ""},
                {"description": "Paint a wall"},
                {"description": "Sell a car", "priority": 1},
            ]
        },
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        10:30 Take up again: Call Bo | - 3 2
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        15:00 Take up again: Paint a wall | - 3 2
        16:30 Take up again: Buy 3 eggs | park 2 2
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "an unfinished item of odd values",
        BAKER,
        {"unfinished": [{"description": 7, "priority": "x", "location": None}, {"priority": 5}]},
        """
        7:00 Get up and have breakfast at home | dorm 4 3
        9:00 Go to work at Hobbs Cafe as a baker | cafe 5 1
        10:30 Take up again: 7 | - 3 2
        12:00 Have lunch at Hobbs Cafe | cafe 4 3
        13:00 Continue working at Hobbs Cafe | cafe 5 2
        18:00 Have dinner at home | dorm 4 3
        19:15 Spend time writing a novel | - 3 4
        23:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "fillers",
        {"name": "Ann", "home": "dorm", "currently": "Ann is writing a novel."},
        {"start": 1170},
        """
        20:00 Tidy up at home | dorm 2 6
        20:15 Take a walk at Rose Garden | garden 2 6
        20:45 Spend time writing a novel | - 3 4
        21:15 Read and rest at home | dorm 2 6
        22:00 Go to bed | dorm 4 1
        """,
    ),
    (
        "fillers without a place",
        {"name": "Ann", "routine": "Ann lives by the day."},
        {"start": 1170, "places": ()},
        """
        20:00 Read and rest at home | - 2 6
        20:15 Think over what happened | - 2 6
        20:45 Tidy up at home | - 2 6
        21:15 Take a walk | - 2 6
        22:00 Go to bed | - 4 1
        """,
    ),
]
