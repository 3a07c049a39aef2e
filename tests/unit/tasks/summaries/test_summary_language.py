"""A summary without a model is in one language: that of its owner, whatever a short line of it seems to be in."""

from __future__ import annotations

from itertools import chain

import msgspec
import pytest

from cogitate.memory.language.languages import languages_of
from cogitate.memory.profile import Profile
from cogitate.prompts.render import Templates
from cogitate.tasks.kind import WorldFacts
from cogitate.tasks.prune import EVERY, Prune
from cogitate.tasks.summarise import Summarise
from tests.unit.tasks.kind_cases import KLAUS, MARIA, appended, case_of, message, moment_of, observation, stream_of

PRUNE, SUMMARISE = Prune(), Summarise(Templates())
WORLD = WorldFacts(names={KLAUS: "Lapo Neri", MARIA: "Ida Sarti"})
SHORT = ("Te la porto, la lampada.", "Per me va bene.")  # that look French or Spanish
ITALIAN = Profile(name="Lapo Neri", background="Ha un banco di lampade al mercato.")


@pytest.mark.parametrize(
    ("profile", "frame"),
    [
        (ITALIAN, "Ida: «{}»"),
        (Profile(name="Lapo Neri", language="de"), "Ida: „{}“"),
        (Profile(name="Lapo Neri", background="He sells lamps at the market."), 'Ida: "{}"'),
    ],
)
@pytest.mark.parametrize("said", SHORT)
def test_a_short_line_is_quoted_in_the_owners_words(profile: Profile, frame: str, said: str) -> None:
    assert not {"it", "de", "en"}.intersection(languages_of(said))
    stream = stream_of(message(said, 500))
    (told,) = appended(SUMMARISE.heuristic(case_of(SUMMARISE, stream, 3_000, world=WORLD, profile=profile)))
    assert frame.format(said) in told.text


def test_an_owner_without_a_profile_writes_in_the_language_of_all_its_memories() -> None:
    lived = [observation("Sulla strada del mercato non passa nessuno, piove da ieri.", 400 + at) for at in range(3)]
    stream = stream_of(*lived, message(SHORT[0], 500))
    moments = (moment_of(stream, 500 + 36 * 60 + at, world=WORLD) for at in range(EVERY))
    asked = (PRUNE.due(msgspec.structs.replace(one, profile=Profile(name="Lapo Neri"))) for one in moments)
    (request,) = chain.from_iterable(asked)
    case = case_of(PRUNE, stream, 3_000, request=request, world=WORLD, profile=Profile(name="Lapo Neri"))
    (told,) = appended(PRUNE.heuristic(case))
    assert "Ida: «Te la porto, la lampada.»" in told.text
