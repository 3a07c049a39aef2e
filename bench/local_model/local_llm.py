"""A small town that asks third-party servers: a mock from PyPI, and llama.cpp with real models.

The mock, fakellm, answers by rules: plans well, reflections in a code fence, everything else with an echo of the
prompt. The models are those of `models.py`, or any GGUF file; `--texts FILE` writes all their texts to a file, stored
or refused. Whatever the answers, the run must complete, the auditor must find nothing, and every stored memory must be
what its kind promises. This needs only what `make check-local-llm` installs, not `dev`, so it has a separate command
line.

    python -m bench.local_model.local_llm --calls 80
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
import unicodedata
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from bench.local_model.models import MODELS
from bench.table import Row, Table
from cogitate.hosting import logs
from cogitate.memory.clock import clock_time
from cogitate.memory.effects import Append, ReplaceSummary, Tell
from cogitate.memory.entry import MAX_TEXT, Entry, PlanItem
from cogitate.memory.language.hidden_characters import without_hidden
from cogitate.memory.profile import Location
from cogitate.memory.stream import Stream
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended
from cogitate.simulation.town.town import Town
from cogitate.workers.jobs.stored_texts import all_recorded

FEWEST, MOST = 5, 8  # items of a plan (streams, task 7)


def bad_memories(stream: Stream, locations: Sequence[Location]) -> list[str]:
    """Return the faults of an owner's entries and of its long-term summary, as texts."""
    places = {place.id for place in locations}
    wrong = [f"entry {e.number} {what}" for e in stream.entries.values() for what in _of_entry(e, places)]
    return wrong + [f"its summary {what}" for what in _of_text(stream.head.summary or "none")]


def _of_entry(entry: Entry, places: set[str]) -> Iterator[str]:
    yield from _of_text(entry.text)
    if not 0 <= entry.importance <= 10:
        yield f"has importance {entry.importance}"
    if entry.type != "plan":
        return
    if not FEWEST <= len(entry.items) <= MOST:
        yield f"has {len(entry.items)} plan items"
    times = [item.minute for item in entry.items]
    if None in times or times != sorted(set(times), key=lambda minute: minute or 0):
        yield f"has plan items at {times}"
    for item in entry.items:
        yield from _of_text(item.description)
        if item.location is not None and item.location not in places:
            yield "names a place that does not exist"
        if not 1 <= item.priority <= 5:
            yield f"has priority {item.priority}"


def _of_text(text: str) -> Iterator[str]:
    if not text.strip():
        yield "is empty"
    if len(text) > MAX_TEXT:
        yield f"has {len(text)} characters"
    if any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in text):
        yield "has control characters"
    if without_hidden(text) != text:
        yield "has invisible characters"


AGENTS = 3
START = 350  # minutes after 00:00: ten to six, just before plans are made
TICKS = 1_080  # until ten minutes to midnight
ASKING = ("plan", "act", "reflect", "summarise")  # kinds that a town of this size and age asks for
#: Small models loop without penalties; a server that does not know a parameter ignores it.
SAMPLING = {"temperature": 0.4, "top_p": 0.9, "repeat_penalty": 1.1, "dry_multiplier": 0.8}
STARTING = 60.0  # seconds that a server may take to start
PATIENCE = 600.0  # seconds that a tick waits for results; a job has half of that

_GOOD_PLAN = json.dumps(
    {
        "activities": [
            {"time": f"{7 + n}:00 AM", "description": f"Take care of the {errand}", "location": "", "priority": 3}
            for n, errand in enumerate(("garden", "mail", "shopping", "washing", "garden gate"))
        ]
    }
)
_GOOD_INSIGHT = json.dumps(
    {
        "insight": "I am glad to live in one town with Amara Okafor, Isabella Rossi and Jonas Lindqvist.",
        "significance": 4,
        "relationship_changes": [],
    }
)
RULES = [  # of fakellm; models are named after the kinds that ask them
    {"name": "plan", "when": {"model_matches": "plan"}, "respond": {"content": _GOOD_PLAN}},
    {
        "name": "reflect",
        "when": {"model_matches": "reflect"},
        "respond": {"content": f"Here it is:\n```json\n{_GOOD_INSIGHT}\n```"},
    },
]


