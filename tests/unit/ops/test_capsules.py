"""A capsule is a run in one file: what it holds, that no byte of it can be changed, and no secret gets into it."""

from __future__ import annotations

import hashlib
import io
import json
import random
import socket
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.entry import Entry
from cogitate.ops.capsule.secrets import Secrets
from cogitate.ops.capsule.writing import write_capsule
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.facts import SCHEMA, Facts, keep_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.capsule import container
from cogitate.scheduler.journal.capsule.container import CapsuleError, Container, ContainerWriter
from cogitate.scheduler.journal.capsule.manifest import FORMAT, MANIFEST, Manifest
from cogitate.scheduler.journal.capsule.verifying import Verified, verify_capsule
from cogitate.scheduler.journal.exported import journal_folder
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.run_store import RunStore
from tests.unit.scheduler.kept_run_case import LIVED, changed, kept_run
from tests.unit.scheduler.run_lines_case import ANN

RUN, INCARNATION = "town", "now"  # of the kept run
FLIPS = 300


def capsule_of(store: RunStore, folder: Path, **settings: Any) -> tuple[Path, Verified]:
    """Write the capsule of a run, and return the file with what it says of it."""
    out = folder / "town.capsule"
    told = write_capsule(store.client, RUN, PinnedSettings(data_dir=folder, **settings), out)
    return out, told


