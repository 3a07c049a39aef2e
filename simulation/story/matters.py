"""The matters before the council, with the arguments for each side."""

from __future__ import annotations

from typing import NamedTuple

from cogitate.simulation.story.people import HEALER, MILLER, REEVE, SHEPHERD, SMITH


class Argument(NamedTuple):
    """A statement for a side, with the speaker's reason."""

    speaker: str
    text: str
    reasoning: str


class Side(NamedTuple):
    """One answer to a matter."""

    motion: str  # completes "voted to …"
    arguments: tuple[Argument, ...]
    outcome: str  # what the valley hears in the afternoon
    coins: int  # gained by a councillor's household in the season


class Matter(NamedTuple):
    """A question that the council decides by vote: two councillors for each side, and one undecided."""

    topic: str  # completes "discussed …"
    opening: str
    sides: tuple[Side, Side]


MATTERS = (
    Matter(
        "the bridge toll",
        "Maud Fenwick opened the session and asked the council to settle the toll of the stone bridge.",
        (
            Side(
                "lower the toll to two coppers",
                (
                    Argument(
                        MILLER,
                        "Two coppers would bring back the carters who now take the long road round by Saltmarsh.",
                        "Every cart that comes through buys flour, shoes and a bed.",
                    ),
                    Argument(
                        SHEPHERD,
                        "I spoke with six farmers on Sunday, and all of them cross at night to dodge the keeper.",
                        "A toll that honest people dodge teaches them to dodge other things.",
                    ),
                    Argument(
                        HEALER,
                        "My patients from the far bank wait until they are very ill, because four coppers is a day's "
                        "bread. Last month a boy with a fever was carried to me three days late. His mother had "
                        "counted out her coins twice and found that she could pay for the crossing or for the "
                        "medicine, but not for both. I do not want to explain that to another mother, and I do not "
                        "believe that anybody at this table does either.",
                        "The boy lived, but he might not have.",
                    ),
                ),
                "The toll of the stone bridge is two coppers from tomorrow.",
                14,
            ),
            Side(
                "keep the toll at four coppers",
                (
                    Argument(
                        SMITH,
                        "The third arch has a crack that I can put my hand into, and masons cost silver.",
                        "If the bridge falls, nobody will ask how cheap the crossing was.",
                    ),
                    Argument(
                        REEVE,
                        "We promised the masons forty silver by midwinter, and the toll is the only coin that we have.",
                        "A broken promise to the masons would follow us for years.",
                    ),
                    Argument(
                        MILLER,
                        "Four coppers is what Saltmarsh takes, and nobody calls Saltmarsh greedy.",
                        "People complain about any price.",
                    ),
                ),
                "The toll of the stone bridge stays at four coppers, and the masons will be paid at midwinter.",
                9,
            ),
        ),
    ),
    Matter(
        "the winter watch",
        "Maud Fenwick read out three reports of wolves near the high pasture and asked who would stand watch.",
        (
            Side(
                "pay four guards for the winter",
                (
                    Argument(
                        SHEPHERD,
                        "I lost five ewes in one night, and I cannot guard two hundred sheep with one dog.",
                        "Another night like that and the flock is not worth keeping.",
                    ),
                    Argument(
                        MILLER,
                        "Hired guards stay awake because they are paid; a tired farmer falls asleep by the fire.",
                        "My own brother slept through the wolves when we were young.",
                    ),
                    Argument(
                        REEVE,
                        "Kestrel Vane's company is here anyway, and they asked for eight silver a week, food included.",
                        "I would rather have them on our side than idle in the tavern.",
                    ),
                ),
                "Four guards will watch the high pasture until the thaw, paid by the council.",
                11,
            ),
            Side(
                "let every household take a turn at the watch",
                (
                    Argument(
                        HEALER,
                        "A turn every twelve nights hurts nobody, and it costs us nothing but sleep.",
                        "We paid for guards once, and they drank the money.",
                    ),
                    Argument(
                        REEVE,
                        "People who keep watch together in winter do not quarrel about fences in spring.",
                        "The valley has grown apart since the flood.",
                    ),
                    Argument(
                        SMITH,
                        "I will take the first turn myself, and I will bring the big bell from the forge.",
                        "Somebody has to begin.",
                    ),
                ),
                "Every household keeps watch one night in twelve, and Rolf Harding's bell hangs at the pasture.",
                6,
            ),
        ),
    ),
    Matter(
        "the grain store",
        "Maud Fenwick showed the council the tally of the grain store, which was short by thirty sacks.",
        (
            Side(
                "lock the grain store and count it every week",
                (
                    Argument(
                        REEVE,
                        "Thirty sacks do not walk away; somebody has a second key.",
                        "I would never say a name without proof.",
                    ),
                    Argument(
                        SMITH,
                        "With a new lock from the forge and a count each week we would know within days.",
                        "I can make a lock that nobody in the valley can open.",
                    ),
                    Argument(
                        MILLER,
                        "An honest miller has nothing to fear from counting, and I want to be seen to be honest.",
                        "People look at me first whenever grain is missing.",
                    ),
                ),
                "The grain store has a new lock, and Ines Calloway counts the sacks each week.",
                12,
            ),
            Side(
                "leave the grain store open and trust the keepers",
                (
                    Argument(
                        MILLER,
                        "The damp took those sacks: I found black flour behind the north wall.",
                        "I should have looked behind that wall in autumn.",
                    ),
                    Argument(
                        HEALER,
                        "If we lock the store against our own people, hungry children will pay for our suspicion.",
                        "I treated two of them this week.",
                    ),
                    Argument(
                        SHEPHERD,
                        "A lock says that somebody here is a thief, and I do not believe that.",
                        "The widow by the weir has taken grain before, and nobody minded.",
                    ),
                ),
                "The grain store stays open, and its roof will be mended before the snow.",
                7,
            ),
        ),
    ),
    Matter(
        "the mill weir",
        "Maud Fenwick reported that the lower meadows were under water again, and asked what to do about the weir.",
        (
            Side(
                "raise the mill weir by two hands",
                (
                    Argument(
                        MILLER,
                        "With two more hands of water the wheel turns all winter, and bread stays cheap.",
                        "The mill stood still for six weeks last year.",
                    ),
                    Argument(
                        SMITH,
                        "The ice breaks on a high weir before it reaches the bridge.",
                        "I saw what ice did to the old bridge.",
                    ),
                    Argument(
                        REEVE,
                        "A dry mill sends our grain to Saltmarsh, where they keep one sack in ten.",
                        "That is more than the flooded meadows are worth.",
                    ),
                ),
                "The mill weir will be raised by two hands before the frost.",
                13,
            ),
            Side(
                "lower the mill weir and drain the meadows",
                (
                    Argument(
                        SHEPHERD,
                        "My lambs stood in water up to their bellies, and three of them drowned.",
                        "The mill can buy grain, but I cannot buy lambs in winter.",
                    ),
                    Argument(
                        HEALER,
                        "Standing water brings fever. I had eleven cases below the weir and none above it.",
                        "Nobody counts the sick when they count sacks.",
                    ),
                    Argument(
                        REEVE,
                        "The old charter says that the weir belongs to the meadows from May to Michaelmas.",
                        "I read it twice, and the seal is good.",
                    ),
                ),
                "The mill weir will be lowered, and the meadows drained by Michaelmas.",
                8,
            ),
        ),
    ),
    Matter(
        "the silver mine",
        "Maud Fenwick told the council that a stranger offered sixty silver for the right to open the old mine.",
        (
            Side(
                "open the silver mine again",
                (
                    Argument(
                        REEVE,
                        "Sixty silver would mend the bridge, the roof of the store and half the lanes.",
                        "We will not see such a sum again in my lifetime.",
                    ),
                    Argument(
                        MILLER,
                        "Young people leave because there is no work, and a mine is work for forty.",
                        "My cousin left in spring, and he was the best hand at the mill.",
                    ),
                    Argument(
                        SHEPHERD,
                        "The lower gallery is dry now. Wyn Ashdown walked it with a lamp and came back whole.",
                        "I trust Wyn more than the stories.",
                    ),
                ),
                "The stranger may open the silver mine, and pays sixty silver to the valley.",
                20,
            ),
            Side(
                "keep the silver mine closed",
                (
                    Argument(
                        SMITH,
                        "My brother lies in that mine, and eleven others, and I will not sell their grave.",
                        "I hear him in my sleep still.",
                    ),
                    Argument(
                        HEALER,
                        "The water that runs from the mine killed every trout down to the ford.",
                        "What kills trout does not do a child any good.",
                    ),
                    Argument(
                        SHEPHERD,
                        "Nobody who offers sixty silver for a closed hole tells us the whole truth.",
                        "He would not give me the name of his master.",
                    ),
                ),
                "The silver mine stays closed, and the stranger leaves the valley without a contract.",
                5,
            ),
        ),
    ),
    Matter(
        "the harvest fair",
        "Maud Fenwick reminded the council that the harvest fair had cost more than it brought in.",
        (
            Side(
                "hold the harvest fair for three days",
                (
                    Argument(
                        SHEPHERD,
                        "Three days bring the wool buyers, and last year they came when the fair was over.",
                        "I sold at half price because of it.",
                    ),
                    Argument(
                        MILLER,
                        "Oswin Pike offers the ale at cost if he may keep the stalls by the green.",
                        "He is the only one who ever earned from the fair.",
                    ),
                    Argument(
                        HEALER,
                        "After such a year people need three days on which nobody counts anything.",
                        "I see tired faces in the infirmary all day.",
                    ),
                ),
                "The harvest fair lasts three days, with the wool buyers on the second.",
                10,
            ),
            Side(
                "hold no harvest fair this year",
                (
                    Argument(
                        REEVE,
                        "We were nineteen silver short last autumn, and the year before that twelve.",
                        "A council that cannot add should not hold fairs.",
                    ),
                    Argument(
                        MILLER,
                        "A fair without a full store looks to strangers like a valley with plenty to steal.",
                        "I sleep badly as it is.",
                    ),
                    Argument(
                        SMITH,
                        "Let us feast when the bridge stands, and give the money to the masons.",
                        "First the bread, then the dancing.",
                    ),
                ),
                "There is no harvest fair this year, and its money goes to the masons.",
                6,
            ),
        ),
    ),
    Matter(
        "the new well",
        "Maud Fenwick set a jar of brown water on the table and asked where the new well should be dug.",
        (
            Side(
                "dig the new well by the chapel",
                (
                    Argument(
                        HEALER,
                        "Mother Agnes showed me a spring behind the chapel that did not freeze in forty winters.",
                        "I tasted it, and it is sweet.",
                    ),
                    Argument(
                        REEVE,
                        "The chapel stands above the tannery, so nothing foul runs into the well.",
                        "Half of the fevers came from the old one.",
                    ),
                    Argument(
                        SHEPHERD,
                        "The upper farms carry water for a mile, and they have never had a well of their own.",
                        "It is their turn.",
                    ),
                ),
                "The new well will be dug behind the old chapel, and Mother Agnes blesses it.",
                9,
            ),
            Side(
                "dig the new well on the green",
                (
                    Argument(
                        SMITH,
                        "On the green everybody can reach the well, and it puts out fires where the houses stand.",
                        "When the bakery burned I carried one of forty buckets, and all of them were empty.",
                    ),
                    Argument(
                        MILLER,
                        "We would strike water at nine feet there; by the chapel it may be thirty.",
                        "Every foot of digging costs a silver.",
                    ),
                    Argument(
                        SHEPHERD,
                        "A well is where a village meets, and the green needs people.",
                        "It has been empty since the market moved.",
                    ),
                ),
                "The new well will be dug on the green, and Rolf Harding begins on Monday.",
                10,
            ),
        ),
    ),
)
CERTAINTIES = ("high", "medium", "low")