class Asked(NamedTuple):
    """How the model is asked."""

    pack: Literal["auto", "off"] = "off"
    reasons: bool = False


class LocalRun(NamedTuple):
    """The outcome of a town."""

    server: str
    seconds: float
    jobs: Counter[tuple[str, str]]  # kind, source
    packed: int  # jobs that shared a request
    vitals: list[EndpointVitals]
    wrong: list[str]  # what the auditor found, and bad memories
    texts: list[str]  # texts of the changes that models' answers made, in order
    refused: list[str]  # unusable answers, and why


def report(servers: Iterable[Server], calls: int, texts: Path | None, seed: int, asked: Asked) -> int:
    """Run the town with each server and print the results; return 1 if there are faults.

    Args:
        calls: most calls for each server.
        texts: file for the texts of the changes that models' answers made, and for the answers that were refused.
        seed: of the town and of the model.
    """
    wrong: list[str] = []
    for server in servers:
        with server.start() as url, tempfile.TemporaryDirectory() as folder:
            lived = live(server, url, calls, Path(folder), seed, asked)
        print(table(lived), end="\n\n", flush=True)
        wrong += [f"{server.name}: {what}" for what in lived.wrong]
        if texts is not None:
            with texts.open("a") as file:
                file.write("\n".join([f"# {server.name}", "", *lived.texts, "", "## Refused", "", *lived.refused, ""]))
    print("\n".join(wrong) or "no faults found")
    return 1 if wrong else 0


def live(server: Server, url: str, calls: int, folder: Path, seed: int, asked: Asked) -> LocalRun:
    """Run a day of a town with one worker process; each kind has a model and an endpoint named after it."""
    settings = Settings.tuned(
        data_dir=folder,
        llm="openai",
        workers=1,
        concurrency=8 if asked.pack == "auto" else 2,
        wait=PATIENCE,
        job_deadline=PATIENCE / 2,
        limit_tokens=10_000_000,
        limits={"run.run.calls": calls},
        retry_share=0.3,
        guarantees={},
        claim_cap=3,
        reflection_interval=360,
        act_interval=120,
        throttle_auto=False,
        repair_from=1440,
        record=True,
        endpoints={kind: Endpoint(base_url=url, api_key="none") for kind in ASKING},
        models={
            kind: ModelSettings(
                endpoint=kind,
                model=server.model or kind,
                seed=seed + 1,
                reasons=asked.reasons,
                pack=asked.pack,
                parameters=SAMPLING,
            )
            for kind in ASKING
        },
        tiers={"routine": "plan"},
        kind_tiers={kind: {"routine": kind} for kind in ASKING},
    )
    town, began = Town(AGENTS, seed, start_minute=START), time.monotonic()
    with loop_of(town, "town", settings, ticks=TICKS) as loop:
        drive(loop, town)
        client = loop.ledger.client
        jobs: Counter[tuple[str, str]] = Counter()
        texts, packed = [], 0
        for line in read_journal(loop.ledger.store, 1, loop.tick):
            notes = {note.key: note for note in line.notes.ended if note.model}
            jobs.update((note.key.kind, note.source) for note in notes.values())
            packed += sum(note.packed > 1 for note in notes.values())
            for ended in line.core.ended:
                if ended.key in notes and notes[ended.key].source == "llm":
                    texts += [f"{clock_time(line.core.minute)} {ended.key.owner}: {text}" for text in _told(ended)]
        wrong = audit(client, "town")
        for owner, stream in loop.state.streams.items():
            wrong += [f"{owner}: {what}" for what in bad_memories(stream, town.locations)]
        vitals = endpoint_vitals(client)
        refused = [
            f"- {key.kind} of {key.owner}: {' '.join(one.answer.split())}: *{one.fault or one.failure}*"
            for key, one in all_recorded(loop.ledger.store, settings)
            if one.failure
        ]
    return LocalRun(server.name, time.monotonic() - began, jobs, packed, vitals, wrong, texts, refused)


def _told(ended: Ended) -> Iterator[str]:
    """Yield the texts of the changes that an answer made."""
    for effect in ended.effects:
        if isinstance(effect, Append) and effect.entry.items:
            yield f"plans {'; '.join(_item(item) for item in effect.entry.items)}"
        elif isinstance(effect, Append):
            yield f"{ended.key.kind}: {effect.entry.text}"
        elif isinstance(effect, Tell):
            yield f"{effect.topic}: {json.dumps(effect.data, ensure_ascii=False)}"
        elif isinstance(effect, ReplaceSummary):
            yield f"summary: {effect.text}"


