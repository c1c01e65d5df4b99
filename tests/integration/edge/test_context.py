"""BuildContext over a socket: what a question needs, what a stranger gets, what a client may post."""

import asyncio
import json
from typing import Any

import grpc
import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2 as mpb
from backscroll_sidecar.context.model import BuildRequest
from tests.integration.edge.conftest import START_MS, EdgeApp, Served, refused, serving, text

pytestmark = pytest.mark.asyncio(loop_scope="module")

INVALID = grpc.StatusCode.INVALID_ARGUMENT
ANN = mpb.Author(id="u1", name="Ann")


async def build(served: Served, **fields: Any) -> pb.BuildContextResponse:
    fields.setdefault("asker", ANN)
    return await served.context.BuildContext(pb.BuildContextRequest(**fields))


async def chat(served: Served, channel: str, count: int = 5) -> None:
    await served.append(
        channel,
        *[text(f"line {i}", f"m{i}", sent_at_ms=START_MS + i * 1_000) for i in range(1, count + 1)],
    )


# --- questions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["", " ", "\n\t", "\u3000\u2003"])
async def test_a_blank_question_needs_a_trigger(served: Served, name: str, question: str) -> None:
    await chat(served, name)
    found = await refused(build(served, channel=name, question=question))
    assert (found.code, found.reason, found.field) == (INVALID, "QUESTION_MISSING", "question")
    answer = await build(served, channel=name, question=question, trigger_message_id="m5")
    assert answer.trigger.id == "m5"
    assert "m5" not in [item.message.id for item in answer.items]


@pytest.mark.parametrize("channel", ["", "never heard of"])
async def test_a_stranger_gets_an_empty_context(served: Served, channel: str) -> None:
    """No error, so that a bot's first question in a new chat is answered."""
    answer = await build(
        served, channel=channel, question="hello?", asker=mpb.Author(id=f"nobody in {channel}")
    )
    assert not answer.channel_known
    assert not answer.items
    assert answer.messages[-1].content.endswith("hello?")
    assert answer.rung != pb.RUNG_UNSPECIFIED


async def test_a_trigger_in_a_channel_never_heard_of(served: Served, name: str) -> None:
    found = await refused(build(served, channel=name, trigger_message_id="m1"))
    assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "CHANNEL_NOT_FOUND")
    assert found.field == "channel"


async def test_a_trigger_never_heard_of_is_not_found_where_it_is_the_question(
    served: Served, name: str
) -> None:
    await chat(served, name)
    found = await refused(build(served, channel=name, trigger_message_id="secret id"))
    assert (found.code, found.reason) == (grpc.StatusCode.NOT_FOUND, "MESSAGE_NOT_FOUND")
    assert "secret" not in found.text


async def test_a_budget_too_small_tells_the_least_that_would_do(served: Served, name: str) -> None:
    """Law 3."""
    await chat(served, name)
    fields = {"channel": name, "question": "how many words are in this question?"}
    found = await refused(build(served, **fields, token_budget=1))
    assert (found.code, found.reason, found.field) == (INVALID, "BUDGET_TOO_SMALL", "token_budget")
    least = int(found.metadata["least_tokens"])
    answer = await build(served, **fields, token_budget=least)
    assert answer.tokens.total <= least
    assert (await refused(build(served, **fields, token_budget=least - 1))).reason == (
        "BUDGET_TOO_SMALL"
    )


async def test_an_unknown_profile_lists_the_known_ones(served: Served, name: str) -> None:
    found = await refused(build(served, channel=name, question="x", profile="ballanced"))
    assert (found.code, found.reason, found.field) == (INVALID, "UNKNOWN_PROFILE", "profile")
    assert "balanced" in found.metadata["known"].split(", ")
    assert found.text.startswith('profile "ballanced" is none of: balanced, ')


