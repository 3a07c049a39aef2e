"""Words that lean a memory towards the mundane or the memorable: what is known of importance before any rating.

The groups are ordinary English; which groups matter, and how much, was tuned on two recorded days of a simulated
town, rated by two different models. They only order texts; what a rating of a run means is learned in the run.
"""

from __future__ import annotations

from functools import cache

from cogitate.memory.language.text import stems

#: Sleep and hygiene, the least memorable of all.
HYGIENE = "tooth teeth brush asleep sleep bathroom"
#: The body, its bed, its clothes and its light switches.
BODY = (
    "sleep bed brush teeth tooth wash shower bath dress clothes bathroom toothpaste toothbrush face wake toilet yawn "
    "pillow pajamas blanket nap stretch light lamp alarm hair towel mirror sink faucet coat shoe idle"
)
#: Food, household and pauses.
CHORES = (
    "eat dinner breakfast lunch snack coffee tea drink meal cook dish vegetable kitchen stove oven refrigerator "
    "fridge plate cup water pour clean sweep mop vacuum laundry fold trash grocery shelf closet turn put tv television "
    "channel browse scroll radio walk stand wait break get make pack bag routine email"
)
#: Other people.
SOCIAL = (
    "discuss conversation converse talk share friend family together party event celebrate invite guest valentine "
    "decorate meet date relationship neighbour neighbor couple community ask tell agree promise plan help enjoy "
    "activity"
)
#: Work of the mind, and what a town decides together.
MIND = (
    "research study idea theme question paper project write exam analyze mathematics physics science theory "
    "pattern experiment thesis poem novel book character compose paint music creative art learn class lecture lesson "
    "game elect election mayor candidate vote politics business apply propose present career life interest nature "
    "discover concept topic outline documentary data"
)
#: What changes a life.
HEART = (
    "love crush marry wedding engage pregnant baby birth die death kill funeral ill sick hospital accident injure hurt "
    "fire steal crime police argue fight quarrel cry angry afraid fear worry surprise shock secret betray lie confess "
    "apologize fail win lose lost job promote divorce propose kiss danger emergency attack rescue dream regret proud "
    "grateful decide decision"
)


def leaning(stemmed: frozenset[str], of_itself: bool) -> float:
    """Return how memorable a text seems by its stems and whether it is about its owner; 2.9 is neutral."""
    return (
        2.9
        - 0.9 * bool(stemmed & _stems_of(BODY))
        - 0.5 * bool(stemmed & _stems_of(HYGIENE))
        - 0.5 * bool(stemmed & _stems_of(CHORES))
        + 0.6 * min(2, len(stemmed & _stems_of(SOCIAL)))
        + 0.6 * min(2, len(stemmed & _stems_of(MIND)))
        + 0.4 * min(2, len(stemmed & _stems_of(HEART)))
        + 0.5 * of_itself
    )


@cache
def _stems_of(listed: str) -> frozenset[str]:
    return frozenset(stems(listed))
