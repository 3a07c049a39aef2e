"""The talk of the Grey Heron: exchanges of two people, promises kept or broken, and letters read aloud."""

from __future__ import annotations

from typing import NamedTuple

#: Lines of two people, "{a}" and "{b}", who take turns; "{a}" begins.
EXCHANGES = (
    (
        "{b}, the soup is thin tonight. Oswin Pike must be saving for something.",
        "He is saving for a second chimney, and the soup pays for it, {a}.",
    ),
    (
        "I dreamt of the flood again, {b}. The water came in under the door.",
        "Everybody who was here that year dreams of it, {a}. Come and sit nearer to the fire.",
    ),
    (
        "{b}, who was the rider that stopped at the bridge this morning?",
        "The duke's man, {a}. He counted the chimneys and wrote the number down.",
        "Nobody counts chimneys out of kindness.",
    ),
    (
        "My knee says that it will snow before the week is over, {b}.",
        "Your knee said so in August, {a}, and we sat in the sun until Michaelmas.",
    ),
    (
        "{b}, have you seen the lights on the hill behind the chapel?",
        "I saw three lights on two nights, {a}. They moved like lanterns, and none of them came down.",
        "Mother Agnes has no lanterns. I asked her.",
    ),
    (
        "I have found a buyer for my old plough, {b}: a farmer from Saltmarsh gives three silver.",
        "Three silver is more than it is worth, {a}. Take the money before he looks at the share.",
    ),
    (
        "{b}, you play the fiddle better than anybody who is paid for it.",
        "Then pay me, {a}, and I will play worse.",
    ),
    (
        "Barnaby Stout says that bread costs nine coppers in the river towns, {b}.",
        "Barnaby Stout also sold me a comb of unicorn's horn, {a}. It was a cow's.",
    ),
    (
        "{b}, my sister's boy wants to learn a trade. He is strong and he can count.",
        "Send him to the forge on Monday, {a}. Rolf Harding needs somebody for the bellows.",
    ),
    (
        "I quarrelled with my neighbour about the hedge again, {b}. We are not speaking.",
        "Plant half of it with hazel, {a}, and give the nuts away. It worked for my father.",
    ),
    (
        "{b}, do you believe that the stranger with the grey hat came for the mine?",
        "He asked for the way to the mine before he asked for a bed, {a}. I believe that he did.",
    ),
    (
        "The trout are back below the weir, {b}. I saw five of them from the bridge.",
        "That is the best news of the month, {a}. Do not tell Barnaby Stout.",
    ),
    (
        "{b}, you look as if you had not slept.",
        "The baby next door has a voice like a horn, {a}. I would not miss it for the world.",
    ),
    (
        "I have beaten Oswin Pike at draughts three times, {b}, and he says that the board is crooked.",
        "The board is crooked, {a}. He made it himself.",
    ),
    (
        "{b}, the masons say that the third arch will not stand another winter.",
        "Then nobody should take a loaded cart over it, {a}. I will tell the carters tonight.",
    ),
    (
        "Somebody left a basket of eggs at my door, {b}, without a name.",
        "I know who it was, {a}, and I was asked not to tell you.",
    ),
)

#: Promises between two people: the words, and the report when it is kept or broken.
PROMISES = (
    (
        "{b}, I promise to bring you a sack of barley tomorrow morning.",
        "{A} brought {B} the sack of barley, as promised.",
        "{A} did not bring {B} the barley, though it had been promised.",
    ),
    (
        "{b}, I promise to repair your cellar door before the frost.",
        "{A} kept the promise to {B}, and the cellar door closes again.",
        "{A} forgot the promise to repair {B}'s cellar door.",
    ),
    (
        "{b}, I promise to pay back the two silver by tomorrow evening.",
        "{A} paid {B} back the two silver.",
        "{A} did not pay {B} back the two silver, and left by the back door.",
    ),
    (
        "{b}, I promise to speak for you before the council.",
        "{A} spoke for {B} before the council.",
        "{A} had promised to speak for {B} before the council, and kept silent.",
    ),
    (
        "{b}, I promise to sit with your mother tomorrow night, so that you can sleep.",
        "{A} sat with {B}'s mother all night, as promised.",
        "{A} did not come to sit with {B}'s mother, though it had been promised.",
    ),
    (
        "{b}, I promise to teach you the tune of the miller's daughter.",
        "{A} taught {B} the tune of the miller's daughter.",
        "{A} had no time to teach {B} the tune, and promised nothing new.",
    ),
)


