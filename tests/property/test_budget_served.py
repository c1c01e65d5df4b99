"""Budget, accounts and stable prefix of real builds over the wire, with everything that may stand in a context: pins,
preferences of the request and stored ones, references, system text, tools, names.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
import quicktok
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import Author, Client, InvalidRequest, Message, Overrides, SystemPrompt
from backscroll.results import Context
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar import domain
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.chats import NOON_MS
from tests.kit.examples import examples
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import in_background
from tests.property.chats import chats, sentences

O200K = quicktok.get_encoding("o200k_base").count
LAYOUTS = ("turns", "context_and_question", "single_user", "system_and_user")
STYLES = (None, "role", "tagged")
TOOLS = json.dumps([{"type": "function", "function": {"name": "search", "parameters": {}}}])
KINDS = {
    domain.AuthorKind.HUMAN: "human",
    domain.AuthorKind.BOT: "bot",
    domain.AuthorKind.SYSTEM: "system",
}
MARK = "⟦the one question⟧"
MINUTE_MS = 60_000
channels = map("room {}".format, itertools.count())


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with in_background(embedder=FakeEmbedder()) as client:
        yield client


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    system = draw(st.sampled_from(["", "Be kind.", "你是一个有用的助手。\n" * 5, "  two\n\nparts"]))
    return {
        "profile": draw(st.sampled_from(sorted(PROFILES))),
        "layout": draw(st.sampled_from(LAYOUTS)),
        "speaker_style": draw(st.sampled_from(STYLES)),
        "system": SystemPrompt(system),
        "include_system": draw(st.booleans()),
        "include_names": draw(st.booleans()),
        "tools_json": draw(st.sampled_from(["", TOOLS])),
        "preferences": draw(st.lists(sentences, max_size=3)),
        "explain": draw(st.booleans()),
        "overrides": Overrides(relevance_threshold=draw(st.sampled_from([None, 0.0]))),
    }


@st.composite
def rooms(draw: st.DrawFn) -> tuple[list[Message], list[str], list[str]]:
    """A chat, which of its messages are pinned, and what is stored of the asker."""
    said = draw(chats())
    messages = [
        Message(
            one.id, Author(one.author.id, one.author.name, KINDS[one.author.kind]), one.text, one.sent_at_ms,
            role=one.role.name.lower(), thread_id=one.thread_id, reply_to=one.reply and one.reply.message_id,
        )
        for one in said
    ]  # fmt: skip
    ids = [one.id for one in messages]
    pins = draw(st.lists(st.sampled_from(ids), unique=True, max_size=4)) if ids else []
    return messages, pins, draw(st.lists(sentences, unique=True, max_size=3))


def fill(client: Client, room: tuple[list[Message], list[str], list[str]]) -> str:
    """A new channel of its own; what a server refuses of a hostile chat is not in it."""
    channel, (messages, pins, stored) = next(channels), room
    kept = {one.message_id for one in client.append(channel, messages).results} if messages else ()
    for id in pins:
        if id in kept:
            client.pin_message(channel, id)
    for text in stored:
        client.set_preference("u1", text, channel=channel)
    return channel


def check(context: Context, budget: int, reserve: int) -> None:
    """OpenAI's published rule, applied to the payload: 4 a message, 1 and the name for a name, 3 at the end."""
    tokens, body = context.tokens, context.payload
    counted = 3 + reserve + (O200K(TOOLS) if "tools" in body else 0)
    for message in body["messages"]:
        counted += 4 + O200K(message["content"])
        counted += 1 + O200K(message["name"]) if "name" in message else 0
    assert tokens.total == counted <= budget == tokens.budget
    parts = {
        name: getattr(tokens, name)
        for name in ("system", "tools", "preferences", "recent", "semantic", "question", "framing")
    }
    assert sum(parts.values()) + tokens.reserve == counted
    assert min(parts.values()) >= 0
    if parts["system"] == 0:
        has_preferences = context.text.startswith("User Preferences: ")
        assert (parts["preferences"] > 0) == has_preferences
    assert "".join(m["content"] for m in body["messages"]).count(MARK) == 1