@pytest.mark.parametrize(
    ("given", "near"),
    [("ballanced", "balanced"), ("Balanced", "balanced"), (" ROOM ", "room"), ("平衡", "")],
)
async def test_a_near_profile_is_suggested(
    served: Served, name: str, given: str, near: str
) -> None:
    found = await refused(build(served, channel=name, question="x", profile=given))
    assert found.text.endswith(f'did you mean "{near}"?') == bool(near)


@pytest.mark.parametrize(
    ("given", "shown"),
    [("x" * 100, "x" * 40), ("均衡 a\nb\x1b[31m\u202e", " ab[31m"), ("猫", ""), ('a"b', 'a"b')],
)
async def test_of_an_unknown_profile_only_what_can_be_printed_is_repeated(
    served: Served, name: str, given: str, shown: str
) -> None:
    """Its first 40 printable ASCII characters: whoever reads the log is shown no escapes."""
    found = await refused(build(served, channel=name, question="x", profile=given))
    assert (found.reason, found.metadata["given"]) == ("UNKNOWN_PROFILE", shown)
    assert found.text.startswith(f'profile "{shown}" is none of: ')


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"question": "x" * 65_537}, "TOO_LARGE", "question"),
    ({"question": "a\0"}, "INVALID_FIELD", "question"),
    ({"token_budget": 0}, "INVALID_FIELD", "token_budget"),
    ({"time_zone": "Mars/Olympus"}, "INVALID_FIELD", "time_zone"),
    ({"tools_json": "{}"}, "INVALID_FIELD", "tools_json"),
    ({"layout": 99}, "INVALID_FIELD", "layout"),
    ({"overrides": pb.Overrides(max_context=0)}, "INVALID_FIELD", "overrides.max_context"),
    ({"trigger_message_id": "x" * 513}, "TOO_LARGE", "trigger_message_id"),
]


@pytest.mark.parametrize(("fields", "reason", "field"), REFUSED, ids=lambda value: str(value)[:30])
async def test_what_is_wrong_is_named(
    served: Served, name: str, fields: dict[str, Any], reason: str, field: str
) -> None:
    found = await refused(build(served, **{"channel": name, "question": "x"} | fields))
    assert (found.code, found.reason, found.field) == (INVALID, reason, field)


# --- answers ---------------------------------------------------------------------------------------


@pytest.mark.row("S1-05")
async def test_items_are_the_messages_as_sent(served: Served, name: str) -> None:
    """The fragments made at append, joined; S1-05: each item tells source and category."""
    await chat(served, name)
    answer = await build(served, channel=name, question="and then?", explain=True)
    listed = {f"m{i}": START_MS + i * 1_000 for i in range(1, 6)}
    assert {item.message.id: item.message.sent_at_ms for item in answer.items} == listed
    for item in answer.items:
        assert item.message.channel == name
        assert item.message.author == mpb.Author(id="u1", name="Ann", kind=1)
        assert item.sources
        assert item.category != pb.CATEGORY_UNSPECIFIED
    assert sorted(item.rank for item in answer.items) == [1, 2, 3, 4, 5]
    assert {one.message_id for one in answer.explanation.candidates} >= set(listed)
    assert answer.diagnostics.server_version


async def test_an_edit_is_seen_at_once(served: Served, name: str) -> None:
    from backscroll.v1 import history_pb2 as hpb

    await chat(served, name, 2)
    edit = hpb.EditMessageRequest(channel=name, message_id="m1", parts=text("changed").parts)
    await served.history.EditMessage(edit)
    answer = await build(served, channel=name, question="what?")
    assert answer.items[0].message.parts[0].text.text == "changed"


