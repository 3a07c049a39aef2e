"""A small English thesaurus of everyday life: words that belong to one theme, so that "lunch" is near "breakfast".

Retrieval without embeddings misses what is said in other words. Themes are coarse on purpose: they only add a
little to words that match themselves (see `cogitate.memory.retrieval.candidates.Matching`). In other languages they are
silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from cogitate.memory.language.text import stem

#: A theme starts at the margin, its name first; indented lines go on with it. A word may belong to several.
_THEMES = """
meal eat food breakfast brunch lunch dinner supper snack feast cook bake fry recipe dish salad sandwich soup bread
  cake pastry restaurant diner hungry taste delicious ingredient menu diet nutrition grocery fruit vegetable meat
  cheese
kitchen cook bake stove oven fridge refrigerator microwave pan pot plate knife recipe chef
drink coffee tea juice wine beer ale water beverage espresso latte thirsty cup mug bar pub tavern cafe bartender
  barista
sleep bed asleep nap rest dream wake pillow tired bedtime pajamas blanket insomnia
hygiene shower bath bathe wash brush teeth toothbrush toothpaste hair skincare shave groom bathroom toilet towel
  soap sink
clothes dress outfit wear shirt shoes jacket coat hat skirt closet wardrobe fashion laundry gear uniform
chores clean tidy sweep mop vacuum dust laundry dishes housework maintenance maintain repair fix trash
exercise run jog gym workout fitness yoga stretch swim hike walk bike cycle lift weights athletic athlete muscle
  marathon
sport game match team football soccer basketball tennis baseball coach player championship tournament athlete win
health healthy doctor nurse hospital clinic medicine medication pharmacy ill sick disease pain injury wound heal
  therapy wellness patient treatment surgery
mind mental therapy therapist counsel counselor psychology meditate meditation mindfulness stress anxiety depression
  cope
study learn school class college university student exam test quiz lecture homework assignment course notes
  flashcard textbook tutor lesson academic education degree
teach teacher professor instructor lecture lesson class workshop mentor tutor coach educate student
research paper thesis experiment data survey analysis analyze finding science scientist scientific investigate
  library sources
read book novel magazine newspaper library story literature author page reader fiction
write writer author novel story poem poetry poet draft chapter character plot outline journal diary essay script
  edit publish
art artist paint painting draw drawing sketch sculpture sculptor gallery canvas museum exhibition pottery craft
  mural creative design
photo photograph photography photographer picture camera portrait snapshot
music musician song sing singer instrument guitar piano violin drum band orchestra concert compose composer
  composition melody album lyrics
dance dancer ballet choreography studio stage perform performance rehearse rehearsal
film movie video series episode theater cinema documentary actor actress television screen
play game chess cards puzzle console dice toy board
computer laptop code program programmer programming software app website internet online email technology developer
work job office career employee employer boss colleague coworker profession professional promotion hire interview
  shift resume
business company startup entrepreneur customer client market marketing brand investor owner store shop profit
shop store market buy sell purchase customer shelf cashier stock product price retail supply supplier inventory
  merchant trade
money pay cost price budget finance financial tax bank invest income salary wage loan debt fund economic accounting
  wealth
politics political election mayor vote voter candidate campaign government council policy debate president king
  queen
law legal regulation lawyer court judge rights police crime criminal guard prison arrest justice
community neighborhood neighbor local town village resident volunteer charity public activism activist
charity donate donation volunteer fundraiser shelter homeless help nonprofit cause
party celebrate celebration festival holiday birthday anniversary wedding decorate decoration balloon invite
  invitation guest gift present
talk chat converse conversation discuss discussion speak say tell debate dialogue gossip
help support assist aid guide advise advice encourage mentor
family parent mother father mom dad son daughter child kid husband wife brother sister sibling grandmother
  grandfather grandma grandpa baby aunt uncle cousin adopt adoption
friend friendship buddy companion acquaintance socialize hang bond
love romance romantic dating boyfriend girlfriend couple kiss marry marriage wedding relationship affection engaged
  crush partner
plan schedule goal prepare preparation organize arrange arrangement calendar agenda routine deadline
travel trip vacation journey flight fly airport hotel tour tourist visit roadtrip abroad country passport
vehicle car drive truck bus train bike motorcycle ship boat engine road traffic
camp camping tent campfire hike trail outdoors forest mountain
nature forest tree river lake mountain sea ocean beach wildlife landscape sunset outdoors hike
garden plant flower grow seed soil water bloom harvest farm farmer crop vegetable
environment environmental eco sustainable sustainability green recycle climate pollution energy
weather rain snow storm sun sunny wind cloud cold hot temperature
pet dog puppy cat kitten animal vet leash bird fish turtle horse
relax relaxation rest leisure break unwind calm peaceful hobby
joy happy happiness glad excited excitement delighted proud grateful thankful enjoy fun
sorrow sad grief grieve mourn cry lonely disappointed upset depressed loss funeral death die
fear afraid scared anxious anxiety worry nervous threat danger
anger angry argue argument quarrel fight conflict furious upset hate
mathematics math mathematical geometry equation formula algebra statistics sequence ratio
home house apartment dorm room bedroom furniture rent landlord roommate
faith church god pray prayer religion religious temple priest worship
fight battle war weapon sword soldier army attack defend enemy military veteran
magic spell wizard witch potion curse ritual enchant
quest mission adventure treasure explore dungeon hero
success achieve achievement accomplish accomplishment win award prize medal trophy milestone
identity gender transgender gay lgbtq pride acceptance
"""


def _read(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the themes of each stem, as terms that no word can equal."""
    found: dict[str, list[str]] = {}
    for line in text.replace("\n  ", " ").strip().splitlines():
        members = line.split()
        for member in dict.fromkeys(stem(word) for word in members):
            found.setdefault(member, []).append(f"#{members[0]}")
    return MappingProxyType({word: tuple(names) for word, names in found.items()})


@cache
def themes() -> Mapping[str, tuple[str, ...]]:
    """Return the themes of each stem that has some, each marked with "#"."""
    return _read(_THEMES)


def is_theme(term: str) -> bool:
    """Return whether a term is a theme and not a word."""
    return term.startswith("#")
