"""Days of other worlds, written by hand: a station, a council, households that speak Chinese, Spanish and Arabic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cogitate.memory.entry import Entry
from cogitate.tasks.heuristics.recalled import Recalled
from tests.unit.tasks.kind_cases import stream_of


@dataclass(frozen=True)
class WrittenDay:
    """What one agent noticed and heard in a day, and words of what most of it was about."""

    owner: str
    names: dict[str, str]
    language: str
    noticed: tuple[Entry, ...]
    about: tuple[str, ...]

    @property
    def recalled(self) -> Recalled:
        """Return the day as a reflection at its end reads it."""
        entries: Sequence[Entry] = stream_of(*self.noticed, owner=self.owner).live()
        return Recalled(
            owner=self.owner,
            recent=sorted(entries, key=lambda e: (-e.importance, -e.minute, -e.number)),
            before=(),
            names=self.names,
            minute=1_300,
            repeats={},
            language=self.language,
        )


def _seen(text: str, minute: int, importance: float, *subjects: str) -> Entry:
    return Entry(type="observation", text=text, minute=minute, importance=importance, subjects=subjects)


def _said(speaker: str, hearer: str, text: str, minute: int, importance: float) -> Entry:
    subjects = (speaker, hearer)
    return Entry(type="message", text=text, minute=minute, importance=importance, subjects=subjects, source="dialogue")


_UNIT, _PILOT, _COOK = "agent:unit-7", "agent:vega", "agent:oda"
STATION = WrittenDay(
    owner=_UNIT,
    names={_UNIT: "Unit 7", _PILOT: "Vega", _COOK: "Oda"},
    language="en",
    about=("oxygen",),
    noticed=(
        _seen("Status check of corridor C: nominal.", 410, 2),
        _seen("Oxygen in module B fell below 18 percent.", 440, 7),
        _said(_PILOT, _UNIT, "The oxygen in module B is thin, I get headaches.", 470, 5),
        _seen("A valve of the oxygen line in module B leaks.", 500, 6),
        _said(_COOK, _UNIT, "Have you seen my red mug?", 520, 2),
        _seen("The oxygen reserve of module B is at 40 percent.", 560, 5),
        _said(_UNIT, _PILOT, "Leave module B until the oxygen line is sealed.", 600, 6),
        _seen("Oda watered the tomatoes.", 640, 3, _COOK),
        _said(_PILOT, _UNIT, "Thank you, Unit 7!", 700, 2),
        _seen("Unit 7 sealed the oxygen line in module B.", 760, 7),
        _seen("Status check of corridor D: nominal.", 800, 2),
    ),
)

_CLERK, _MAYOR, _MILLER = "agent:clerk", "agent:mayor", "agent:miller"
COUNCIL = WrittenDay(
    owner=_CLERK,
    names={_CLERK: "Ines Roth", _MAYOR: "Paul Grau", _MILLER: "Tom Ley"},
    language="en",
    about=("bridge",),
    noticed=(
        _seen("The council opened its session with six members.", 600, 3),
        _said(_MAYOR, _CLERK, "The bridge needs a new deck before winter.", 610, 5),
        _said(_MILLER, _CLERK, "Without the bridge no flour reaches the upper town.", 615, 5),
        _seen("Tom Ley moved to borrow 400 crowns for the bridge.", 620, 6, _MILLER),
        _said(_CLERK, _MAYOR, "The treasury holds 310 crowns.", 625, 5),
        _seen("Paul Grau spoke against a toll on the bridge.", 630, 5, _MAYOR),
        _seen("The council voted 4 to 2 to repair the bridge.", 660, 8),
        _said(_MAYOR, _CLERK, "That sounds perfect!", 665, 2),
        _said(_MILLER, _CLERK, "I promise to lend two carts for the bridge.", 670, 6),
        _seen("The stove in the hall smokes.", 700, 2),
    ),
)

_LI, _MA, _NAI = "agent:li", "agent:ma", "agent:nai"
CHINESE = WrittenDay(
    owner=_LI,
    names={_LI: "李明", _MA: "妈妈", _NAI: "奶奶"},
    language="zh",
    about=("奶奶",),
    noticed=(
        _seen("李明在厨房里煮粥。", 420, 2, _LI),
        _said(_MA, _LI, "奶奶昨天晚上摔了一跤，腿很疼。", 450, 7),
        _said(_LI, _MA, "我今天下班以后带奶奶去医院看腿。", 455, 6),
        _seen("邻居家的猫趴在窗台上。", 500, 2),
        _seen("奶奶坐在椅子上，腿肿了。", 540, 6, _NAI),
        _said(_NAI, _LI, "医院太远了，我不想去。", 560, 5),
        _said(_MA, _LI, "好的，谢谢你！", 565, 1),
        _seen("医生说奶奶的腿没有骨折，只要休息两个星期。", 1_080, 8),
        _seen("李明扫了地。", 1_150, 2, _LI),
    ),
)

_ANA, _LUZ = "agent:ana", "agent:luz"
SPANISH = WrittenDay(
    owner=_ANA,
    names={_ANA: "Ana", _LUZ: "Luz"},
    language="es",
    about=("pozo",),
    noticed=(
        _said(_LUZ, _ANA, "El pozo de la plaza está casi seco.", 480, 6),
        _seen("La gente hace cola delante del pozo de la plaza.", 540, 5),
        _said(_ANA, _LUZ, "Si el pozo se seca, tendremos que traer agua del río.", 560, 6),
        _seen("Un perro duerme al sol.", 600, 2),
        _said(_LUZ, _ANA, "¡Muchas gracias!", 610, 2),
        _seen("El alcalde cerró el pozo con una cadena.", 700, 7),
    ),
)

_SAMI, _HUDA = "agent:sami", "agent:huda"
ARABIC = WrittenDay(
    owner=_SAMI,
    names={_SAMI: "سامي", _HUDA: "هدى"},
    language="ar",
    about=("السوق",),
    noticed=(
        _said(_HUDA, _SAMI, "احترق السوق القديم هذه الليلة.", 400, 8),
        _seen("الدخان فوق السوق القديم كثيف.", 430, 6),
        _seen("قطة تنام على الجدار.", 450, 2),
        _said(_SAMI, _HUDA, "فقد التجار في السوق كل بضائعهم.", 480, 6),
        _said(_HUDA, _SAMI, "هل رأيت مفتاحي؟", 500, 2),
        _seen("يجمع الناس المال لتجار السوق.", 700, 6),
    ),
)

WRITTEN_DAYS = {"station": STATION, "council": COUNCIL, "zh": CHINESE, "es": SPANISH, "ar": ARABIC}
