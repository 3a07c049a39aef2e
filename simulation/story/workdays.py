"""The observations of people at work: mostly minor, sometimes important."""

from __future__ import annotations

from collections.abc import Mapping

from cogitate.simulation.story.people import HEALER, MILLER, RANGER, REEVE, SCHOLAR, SHEPHERD, SMITH, SOLDIER

WORKDAYS: Mapping[str, tuple[tuple[str, int], ...]] = {  # of each: text and importance
    REEVE: (
        ("Maud Fenwick wrote six letters to the landlords of the lower farms.", 3),
        ("Two brothers from the weir asked Maud Fenwick to divide their father's orchard.", 5),
        ("Maud Fenwick found an unpaid bill of the masons for eighteen silver.", 6),
        ("Maud Fenwick swept the moot hall and lit the stove.", 2),
        ("A rider brought word that the duke's tax collector comes within the month.", 8),
    ),
    MILLER: (
        ("Tobias Crane ground nineteen sacks of barley before noon.", 3),
        ("A paddle of the water wheel split from end to end.", 6),
        ("Tobias Crane weighed the flour of the upper farms and found it two sacks short.", 5),
        ("Tobias Crane oiled the millstones.", 2),
        ("Tobias Crane's daughter Nell was born at dawn, and both mother and child are well.", 10),
    ),
    HEALER: (
        ("Ines Calloway bound a sprained ankle and sent its owner home with comfrey.", 3),
        ("A child from the weir came to the infirmary with a high fever.", 7),
        ("Ines Calloway hung sage and yarrow under the roof to dry.", 2),
        ("Ines Calloway ran out of willow bark.", 4),
        ("Old Simon Tull died in the infirmary with Ines Calloway holding his hand.", 9),
    ),
    SMITH: (
        ("Rolf Harding shod four carthorses.", 2),
        ("The great bellows tore, and the forge stood cold for two hours.", 5),
        ("Rolf Harding finished the hinges for the gate at the ford.", 4),
        ("A stranger asked Rolf Harding to make a key from a print in wax.", 8),
        ("Rolf Harding burned his left hand on a bar of iron.", 6),
    ),
    SHEPHERD: (
        ("Bettany Marsh counted one hundred and ninety-one sheep.", 3),
        ("Bettany Marsh found the tracks of three wolves beside the upper fold.", 8),
        ("Bettany Marsh mended the wall of the fold with stones from the stream.", 3),
        ("The old dog Juniper drove a fox away from the lambs.", 4),
        ("Two ewes of Bettany Marsh's flock were missing at dusk.", 6),
    ),
    RANGER: (
        ("Kestrel Vane set snares along the edge of Blackthorn Wood.", 2),
        ("Kestrel Vane found a strip of blue cloth that looked like her sister's scarf.", 8),
        ("Kestrel Vane read the tracks of a heavy cart that had left the road.", 5),
        ("Kestrel Vane fletched a dozen arrows.", 2),
    ),
    SOLDIER: (
        ("Dunstan Reed sharpened the blades of the whole company.", 2),
        ("Dunstan Reed counted his savings: twenty-three silver towards the farm.", 5),
        ("A man whom Dunstan Reed had served with passed by and pretended not to know him.", 7),
        ("Dunstan Reed split firewood for Oswin Pike to pay for his bed.", 3),
    ),
    SCHOLAR: (
        ("Liesl Amory copied two lines of an inscription in the old chapel.", 3),
        ("Liesl Amory found a map of the mine on which a second gallery is marked.", 8),
        ("A letter from the university demanded forty silver from Liesl Amory by spring.", 7),
        ("Liesl Amory spilled ink over a morning's work.", 3),
    ),
}
