"""Irregular English forms, so that "went" finds "go" and "children" finds "child". A suffix stemmer cannot know them.

Only forms whose base a suffix stemmer misses are listed, and none whose form is more often another word ("felt" the
cloth is rare, "saw" the tool is rare, but "left" the side, "ground" the floor and "rose" the flower are not).
"""

from __future__ import annotations

from types import MappingProxyType

_FORMS = """
arise: arose arisen
awake: awoke awoken
bear: bore borne
become: became
begin: began begun
bend: bent
bite: bit bitten
blow: blew blown
break: broke broken
bring: brought
build: built
burn: burnt
buy: bought
catch: caught
choose: chose chosen
come: came
creep: crept
deal: dealt
dig: dug
draw: drew drawn
dream: dreamt
drink: drank drunk
drive: drove driven
eat: ate eaten
fall: fell fallen
feed: fed
feel: felt
fight: fought
find: found
flee: fled
fly: flew flown
forget: forgot forgotten
forgive: forgave forgiven
freeze: froze frozen
get: got gotten
give: gave given
go: went gone goes
grow: grew grown
hang: hung
hear: heard
hide: hid hidden
hold: held
keep: kept
know: knew known
lay: laid
lead: led
lean: leant
learn: learnt
lend: lent
light: lit
lose: lost
make: made
mean: meant
meet: met
mistake: mistook mistaken
overcome: overcame
pay: paid
prove: proven
ride: rode ridden
ring: rang rung
run: ran
say: said
see: saw seen
seek: sought
sell: sold
send: sent
sew: sewn
shake: shook shaken
shine: shone
shoot: shot
show: shown
shrink: shrank shrunk
sing: sang sung
sink: sank sunk
sit: sat
sleep: slept
slide: slid
speak: spoke spoken
spend: spent
spin: spun
stand: stood
steal: stole stolen
stick: stuck
strike: struck
swear: swore sworn
sweep: swept
swim: swam swum
swing: swung
take: took taken
teach: taught
tear: tore torn
tell: told
think: thought
throw: threw thrown
understand: understood
undertake: undertook undertaken
wake: woke woken
wear: wore worn
weave: wove woven
weep: wept
win: won
withdraw: withdrew withdrawn
write: wrote written
child: children
foot: feet
goose: geese
knife: knives
leaf: leaves
life: lives
man: men
mouse: mice
person: people
shelf: shelves
thief: thieves
tooth: teeth
wife: wives
wolf: wolves
woman: women
good: better best
bad: worse worst
"""

#: Irregular form -> base form, lower case.
BASE_FORMS = MappingProxyType(
    {form: base for base, _, forms in (line.partition(":") for line in _FORMS.split("\n")) for form in forms.split()}
)
