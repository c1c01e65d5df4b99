"""Messages and changes with everything ordinary filled in."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from backscroll_sidecar.domain import (
    Analysis,
    AppendResult,
    Author,
    ChannelKey,
    Message,
    MessageType,
    Reply,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.ports import (
    ANY_ERASURE,
    TURN,
    AppendChange,
    Applied,
    EditChange,
    EventQuery,
    HistoryReader,
    HistoryStore,
    RecordChange,
    RetractChange,
    StoredVector,
    TurnMark,
    about_message,
)

ROOM = ChannelKey("default", "room")
OTHER_ROOM = ChannelKey("default", "other room")
NOON_MS = 1_700_000_000_000


def message(id_: str, text: str = "hello", *, at: int = 0, **fields: Any) -> Message:
    """A message of Alice's, `at` milliseconds after noon. `author` and `reply_to` may be plain ids."""
    author = fields.pop("author", "u-alice")
    if isinstance(author, str):
        author = Author(author, author.removeprefix("u-").title())
    if reply_to := fields.pop("reply_to", None):
        fields["reply"] = Reply(reply_to)
    fields = {"channel": ROOM.channel, "parts": (TextPart(text),)} | fields
    return Message(id_, author=author, sent_at_ms=NOON_MS + at, **fields)


def analysis(of: Message, **fields: Any) -> Analysis:
    """What a very plain analysis would find."""
    plain = Analysis(
        text=of.text,
        message_type=MessageType.DISCUSSION,
        mention_ids=tuple(dict.fromkeys(mention.user_id for mention in of.mentions)),
        keywords=tuple(dict.fromkeys(of.text.split())),
        token_count=len(of.text.split()) + 1,
        reply=of.reply,
    )
    return msgspec.structs.replace(plain, **fields)


def append(*messages: Message, key: ChannelKey = ROOM) -> AppendChange:
    """One append of these messages, moved to the key's channel, ranked at the time sent."""
    placed = tuple(msgspec.structs.replace(m, channel=key.channel) for m in messages)
    return AppendChange(
        key,
        placed,
        tuple(analysis(m) for m in placed),
        tuple(m.sent_at_ms for m in placed),
        NOON_MS + 1_000_000,
    )


def edit(
    id_: str, text: str, *, at: int = 500, key: ChannelKey = ROOM, **fields: Any
) -> EditChange:
    """An edit to this text."""
    fields = {"author": "u-nobody", "channel": key.channel} | fields
    edited = message(id_, text, **fields)
    return EditChange(key, edited, analysis(edited), NOON_MS + at)


def recall(id_: str, *, at: int = 900, key: ChannelKey = ROOM) -> RetractChange:
    """A recall."""
    return RetractChange(key, id_, NOON_MS + at)


def turn(
    id_: str,
    body: bytes = b"body",
    *,
    shows: tuple[str, ...] = (),
    at: int = 0,
    lives: int = 1_000,
    key: ChannelKey = ROOM,
) -> RecordChange:
    """A turn kept `at` milliseconds after noon, for so many milliseconds, which shows these messages."""
    names, at_ms = (ANY_ERASURE, *map(about_message, shows)), NOON_MS + at
    ends_ms = at_ms + lives
    return RecordChange(key, TURN, "", body, names, at_ms, ends_ms, owner=id_, turn=TurnMark(0))


async def vectors_of(store: HistoryReader, key: ChannelKey, embedder_id: str) -> list[StoredVector]:
    """All vectors of a channel by an embedder, by `seq`."""
    found = (await store.vectors(key, embedder_id, "", 10_000)).rows
    return sorted(found, key=lambda one: one.seq)


async def kept_turn(
    store: HistoryStore, tenant: str, id_: str, now_ms: int = NOON_MS
) -> tuple[ChannelKey, bytes] | None:
    """The channel and body of a turn, found by its id alone."""
    found = await store.records_of_owner(tenant, TURN, id_, now_ms)
    return (ChannelKey(tenant, found[0].channel), found[0].body) if found else None


