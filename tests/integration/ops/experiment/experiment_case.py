"""An experiment on councils that vote, and the command that runs it."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from tests.process_environment import clean_environment

COUNCIL = '''
"""A world of three councillors who hear a motion every tick, and vote on it."""

from cogitate import Profile, every, kind, newest
from cogitate.effects import Entry
from cogitate.experiment import StillWorld
from pydantic import BaseModel


class Ballot(BaseModel):
    """A vote on the motion."""

    yes: bool


@kind(name="vote", due=every("1 tick"), reads=newest(5), ask="Vote on the newest motion.", answer=Ballot, latency=1)
class Vote:
    def store(self, case, answer, memories):
        return f"I voted {'yes' if answer.yes else 'no'}."

    def instead(self, case, memories):
        return "I abstained."


class Council(StillWorld):
    def __init__(self, seed, weather="sun", since=0, alike=False):
        super().__init__({f"agent:{name}": Profile(name=name.title()) for name in ("ada", "ben", "cleo")})
        self.seed, self.weather, self.since = 0 if alike else seed, weather, since

    def step(self, tick, minute):
        if tick % 3 != 1:
            return ()
        weather = self.weather if tick > self.since else "sun"
        text = f"Motion {self.seed}.{tick}, in the {weather}: mend the bridge."
        return [(owner, Entry(type="message", text=text, minute=minute)) for owner in self.owners()]


def yes(run):
    return sum(memory["text"] == "I voted yes." for memory in run.memories)
'''

EXPERIMENT = """
world = "council:Council"
ticks = 4
replicates = {replicates}
{limit}
measures = ["council:yes"]
base.settings.llm = "openai"

[conditions]
world.weather = {weathers}
settings.retrieval = {retrievals}
"""


def write_case(folder: Path, *, limit: str, replicates: int = 10, weathers: str = '["sun", "rain", "snow"]') -> Path:
    """Write the councils' world and the experiment, and return the experiment's file."""
    folder.mkdir(exist_ok=True)
    (folder / "council.py").write_text(COUNCIL)
    file = folder / "votes.toml"
    retrievals = '["default", "spec", "dialogue"]'
    file.write_text(EXPERIMENT.format(limit=limit, replicates=replicates, weathers=weathers, retrievals=retrievals))
    return file


def started(file: Path, url: str, *options: str) -> subprocess.Popen[str]:
    """Start `cogitate sweep` on a file with the model at `url`."""
    return subprocess.Popen(
        [sys.executable, "-m", "cogitate.ops", "sweep", str(file), *options],
        env=clean_environment(COGITATE_BASE_URL=url, OPENAI_API_KEY="any"),
        cwd=file.parent,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return [*csv.DictReader(file.read_text().splitlines())]
