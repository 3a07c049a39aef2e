"""Prompts and answers for the tests of faults: a baker who reflects, plans and acts."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from cogitate.prompts.answers import ActionAnswer, DailyPlan, ReflectionAnswer, SummaryAnswer
from cogitate.prompts.constraints import Constraint
from cogitate.prompts.render import Templates
from cogitate.tasks.kind import Prompt
from cogitate.workers.answer_faults.fault import fault_of

REFLECT: dict[str, Any] = {
    "name": "Ada",
    "language": "",
    "age": None,
    "background": "",
    "currently": "",
    "occupation": "baker",
    "traits": [],
    "people": [],
    "day": 3,
    "time": "9:00 PM",
    "now": "day 3, 9:00 PM",
    "stage": "",
    "status": [],
    "reflections": [],
    "known": [],
    "summary": "",
    "memories": [
        {"when": "day 3, 8:00 AM", "text": "Ben asked me for the recipe of the honey bread.", "times": 1},
        {"when": "day 3, 6:00 PM", "text": "The oven smoked again, and Cleo lent me her chimney brush.", "times": 1},
    ],
}
SYSTEM = Templates().render("reflect", REFLECT).system


def prompt(answer: type[BaseModel], user: str | None = None, *, built_in: bool = True) -> Prompt:
    """Return a prompt with the instructions of a reflection: the baker's, or with another text for the user."""
    shown = Templates().render("reflect", REFLECT).user if user is None else user
    return Prompt(system=SYSTEM, user=shown, answer=answer, version="v", built_in=built_in)


def plan(*descriptions: str) -> DailyPlan:
    return DailyPlan.model_validate(
        {
            "activities": [
                {"time": f"{7 + n}:00 AM", "description": d, "location": ""} for n, d in enumerate(descriptions)
            ]
        }
    )


def reflection(insight: str) -> ReflectionAnswer:
    return ReflectionAnswer(insight=insight)


PLACES = "Places:\n- The Copper Kettle (cafe)\n- Lime Street 1\n\n<memories>\n- [day 1] tea\n"


def act(doing: str, location: str = "cafe", more: str = "") -> str | None:
    where = Constraint(
        field="location", choices=("The Copper Kettle", "Lime Street 1", "Linden Café", "cafe", "home-1", "here")
    )
    shown = Prompt(system=SYSTEM, user=PLACES + more, answer=ActionAnswer, version="v", constraints=(where,))
    return fault_of(ActionAnswer(reason="tea is nice", location=location, doing=doing), shown)


def words(count: int, begin: str = "bread") -> list[str]:
    """Different words of content."""
    return [f"{begin}{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(count)]


def fault_of_text(text: str, *, system: str = "", user: str = "bread") -> str:
    shown = Prompt(system=system, user=user, answer=SummaryAnswer, version="v")
    return fault_of(SummaryAnswer.model_construct(summary=text), shown) or ""