class Letter(NamedTuple):
    """A letter that Barnaby Stout brings and reads aloud, as the listeners report it."""

    sender: str
    text: str


LETTERS = (
    Letter(
        "the guild of masons",
        "The masons of Saltmarsh have looked at the stone bridge, as the council asked. The first and second arches "
        "are sound, and the third is not. Water has washed out the mortar on the north side to the depth of a man's "
        "arm, and the keystone has dropped by two fingers since their last visit. The guild can mend the third arch "
        "in six weeks with eight men, if the work begins before the frost. After the frost nobody can begin until "
        "April, and no loaded cart should cross the bridge in the meantime. The price is forty silver, of which "
        "eighteen are owed for the work of last year. The guild asks for these eighteen silver before it sends "
        "anybody. Lambert Foss, who carries a copy of the letter to the duke, says that the duke's tax collector will "
        "cross the bridge within the month with two wagons. The guild advises the council to have them unloaded "
        "first. Joan Mercer, master mason, signed the letter and sent greetings to Rolf Harding, whose hinges still "
        "hold her gate.",
    ),
    Letter(
        "Wren Vane",
        "Wren Vane is well, and she wrote the letter three times and gave it to three people. She was ill in spring, "
        "and Hester Lowe kept her for a week at the ford and would take nothing for it. Wren Vane asks her sister "
        "Kestrel to mend something for Hester Lowe. The boat of the river traders is painted green now, but it sits "
        "as low in the water as before, and the man at the rudder has a scar through his eyebrow. The man with the "
        "scar asked for Wren Vane at the charcoal burners' huts, and he knew both sisters by name. Wren Vane believes "
        "that he is looking for the ledger that their mother kept in a blue trunk. Their mother said that the blue "
        "trunk was to stay closed until both sisters were of age, and then the house burned. Wren Vane asks for "
        "somebody who reads old hands and can tell what is written on the wall of the old chapel, below the third "
        "window. Kestrel Vane is not to follow her yet. When Wren Vane has found a safe place, she will tie her scarf "
        "where nobody can miss it.",
    ),
    Letter(
        "Doctor Amalia Brandt",
        "Doctor Amalia Brandt answers what Ines Calloway had asked about the fever that comes from standing water. "
        "The hospital had forty cases last summer and buried six. Those who drank boiled water did not fall ill, "
        "whatever else they did. Those who slept below the dam fell ill in the second week of August, children first. "
        "Willow bark brings the fever down for some hours, and moonwort shortens it by days if it is given at dawn "
        "and at dusk. Bleeding helps nobody. Doctor Brandt sends two pounds of willow bark with Barnaby Stout, and "
        "asks Ines Calloway to write how many fell ill in the valley, where they slept and what they drank. If the "
        "pattern is the same in Ellerdale, both of them have learned something that is worth more than the bark. The "
        "old bench of Ines Calloway in the dispensary is empty, and nobody has dared to sit there.",
    ),
    Letter(
        "Tilda Harding",
        "Tilda Harding tells her uncle Rolf that she has found work on a river boat, with good pay, and that she may "
        "not say the boat's name. The boat carries barley, always by night, and Tilda Harding has asked twice where "
        "it comes from and got the same look both times. Rolf Harding told her when she was small that people should "
        "know whose bread they eat, and she thinks of that more often than she likes. A room in the stern of the boat "
        "is locked, and somebody in it sings in the evening. The master of the boat asked Tilda Harding to make a key "
        "from a print in wax. Tilda Harding said that she could not, and that nobody in the valley could. If a man "
        "with a scar through his eyebrow comes to the forge, Rolf Harding has not heard from her. Tilda Harding will "
        "come home for midwinter, with or without her wages.",
    ),
)
