"""Every RPC with every sort of key, over real sockets, behind both edges (P-17)."""

import grpc
import pytest

from backscroll_sidecar.edge.listeners import EdgeName
from backscroll_sidecar.edge.rights import NEEDS
from tests.integration.edge.keys.worlds import (
    FOREIGN,
    METHODS,
    REQUESTS,
    RIGHTS,
    SECRET,
    Place,
    Told,
    World,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.row("P-17")]
Status = grpc.StatusCode
ALL = sorted(METHODS)
TRACES = [SECRET.encode(), FOREIGN.encode(), b"s-b", b"m-b", b"al-b"]
READS = [
    "AdminService/GetChannelSettings",
    "AdminService/GetUsageRecord",
    "AdminService/ListChannelSettings",
    "AdminService/ListUsageRecords",
    "ContextService/BuildContext",
    "HistoryService/ExportMessages",
    "HistoryService/GetChannel",
    "HistoryService/GetThread",
    "HistoryService/ListChannels",
    "HistoryService/ListMessages",
    "HistoryService/SearchMessages",
    "LearningService/ExportUsageRecords",
    "PreferenceService/ListPreferences",
    "SessionService/ExportSession",
    "SessionService/GetSession",
    "SessionService/ListSessions",
]
"""What shows something of a place to who may see it."""
LISTS = {
    "AdminService/ListChannelSettings", "AdminService/ListUsageRecords", "HistoryService/ListChannels",
    "LearningService/ExportUsageRecords", "PreferenceService/ListPreferenceTopics", "SessionService/ListModes",
    "SessionService/ListSessions",
}  # fmt: skip
"""What answers a limited key, whatever place it asks about: with what it may see."""
GIVES_NOTHING = {"SessionService/DeleteSession"}
"""What is no error where there is nothing."""


def shows_foreign(told: Told) -> list[bytes]:
    return [one for one in TRACES if one in told.bytes]


@pytest.mark.parametrize("name", ALL)
async def test_without_a_key_nothing(world: World, edge: EdgeName, name: str) -> None:
    for key in (None, "wrong", "expired"):
        told = await world.call(edge, name, REQUESTS[name](world.own), key)
        assert told.code is Status.UNAUTHENTICATED
        assert told.refused is not None
        assert told.refused.reason == "UNAUTHENTICATED"
        assert not told.answers


@pytest.mark.parametrize("name", ALL)
async def test_a_key_without_the_right_is_told_which(
    world: World, edge: EdgeName, name: str
) -> None:
    need = NEEDS[name].right.value
    told = await world.call(edge, name, REQUESTS[name](world.missing), f"all-but-{need}")
    assert told.code is Status.PERMISSION_DENIED
    assert told.refused is not None
    assert (told.refused.reason, told.refused.metadata["right"]) == ("NOT_ALLOWED", need)
    for right in RIGHTS:
        if right != need:
            one = await world.call(edge, name, REQUESTS[name](world.missing), f"only-{right}")
            assert one.code is Status.PERMISSION_DENIED


@pytest.mark.parametrize("name", ALL)
async def test_a_key_with_the_right_needs_no_other(world: World, edge: EdgeName, name: str) -> None:
    if NEEDS[name].for_tenant and name.endswith("Metrics"):
        pytest.skip("counts of several tenants are nobody's")
    told = await world.call(
        edge, name, REQUESTS[name](Place("guild-7/new")), f"only-{NEEDS[name].right.value}"
    )
    assert told.code not in {Status.PERMISSION_DENIED, Status.UNAUTHENTICATED}, told.refused


@pytest.mark.parametrize("key", ["limited", "exact"])
@pytest.mark.parametrize("name", ALL)
async def test_another_channel_is_as_one_that_is_not_there(
    world: World, edge: EdgeName, name: str, key: str
) -> None:
    """The same code, words and metadata, and not a byte of what is in it."""
    there = await world.call(edge, name, REQUESTS[name](world.foreign), key)
    nowhere = await world.call(edge, name, REQUESTS[name](world.missing), key)
    assert not shows_foreign(there)
    if name in LISTS:
        assert there.code is Status.OK
    elif name in GIVES_NOTHING:
        assert there.bytes == nowhere.bytes
    else:
        assert there.code in {Status.PERMISSION_DENIED, Status.NOT_FOUND}
        assert there.refused is not None
        assert there.refused == nowhere.refused


@pytest.mark.parametrize("name", READS)
async def test_its_own_channel_it_reads(world: World, edge: EdgeName, name: str) -> None:
    """So the tests before mean something: the full key sees both, the limited one its own."""
    own = await world.call(edge, name, REQUESTS[name](world.own), "limited")
    assert own.code is Status.OK, own.refused
    assert not shows_foreign(own)
    assert any(one in own.bytes for one in (b"guild-1/a", b"m-a", b"lamp light")), (
        "nothing of its own is shown"
    )
    whole = await world.call(edge, name, REQUESTS[name](world.foreign), "full")
    assert shows_foreign(whole)


@pytest.mark.parametrize("name", ALL)
async def test_another_tenant_sees_nothing(world: World, edge: EdgeName, name: str) -> None:
    told = await world.call(edge, name, REQUESTS[name](world.foreign), "stranger")
    created = {"HistoryService/GetChannel", "SessionService/CreateSession"}
    if told.code is Status.OK and name not in created:
        assert SECRET.encode() not in told.bytes
        assert b"m-b" not in told.bytes


@pytest.mark.parametrize("name", ALL)
async def test_both_edges_refuse_in_the_same_words(world: World, name: str) -> None:
    for key in (None, "limited", f"all-but-{NEEDS[name].right.value}"):
        ours, theirs = [
            (await world.call(edge, name, REQUESTS[name](world.foreign), key)).refused
            for edge in ("auto", "grpc")
        ]
        assert ours == theirs


async def test_the_log_names_the_limited_key(world: World) -> None:
    await world.call(
        "auto",
        "HistoryService/ListChannels",
        REQUESTS["HistoryService/ListChannels"](world.own),
        "limited",
    )
    assert world.records[-1].key == "guild one"
    await world.call(
        "auto",
        "HistoryService/ListChannels",
        REQUESTS["HistoryService/ListChannels"](world.own),
        "full",
    )
    assert world.records[-1].key == ""
