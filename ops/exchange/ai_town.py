"""Reads exports of AI Town: the memories of its agents, and the messages of their conversations."""

from __future__ import annotations

import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.profile import Profile
from cogitate.ops.exchange import incoming
from cogitate.ops.exchange.incoming import Incoming, decode_json, list_in, object_of, owners_named, string_in
from cogitate.ops.exchange.timeline import Timeline, seconds
from cogitate.scheduler.intake.checks import MAX_TOLD

_MAX_LINE = 50_000_000  # bytes; a world is one line
_UNREADABLE = (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error)


class Tables:
    """The tables of an export, read row by row."""

    def __init__(self, content: Incoming) -> None:
        """Open the folder, or the list of files in the zip.

        Raises:
            InputError: if it cannot be read.
        """
        self._content, self._bytes = content, 0
        with self._reading():
            path = content.source
            top: Path | zipfile.Path = path if path.is_dir() else zipfile.Path(path)
            self._folders = [top, *(inner for inner in top.iterdir() if inner.is_dir())]

    def file(self, table: str) -> Path | zipfile.Path | None:
        """Return the file of a table, at the top level or in a folder of it; None if there is none."""
        for folder in self._folders:
            for file in (folder / table / "documents.jsonl", folder / f"{table}.jsonl"):
                if file.is_file():
                    return file
        return None

    def rows(self, table: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield a table's rows, each with its place; skip and report invalid lines.

        Raises:
            InputError: when the table cannot be read or is too large.
        """
        file = self.file(table)
        if file is None:
            return
        with self._reading(), file.open("rb") as opened:
            number = 0
            while line := opened.readline(_MAX_LINE):
                number += 1
                where = f"{table}, line {number}"
                self._bytes += len(line)
                if len(line) == _MAX_LINE or self._bytes > incoming.MAX_FILE:
                    raise InputError(
                        f"{where}: the tables have more than {incoming.MAX_FILE:,} bytes, or a line more than "
                        f"{_MAX_LINE:,}: give an export of fewer rows"
                    )
                row = None
                with self._content.reporting("row", where):
                    row = object_of(decode_json(line), "it") if line.strip() else None
                if row is not None:
                    yield where, row

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            raise InputError(f"{self._content.source}: {error}") from error
        except _UNREADABLE as error:
            raise InputError(
                f"{self._content.source}: cannot be read: {getattr(error, 'strerror', None) or error}: give the zip of "
                "`npx convex export`, or its folder"
            ) from error


def read_ai_town(path: Path) -> Incoming:
    """Return the memories of a town's agents; both sides of a conversation remember its messages.

    It skips and reports invalid rows; embeddings, human players and rows of other worlds are only counted.

    Raises:
        InputError: when the export is unreadable, too large, from another program, or has no valid memory.
    """
    content = Incoming(source=path)
    world = _World(content)
    if not world.names:
        raise InputError(
            f"{path}: it has no row in a table playerDescriptions: give the zip of `npx convex export` in AI Town, or "
            "its folder"
        )
    world.add_owners()
    timeline = Timeline(content)
    for where, row in world.rows("memories", "memory"):
        with content.reporting("memory", where):
            _take_memory(timeline, world, where, row)
    messages = list(world.rows("messages", "message"))
    joined = world.joined()
    for _, row in messages:
        joined[string_in(row, "conversationId")].setdefault(string_in(row, "author"))
    for where, row in messages:
        with content.reporting("message", where):
            _take_message(timeline, world, where, row, joined[string_in(row, "conversationId")])
    timeline.finish()
    return content


class _World:
    """The rows and the players of one world: the default one, or the first that a row names."""

    def __init__(self, content: Incoming) -> None:
        self._content, self._tables = content, Tables(content)
        status = [row for _, row in self._tables.rows("worldStatus") if row.get("isDefault") is True]
        self._id = string_in(status[0], "worldId") if status else ""
        self._described = {string_in(row, "playerId"): row for _, row in self.rows("playerDescriptions", "player")}
        self._documents = [row for _, row in self.rows("worlds", "world")]
        self.names = {player: string_in(row, "name") or player for player, row in self._described.items()}
        self.owners: dict[str, str] = {}  # player -> owner

    def rows(self, table: str, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield a table's rows of this world, each with its place; count the rows of other worlds."""
        for where, row in self._tables.rows(table):
            world = string_in(row, "_id" if table == "worlds" else "worldId")
            self._id = self._id or world
            if world in ("", self._id):
                yield where, row
            else:
                self._content.pass_over(f"{what} of another world")

    def add_owners(self) -> None:
        """Add an owner for each player that no human plays."""
        humans = {string_in(row, "id") for row in self._all("players", "archivedPlayers") if string_in(row, "human")}
        of_agent = {string_in(row, "id"): string_in(row, "playerId") for row in self._all("agents", "archivedAgents")}
        identities = {
            of_agent.get(string_in(row, "agentId")): row for _, row in self.rows("agentDescriptions", "agent")
        }
        played = [player for player in self.names if player not in humans]
        self._content.pass_over("human player", len(self.names) - len(played))
        for player, owner in zip(played, owners_named(self.names[player] for player in played), strict=True):
            identity, description = identities.get(player), string_in(self._described[player], "description")
            with self._content.reporting("player", f"playerDescriptions, {player}"):
                profile = Profile(
                    name=self.names[player],
                    background=(string_in(identity, "identity") or description)[:MAX_TOLD],
                    currently=string_in(identity, "plan")[:MAX_TOLD],
                )
                self._content.add_owner(owner, profile)
                self.owners[player] = owner

    def joined(self) -> defaultdict[str, dict[str, None]]:
        """Return the players of each conversation, in order."""
        players: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for row in self._all("conversations", "archivedConversations"):
            members = row.get("participants") if isinstance(row, dict) else None
            for member in members if isinstance(members, list) else []:
                player = member if isinstance(member, str) else string_in(member, "playerId")
                players[string_in(row, "id")].setdefault(player)
        return players

    def subjects(self, players: list[str]) -> tuple[str, ...]:
        """Return the owners of players; for a player without an owner, the name."""
        named = [self.owners.get(player) or self.names[player] for player in players if player in self.names]
        return tuple(dict.fromkeys(named))

    def _all(self, field: str, archived: str) -> Iterator[object]:
        """Yield the rows in a field of the world, then the archived ones."""
        for document in self._documents:
            value = document.get(field)
            yield from value if isinstance(value, list) else []
        yield from (row for _, row in self.rows(archived, "archived row"))


def _take_memory(timeline: Timeline, world: _World, where: str, row: dict[str, Any]) -> None:
    player, data = string_in(row, "playerId"), object_of(row.get("data"), "data")
    if player not in world.owners:
        raise InputError(f"playerId is {quoted(row.get('playerId'))}: give a player that playerDescriptions names")
    timeline.content.pass_over("embedding", "embeddingId" in row)
    kind = string_in(data, "type")
    others = [*list_in(data, "playerIds"), data.get("playerId")]
    entry = Entry(
        type="observation" if kind == "conversation" else "reflection",
        text=string_in(row, "description"),
        minute=0,
        subjects=world.subjects([player, *(one for one in others if isinstance(one, str))]),
        importance=timeline.content.importance(row.get("importance"), 0, 9),
        source="social" if kind == "conversation" else "internal",
        source_id=string_in(data, "conversationId"),
    )
    rests_on = tuple(one for one in list_in(data, "relatedMemoryIds") if isinstance(one, str))
    time = seconds(row.get("_creationTime"), "_creationTime")
    timeline.add(where, world.owners[player], entry, time, string_in(row, "_id"), rests_on)


def _take_message(timeline: Timeline, world: _World, where: str, row: dict[str, Any], joined: dict[str, None]) -> None:
    author, words = string_in(row, "author"), string_in(row, "text")
    if author not in world.names:
        raise InputError(f"author is {quoted(row.get('author'))}: give a player that playerDescriptions names")
    if not words:
        raise InputError(f"text is {quoted(row.get('text'))}: give the words of the message")
    entry = Entry(
        type="message",
        text=f"{world.names[author]}: {words}",
        minute=0,
        subjects=world.subjects(list(joined)),
        source="dialogue",
        source_id=string_in(row, "conversationId"),
    )
    for player in joined:
        if player in world.owners:
            timeline.add(where, world.owners[player], entry, seconds(row.get("_creationTime"), "_creationTime"))
