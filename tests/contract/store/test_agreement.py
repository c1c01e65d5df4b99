"""The stores agree on any history, and the databases still know it after they were closed and opened again (S2-17)."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    ChannelKey,
    Embedding,
    Event,
    MediaPart,
    Member,
    Mention,
    Message,
    Reply,
    ReplyKind,
    Role,
    TextPart,
)
from backscroll_sidecar.ports import (
    AliasChange,
    AppendChange,
    Change,
    EditChange,
    EraseChange,
    EventsChange,
    MembersChange,
    RecordChange,
    RetractChange,
    TurnMark,
)
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.store.postgres import PostgresStore
from backscroll_sidecar.store.sqlite import SqliteStore
from tests.contract.store.builders import NOON_MS, analysis, comparable, everything, turn
from tests.kit.examples import examples
from tests.kit.postgres import server

IDS = ["m1", "m2", "m3", f"{'a' * 32}:reply", f"{'b' * 32}:calls:1", "m/5'\u202e", "群😀"]
USERS = ["u-alice", "u-bob"]
NAMES = ["", "Alice", "Ali", "小明"]
TENANTS = ["a", "b"]
CHANNELS = ["c", "c/2"]

ids = st.sampled_from(IDS)
times = st.integers(0, 4).map(lambda at: NOON_MS + at)
words = st.sampled_from(["", "hi", "hi there", "多行\n文本 👩‍🚀"])
vectors = st.builds(
    Embedding, st.sampled_from(["e1", "e2"]), st.sampled_from([(1.0,), (0.5, -2.0)])
)
parts = st.lists(
    st.one_of(
        st.builds(TextPart, words),
        st.builds(MediaPart, st.just("image"), st.sampled_from(["u1", "u2"]), words),
    ),
    max_size=2,
).map(tuple)
mentions = st.lists(st.builds(Mention, st.sampled_from(USERS)), max_size=1).map(tuple)
authors = st.builds(
    Author, st.sampled_from(USERS), st.sampled_from(NAMES), st.sampled_from(AuthorKind)
)
messages = st.builds(
    Message,
    id=ids,
    channel=st.just(""),
    author=authors,
    parts=parts,
    sent_at_ms=times,
    role=st.sampled_from(Role),
    thread_id=st.sampled_from(["", "t1"]),
    reply=st.none() | st.builds(Reply, ids, st.sampled_from(ReplyKind), st.booleans()),
    mentions=mentions,
    embeddings=st.lists(vectors, max_size=2).map(tuple),
    dedupe_key=st.sampled_from(["", "", "k1", "k2"]),
    is_partial=st.booleans(),
)
members = st.builds(
    Member,
    st.sampled_from([*USERS, "u-eve"]),
    st.sampled_from(NAMES),
    st.sampled_from([(), ("al",)]),
    st.sampled_from(AuthorKind),
    st.none() | st.just(3),
    st.none() | st.just(9),
)
events = st.builds(
    Event,
    id=st.sampled_from(["e1", "e2"]),
    type=st.sampled_from(["turn.started", "context.compressed"]),
    level=st.just("turn"),
    at_ms=times,
    parent_id=st.sampled_from(["", "e1"]),
    message_id=st.sampled_from(["", "m1", "m2"]),
    payload=st.dictionaries(
        st.sampled_from(["n", "键"]), st.integers() | st.text("ab'\"", max_size=3)
    ),
)
Draw = Any


@st.composite
def changes(draw: Draw) -> Change:
    key = ChannelKey(draw(st.sampled_from(TENANTS)), draw(st.sampled_from(CHANNELS)))
    kind = draw(
        st.sampled_from(
            ["append"] * 4
            + ["edit", "edit", "recall", "alias", "members", "erase", "events", "turn"]
            + ["record", "record", "drop"]
        )
    )
    match kind:
        case "append":
            sent = tuple(
                replace(m, channel=key.channel) for m in draw(st.lists(messages, max_size=4))
            )
            found = tuple(
                analysis(m, reply=draw(st.sampled_from([m.reply, Reply("m1", inferred=True)])))
                for m in sent
            )
            ranks = tuple(m.sent_at_ms + draw(st.integers(0, 1)) for m in sent)
            mark = draw(st.sampled_from([None, TurnMark(0)]))
            replaced = draw(st.sampled_from(["", "", "m1", "m2"]))
            return AppendChange(key, sent, found, ranks, NOON_MS, mark, replaces=replaced)
        case "edit":
            edited = replace(draw(messages), channel=key.channel)
            return EditChange(key, edited, analysis(edited), draw(times))
        case "record":
            ends_ms = draw(st.sampled_from([0, 0, NOON_MS + 2, NOON_MS + 4]))
            names = draw(st.lists(st.sampled_from(["m:m1", "m:m2", "u:u-bob"]), max_size=2))
            return RecordChange(
                ChannelKey(key.tenant, draw(st.sampled_from([key.channel, ""]))),
                "pin",
                draw(st.sampled_from(["r1", "r2", "r3"])),
                draw(st.sampled_from([b"", b"one", b"two"])),
                tuple(names),
                draw(times),
                ends_ms,
                draw(st.sampled_from(["", "u-bob"])),
                draw(st.sampled_from([0, 2])),
            )
        case "drop":
            id_ = draw(st.sampled_from(["", "r1", "r2"]))
            owner = draw(st.sampled_from(["", "u-bob"]))
            return RecordChange(key, "pin", id_, None, (), draw(times), owner=owner)
        case "recall":
            return RetractChange(key, draw(ids), draw(times))
        case "alias":
            return AliasChange(key, draw(ids), draw(ids))
        case "members":
            return MembersChange(
                key, tuple(draw(st.lists(members, max_size=2))), draw(times), draw(st.booleans())
            )
        case "erase":
            user = draw(st.sampled_from(["", *USERS]))
            erased = () if user else tuple(draw(st.lists(ids, max_size=2)))
            return EraseChange(key, erased, user, NOON_MS)
        case "turn":
            body = draw(st.sampled_from([b"", b"one", b"two"]))
            shows = draw(st.sampled_from([(), ("m1",), ("m1", "m2")]))
            id_ = draw(st.sampled_from(["t1", "t2"]))
            at, lives = draw(st.integers(0, 4)), draw(st.integers(0, 4))
            return turn(id_, body, shows=shows, at=at, lives=lives, key=key)
        case _:
            context = draw(st.sampled_from(["c1", "c2"]))
            return EventsChange(key, context, tuple(draw(st.lists(events, max_size=2))))


def in_tenants_of(number: int, group: list[Change]) -> list[Change]:
    """The same changes in tenants nobody has used yet: one database serves all examples."""
    return [replace(c, key=ChannelKey(f"{c.key.tenant}{number}", c.key.channel)) for c in group]


Opening = Callable[[], Awaitable[SqliteStore | PostgresStore]]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def loop_and_opening(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[asyncio.Runner, Opening]]:
    """How one database is opened again and again."""
    path, url = tmp_path_factory.mktemp("agreement") / "history.db", ""
    if request.param == "postgres":
        url = server().new_database()

    async def opened() -> SqliteStore | PostgresStore:
        if url:
            return await PostgresStore.open(url)
        return await SqliteStore.open(path, durability="normal")

    with asyncio.Runner() as runner:
        yield runner, opened


numbers = itertools.count()


@pytest.mark.slow
@given(groups=st.lists(st.lists(changes(), min_size=1, max_size=5), min_size=1, max_size=5))
@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_stores_agree_on_any_history(
    loop_and_opening: tuple[asyncio.Runner, Opening], groups: list[list[Change]]
) -> None:
    """Equal `Applied` for every change, equal answers to every question, before and after a restart."""
    runner, opened = loop_and_opening
    number = next(numbers)
    keys = [ChannelKey(f"{tenant}{number}", channel) for tenant in TENANTS for channel in CHANNELS]

    async def play() -> None:
        memory = InMemoryStore()
        store = await opened()
        for group in groups:
            moved = in_tenants_of(number, group)
            plain = [comparable(applied) for applied in await memory.apply(moved)]
            assert [comparable(applied) for applied in await store.apply(moved)] == plain
        expected = await everything(memory, keys, IDS)
        assert await everything(store, keys, IDS) == expected
        await store.close()
        again = await opened()
        assert await everything(again, keys, IDS) == expected
        await again.close()

    runner.run(play())


@pytest.mark.slow
@given(group=st.lists(changes(), min_size=2, max_size=8), cut=st.integers(0, 8))
@settings(max_examples=examples(150), deadline=None)
def test_how_changes_are_grouped_makes_no_difference(group: list[Change], cut: int) -> None:
    """Law 1: one group, two groups, one group a change: the same results, the same state."""

    async def play(groups: list[list[Change]]) -> tuple[list[Any], list[Any]]:
        store = InMemoryStore()
        applied = [comparable(a) for part in groups for a in await store.apply(part)]
        keys = [ChannelKey(tenant, channel) for tenant in TENANTS for channel in CHANNELS]
        return applied, await everything(store, keys, IDS)

    expected = asyncio.run(play([group]))
    assert asyncio.run(play([group[:cut], group[cut:]])) == expected
    assert asyncio.run(play([[change] for change in group])) == expected


@pytest.mark.slow
@given(group=st.lists(changes(), min_size=1, max_size=8))
@settings(max_examples=examples(150), deadline=None)
def test_appends_and_recalls_sent_twice_change_nothing(group: list[Change]) -> None:
    """N-08: whatever was appended or recalled, the second time nothing is new."""
    group = [
        change
        for change in group
        if isinstance(change, AppendChange | RetractChange | EventsChange)
    ]

    async def play() -> None:
        store = InMemoryStore()
        first = await store.apply(group)
        unknown = {id(c) for c, a in zip(group, first, strict=True) if a.error is not None}
        keys = [ChannelKey(tenant, channel) for tenant in TENANTS for channel in CHANNELS]
        before = await everything(store, keys, IDS)
        again = await store.apply([c for c in group if id(c) not in unknown])
        assert not any(applied.stored or applied.members for applied in again)
        assert await everything(store, keys, IDS) == before

    asyncio.run(play())
