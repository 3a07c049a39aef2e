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
  barista milk lemonade soda whisky rum vodka cider champagne bottle
sleep bed asleep nap rest dream wake pillow tired bedtime pajamas blanket insomnia snore mattress alarm
hygiene shower bath wash brush teeth toothbrush toothpaste hair skincare shave groom bathroom toilet towel soap sink
clothes dress outfit wear shirt shoes jacket coat hat skirt closet wardrobe fashion laundry gear uniform sock boot
  scarf glove sweater jumper jeans ring necklace earring bracelet watch jewellery
chores clean tidy sweep mop vacuum dust laundry dishes housework maintenance maintain repair fix trash
exercise run jog gym workout fitness yoga stretch swim hike walk bike cycle lift weights athletic muscle marathon
sport game match team football soccer basketball tennis baseball coach player championship tournament athlete win
  badminton volleyball rugby cricket hockey golf skate ski surf climb boxing judo karate league cup score goal stadium
  supporter fan referee
health healthy doctor nurse hospital clinic medicine medication pharmacy ill sick disease pain injury wound heal
  therapy wellness patient treatment surgery
mind mental therapy therapist counsel counselor psychology meditate stress anxiety depression cope
study learn school class college university student exam test quiz lecture homework assignment course notes flashcard
  textbook tutor lesson academic education degree thesis graduate diploma master bachelor semester scholarship fail
  pass grade
teach teacher professor instructor lecture lesson class workshop mentor tutor coach educate student
research paper thesis experiment data survey analysis analyze finding science scientist scientific investigate library
  sources
read book novel magazine newspaper library story literature author page reader fiction
write writer author novel story poem poetry poet draft chapter character plot outline journal diary essay script edit
  publish
art artist paint draw sketch sculpture sculptor gallery canvas museum exhibition pottery craft mural creative design
photo photograph photography picture camera portrait snapshot
music musician song sing singer instrument guitar piano violin drum band orchestra concert compose composition melody
  album lyrics record vinyl festival choir karaoke tune cello flute trumpet
dance dancer ballet choreography studio stage perform rehearse
film movie video series episode theater cinema documentary actor actress television screen director horror comedy
  thriller cartoon anime season netflix oscar
play game chess cards puzzle console dice toy board
computer laptop code program programmer software app website internet online email technology developer
work job office career employee employer boss colleague coworker profession professional promotion hire interview
  shift resume
business company startup entrepreneur customer client market brand investor owner store shop profit
shop store market buy sell purchase customer shelf cashier stock product price retail supply supplier inventory
  merchant trade
money pay cost price budget finance financial tax bank invest income salary wage loan debt fund economic accounting
  wealth
politics election mayor vote voter candidate campaign government council policy debate president king queen
law legal regulation lawyer court judge rights police crime criminal guard prison arrest justice
community neighborhood neighbor local town village resident volunteer charity public activism activist
charity donate volunteer fundraiser shelter homeless help nonprofit cause
party celebrate festival holiday birthday anniversary wedding decorate balloon invite guest gift present
talk chat converse discuss speak say tell debate dialogue gossip
help support assist aid guide advise advice encourage mentor
family parent mother father mom dad son daughter child kid husband wife brother sister sibling grandmother grandfather
  grandma grandpa baby aunt uncle cousin adopt
friend friendship buddy companion acquaintance socialize hang bond mate pal colleague neighbour neighbor flatmate
love romance romantic dating boyfriend girlfriend couple kiss marry marriage wedding relationship affection engaged
  crush partner propose divorce breakup anniversary
plan schedule goal prepare organize arrange calendar agenda routine deadline
travel trip vacation journey flight fly airport hotel tour tourist visit roadtrip abroad country passport luggage
  suitcase visa border beach island ferry cruise train bus booking hostel