def _item(item: PlanItem) -> str:
    return f"{clock_time(item.minute or 0)} {item.description} ({item.location or 'anywhere'})"


def table(lived: LocalRun) -> Table:
    """Return a row for each kind: jobs that asked a model by source, calls, tokens, failures."""
    of = {one.endpoint: one for one in lived.vitals}
    rows = []
    for kind in sorted({kind for kind, _ in lived.jobs}):
        sources = [lived.jobs[kind, source] for source in ("llm", "heuristic")]
        one = of.get(kind)
        failures = ", ".join(f"{name} {count}" for name, count in one.failures.items()) if one is not None else ""
        figures = (one.calls, one.tokens, one.estimated) if one is not None else (0, 0, 0)
        rows.append(Row(kind, (*sources, *figures, failures)))
    return Table(
        title=f"{lived.server}: {AGENTS} agents, {TICKS} minutes, {lived.seconds:.0f} s, {lived.packed} jobs in packs",
        columns=("jobs by llm", "by heuristic", "calls", "tokens", "estimated", "failures"),
        rows=tuple(rows),
    )


@contextmanager
def fakellm() -> Iterator[str]:
    """Run the mock with the rules above; it echoes a request without a rule."""
    with socket.socket() as probe, tempfile.TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        rules = Path(folder) / "fakellm.yaml"
        rules.write_text(json.dumps({"version": 1, "defaults": {"fallback": "deterministic_echo"}, "rules": RULES}))
        command = [sys.executable, "-m", "fakellm.cli", "serve", "--port", str(port), "--config", str(rules)]
        with _process(command) as process:
            _until_served(process, f"http://127.0.0.1:{port}/_fakellm/stats")
            yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def llama(model: str) -> Iterator[str]:
    """Run llama.cpp with a model: a name of the table, or a GGUF file."""
    with _process([sys.executable, "-m", "bench.local_model.llama_server", model]) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the server of llama.cpp did not start: it exited with {process.wait()}")
        yield url


class Server(NamedTuple):
    """A server, and the model that every kind asks; "": the model named after the kind."""

    name: str
    model: str
    start: Callable[[], AbstractContextManager[str]]


def of_llama(model: str) -> Server:
    """Return llama.cpp with a model."""
    return Server(f"llama.cpp, {model}", model, lambda: llama(model))


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def _until_served(process: subprocess.Popen[str], url: str) -> None:
    """Wait until the server answers.

    Raises:
        RuntimeError: if it exits instead.
        TimeoutError: if it takes too long.
    """
    deadline, failed = time.monotonic() + STARTING, None
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} exited with {process.returncode}: is the extra local-llm installed?")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError as error:
            failed = error
            time.sleep(0.1)  # between two tries: the server does not announce that it is up
    raise TimeoutError(f"{url} was not served within {STARTING:g} s: {failed}")


def main() -> int:
    """Run the command line and return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.local_model.local_llm", description=__doc__)
    parser.add_argument("--calls", type=int, default=80, help="most calls for each server")
    parser.add_argument("--only", default="", help="part of the names of the servers to use")
    parser.add_argument("--gguf", type=Path, help="file of a model to use instead")
    parser.add_argument("--texts", type=Path, help="file for the texts of the changes that answers made")
    parser.add_argument("--pack", choices=("auto", "off"), default="off", help="whether calls may be packed")
    parser.add_argument("--reasons", action="store_true", help="ask for reasons, as one asks a capable model")
    parser.add_argument("--seed", type=int, default=0, help="of the town and of the model")
    arguments = parser.parse_args()
    logs.quiet()
    servers = [Server("fakellm", "", fakellm), *(of_llama(model.name) for model in MODELS)]
    chosen = [of_llama(str(arguments.gguf))] if arguments.gguf else [s for s in servers if arguments.only in s.name]
    return report(chosen, arguments.calls, arguments.texts, arguments.seed, Asked(arguments.pack, arguments.reasons))


if __name__ == "__main__":
    sys.exit(main())