def content_of(path: Path) -> dict[str, bytes]:
    """Return the members of a capsule as any program sees them."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path: Path, members: Mapping[str, bytes], /, **said: Any) -> Path:
    """Forge a capsule: write it with valid hashes and a valid checksum.

    Args:
        said: fields of the manifest in place of the right ones.
    """
    manifest = json.loads(members[MANIFEST])
    with path.open("wb") as file, ContainerWriter(io.BytesIO()) as draft:
        for name, content in members.items():
            if name != MANIFEST:
                with draft.member(name) as add:
                    add(content)
        manifest |= {"members": {name: msgspec.to_builtins(one) for name, one in draft.members.items()}, **said}
        with draft.member(MANIFEST) as add:
            add(json.dumps(manifest).encode())
        draft.finish(file)
    return path


@pytest.fixture
def capsule(tmp_path: Path) -> Path:
    return capsule_of(kept_run(), tmp_path)[0]


# -- what it holds -----------------------------------------------------------------------------------


def test_a_capsule_proves_its_run_without_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = kept_run()
    path, told = capsule_of(store, tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a verification opens no connection")

    monkeypatch.setattr(socket, "socket", refuse)
    assert verify_capsule(path) == told
    assert (told.run, told.ticks, told.jobs, told.owners, told.entries) == (RUN, 6, 3, 3, 5)
    assert [told.digest.encode(), told.chain.encode()] == store.state("digest", "chain")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    members = content_of(path)
    assert json.loads(members["settings.json"]) == json.loads(keep_settings(PinnedSettings()))
    assert members["prompts/plan.j2"] == (Path(container.__file__).parents[3] / "prompts" / "plan.j2").read_bytes()
    assert next(json.loads(line)["owner"] for line in members["memories.jsonl"].splitlines()) == ANN


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    store = kept_run()
    first = capsule_of(store, tmp_path)[0].read_bytes()
    assert capsule_of(store, tmp_path)[0].read_bytes() == first


@pytest.mark.parametrize("trimmed", [0, 2, 4])
def test_a_trimmed_journal_is_whole_in_its_capsule(tmp_path: Path, trimmed: int) -> None:
    whole = capsule_of(kept_run(marked=(2, 4)), tmp_path)[1]
    into = journal_folder(tmp_path, RUN, INCARNATION)
    store = kept_run(marked=(2, 4), trimmed=trimmed, into=into)
    assert capsule_of(store, tmp_path)[1] == whole
    if trimmed:
        with pytest.raises(InputError, match=f"trimmed up to tick {trimmed}, and its files are not in .*--data-dir"):
            write_capsule(store.client, RUN, PinnedSettings(data_dir=tmp_path / "else"), tmp_path / "no.capsule")


def test_a_run_that_was_changed_gives_no_capsule(tmp_path: Path) -> None:
    store = kept_run()
    store.client.lset(store.key("journal"), 2, store.item("journal", 1) or b"")
    with pytest.raises(ValueError, match="tick 3: the journal was changed"):
        capsule_of(store, tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_run_without_a_tick_gives_no_capsule(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tick yet"):
        capsule_of(kept_run([]), tmp_path)


# -- changed -----------------------------------------------------------------------------------------


def test_every_flipped_bit_is_found(capsule: Path) -> None:
    whole, drawn = capsule.read_bytes(), random.Random(7)
    for at in {0, len(whole) - 1, *(drawn.randrange(len(whole)) for _ in range(FLIPS))}:
        flipped = bytearray(whole)
        flipped[at] ^= 1 << drawn.randrange(8)
        capsule.write_bytes(flipped)
        with pytest.raises(CapsuleError, match=r"get it again|give a complete file"):
            verify_capsule(capsule)


def test_every_cut_is_found(capsule: Path) -> None:
    whole, drawn = capsule.read_bytes(), random.Random(8)
    for length in {0, 1, len(whole) - 1, *(drawn.randrange(len(whole)) for _ in range(FLIPS // 10))}:
        capsule.write_bytes(whole[:length])
        with pytest.raises(CapsuleError, match="is not a capsule"):
            verify_capsule(capsule)


@pytest.mark.parametrize("name", ["journal.jsonl", "memories.jsonl"])
def test_a_changed_history_is_found_under_new_hashes(capsule: Path, tmp_path: Path, name: str) -> None:
    members, drawn = content_of(capsule), random.Random(9)
    assert verify_capsule(rewritten(tmp_path / "same.capsule", members)).ticks == len(LIVED)
    for at in sorted(drawn.randrange(len(members[name])) for _ in range(FLIPS)):
        content = bytearray(members[name])
        content[at] ^= 1 << drawn.randrange(8)
        with pytest.raises(CapsuleError):
            verify_capsule(rewritten(tmp_path / "other.capsule", members | {name: bytes(content)}))


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"ticks": 5}, "ends at tick 6 with digest .*, unlike its manifest"),
        ({"digest": "0" * 32}, "unlike its manifest"),
        ({"chain": "0" * 32}, "unlike its manifest"),
        ({"digest": "\x1b[31m"}, "no digest and chain"),
        ({"ticks": 10**400}, "manifest cannot be read"),
        ({"ticks": -1}, "manifest cannot be read"),
        ({"format": FORMAT + 1}, "has format 2, this version reads only 1: upgrade Cogitate"),
        ({"format": 0}, "read it with the version that wrote it"),
        ({"schema": SCHEMA + 1}, "upgrade Cogitate"),
        ({"schema": SCHEMA - 1}, "read it with the version that wrote it"),
        ({"run": "../../etc/passwd"}, "no valid name of a run"),
        ({"more": 1}, "manifest cannot be read"),
        ({"members": {}}, "is missing, or the manifest does not name it"),
    ],
)
def test_a_wrong_manifest_is_refused(capsule: Path, tmp_path: Path, said: dict[str, Any], match: str) -> None:
    with pytest.raises(CapsuleError, match=match) as found:
        verify_capsule(rewritten(tmp_path / "other.capsule", content_of(capsule), **said))
    assert str(found.value).isprintable()


def test_an_earlier_end_of_a_run_is_another_run(capsule: Path, tmp_path: Path) -> None:
    members = content_of(capsule)
    cut = b"\n".join(members["journal.jsonl"].split(b"\n")[:-2]) + b"\n"
    with pytest.raises(CapsuleError, match="ends at tick 5"):
        verify_capsule(rewritten(tmp_path / "other.capsule", members | {"journal.jsonl": cut}))


@pytest.mark.parametrize("missing", ["journal.jsonl", "memories.jsonl", "settings.json"])
def test_a_missing_member_is_named(capsule: Path, tmp_path: Path, missing: str) -> None:
    members = {name: content for name, content in content_of(capsule).items() if name != missing}
    with pytest.raises(CapsuleError, match=f"{missing} is missing"):
        verify_capsule(rewritten(tmp_path / "other.capsule", members))


def test_an_answer_of_no_job_is_refused(capsule: Path, tmp_path: Path) -> None:
    stray = {"answers.jsonl": b'{"job":"9/think/agent:ann/0/0"}\n'}
    with pytest.raises(CapsuleError, match="an answer is of a job that its journal does not end"):
        verify_capsule(rewritten(tmp_path / "other.capsule", content_of(capsule) | stray))


# -- hostile -----------------------------------------------------------------------------------------


def checksummed(archive: bytes) -> bytes:
    """Return a ZIP archive without a comment with the comment of a capsule."""
    whole = archive[:-2] + struct.pack("<H", container._COMMENT)
    return whole + container._MARK + hashlib.sha256(whole).hexdigest().encode()


def archive(*names: str, content: bytes = b"x", **of_infos: Any) -> bytes:
    """Return a ZIP archive of these members, laid out as in a capsule but for fields of their headers."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written:
        for name in names:
            info = zipfile.ZipInfo(name, of_infos.get("date", (1980, 1, 1, 0, 0, 0)))
            info.compress_type = of_infos.get("method", zipfile.ZIP_DEFLATED)
            info.extra = of_infos.get("extra", b"")
            written.writestr(info, content)
    return out.getvalue()


