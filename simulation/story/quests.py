"""The quests of the company of travellers: three scenes each, in places that the company enters and leaves.

Lines are "speaker: text"; a line without a speaker is the narrator's.
"""

from __future__ import annotations

from typing import NamedTuple

from cogitate.simulation.story.people import BURNER, CHAPLAIN, FERRYWOMAN, INNKEEPER, RANGER, SCHOLAR, SHEPHERD, SOLDIER

K, D, L = RANGER, SOLDIER, SCHOLAR


class Scene(NamedTuple):
    """A visit to one place."""

    place: str
    objective: str  # id
    lines: tuple[tuple[str, str], ...]
    npcs: tuple[str, ...] = ()  # NPCs at the place
    encounter: str = ""  # id of a fight or a trap that ends when the company leaves
    cleared: bool = False  # no danger remains there


class Quest(NamedTuple):
    """A quest with two endings."""

    id: str
    title: str
    giver: str
    task: str  # the giver's words on hiring the company
    scenes: tuple[Scene, Scene]
    endings: tuple[Scene, Scene]
    pay: int  # silver


QUESTS = (
    Quest(
        "grain-cart",
        "the missing grain cart",
        INNKEEPER,
        "Oswin Pike hired Kestrel Vane's company to find the grain cart that left the mill on Monday, for nine silver.",
        (
            Scene(
                "ford",
                "ask-at-the-ford",
                (
                    (K, "Hester Lowe, did a cart with barley cross here on Monday?"),
                    (FERRYWOMAN, "A cart came at dusk. Two men drove it, and neither of them was the miller's boy."),
                    (D, "Hester Lowe, which way did the cart turn?"),
                    (
                        FERRYWOMAN,
                        "It turned towards Blackthorn Wood, and the drivers paid with a coin that was warm from a "
                        "fire. I promise to ring the bell twice if those two come back.",
                    ),
                    ("", "Liesl Amory found barley in the ruts, all the way to the trees."),
                ),
                (FERRYWOMAN,),
            ),
            Scene(
                "woods",
                "find-the-cart",
                (
                    ("", "The cart stood empty between the blackthorns, and its wheels had been burned."),
                    (BURNER, "I took nothing. I only made charcoal of what was left, and that is my trade."),
                    (L, "Wyn Ashdown, who unloaded the sacks?"),
                    (BURNER, "It was men with a boat. They carried thirty sacks down to the river by night."),
                    (D, "Then somebody on the river has a second key to the grain store."),
                ),
                (BURNER,),
                "ambush-in-the-wood",
            ),
        ),
        (
            Scene(
                "tavern",
                "bring-word",
                (
                    (K, "Oswin Pike, the cart is burned, but we know the boat: it is called the Marigold."),
                    (INNKEEPER, "Nine silver, as we agreed, and the pie is on the house."),
                    ("", "Oswin Pike counted nine silver into Kestrel Vane's hand."),
                ),
                (INNKEEPER,),
            ),
            Scene(
                "tavern",
                "bring-word",
                (
                    (K, "Oswin Pike, the sacks went down the river before we came to the wood."),
                    (INNKEEPER, "Then I owe you for the road and not for the grain. I will pay you four silver."),
                    (D, "Four silver is not what you promised, Oswin Pike."),
                    ("", "Dunstan Reed left the Grey Heron without his supper."),
                ),
                (INNKEEPER,),
            ),
        ),
        9,
    ),
    Quest(
        "chapel-bell",
        "the bell of the old chapel",
        CHAPLAIN,
        "Mother Agnes asked Kestrel Vane's company to bring back the bell that was stolen from the old chapel.",
        (
            Scene(
                "chapel",
                "look-at-the-tower",
                (
                    (CHAPLAIN, "The bell rang on Sunday, and on Monday there was a rope and nothing else."),
                    (L, "The inscription says that the bell was cast from the silver of the mine."),
                    (CHAPLAIN, "Liesl Amory, if that becomes known, every thief in the valley will dig up my floor."),
                    (K, "Mother Agnes, I promise that nobody will hear of the silver from us."),
                    ("", "A sack of wool lay under the tower, marked with the sign of the river traders."),
                ),
                (CHAPLAIN,),
            ),
            Scene(
                "mine",
                "search-the-mine",
                (
                    ("", "The mouth of the mine had been opened, and fresh timber held up the roof."),
                    (D, "Somebody sleeps here. The ashes are from this morning."),
                    (L, "My map is right: there is a second gallery, and it leads below the chapel."),
                    ("", "Dunstan Reed fought a man with a crowbar in the dark and took a wound in the shoulder."),
                    (K, "Dunstan Reed, sit down before you fall down. The bell is here, under the sacking."),
                ),
                (),
                "the-man-with-the-crowbar",
                True,
            ),
        ),
        (
            Scene(
                "chapel",
                "hang-the-bell",
                (
                    (CHAPLAIN, "You have kept your word, Kestrel Vane, and I will pray for Dunstan Reed's shoulder."),
                    ("", "The bell of the old chapel hangs again, and it rang three times at noon."),
                    (CHAPLAIN, "I have no silver. Take the chapel's old book of hours instead, Liesl Amory."),
                ),
                (CHAPLAIN,),
            ),
            Scene(
                "chapel",
                "hang-the-bell",
                (
                    (CHAPLAIN, "The bell is cracked. It will never ring again."),
                    (L, "The metal is still silver, Mother Agnes. A founder could cast it anew."),
                    (CHAPLAIN, "Then let Liesl Amory carry it to the founder, and may she come back with it."),
                    ("", "Liesl Amory promised Mother Agnes to bring the bell to a founder before the thaw."),
                ),
                (CHAPLAIN,),
            ),
        ),
        6,
    ),
    Quest(
        "wolves",
        "the wolves of the high pasture",
        SHEPHERD,
        "Bettany Marsh hired Kestrel Vane's company to drive the wolves from the high pasture, for seven silver.",
        (
            Scene(
                "pasture",
                "follow-the-tracks",
                (
                    (SHEPHERD, "Five ewes in one night, Kestrel Vane. Juniper would not leave the hut."),
                    (K, "These are the tracks of one wolf and two large dogs. Somebody keeps the dogs."),
                    (SHEPHERD, "Nobody in the valley keeps dogs of that size but the toll keeper."),
                    (D, "I will sleep in the fold tonight. I have slept in worse places."),
                    ("", "Bettany Marsh gave Dunstan Reed her father's horn, to be blown if the wolves came."),
                ),
                (),
            ),
            Scene(
                "woods",
                "find-the-den",
                (
                    (BURNER, "I feed the grey one. It has three legs and has never touched a sheep."),
                    (L, "Wyn Ashdown, then who killed the ewes?"),
                    (BURNER, "Ask who sells mutton at the river without owning a flock."),
                    (
                        "",
                        "Two large dogs broke out of the thicket, and Dunstan Reed drove them off with a burning "
                        "branch.",
                    ),
                    (K, "Both of them wore collars. We will take the collars to Bettany Marsh."),
                ),
                (BURNER,),
                "the-two-dogs",
                True,
            ),
        ),
        (
            Scene(
                "pasture",
                "tell-the-shepherd",
                (
                    (K, "Bettany Marsh, the wolf is old and lame. These collars are from the toll keeper's dogs."),
                    (SHEPHERD, "Then he will pay for five ewes, and I owe you seven silver and an apology to a wolf."),
                    ("", "Bettany Marsh paid seven silver, and the toll keeper's dogs were chained."),
                ),
                (),
            ),
            Scene(
                "pasture",
                "tell-the-shepherd",
                (
                    (SHEPHERD, "Two more ewes are dead, Kestrel Vane, and you were in the wood."),
                    (D, "I heard the horn too late. That is my fault and not Kestrel Vane's."),
                    (SHEPHERD, "Keep the horn, Dunstan Reed. I can pay you three silver, and no more."),
                    ("", "Dunstan Reed gave his share of the silver back to Bettany Marsh."),
                ),
                (),
            ),
        ),
        7,
    ),
    Quest(
        "second-gallery",
        "the second gallery",
        SCHOLAR,
        "Liesl Amory asked her companions to explore the second gallery of the silver mine that her map shows.",
        (
            Scene(
                "chapel",
                "read-the-inscription",
                (
                    (L, "The last line of the inscription reads: what the mountain gave, the mountain keeps."),
                    (CHAPLAIN, "My grandmother said that the miners walled up a door and never spoke of it."),
                    (D, "A door that miners wall up is a door that I leave alone."),
                    (K, "Dunstan Reed, you said the same of the bridge at Harrowgate, and we crossed it."),
                ),
                (CHAPLAIN,),
            ),
            Scene(
                "mine",
                "open-the-wall",
                (
                    ("", "Behind the wall lay a dry gallery with rails of oak and a row of twelve lamps."),
                    (L, "Twelve lamps for twelve men. Nobody came back to take them."),
                    ("", "The roof groaned, and Kestrel Vane pulled Liesl Amory out by her collar before it fell."),
                    (K, "Nobody goes in there again without timber. Liesl Amory, promise me."),
                    (L, "I promise. But I have the ledger: the mine was sold the week before it fell in."),
                ),
                (),
                "the-falling-roof",
            ),
        ),
        (
            Scene(
                "hall",
                "show-the-ledger",
                (
                    ("", "Liesl Amory laid the ledger of the mine on the council's table."),
                    (L, "The buyer knew that the mine was failing, and he insured the men for forty silver each."),
                    ("", "Rolf Harding read his brother's name in the ledger and left the hall without a word."),
                ),
                (),
            ),
            Scene(
                "hall",
                "show-the-ledger",
                (
                    ("", "Half of the ledger fell to dust when Liesl Amory opened it in the moot hall."),
                    (L, "The date is there and the price is there. Only the buyer's name is gone."),
                    (K, "Then we look for whoever would rather that it stayed gone."),
                ),
                (),
            ),
        ),
        0,
    ),
    Quest(
        "lost-sister",
        "the ranger's sister",
        RANGER,
        "Kestrel Vane asked her companions to help her find her sister Wren, who came through the valley in spring.",
        (
            Scene(
                "ford",
                "ask-the-ferrywoman",
                (
                    (K, "Hester Lowe, she has my face and a blue scarf, and she sings when she walks."),
                    (FERRYWOMAN, "I carried a woman who sang, in April. She left a letter for whoever asks."),
                    ("", "The letter said that Wren Vane had gone to the charcoal burners and meant to stay."),
                    (K, "Hester Lowe, I owe you more than a fare for this."),
                    (FERRYWOMAN, "Then mend the landing with me when the water falls, and we are even."),
                ),
                (FERRYWOMAN,),
            ),
            Scene(
                "woods",
                "ask-the-burner",
                (
                    (BURNER, "Wren Vane lived with us until midsummer. She taught my boy to read."),
                    (K, "Wyn Ashdown, why did she leave?"),
                    (BURNER, "Men came from the river and asked for her by name. She went out by the back of the hut."),
                    (D, "It is the same men and the same boat. I begin to dislike the Marigold."),
                ),
                (BURNER,),
            ),
        ),
        (
            Scene(
                "ford",
                "meet-at-the-ford",
                (
                    ("", "At dusk a woman in a blue scarf stood on the far bank and sang."),
                    (K, "Wren! Stay where you are, I am coming over."),
                    (FERRYWOMAN, "No fare for this one, Kestrel Vane."),
                    ("", "Kestrel Vane and her sister Wren met in the middle of the ford."),
                ),
                (FERRYWOMAN,),
            ),
            Scene(
                "ford",
                "meet-at-the-ford",
                (
                    ("", "Nobody stood at the ford at dusk, but a blue scarf was tied to the bell."),
                    (FERRYWOMAN, "She was here and would not wait. She said that you would be followed."),
                    (K, "Then I will find out who follows me before I look for her again."),
                ),
                (FERRYWOMAN,),
            ),
        ),
        0,
    ),
    Quest(
        "healers-herbs",
        "the healer's moonwort",
        FERRYWOMAN,
        "Hester Lowe asked Kestrel Vane's company to bring moonwort to the ford for her son, who has the fever.",
        (
            Scene(
                "pasture",
                "gather-moonwort",
                (
                    (SHEPHERD, "Moonwort grows above the spring, but the stones are loose after the rain."),
                    ("", "Liesl Amory gathered nine stems of moonwort and lost a boot in the scree."),
                    (D, "Nine stems and one boot. I have seen worse bargains."),
                    (K, "Bettany Marsh, lend us your pony, and it will be back before dark. I promise."),
                ),
                (),
            ),
            Scene(
                "mill",
                "grind-moonwort",
                (
                    ("", "Tobias Crane cleaned a small millstone and ground the moonwort himself."),
                    (L, "Ines Calloway said a spoonful at dawn and a spoonful at dusk, for three days."),
                    ("", "Tobias Crane would take no payment, because Hester Lowe had ferried his wife for nothing."),
                ),
                (),
            ),
        ),
        (
            Scene(
                "ford",
                "bring-moonwort",
                (
                    (FERRYWOMAN, "My son drank it and asked for bread. He has not asked for bread in a week."),
                    (K, "Hester Lowe, give the second spoonful at dusk, whatever he says."),
                    (FERRYWOMAN, "The company of Kestrel Vane crosses for nothing as long as I hold this rope."),
                    ("", "The fever of Hester Lowe's son broke before midnight."),
                ),
                (FERRYWOMAN,),
            ),
            Scene(
                "ford",
                "bring-moonwort",
                (
                    (FERRYWOMAN, "The pony came without you, and half of the powder was in the river."),
                    (D, "The fault is mine. I tied the bag."),
                    (FERRYWOMAN, "Half a dose, then. Ines Calloway must come, and somebody must fetch her tonight."),
                    ("", "Dunstan Reed ran to the infirmary through the rain to fetch Ines Calloway."),
                ),
                (FERRYWOMAN,),
            ),
        ),
        3,
    ),
)
