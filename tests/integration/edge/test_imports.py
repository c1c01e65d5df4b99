"""ImportMessages and ExportMessages over a socket: everything comes back, and bad items cost themselves."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.domain import AppendResult
from backscroll_sidecar.edge.convert.wire import LENGTH, lengthed, tag
from tests.integration.edge.chats import flat, lines, pages
from tests.integration.edge.conftest import EdgeApp, Served, serving, text

pytestmark = pytest.mark.asyncio(loop_scope="module")


# --- imports and exports ---------------------------------------------------------------------------


@pytest.mark.row("S1-01")
async def test_an_export_can_be_imported(served: Served, name: str) -> None:
    """S1-01: everything comes back, in runs that any client takes."""
    chat = lines(1_203)
    for start in range(0, len(chat), 500):
        await served.append(name, *chat[start : start + 500])
    call = served.history.ExportMessages(hpb.ExportMessagesRequest(channel=name))
    runs = [[row.message for row in run.messages] async for run in call]
    assert [len(run) for run in runs] == [500, 500, 203]
    rows = flat(runs)
    assert [row.id for row in rows] == [one.id for one in chat]
    copy = f"{name}-copy"
    for row in rows:
        row.channel = copy

    async def requests() -> AsyncIterator[hpb.ImportMessagesRequest]:
        for run in runs:
            yield hpb.ImportMessagesRequest(messages=run)

    report = await served.history.ImportMessages(requests())
    assert (report.stored_count, report.refused_count, len(report.problems)) == (1_203, 0, 0)
    again = await served.history.ImportMessages(requests())
    assert (again.stored_count, again.duplicate_count) == (0, 1_203)


@pytest.mark.row("N-08")
async def test_an_erased_channel_comes_back_only_by_an_import_that_says_so(
    served: Served, name: str
) -> None:
    """What a bot sends again a second later stays gone; what was erased by name stays gone for everybody."""
    chat = lines(3)
    await served.append(name, *chat)
    await served.history.Erase(hpb.EraseRequest(channel=name, message_ids=[chat[0].id]))
    await served.history.Erase(hpb.EraseRequest(channel=name, whole_channel=True))
    again = await served.append(name, *chat)
    assert {one.outcome for one in again} == {hpb.APPEND_OUTCOME_GONE}

    async def requests(restore_erased: bool) -> AsyncIterator[hpb.ImportMessagesRequest]:
        yield hpb.ImportMessagesRequest(channel=name, messages=chat, restore_erased=restore_erased)

    plain = await served.history.ImportMessages(requests(False))
    assert (plain.stored_count, plain.gone_count) == (0, 3)
    meant = await served.history.ImportMessages(requests(True))
    assert (meant.stored_count, meant.gone_count) == (2, 1)


async def test_large_texts_are_exported_in_small_runs(served: Served, name: str) -> None:
    await served.append(name, *[text("x" * 60_000, f"m{i}") for i in range(60)])
    call = served.history.ExportMessages(hpb.ExportMessagesRequest(channel=name))
    sizes = [run.ByteSize() async for run in call]
    assert len(sizes) == 2
    assert max(sizes) < 4 * 1024 * 1024


async def test_an_import_takes_what_it_can_and_tells_the_rest_in_order(
    served: Served, name: str
) -> None:
    """Bad items of an import cost themselves."""
    kind = hpb.ImportMessagesRequest
    messages = tag(kind, "messages", LENGTH)
    bad = lengthed(messages, lengthed(tag(pb.Message, "id", LENGTH), b"bad\xff"))
    batches = [
        kind(channel=name, messages=[text("one", "a"), text("\0", "nul")]).SerializeToString()
        + bad
        + kind(messages=[text("two", "b", sent_at_ms=0)]).SerializeToString(),
        kind(
            messages=[text("lost", "no channel"), text("x", "c", channel=f"{name}-2")]
        ).SerializeToString(),
        kind(channel="c" * 513, messages=[text("lost", "long")]).SerializeToString(),
        kind(channel=name, messages=[text("three", "a")]).SerializeToString() + bad,
    ]
    call = served.channel.stream_unary("/backscroll.v1.HistoryService/ImportMessages")

    async def requests() -> AsyncIterator[bytes]:
        for batch in batches:
            yield batch

    report = hpb.ImportMessagesResponse.FromString(await call(requests()))
    assert (report.stored_count, report.conflict_count, report.refused_count) == (3, 1, 5)
    assert report.warning_count == 1
    assert [(one.message_id, one.field) for one in report.problems] == [
        ("nul", "parts"),
        ("bad\ufffd", "id"),
        ("no channel", "channel"),
        ("long", "channel"),
        ("a", ""),
        ("bad\ufffd", "id"),
    ]
    assert [len(page) for page in await pages(served, channel=name)] == [2]


async def test_an_import_reports_a_hundred_problems_and_counts_all(
    served: Served, name: str
) -> None:
    request = hpb.ImportMessagesRequest(channel=name, messages=[text("x", id="")] * 150)

    async def requests() -> AsyncIterator[hpb.ImportMessagesRequest]:
        yield request

    report = await served.history.ImportMessages(requests())
    assert (report.refused_count, len(report.problems)) == (150, 100)


async def test_an_empty_import_is_no_error(served: Served) -> None:
    async def requests() -> AsyncIterator[hpb.ImportMessagesRequest]:
        return
        yield

    report = await served.history.ImportMessages(requests())
    assert report == hpb.ImportMessagesResponse()


async def test_an_import_takes_members_other_ids_and_recalls(served: Served, name: str) -> None:
    """Beside an item that is no UTF-8, too; a recalled text is never stored; impossible members are a typed error."""
    kind = hpb.ImportMessagesRequest
    member = hpb.Member(user_id="u9", name="Zoe", former_names=["Zo"], aliases=["Z"])
    request = kind(channel=name, members=[member], members_at_ms=5, messages=[
        text("kept", "a", alias_ids=["a2", "a3"]), text("secret", "b", recalled=True),
    ]).SerializeToString()  # fmt: skip
    bad = lengthed(
        tag(kind, "messages", LENGTH), lengthed(tag(pb.Message, "id", LENGTH), b"bad\xff")
    )
    call = served.channel.stream_unary("/backscroll.v1.HistoryService/ImportMessages")
    for batch in (request + bad, request):

        async def requests(batch: bytes = batch) -> AsyncIterator[bytes]:
            yield batch

        report = hpb.ImportMessagesResponse.FromString(await call(requests()))
        assert report.stored_count + report.duplicate_count == 2
    run = await anext(aiter(served.history.ExportMessages(hpb.ExportMessagesRequest(channel=name))))
    assert [(one.message.id, list(one.alias_ids), one.recalled) for one in run.messages] == [
        ("a", ["a2", "a3"], False),
        ("b", [], True),
    ]
    assert not run.messages[1].message.parts
    members = await served.history.ListMembers(hpb.ListMembersRequest(channel=name))
    (zoe,) = [one for one in members.members if one.user_id == "u9"]
    assert (zoe.name, list(zoe.former_names), list(zoe.aliases)) == ("Zoe", ["Zo"], ["Z"])
    for wrong, field in (
        ({"channel": name, "members": [hpb.Member()]}, "members[0].user_id"),
        ({"members": [hpb.Member(user_id="u1")]}, "channel"),
        ({"channel": name, "members": [member], "members_at_ms": -1}, "members_at_ms"),
        (
            {"channel": name, "members": [hpb.Member(user_id="u", former_names=["n" * 513])]},
            "members[0].former_names[0]",
        ),
    ):

        async def one(wrong: dict[str, Any] = wrong) -> AsyncIterator[hpb.ImportMessagesRequest]:
            yield kind(**wrong)

        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.history.ImportMessages(one())
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert field in (refused.value.details() or "")


class OneAtATime:
    """A history that takes the first batch of an import and then keeps the sender waiting."""

    def __init__(self) -> None:
        self.taken = asyncio.Event()
        self.go = asyncio.Event()

    async def append(self, *_: object, **__: object) -> list[AppendResult]:
        self.taken.set()
        await self.go.wait()
        return []


async def test_an_import_waits_for_the_store() -> None:
    """Back-pressure: while a batch is on its way to the disk, the sender cannot go on for ever."""
    history = OneAtATime()
    async with serving(EdgeApp(history, None)) as served:
        sent = 0

        async def requests() -> AsyncIterator[hpb.ImportMessagesRequest]:
            nonlocal sent
            for i in range(200):
                yield hpb.ImportMessagesRequest(
                    channel="g", messages=[text("x" * 60_000, f"{i}-{j}") for j in range(16)]
                )
                sent += 1

        call = asyncio.ensure_future(served.history.ImportMessages(requests()))
        await asyncio.wait_for(history.taken.wait(), 60)
        before = -1
        while before != sent:  # until nothing moves any more
            before = sent
            await asyncio.sleep(0.3)
        assert sent < 60
        history.go.set()
        await call
        assert sent == 200