def larger(data: bytes, size: int) -> bytes:
    """Return an archive of one member whose directory says that it has this size."""
    at = data.rindex(b"PK\1\2") + 24
    return data[:at] + struct.pack("<L", size) + data[at + 4 :]


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: archive("../../etc/passwd"), "not part of a capsule"),
        (lambda: archive("/etc/passwd"), "not part of a capsule"),
        (lambda: archive("prompts/../../x.j2"), "not part of a capsule"),
        (lambda: archive("C:\\x.json"), "not part of a capsule"),
        (lambda: archive("\x1b[2J.json"), "not part of a capsule"),
        (lambda: archive("journal.jsonl_x").replace(b"_x", b"\0x"), "not part of a capsule"),
        (
            lambda: archive(MANIFEST, "again.json.j2").replace(b"again.json.j2", MANIFEST.encode()),
            "not part of a capsule",
        ),
        (lambda: archive(MANIFEST, extra=b"\x01\x00\x02\x00hi"), "not laid out"),
        (lambda: archive(MANIFEST, method=zipfile.ZIP_LZMA), "not laid out"),
        (lambda: archive(MANIFEST, date=(1999, 1, 1, 0, 0, 0)), "not laid out"),
        (lambda: b"hidden" + archive(MANIFEST), "directory is not that"),
        (lambda: larger(archive(MANIFEST), 2**31), "2,147,483,648 bytes, at most"),
        (lambda: larger(archive(MANIFEST), 2**20), "cannot be decompressed|manifest cannot be read"),
        (lambda: archive(MANIFEST, content=b" " * 2**21), "has more than 1,048,576 bytes"),
        (lambda: archive(MANIFEST, content=b"[" * 100_000), "manifest cannot be read"),
        (lambda: archive(MANIFEST, content=b"\xff"), "manifest cannot be read"),
        (lambda: archive(*(f"prompts/{n}.j2" for n in range(101))), "directory is not that"),
        (lambda: archive("journal.jsonl"), "manifest.json is missing"),
    ],
)
def test_a_hostile_archive_is_refused_in_one_line(tmp_path: Path, made: Callable[[], bytes], match: str) -> None:
    path = tmp_path / "hostile.capsule"
    path.write_bytes(checksummed(made()))
    with pytest.raises(CapsuleError, match=match) as found:
        verify_capsule(path)
    assert str(found.value).isprintable()
    assert [*tmp_path.iterdir()] == [path], "nothing is unpacked"


