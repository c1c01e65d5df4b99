"""Members over the wire: who is there, since when, and what each of them may see where membership counts."""

import pytest
import pytest_asyncio

from backscroll import Author, InvalidRequest, Member, Message, Stay
from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2 as hpb
from tests.kit.served import served

NOON = 1_795_176_000_000
HOUR = 3_600_000
ANN, BOT = Author("u1", "Ann"), Author("bot", "Helper", "bot")
LINES = [
    Message(f"h{n}", ["u2", "u3"][n % 2], f"word said at {n}", NOON + n * HOUR) for n in range(10)
]
PROFILES = (
    "balanced",
    "classic",
    "naive",
    "memory",
    "hybrid",
    "room",
    "retrieval",
    "chain_recent",
    "steady",
)


def at(hour: int) -> int:
    return NOON + hour * HOUR


async def seen(client, asker="u1", *, profile="balanced", room="room", **fields) -> list[str]:
    context = await client.build_context(
        room,
        "which word was said?",
        asker=asker,
        asked_at=at(10),
        profile=profile,
        overrides={"relevance_threshold": 0.0},
        visible_since_membership=True,
        **fields,
    )
    assert not [one for one in context.degradations if one.reason == "ERROR"]
    return [item.message.id for item in context.items]


@pytest.mark.row("P-04", "P-34")
@pytest.mark.parametrize("profile", PROFILES)
async def test_who_came_back_sees_both_stays_and_not_between(client, profile):
    """P-34: two stays told one after the other, as a platform tells them; each counts from its first moment."""
    await client.append("room", LINES)
    await client.upsert_members("room", Member("u1", "Ann", joined_at=at(1)))
    await client.upsert_members("room", Member("u1", left_at=at(3)))
    await client.upsert_members("room", Member("u1", joined_at=at(7)))
    assert await seen(client, profile=profile) == ["h1", "h2", "h7", "h8", "h9"]
    await client.upsert_members("room", Member("u1", left_at=at(9)))
    assert await seen(client, profile=profile) == ["h1", "h2", "h7", "h8"]


@pytest.mark.row("P-04")
async def test_a_late_joiner_gets_nothing_earlier(client):
    """P-04: where membership counts; the candidates that are left out say so."""
    await client.append("room", LINES)
    await client.upsert_members("room", Member("u1", "Ann", joined_at=at(8)))
    assert await seen(client) == ["h8", "h9"]
    context = await client.build_context(
        "room",
        "which word?",
        asker="u1",
        asked_at=at(10),
        explain=True,
        visible_since_membership=True,
    )
    fates = {one.message_id: one.fate for one in context.explanation.candidates}
    assert fates["h7"] == pb.FATE_VISIBILITY
    everything = await client.build_context("room", "which word?", asker="u1", asked_at=at(10))
    assert len(everything.items) == 10


