"""The manifest of a capsule: the run that it holds, the versions that wrote it, and the hash of each member.

Members:
    journal.jsonl    every entry of the journal from tick 1 on, checkpoints included, in the form of exported files
    memories.jsonl   one line per owner, in the form of `cogitate export --what memories`
    answers.jsonl    prompts and answers of the run's jobs, if it recorded them
    recording.json   the files of the recording that a run plays, by name
    settings.json    the settings and prices that the run stores
    prompts/*.j2     the prompt templates
    manifest.json    the manifest (`Manifest`)
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from cogitate.memory import typed_json
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import ConfigurationError, check_run_name
from cogitate.scheduler.journal.capsule.container import CapsuleError, Container, Member, changed
from cogitate.scheduler.journal.changes import Origin
from cogitate.scheduler.journal.lines import wrong_version
from cogitate.scheduler.latency.latencies import LatencyPrior

FORMAT = 1
MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"
MEMORIES = "memories.jsonl"
ANSWERS = "answers.jsonl"
SETTINGS = "settings.json"
RECORDING = "recording.json"
PROMPTS = "prompts/"

MOST_MANIFEST = 2**20  # bytes

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_HASH = re.compile(r"[0-9a-f]{32}")


class _Formatted(msgspec.Struct, frozen=True):
    """The readable part of a manifest that a newer version wrote."""

    format: int
    schema: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The description of a capsule's run and members."""

    format: int = FORMAT
    schema: int = SCHEMA
    run: str
    incarnation: str
    ticks: Count  # the last tick
    digest: str  # after the last tick
    chain: str  # likewise
    versions: dict[str, str]  # of Cogitate and Python that wrote the capsule
    description: dict[str, str]  # the host's, such as the world and its seed
    origin: Origin | None = None  # of a fork: the run, the tick and the chain that it continues from
    latency_prior: LatencyPrior | None = None  # of a run whose due ticks follow the model
    members: dict[str, Member]


_FORMATTED = typed_json.decoder(_Formatted)
_MANIFEST = typed_json.decoder(Manifest)


def read_manifest(container: Container) -> Manifest:
    """Return the manifest of a capsule after checking every member against it.

    Raises:
        CapsuleError: if it cannot be read, another version wrote it, or a member is missing, altered or unknown.
    """
    raw = container.read(MANIFEST, MOST_MANIFEST)
    try:
        head = _FORMATTED.decode(raw)
        if head.format != FORMAT:
            remedy = "upgrade Cogitate" if head.format > FORMAT else "read it with the version that wrote it"
            raise CapsuleError(f"{container.path} has format {head.format}, this version reads only {FORMAT}: {remedy}")
        if head.schema != SCHEMA:
            raise CapsuleError(f"{container.path} {wrong_version(head.schema)}")
        manifest = _MANIFEST.decode(raw)
        check_run_name(manifest.run)
    except (msgspec.DecodeError, RecursionError) as error:
        raise changed(container.path, f"its manifest cannot be read ({error})") from error
    except ConfigurationError as error:
        raise CapsuleError(f"{container.path}: its manifest has no valid name of a run: {error}") from error
    if not all(map(_HASH.fullmatch, (manifest.digest, manifest.chain))):
        raise changed(container.path, "its manifest has no digest and chain")
    named = {*manifest.members, MANIFEST}
    if container.names != named or not {JOURNAL, MEMORIES, SETTINGS} <= named:
        odd = min((container.names ^ named) | ({JOURNAL, MEMORIES, SETTINGS} - named))
        raise changed(container.path, f"{odd} is missing, or the manifest does not name it")
    for name, member in manifest.members.items():
        container.check(name, member)
    return manifest