def test_an_endless_line_is_not_read_in_full(capsule: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MOST_LINE", 10_000)
    members = content_of(capsule) | {"journal.jsonl": b"a" * 20_000}
    path = rewritten(tmp_path / "other.capsule", members)
    with Container.open(path) as opened, pytest.raises(CapsuleError, match="a line of more than 10,000 bytes"):
        next(opened.lines("journal.jsonl"))


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"{}",
        b"null",
        b'{"chain":"","line":{}}',
        b'{"chain":1,"line":{}}',
        b'{"chain":"","checkpoint":{}}',
        b'{"chain":"","line":{"v":%d}}' % 10**400,
        b'{"chain":"","line":%b}' % (b"[" * 5_000),
        b'{"chain":"\xff","line":{}}',
    ],
)
def test_an_invalid_journal_is_refused_as_a_fault_of_the_capsule(capsule: Path, tmp_path: Path, entry: bytes) -> None:
    members = content_of(capsule) | {"journal.jsonl": entry + b"\n"}
    with pytest.raises(CapsuleError):
        verify_capsule(rewritten(tmp_path / "other.capsule", members))


@pytest.mark.parametrize(
    "wrong",
    [
        {"facts": Facts(minutes_per_tick=2)},
        {"facts": Facts(day_seconds=-1)},
        {"facts": Facts(minutes_per_tick=0)},
        {"facts": Facts(minutes_per_tick=2**53)},
        {"facts": Facts(start_minute=2**53)},
    ],
)
def test_a_clock_of_no_run_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(JournalError, match=r"tick 1: (no run has a clock like that|its game time is not that)"):
        capsule_of(kept_run(changed(1, wrong)), tmp_path)


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(CapsuleError, match="is not a capsule"):
        verify_capsule(tmp_path)
    with pytest.raises(CapsuleError, match="is not a capsule"):
        verify_capsule(Path("/dev/zero"))


# -- secrets -----------------------------------------------------------------------------------------

KEY = "correct-horse-battery-staple"
PLANTED = {
    "api_key": KEY,
    "redis_url": "redis://user:first-password@example.org:6379/0",
    "broker_url": "redis://:second-password@example.org:6379/1",
    "base_url": "https://third-user:third-password@example.org/v1?key=fourth-secret",
    "gateway_token": "fifth-secret-token",
    "endpoints": {"other": {"api_key": "sixth-secret-key", "base_url": "https://example.org?code=seventh-secret"}},
}
SECRETS = (
    *(KEY, "first-password", "second-password", "third-password", "fourth-secret", "fifth-secret-token"),
    *("sixth-secret-key", "seventh-secret", "ninth-secret-of-a-variable"),
)


def held_by(path: Path) -> str:
    return " ".join(content.decode() for content in content_of(path).values()).lower()


def test_no_secret_of_the_settings_gets_into_a_capsule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS[-1])
    store = kept_run()
    loud = json.loads(store.state_field("settings")) | PLANTED | {"notes": [{"of": s} for s in SECRETS]}
    store.client.hset(store.key("state"), "settings", json.dumps(loud))
    told = {"resume": f"cogitate run --data-dir /home/{KEY}", "host": f"as {KEY.upper()}", "world": "town"}
    store.client.hset(store.key("state"), "describe", json.dumps(told))
    path, _ = capsule_of(store, tmp_path, **PLANTED)
    held = held_by(path)
    assert [secret for secret in SECRETS if secret in held] == []
    assert json.loads(content_of(path)[MANIFEST])["description"] == {"host": "***", "world": "town"}