@pytest.mark.row("S1-12", "S1-18")
async def test_the_payload_is_posted_unchanged(served: Served, name: str, httpserver: Any) -> None:
    """S1-12, S1-18: a body a vendor's server takes as it stands: model and messages of role and content."""
    await chat(served, name)
    answer = await build(
        served,
        channel=name,
        question='so "who"?',
        model="gpt-test",
        system=pb.SystemPrompt(text="Be kind."),
    )
    (payload,) = answer.payloads
    assert payload.format == pb.PAYLOAD_FORMAT_OPENAI_CHAT
    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_json({"ok": True})

    def post() -> None:
        import urllib.request

        request = urllib.request.Request(
            httpserver.url_for("/v1/chat/completions"),
            payload.body,
            {"content-type": "application/json"},
        )
        urllib.request.urlopen(request).read()

    await asyncio.to_thread(post)
    ((received, _),) = httpserver.log
    assert received.get_data() == payload.body
    body = json.loads(received.get_data())
    assert set(body) == {"model", "messages"}
    assert body["model"] == "gpt-test"
    assert body["messages"][0] == {"role": "system", "content": "Be kind."}
    for message in body["messages"]:
        assert set(message) <= {"role", "content", "name"}
        assert message["role"] in {"system", "user", "assistant", "tool"}
        assert isinstance(message["content"], str)
    neutral = [(mpb.Role.Name(one.role)[5:].lower(), one.content) for one in answer.messages]
    assert [(one["role"], one["content"]) for one in body["messages"][1:]] == neutral


async def test_no_payload_where_none_is_wanted(served: Served, name: str) -> None:
    answer = await build(
        served, channel=name, question="x", payload_formats=[pb.PAYLOAD_FORMAT_NONE]
    )
    assert not answer.payloads


# --- time ------------------------------------------------------------------------------------------


class Slow:
    """A builder that remembers how much time it was given, and takes more."""

    def __init__(self) -> None:
        self.time_left_s: float | None = None
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def build(self, request: BuildRequest, **_: Any) -> Any:
        self.time_left_s = request.time_left_s
        self.started.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


@pytest.mark.row("N-09")
async def test_the_builder_knows_what_is_left_of_the_deadline() -> None:
    """N-09: the caller's deadline, less what is gone; and no work goes on for a caller who left."""
    slow = Slow()
    async with serving(EdgeApp(None, slow)) as served:
        call = served.context.BuildContext(pb.BuildContextRequest(question="x"), timeout=2.0)
        found = await refused(call)
        assert found.code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert slow.time_left_s is not None
        assert 0.7 < slow.time_left_s <= 2.0
        await asyncio.wait_for(slow.cancelled.wait(), 60)
        assert served.records[-1].code == "DEADLINE_EXCEEDED"


async def test_a_deadline_is_never_thought_later_than_it_is() -> None:
    """Law 8: DEADLINE comes in time. gRPC's C core rounds what it tells up, and repeats what it told shortly before."""
    slow = Slow()
    async with serving(EdgeApp(None, slow)) as served:
        await served.channel.channel_ready()
        for timeout_s in (9.5, 30.0, 29.2, 123.4, 120.0, 600.0, 585.0, 3_601.0, 3_510.0):
            slow.started.clear()
            slow.cancelled.clear()
            request = pb.BuildContextRequest(question="x")
            waiting = asyncio.ensure_future(served.context.BuildContext(request, timeout=timeout_s))
            await asyncio.wait_for(slow.started.wait(), 60)
            assert slow.time_left_s is not None
            assert 0.8 * timeout_s < slow.time_left_s <= timeout_s
            waiting.cancel()
            await asyncio.wait_for(slow.cancelled.wait(), 60)


async def test_without_a_deadline_there_is_none() -> None:
    slow = Slow()
    async with serving(EdgeApp(None, slow)) as served:
        call = served.context.BuildContext(pb.BuildContextRequest(question="x"))
        waiting = asyncio.ensure_future(call)
        await asyncio.wait_for(slow.started.wait(), 60)
        assert slow.time_left_s is None
        waiting.cancel()
        await asyncio.wait_for(slow.cancelled.wait(), 60)


# --- what this version does not have ---------------------------------------------------------------