def record(
    id_: str,
    body: bytes = b"body",
    *,
    kind: str = "pin",
    names: tuple[str, ...] = (),
    at: int = 0,
    lives: int = 0,
    owner: str = "",
    limit: int = 0,
    key: ChannelKey = ROOM,
) -> RecordChange:
    """A record kept `at` milliseconds after noon, for so many milliseconds; 0: for good."""
    ends_ms = NOON_MS + at + lives if lives else 0
    return RecordChange(key, kind, id_, body, names, NOON_MS + at, ends_ms, owner, limit)


def dropped_record(
    id_: str, *, kind: str = "pin", at: int = 0, owner: str = "", key: ChannelKey = ROOM
) -> RecordChange:
    """The deletion of a record; without an id: of all."""
    return RecordChange(key, kind, id_, None, (), NOON_MS + at, owner=owner)


async def put(
    store: HistoryStore, *messages: Message, key: ChannelKey = ROOM
) -> Sequence[AppendResult]:
    """Append in one change and return the results."""
    (applied,) = await store.apply([append(*messages, key=key)])
    assert applied.error is None
    return applied.append_results


async def rows(store: HistoryStore, key: ChannelKey = ROOM) -> dict[str, StoredMessage]:
    """Everything stored, by id, in order of `seq`."""
    loaded = await store.load_channel(key)
    stored = [row for part in loaded.parts for row in part]
    assert [s.seq for s in stored] == sorted(s.seq for s in stored)
    return {s.message.id: s for s in stored}


def ids(stored: Sequence[StoredMessage]) -> list[str]:
    """The ids in order."""
    return [s.message.id for s in stored]


def comparable(applied: Applied) -> tuple[Any, ...]:
    """An `Applied` with its error as a value."""
    error = applied.error and (type(applied.error), applied.error.reason, applied.error.message)
    return (msgspec.structs.replace(applied, error=None, version=0), error)


async def everything(store: Any, keys: Sequence[ChannelKey], probe_ids: Sequence[str]) -> list[Any]:
    """Every answer the port can give about these channels and ids."""
    from backscroll_sidecar.ports import ListQuery

    seen: list[Any] = []
    for key in keys:
        seen += [
            await store.load_channel(key),
            await store.latest(key, 3),
            await store.latest(key, 0),
            await store.list_messages(key, ListQuery()),
            await store.list_messages(
                key, ListQuery(limit=2, newest_first=True, include_recalled=True)
            ),
            await store.list_messages(
                key, ListQuery(after_seq=1, before_seq=4, include_recalled=True)
            ),
            await store.list_messages(key, ListQuery(author_id="u-bob", since_ms=NOON_MS + 1)),
            await store.list_messages(key, ListQuery(thread_id="t1", until_ms=NOON_MS + 3)),
            await store.get_messages(key, probe_ids),
            await store.channel_info(key),
            await store.members(key),
            await store.last_messages(key),
            [replace(one, number=0) for one in await store.events(key)],
            [
                replace(one, number=0)
                for one in await store.events(
                    key, EventQuery("c1", ("turn.started",), 2, newest_first=True)
                )
            ],
            await vectors_of(store, key, "e1"),
            [stored async for stored in store.export(key)],
        ]
        seen += [await store.reply_tree(key, id_, 3) for id_ in probe_ids]
        seen += [await store.answer_to(key, id_, "u-bob", "a" * 12) for id_ in probe_ids]
        for at in range(5):
            found = await store.records(key, "pin", NOON_MS + at)
            seen.append([replace(one, number=0) for one in found])
            found = await store.records(key, "pin", NOON_MS + at, owner="u-bob")
            seen.append([replace(one, number=0) for one in found])
    for tenant in sorted({key.tenant for key in keys}):
        seen.append(await store.channels_of_tenant(tenant, "", 9))
        channels = [key.channel for key in keys]
        seen.append(await store.record_owners(tenant, "pin", None, 9))
        seen.append(await store.record_owners(tenant, "pin", "u-alice", 1))
        for user_id in ("u-alice", "u-bob"):
            found = await store.records_of_owner(tenant, "pin", user_id, NOON_MS)
            seen.append([replace(one, number=0) for one in found])
            seen.append(await store.latest_of_user(tenant, user_id, channels, 3))
            seen.append(await store.latest_of_user(tenant, user_id, (), 100))
        seen += [
            await kept_turn(store, tenant, turn_id, NOON_MS + at)
            for turn_id in ("t1", "t2")
            for at in range(6)
        ]
    return seen
