"""The tile map: districts of twelve public places above rows of homes, and positions within a place."""

from __future__ import annotations

from dataclasses import dataclass

from cogitate.memory.profile import Location
from cogitate.simulation.town.chance import Chance

PEOPLE_PER_DISTRICT = 40
PEOPLE_PER_HOME = 2
HOMES_PER_DISTRICT = PEOPLE_PER_DISTRICT // PEOPLE_PER_HOME
DISTRICTS_PER_ROW = 5

# District: 48 tiles wide; three rows of four public places (pitch 12), then rows of eight homes (pitch 6).
WIDTH, HEIGHT = 48, 60
PUBLIC_PITCH, PUBLIC_SIZE = 12, 8
HOME_PITCH, HOME_SIZE = 6, 4

#: id, name, type, tags
PUBLIC: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("cafe", "Linden Café", "restaurant", ("food", "social", "work")),
    ("bakery", "Crescent Bakery", "shop", ("food", "work")),
    ("library", "Town Library", "library", ("quiet", "work")),
    ("school", "Brook Street School", "school", ("work",)),
    ("market", "Market Hall", "shop", ("social", "work")),
    ("clinic", "Hillside Clinic", "clinic", ("work",)),
    ("workshop", "Anvil Lane Workshop", "workshop", ("work",)),
    ("park", "Willow Park", "park", ("outdoors", "social", "work")),
    ("hall", "Town Hall", "office", ("work",)),
    ("pub", "The Copper Kettle", "pub", ("food", "social", "work")),
    ("harbour", "Old Harbour", "harbour", ("outdoors", "work")),
    ("plaza", "Fountain Plaza", "plaza", ("outdoors", "social")),
)
DISTRICTS = (
    "Old Town",
    "Northgate",
    "Riverside",
    "Eastmoor",
    "Hillcrest",
    "Southbank",
    "Westfield",
    "Millbrook",
    "Fairview",
    "Kingsmead",
    "Ashdown",
    "Greenway",
    "Stonebridge",
    "Lakeside",
    "Highmeadow",
    "Oakham",
    "Redcliff",
    "Marketside",
    "Whitebridge",
    "Elmhurst",
    "Thornbury",
    "Seaview",
    "Longacre",
    "Birchwood",
    "Castle Hill",
)
STREETS = ("Lime Street", "Mill Lane", "Harbour Road", "Orchard Way", "Chapel Row")


@dataclass(frozen=True)
class Place:
    """A location with its bounds in tiles."""

    location: Location
    x: int
    y: int
    size: int

    @property
    def id(self) -> str:
        return self.location.id

    def spot(self, seed: int, owner: str) -> tuple[int, int]:
        """Return the tile where this owner stands in this place."""
        chance = Chance(seed, "spot", owner, self.id)
        return self.x + chance.below(self.size), self.y + chance.below(self.size)


def district_of(index: int) -> int:
    """Return the district in which the person with this index lives."""
    return index // PEOPLE_PER_DISTRICT


def public_id(kind: str, district: int) -> str:
    """Return the id of a public place: "cafe" in the first district, "cafe-2" in the second."""
    return kind if district == 0 else f"{kind}-{district + 1}"


def public_name(kind: str, district: int) -> str:
    """Return the name of a public place: "Linden Café" in the first district, "Northgate Linden Café" in the second."""
    name = next(name for known, name, _, _ in PUBLIC if known == kind)
    return name if district == 0 else f"{DISTRICTS[district % len(DISTRICTS)]} {name.removeprefix('The ')}"


def home_id(index: int) -> str:
    """Return the id of the home of the person with this index."""
    return f"home-{index // PEOPLE_PER_HOME + 1}"


def build(people: int) -> dict[str, Place]:
    """Return all places of a town by id; order and ids depend only on the number of people."""
    places: dict[str, Place] = {}
    for district in range((people - 1) // PEOPLE_PER_DISTRICT + 1):
        left = district % DISTRICTS_PER_ROW * WIDTH
        top = district // DISTRICTS_PER_ROW * HEIGHT
        for slot, (kind, _, place_type, tags) in enumerate(PUBLIC):
            row, column = divmod(slot, WIDTH // PUBLIC_PITCH)
            location = Location(
                id=public_id(kind, district), name=public_name(kind, district), type=place_type, tags=tags
            )
            places[location.id] = Place(
                location, left + column * PUBLIC_PITCH + 2, top + row * PUBLIC_PITCH + 2, PUBLIC_SIZE
            )
        lived_in = min(people - district * PEOPLE_PER_DISTRICT, PEOPLE_PER_DISTRICT)
        for slot in range((lived_in - 1) // PEOPLE_PER_HOME + 1):
            row, column = divmod(slot, WIDTH // HOME_PITCH)
            number = district * HOMES_PER_DISTRICT + slot
            street = STREETS[number % len(STREETS)]
            location = Location(
                id=f"home-{number + 1}", name=f"{number // len(STREETS) + 1} {street}", type="home", tags=("home",)
            )
            y = top + 3 * PUBLIC_PITCH + row * HOME_PITCH
            places[location.id] = Place(location, left + column * HOME_PITCH + 1, y + 1, HOME_SIZE)
    return places