@pytest.mark.row("P-02", "P-25", "S2-08", "N-04")
@settings(max_examples=examples(150))
@given(rooms(), requests(), st.integers(1, 600), st.sampled_from([0, 7, 300]))
def test_the_budget_holds(client, room, request, budget, reserve):
    """Any chat with pins and preferences, profile, layout, style: what is sent is what is counted, and it fits. Too
    small a budget names the least that would do, and that does.
    """
    channel = fill(client, room)
    asked = {"asker": Author("u1", "Ann"), "asked_at": NOON_MS, "reserve_tokens": reserve}
    try:
        context = client.build_context(channel, MARK, token_budget=budget, **asked, **request)
    except InvalidRequest as error:
        least = int(error.metadata["least_tokens"])
        assert least > budget
        context = client.build_context(channel, MARK, token_budget=least, **asked, **request)
        assert context.tokens.total == least
        budget = least
    check(context, budget, reserve)
    if request["explain"]:
        account(context)


def account(context: Context) -> None:
    """Each candidate once, with who proposed it and what became of it where; the selected ones are the items."""
    candidates = list(context.explanation.candidates)
    assert len(candidates) == context.raw.diagnostics.candidate_count
    ids = [one.message_id for one in candidates]
    assert len(set(ids)) == len(ids)
    for one in candidates:
        assert one.sources
        assert one.decided_by
        assert one.fate != pb.FATE_UNSPECIFIED
    taken = {one.message_id: one.rank for one in candidates if one.fate == pb.FATE_SELECTED}
    assert taken == {item.message.id: item.rank for item in context.items}
    assert sorted(taken.values()) == [*range(1, len(taken) + 1)]


def common_tokens(one: Context, other: Context) -> int:
    """Tokens of what two payloads begin with alike, byte for byte; tools stand before all messages."""
    ours, theirs = one.payload, other.payload
    tokens = O200K(TOOLS) if ours.get("tools") == theirs.get("tools") != None else 0  # noqa: E711
    for a, b in zip(ours["messages"], theirs["messages"], strict=False):
        if a["role"] != b["role"]:
            break
        pair = a["content"].encode(), b["content"].encode()
        alike = next((n for n, (x, y) in enumerate(zip(*pair, strict=False)) if x != y), None)
        shared = min(map(len, pair)) if alike is None else alike
        tokens += 4 + O200K(pair[0][:shared].decode(errors="ignore")) if shared else 0
        if a != b:
            break
    return tokens


@pytest.mark.row("P-12")
@settings(max_examples=examples(120))
@given(rooms(), requests(), st.booleans(), sentences)
def test_the_next_turn_begins_with_the_prefix_that_was_reported(
    client, room, request, is_template, more
):
    """Whoever asks what, a line, a pin and a preference later: at least so many tokens are the same. And it is all
    that is known to stay: the tools, and the system text up to its first changing parameter.
    """
    if is_template:
        text = "In {{channel}} be kind. 你好，{{asker_name}}！ It is {{asked_at}}."
        request = {**request, "system": SystemPrompt(text, is_template=True)}
    channel = fill(client, room)
    asked = {"token_budget": 8_000, "speaker_style": request.pop("speaker_style") or "tagged"}
    first = client.build_context(
        channel, "what now?", asker=Author("u1", "Ann"), asked_at=NOON_MS, **asked, **request
    )
    client.append(channel, [Message("next", "u1", f"{more} again", NOON_MS)])
    client.pin_message(channel, "next")
    client.set_preference("u9", more, channel=channel)
    second = client.build_context(
        channel, "猫吃什么？", asker=Author("u9", "小黑"), asked_at=NOON_MS + MINUTE_MS, **asked, **request
    )  # fmt: skip
    reported = first.raw.stable_prefix_tokens
    assert reported == second.raw.stable_prefix_tokens <= common_tokens(first, second)
    if is_template:
        fixed = O200K(f"In {channel} be kind. 你好，") + 3
        assert reported == fixed + first.tokens.tools
    else:
        assert reported == first.tokens.system + first.tokens.tools
