"""Design S3: provider, compressor, assembler, each replaceable alone; the adapter both ways; events of a cut."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import backscroll_sidecar
from backscroll_sidecar.adapters import OpenAIChat, PayloadOptions
from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.context.compress import Compressed
from backscroll_sidecar.context.layouts import Assembled
from backscroll_sidecar.context.model import SystemPrompt
from backscroll_sidecar.domain import (
    NeutralMessage,
    Role,
    SpeakerStyle,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    result_message,
)
from backscroll_sidecar.edge.convert.codec import WireCodec
from tests.kit.chats import ANN, BEN, HOUR_MS, KEY, NOON_MS, say, stored_in_order
from tests.kit.rooms import Room, fates, ids, payload

LINES = [say(f"m{n:02}", BEN, f"line {n}", HOUR_MS - n * 1_000) for n in range(30)]


class Stub(OpenAIChat):
    """All three interfaces and the adapter, noting the order in which they are used."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.channel = HotChannel(KEY, WireCodec(), stored_in_order(LINES[:3]))

    def hot_view(self, key):
        return None

    async def view(self, key):
        self.log.append("provider")
        return self.channel.view()

    async def view_of_user(self, tenant, user_id, limit):
        raise AssertionError("there is a channel")

    def empty_view(self, key):
        return HotChannel(key, WireCodec()).view()

    def compress(self, lines, limits):
        self.log.append("compressor")
        return Compressed(tuple(lines[:1]), len(lines))

    def assemble(self, parts, layout, *, include_system):
        self.log.append("assembler")
        message = NeutralMessage(Role.USER, f"{len(parts.lines)} lines; {parts.question}")
        return Assembled((message,), (message,), "", ())

    def envelope(self, model, tools_json):
        self.log.append("adapter")
        return super().envelope("stub", tools_json)


@pytest.mark.row("S3-01")
def test_swap_the_provider():
    """S3-01, S2-17, S3-24: another provider, everything else as it is."""
    built = Room(LINES, views=Stub()).build_now(profile="room")
    assert ids(built) == ["m00", "m01", "m02"]
    assert payload(built)["messages"][-1]["content"] == "Ann <u1>: what now?"


@pytest.mark.row("S3-01")
def test_swap_the_compressor():
    """S3-01, law 7: another compressor; what it left out without a word still has its fate."""
    built = Room(LINES, compressor=Stub()).build_now(profile="room", explain=True)
    assert ids(built) == ["m10"]
    assert built.items[0].rank == 1
    assert sorted(fates(built).values()) == ["budget"] * 19 + ["selected"]
    assert [e.payload["compressed_count"] for e in built.events if e.payload] == [1]


@pytest.mark.row("S3-01")
def test_swap_the_assembler():
    """S3-01: another assembler."""
    built = Room(LINES, assembler=Stub()).build_now(profile="room")
    assert payload(built)["messages"] == [
        {"role": "user", "content": "20 lines; Ann <u1>: what now?"}
    ]
    assert len(built.items) == 20


@pytest.mark.row("S3-01")
def test_swap_the_adapter():
    """S3-01, S3-03: another adapter."""
    built = Room(LINES, adapters={"openai_chat": Stub()}).build_now(profile="room")
    assert payload(built)["model"] == "stub"


def test_the_order_of_the_pipeline():
    """S3-14: provider, compressor, assembler, adapter. (The assembler also measures the fixed parts beforehand.)"""
    stub = Stub()
    room = Room(views=stub, compressor=stub, assembler=stub, adapters={"openai_chat": stub})
    stub.log.clear()  # it was tried
    built = room.build_now(profile="room")
    used = [name for n, name in enumerate(stub.log) if name not in stub.log[n + 1 :]]
    assert used == ["provider", "compressor", "assembler", "adapter"]
    assert stub.log[0] == "provider"
    assert list(built.diagnostics.stage_us) == [
        "route", "open", "question", "pick", "write", "fit", "adapt", "record",
    ]  # fmt: skip


def test_the_standard_order():
    """S3-13: system, history, user."""
    built = Room(LINES[:2]).build_now(
        profile="naive",
        system=SystemPrompt("Be kind."),
        include_system=True,
        speaker_style=SpeakerStyle.ROLE,
    )
    assert [(m.role.name, m.content) for m in built.messages] == [
        ("SYSTEM", "Be kind."),
        ("USER", "line 0"),
        ("USER", "line 1"),
        ("USER", "what now?"),
    ]


def test_empty_input():
    """S3-12: nothing in, nothing out, no event."""
    built = Room().build_now(profile="naive")
    assert (list(built.items), built.text, built.events) == ([], "", ())


# --- events --------------------------------------------------------------------------------------


def test_nothing_cut_no_event():
    """S3-11, S3-16: with nothing to do the output equals the input and nothing is recorded."""
    room = Room(LINES[:12])
    built = room.build_now(profile="naive", speaker_style=SpeakerStyle.ROLE)
    assert [m.content for m in built.messages[:-1]] == [line.text for line in LINES[:12]]
    assert (built.events, room.sink.events) == ((), [])
    assert not any(item.truncated for item in built.items)


