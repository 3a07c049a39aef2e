"""Pronouns for a speaker: by the given name where nearly all its bearers share one, otherwise the singular "they".

The names are the hundred most frequent of each kind in the United States over the last century (Social Security
Administration, "Top names over the last 100 years"), their usual short forms, and some of the most frequent names of
other languages. A guess only: a host that knows better passes `pronouns` to the summariser.
"""

from __future__ import annotations

from typing import NamedTuple


class Pronouns(NamedTuple):
    """The forms that replace "I", "me", "my", "mine" and "myself"; `plural` says which verbs follow."""

    subject: str
    object: str
    possessive: str
    absolute: str
    reflexive: str
    plural: bool = False


SHE = Pronouns("she", "her", "her", "hers", "herself")
HE = Pronouns("he", "him", "his", "his", "himself")
THEY = Pronouns("they", "them", "their", "theirs", "themselves", plural=True)

_HERS = """
mary patricia jennifer linda elizabeth barbara susan jessica karen sarah lisa nancy sandra betty ashley emily kimberly
margaret donna michelle carol amanda melissa deborah stephanie rebecca sharon laura cynthia amy kathleen angela dorothy
shirley emma brenda nicole pamela samantha anna katherine christine debra rachel olivia carolyn maria janet heather
diane catherine julie victoria helen joyce lauren kelly christina joan judith ruth hannah evelyn andrea virginia megan
cheryl jacqueline madison sophia abigail teresa isabella sara janice martha gloria kathryn ann charlotte judy amber
julia grace denise danielle natalie alice marilyn diana beverly jean brittany theresa frances kayla alexis tiffany lori
kathy
caroline melanie gina joanna audrey jolene jane tamara carmen yuriko hailey ayesha abby beth betsy cathy debbie
ella ellen eva gabriela irene ines jenny jill jo katie kate kim lena leila liz lucia lucy maggie marie marta mia molly
monica nina nora olga paula peggy pam rita rosa sally sofia sonia sue susie tina vera wendy yoko anya elena irina katya
ekaterina marina masha natasha nadia oksana polina svetlana tatiana yulia ana camila fatima francesca giulia greta hana
heidi ingrid layla mei priya sakura yuki zoe zoë chloe ava amelia mila luna aisha amara clara klara klára elif ewa
linnea linnéa nadia noemie noémie sofía
анна мария елена ольга наталья екатерина татьяна ирина юлия светлана
"""
_HIS = """
james michael robert john david william richard joseph thomas christopher charles daniel matthew anthony mark donald
steven andrew paul joshua kenneth kevin brian timothy ronald george jason edward jeffrey ryan jacob nicholas gary eric
jonathan stephen larry justin scott brandon benjamin samuel gregory alexander patrick frank raymond jack dennis jerry
tyler aaron jose adam nathan henry zachary douglas peter kyle noah ethan jeremy christian walter keith austin roger sean
gerald carl dylan harold jesse bryan lawrence arthur gabriel bruce logan billy joe alan juan elijah albert wayne randy
mason vincent liam roy bobby caleb bradley russell lucas
jon nate tim evan sam calvin dave klaus wolfgang giorgio carlos tom ben bill bob dan don ed fred greg jeff jim ken matt
mike nick oliver oscar phil rob ron steve ted tony will adrian ahmed alberto ali antonio boris dmitri diego eddy
fernando francisco franz friedrich giovanni hans hiroshi igor ivan javier juergen kenji luca luis manuel marco
mario martin miguel mikhail mohamed mohammed nikolai omar pablo pavel pedro pierre rajiv ravi ricardo sergei simon
stefan takashi vladimir wei yuri arjun bjorn björn darius emeka felix henrik hugo jonas kofi mateo niklas oskar tomas
tomás viktor
александр дмитрий сергей андрей алексей иван михаил владимир николай павел
"""
_KNOWN: dict[str, Pronouns] = {
    **dict.fromkeys(_HERS.split(), SHE),
    **dict.fromkeys(_HIS.split(), HE),
}


def pronouns_of(name: str) -> Pronouns:
    """Return the pronouns that nearly everyone of this given name goes by, or "they" where there is no such custom."""
    first = name.split(maxsplit=1)[0].casefold() if name.split() else ""
    return _KNOWN.get(first, THEY)
