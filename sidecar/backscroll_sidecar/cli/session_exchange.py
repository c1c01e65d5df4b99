"""Sessions between a server and the folders of an older system."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from backscroll import Client, InvalidRequest, NotFound, Participant, Persona, Room
from backscroll.errors import BackscrollError
from backscroll.v1 import message_pb2, session_pb2
from backscroll_sidecar.cli.console import os_words, usage
from backscroll_sidecar.cli.session_folders import (
    ReadSession,
    SessionFolder,
    SessionMeta,
    find_sessions,
    read_session,
    write_session,
)
from backscroll_sidecar.domain import AuthorKind, Message, Role

FREE_CHAT = "free_chat"
SHOWN_PROBLEMS = 10


@dataclass(slots=True)
class Report:
    """What became of one session."""

    session_id: str
    space: str
    mode: str = ""
    messages: int = 0
    notes: list[str] = field(default_factory=list)
    failed: bool = False

    def record(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def room_of(client: Client, session_id: str, space: str) -> Room:
    """The room of a session that must be there."""
    if not space:
        return client.room(session_id)
    for one in client.list_sessions(space=space, include_archived=True, page_size=1_000):
        if session_id in (one.session_id, *one.aliases):
            return client.room(one.session_id, space=space)
    raise NotFound(f"the space {space} has no session {session_id}", reason="SESSION_NOT_FOUND")


def is_here(one: session_pb2.Participant) -> bool:
    """Whether somebody takes part now."""
    if not one.presences:
        return True
    last = one.presences[-1]
    return not (last.HasField("until_sequence") or last.HasField("left_at_ms"))


# --- in --------------------------------------------------------------------------------------------


def take_folders(client: Client, directory: Path) -> Iterator[Report]:
    """Take every session below a directory; what went wrong with one stops no other."""
    folders = find_sessions(directory)
    if not folders:
        usage(
            f"there are no sessions below {directory}",
            "name the directory that holds logs/threads, with meta.json or messages.jsonl in each session",
        )
    modes = {one.name for one in client.modes()}
    known: dict[str, set[str]] = {}
    for folder in folders:
        space = folder.slug or ""
        if space not in known:
            found = client.list_sessions(space=space, include_archived=True, page_size=1_000)
            known[space] = {one.session_id for one in found}
            _begin_space(client, space)
        report = Report(folder.session_id, space)
        try:
            _take(client, folder, report, modes, is_new=folder.session_id not in known[space])
        except OSError as error:
            report.failed = True
            report.notes.append(os_words(error))
        except BackscrollError as error:
            if not error.reason:
                raise
            report.failed = True
            report.notes.append(str(error))
        yield report


def _begin_space(client: Client, slug: str) -> None:
    if not slug:
        return
    try:
        client.get_space(slug)
    except NotFound:
        client.put_space(slug)


def _take(
    client: Client, folder: SessionFolder, report: Report, modes: set[str], *, is_new: bool
) -> None:
    read = read_session(folder)
    meta = read.meta
    report.notes += map(str, read.problems[:SHOWN_PROBLEMS])
    if len(read.problems) > SHOWN_PROBLEMS:
        report.notes.append(f"and {len(read.problems) - SHOWN_PROBLEMS} problems more")
    if is_new:
        session = _begin(client, read, report, modes)
    else:
        session = client.room(meta.id, **_place(report.space)).session()
        report.notes.append("it was there already: its mode and state stay as they are")
    report.mode = session.mode
    if session.space != report.space:
        report.failed = True
        report.notes.append("a session in no space has this id: rename one of them")
        return
    done = client.import_messages(
        (_sent(one, session) for one in read.messages), channel=session.channel
    )
    report.messages = done.stored_count + done.duplicate_count
    if done.refused_count or done.conflict_count:
        refused = done.refused_count + done.conflict_count
        report.notes.append(f"{refused} messages were refused or are other ones here")


def _place(space: str) -> dict[str, Any]:
    return {"space": space} if space else {}


def _begin(
    client: Client, read: ReadSession, report: Report, modes: set[str]
) -> session_pb2.Session:
    """A new session in its mode; in free chat where the server knows it not, or cannot play on."""
    meta = read.meta
    mode = meta.mode or FREE_CHAT
    people = _participants(read)
    given: dict[str, Any] = {
        "personas": people, "project_id": meta.project_id, "title": meta.title, **_place(report.space),
    }  # fmt: skip
    if mode not in modes:
        report.notes.append(
            f"there is no mode {mode} here: it is in free_chat, its state is left out"
        )
        return client.room(meta.id, mode=FREE_CHAT, **given).session()
    room = client.room(meta.id, mode=mode, role_config=meta.role_config, **given)
    try:
        session = room.session()
    except InvalidRequest as error:
        report.notes.append(f"{mode} cannot go on: {error.message}; it is in free_chat")
        return client.room(meta.id, mode=FREE_CHAT, **given).session()
    if meta.mode_state and session.space == report.space:
        try:
            session = room.update(mode_state=meta.mode_state)
        except InvalidRequest as error:
            report.notes.append(f"its state cannot be read, the mode begins anew: {error.message}")
    return session


def _participants(read: ReadSession) -> list[Participant]:
    """Who speaks in it, and whom its roles name. Bots become personas, so that the session can go on."""
    names: dict[str, str] = {}
    personas: set[str] = set()
    for one in read.messages:
        if one.role is Role.SYSTEM or one.author.kind is AuthorKind.SYSTEM:
            continue
        names[one.author.id] = one.author.name or names.get(one.author.id, "")
        if one.role is Role.ASSISTANT or one.author.kind is AuthorKind.BOT:
            personas.add(one.author.id)
    roles = read.meta.role_config.get("role_map")
    if isinstance(roles, Mapping):
        named = [one for one in roles.values() if isinstance(one, str) and one]
        personas |= set(named)
        names = {**dict.fromkeys(named, ""), **names}
    taken: set[str] = set()
    made = []
    for id_, name in names.items():
        is_free = name.casefold() not in taken | {one.casefold() for one in names if one != id_}
        taken |= {id_.casefold(), name.casefold()}
        kind = Persona if id_ in personas else Participant
        made.append(kind(id_, name if is_free else ""))
    return made


def _sent(message: Message, session: session_pb2.Session) -> message_pb2.Message:
    from backscroll_sidecar.edge.convert.messages import message_to_proto

    sent = message_to_proto(message)
    sent.channel, sent.session_id = session.channel, session.session_id
    return sent


# --- out -------------------------------------------------------------------------------------------


def give_folders(client: Client, directory: Path, space: str | None) -> Iterator[Report]:
    """Write every session, or those of one space."""
    for one in list(client.list_sessions(space=space, include_archived=True, page_size=1_000)):
        room = client.room(one.session_id, **_place(one.space))
        session = room.session()
        report = Report(session.session_id, session.space, session.mode)
        try:
            messages = tuple(_messages(room.export()))
            write_session(directory, ReadSession(_meta(session), messages))
            report.messages = len(messages)
        except (OSError, ValueError) as error:
            report.failed = True
            report.notes.append(os_words(error) if isinstance(error, OSError) else str(error))
        yield report


def _meta(session: session_pb2.Session) -> SessionMeta:
    return SessionMeta(
        id=session.session_id,
        mode=session.mode,
        mode_state=json.loads(session.mode_state_json or "{}"),
        role_config=json.loads(session.role_config_json or "{}"),
        created_at_ms=session.created_at_ms,
        updated_at_ms=session.updated_at_ms,
        thread_slug=session.space,
        project_id=session.project_id,
        title=session.title,
    )


def _messages(lines: Iterator[str] | Sequence[str]) -> Iterator[Message]:
    from backscroll_sidecar.edge.convert.messages import message_from_proto

    for line in lines:
        record = json.loads(line).get("message")
        if record is None:
            continue
        message = json_format.ParseDict(record, message_pb2.Message())
        if not message.recalled:
            yield message_from_proto(message, "")