vehicle car drive truck bus train bike motorcycle ship boat engine road traffic
camp tent campfire hike trail outdoors forest mountain
nature forest tree river lake mountain sea ocean beach wildlife landscape sunset outdoors hike
garden plant flower grow seed soil water bloom harvest farm farmer crop vegetable
environment environmental eco sustainable green recycle climate pollution energy
weather rain snow storm sun sunny wind cloud cold hot temperature hurricane tornado flood earthquake hail frost ice
  fog heat drought lightning thunder eclipse disaster
pet dog puppy cat kitten animal vet leash bird fish turtle horse
relax rest leisure break unwind calm peaceful hobby
joy happy glad excited delighted proud grateful thankful enjoy fun
sorrow sad grief grieve mourn cry lonely disappointed upset depressed loss funeral death die
fear afraid scared anxious anxiety worry nervous threat danger phobia spider dark height nightmare
anger angry argue argument quarrel fight conflict furious upset hate
mathematics math geometry equation formula algebra statistics sequence ratio
home house apartment dorm room bedroom furniture rent landlord roommate flat move tenant flatmate lease mortgage
  balcony attic cellar
faith church god pray prayer religion religious temple priest worship
fight battle war weapon sword soldier army attack defend enemy military veteran
magic spell wizard witch potion curse ritual enchant
quest mission adventure treasure explore dungeon hero
success achieve accomplish win award prize medal trophy milestone
identity gender transgender gay lgbtq pride acceptance
hobby knit crochet sew guitar piano garden photography chess paint draw sing bake cycle fish collect stamp club puzzle
  crossword pottery birdwatch embroidery woodwork
illness sick disease flu fever cough cold migraine headache ache sore allergy allergic asthma diabetes cancer stroke
  infection virus rash nausea vomit throat dizzy symptom diagnose diagnosis condition health
injury hurt wound burn bruise sprain twist ankle wrist knee shoulder bone fracture break cut scar bleed bandage
  stitches cast crutch accident fall
body head face eye ear nose mouth tooth arm hand finger leg foot back belly stomach heart skin
dentist tooth filling cavity braces wisdom molar
medicine pill tablet dose drug vaccine injection prescription cure remedy antibiotic painkiller treatment
animal cow calf sheep goat pig hen rooster duck goose rabbit hamster bee insect snake horse donkey wolf bear fox deer
  whale seal
vet cat dog kitten puppy paw tail fur
relative family grandson granddaughter niece nephew cousin husband wife fiance widow twin stepmother stepfather
  ancestor
birth born baby pregnant pregnancy newborn midwife due crib diaper
death die dead funeral grave bury coffin mourn widow inheritance
job hire fire quit resign retire career boss salary contract apply application interview apprentice trainee
salary wage pay earn bonus raise rent bill owe debt afford save euro dollar pound cent deposit refund
food rice noodle pasta pizza curry stew egg butter sugar salt spice honey potato tomato onion garlic mushroom bean
  pepper chicken beef pork lamb fish shrimp apple banana berry chocolate biscuit cookie bun dough flour pie
allergy peanut pollen gluten lactose shellfish vegetarian vegan
ship boat sail sailor captain crew deck harbour harbor port anchor dock ferry cruise
place city town village country capital region coast island born grow
disaster fire flood earthquake storm collapse explosion emergency evacuate rescue damage destroy
car drive licence license brake tyre tire engine garage mechanic parking fine
repair fix mend broken leak tool hammer screwdriver replace mechanic plumber
game play console video card board dice quiz puzzle level
religion muslim christian jewish buddhist hindu mosque church temple prayer pray fast ramadan lent easter christmas
  advent mass priest imam monk bible quran
conflict argue quarrel row fight insult blame apologise apologize sorry forgive grudge
school teacher class pupil headmaster detention lesson homework
language speak translate accent dialect word learn english french german spanish
birthday present gift cake candle party surprise
secret lie cheat rumour rumor gossip betray confess
crime steal theft thief rob burglar police arrest court fraud fine prison
promise vow swear keep break word
appointment meet date noon schedule cancel postpone
fish net fisherman catch boat hook
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