SEEN = [f"b{n}" for n in range(20)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def long_rooms():
    """Two rooms in which much was said after Ann had left; in "back" she came back and hears one line more."""
    said = [Message(id, "u2", f"word said at {id}", NOON + n * 1_000) for n, id in enumerate(SEEN)]
    said += [
        Message(f"x{n}", "u2", f"word said unseen {n}", NOON + HOUR + n * 1_000) for n in range(600)
    ]
    async with served() as (client, _):
        await client.append("gone", said)
        await client.upsert_members("gone", Member("u1", "Ann", stays=[Stay(None, at(1))]))
        back = Message("back", "u2", "which word was said?", at(3))
        await client.append("back", [*said, back])
        stays = [Stay(None, at(1)), Stay(at(2))]
        await client.upsert_members("back", Member("u1", "Ann", stays=stays))
        yield client


@pytest.mark.row("P-04", "P-34")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("room", ["gone", "back"])
@pytest.mark.asyncio(loop_scope="module")
async def test_however_much_was_said_in_between(long_rooms, profile, room):
    """The newest messages are the newest of those that the asker may see; nobody else's view of the room changes."""
    for explain in (False, True):
        shown = await seen(long_rooms, room=room, profile=profile, explain=explain)
        assert set(shown) <= {*SEEN, "back"}
        assert len(shown) >= 9
        assert room == "gone" or profile in ("memory", "classic") or "back" in shown
    for asker in ("u2", "u3"):
        whole = await long_rooms.build_context(room, "which word?", asker=asker, asked_at=at(10))
        assert any(one.message.id.startswith("x") for one in whole.items)


@pytest.mark.row("P-34")
@pytest.mark.parametrize("profile", PROFILES)
async def test_who_never_was_a_member_sees_nothing(client, profile):
    """P-34: neither told of nor ever writing, only named by others, or nobody at all; a writer is a member."""
    named = Message("named", "u2", "hello @u9", at(9) + 1, mentions=["u9"])
    await client.append("room", [*LINES, named])
    assert await seen(client, "stranger", profile=profile) == []
    assert await seen(client, "u9", profile=profile) == []
    assert await seen(client, None, profile=profile) == []
    assert await seen(client, "u2", profile=profile, self_ids=["bot"])


@pytest.mark.row("P-03")
async def test_humans_and_agents_with_roles_and_stays_are_returned(client):
    """P-03: ids, kinds, roles, join and leave times, as told; the last stay is the member's own two times."""
    await client.append(
        "room",
        [Message("m1", BOT, "hello", NOON, role="assistant"), Message("m2", "u3", "hi", NOON)],
    )
    told = [
        Member(
            "u1", "Ann", role="owner", stays=[Stay(None, at(1)), Stay(at(2), at(3)), Stay(at(5))]
        ),
        Member("u2", "Ben", kind="bot", joined_at=at(1), left_at=at(2), role="管理员"),
    ]
    await client.upsert_members("room", told)
    found = {one.user_id: one for one in await client.list_members("room")}
    assert list(found) == ["bot", "u1", "u2", "u3"]
    ann, ben = found["u1"], found["u2"]
    assert ann.stays == [
        hpb.Stay(left_at_ms=at(1)),
        hpb.Stay(joined_at_ms=at(2), left_at_ms=at(3)),
        hpb.Stay(joined_at_ms=at(5)),
    ]
    assert (ann.role, ann.joined_at_ms, ann.HasField("left_at_ms")) == ("owner", at(5), False)
    assert (ben.kind, ben.role, ben.joined_at_ms, ben.left_at_ms) == (2, "管理员", at(1), at(2))
    assert not found["u3"].stays
    await client.upsert_members(
        "room", [ann, Member("u2", "Ben", kind="bot")]
    )  # as it was listed: nothing changes
    again = {one.user_id: one for one in await client.list_members("room")}
    assert again["u1"] == ann
    assert (again["u2"].role, again["u2"].HasField("left_at_ms")) == ("管理员", False)


@pytest.mark.row("P-03")
@pytest.mark.parametrize(
    ("member", "field"),
    [
        (hpb.Member(user_id="u", role="r" * 65), "members[0].role"),
        (hpb.Member(user_id="u", role="a\0b"), "members[0].role"),
        (hpb.Member(user_id="u", stays=[hpb.Stay(joined_at_ms=-1)]), "members[0].stays[0].joined_at_ms"),
        (
            hpb.Member(user_id="u", stays=[hpb.Stay(joined_at_ms=9, left_at_ms=5)]),
            "members[0].stays[0].left_at_ms",
        ),
        (
            hpb.Member(user_id="u", stays=[hpb.Stay(joined_at_ms=1), hpb.Stay(joined_at_ms=5)]),
            "members[0].stays[1].joined_at_ms",
        ),
        (
            hpb.Member(user_id="u", stays=[hpb.Stay(left_at_ms=5), hpb.Stay(joined_at_ms=4)]),
            "members[0].stays[1].joined_at_ms",
        ),
        (
            hpb.Member(user_id="u", joined_at_ms=3, stays=[hpb.Stay(joined_at_ms=4)]),
            "members[0].joined_at_ms",
        ),
        (hpb.Member(user_id="u", stays=[hpb.Stay()] * 1_001), "members[0].stays"),
    ],
)  # fmt: skip
async def test_what_no_member_can_be_is_refused_by_name(client, member, field):
    """P-03: nothing of the batch is stored."""
    with pytest.raises(InvalidRequest) as refused:
        await client.upsert_members("room", [member])
    assert refused.value.field == field