@pytest.mark.parametrize(
    ("lines", "request_", "original", "kept"),
    [
        # fewer
        (LINES, {"overrides": {"recent_limit": 30}}, 30, 12),
        # shorter
        ([say("long", ANN, "x" * 5_000)], {}, 1, 1),
        # fewer, for the budget
        (LINES[:5], {"token_budget": 40}, 5, 3),
    ],
)
def test_the_event_of_a_cut(lines, request_, original, kept):
    """S3-16, S3-17: one event with the four numbers when something was cut; after turn.started, of the turn's level,
    under the agent's event; recorded as it is returned."""
    room = Room(lines)
    built = room.build_now(profile="naive", speaker_style=SpeakerStyle.ROLE, **request_)
    agent, turn, cut = built.events
    assert (agent.type, agent.level, agent.parent_id) == ("agent.started", "agent", "")
    assert (turn.type, turn.level, turn.parent_id) == ("turn.started", "turn", agent.id)
    assert (cut.type, cut.level, cut.parent_id) == ("context.compressed", "turn", agent.id)
    assert cut.payload == {
        "original_count": original,
        "compressed_count": kept,
        "max_messages": 12,
        "max_chars_per_message": 4_000,
    }
    assert agent.at_ms <= turn.at_ms <= cut.at_ms == NOON_MS
    assert len({event.id for event in built.events}) == 3
    assert tuple(room.sink.events) == built.events
    assert len(built.items) == kept


def test_two_cuts_have_ids_of_their_own():
    """S3-16: events of two builds are different events."""
    room = Room(LINES)
    for _ in range(2):
        room.build_now(profile="room", token_budget=60)
    assert len({event.id for event in room.sink.events}) == 6
    cut = room.sink.events[-1].payload
    assert (cut["max_messages"], cut["max_chars_per_message"]) == (0, 0)  # the profile has none


def test_max_chars():
    """S3-10: a message is cut to 4000 characters with its mark, and says so."""
    texts = ["y" * 4_000, "x" * 4_001, "猫" * 9_000]
    built = Room(say(f"m{n}", ANN, text) for n, text in enumerate(texts)).build_now(
        profile="naive", speaker_style=SpeakerStyle.ROLE
    )
    contents = [m.content for m in built.messages[:-1]]
    assert contents == [texts[0], "x" * 3_999 + "…", "猫" * 3_999 + "…"]
    assert [item.truncated for item in built.items] == [False, True, True]
    short = Room([say("m", ANN, "hello there")]).build_now(
        profile="room", overrides={"max_chars_per_message": 16}
    )
    assert not short.items[0].truncated


# --- adapter -------------------------------------------------------------------------------------


def test_neutral_to_openai():
    """S1-12, S3-03: role and content one to one; tool calls, results and names in the vendor's shape."""
    call = ToolCallPart("c1", "search", '{"q":"cats"}')
    body = OpenAIChat().payload(
        [
            NeutralMessage(Role.SYSTEM, "s"),
            NeutralMessage(Role.USER, "u", name="Ann Lee"),
            assistant_message((TextPart("a"), call)),
            result_message((ToolResultPart("c1", "search", "t"),)),
        ],
        PayloadOptions("gpt-4o-mini", '[{"type":"function"}]', with_names=True),
    )
    assert json.loads(body) == {
        "model": "gpt-4o-mini",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u", "name": "Ann_Lee"},
            {
                "role": "assistant",
                "content": "a",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "search", "arguments": '{"q":"cats"}'},
                    }
                ],
            },
            {"role": "tool", "content": "t", "tool_call_id": "c1"},
        ],
        "tools": [{"type": "function"}],
    }


def test_openai_to_neutral():
    """S3-04: a completion becomes parts ready to be stored, tool calls too; anything else is refused."""
    reply = {
        "choices": [
            {
                "message": {
                    "content": "好的",
                    "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
    parsed = OpenAIChat().parse_reply(reply)
    assert parsed.parts == (TextPart("好的"), ToolCallPart("c1", "f", "{}"))
    assert (parsed.finish_reason, parsed.prompt_tokens, parsed.completion_tokens) == (
        "tool_calls",
        7,
        3,
    )
    bare = OpenAIChat().parse_reply({"choices": [{"message": {"content": None}}]})
    assert (bare.parts, bare.finish_reason, bare.prompt_tokens, bare.completion_tokens) == (
        (),
        "",
        None,
        None,
    )
    for nonsense in ("", [], {"choices": []}, {"error": {}}, {"choices": [{"message": 3}]},
                     {"choices": [{"message": {"tool_calls": [3]}}]}):  # fmt: skip
        with pytest.raises(ValueError, match="not a chat completion"):
            OpenAIChat().parse_reply(nonsense)


def test_the_core_knows_no_vendor():
    """S3-02: the neutral message and everything that handles it import no vendor's and no wire's types."""
    package = Path(backscroll_sidecar.__file__).parent
    files = [package / "domain.py"]
    for folder in ("ports", "context", "channels", "strategies", "adapters"):
        files += (package / folder).glob("*.py")
    assert len(files) > 30
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {name.split(".")[0] for name in names}
            assert not roots & {"openai", "anthropic", "google", "grpc", "backscroll"}, file