LOOKING = (
    "sk-proj-abcdefghijklmnopqrstuvwx",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAABCDEFGHIJKLMNOP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "Bearer abcdefghijklmnop123",
    "postgres://ann:hunter22@db/town",
    "postgres:\\/\\/ann:hunter22@db\\/town",
    "-----BEGIN RSA PRIVATE KEY-----",
    "https://example.org/v1?api_key=abcdefgh12345678",
    "https://example.org/v1?a=1&key=abcdefgh12345678",
    "https://example.org/in#access_token=abcdefgh12345678",
    "https://store.example.org/x?sv=2022&sig=abcdefgh12345678%3D",
    "sk_" + "live_abcdefghijklmnop1234",
    "gsk_abcdefghijklmnopqrstuvwx1234",
    "xai-abcdefghijklmnopqrstuvwx1234",
    "nvapi-abcdefghijklmnopqrstuvwx1234",
    "SG.abcdefghijklmnopqrst12.abcdefghijklmnopqrst1234",
    "https://hooks.slack.com/services/T0000/B0000/abcdefghijklmnop1234",
    "123456789:AAabcdefghijklmnopqrstuvwxyz012345678",
    "MY_API_KEY=abcdefgh12345678",
    "DB_PASSWORD = correcthorsebattery",
    "x-api-key: abcdefghijklmnop1234",
    "AccountKey=abcdefghijklmnop1234==",
    KEY,
    KEY.upper(),
)


@pytest.mark.parametrize("secret", LOOKING)
def test_a_secret_in_the_journal_is_not_published(tmp_path: Path, secret: str) -> None:
    said = changed(2, {"observed": ((ANN, Entry(type="observation", text=f"He wrote {secret}.", minute=2)),)})
    with pytest.raises(InputError, match=r"entry 2 of its journal holds .*a capsule would publish it") as found:
        capsule_of(kept_run(said), tmp_path, api_key=KEY)
    assert secret not in str(found.value)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["api_key", "X-Auth", "extra_password", "Authorization", "token", "access_token"])
def test_a_secret_in_the_parameters_of_a_model_is_not_published(tmp_path: Path, name: str) -> None:
    parameters = json.dumps({"extra_headers": {name: "hunter2hunter2"}, "stop_token_ids": [1], "logit": "long-enough"})
    facts = Facts(models=(Model(name="default", model="m", parameters=parameters),))
    with pytest.raises(InputError, match="entry 1 of its journal holds"):
        capsule_of(kept_run(changed(1, {"facts": facts})), tmp_path)


def test_common_words_are_not_secrets() -> None:
    secrets = Secrets(PinnedSettings(api_key="none"))
    for text in (
        "I have none of the skills, and the risk-averse baker asks for a token of my love.",
        'He said: "password", and the door opened. See http://example.org:8080/a@b',
        '{"tokens":12345678,"max_tokens":"123456789","prompt":"0123456789abcdef","chain":"0123456789abcdef"}',
        '{"chain":"eyJ0","text":"sk-short"}',
        "What is the password of the inn? The token costs 2 crowns, the key: D minor. See http://a.org?q=token&b=2",
        "npm_location_of_the_town and fw_a_long_name_without_figures, at 12:30@harbour; ask-me-anything-today",
    ):
        assert secrets.found_in(text.encode()) == "", text


def test_a_template_of_the_host_stands_for_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "plan.j2").write_text("Mine.")
    path, _ = capsule_of(kept_run(), tmp_path, prompts=tmp_path / "mine")
    members = content_of(path)
    assert members["prompts/plan.j2"] == b"Mine."
    assert members["prompts/act.j2"] != b"Mine."


def test_a_manifest_says_what_wrote_it(capsule: Path) -> None:
    told = typed_json.decode(content_of(capsule)[MANIFEST], Manifest)
    assert told.versions.keys() == {"cogitate", "python"}
    assert told.members.keys() == content_of(capsule).keys() - {MANIFEST}
