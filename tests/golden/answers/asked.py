"""The recorded requests: every layout, profile and option, drawn from one seed, alone and several at a time."""

import json
import random
from collections.abc import Callable
from typing import Any

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from tests.golden.answers.channels import BOT, DAY_MS, HOUR_MS, Channel

COUNT = 5_000
WEIGHTS = {
    "irc": 4,
    "kdconv": 3,
    "long": 3,
    "few": 1,
    "lived": 5,
    "住过": 4,
    "young": 2,
    "duo": 1,
    "nowhere": 0.2,
}
PROFILES = (
    "balanced", "balanced", "balanced", "balanced", "classic", "chain_recent", "retrieval", "naive", "room",
    "hybrid", "hybrid_linear", "memory",
)  # fmt: skip
TOOLS = json.dumps(
    [{"type": "function", "function": {"name": "find", "parameters": {}, "description": "找"}}]
)
WORDS = (
    "what did we say about that?", "猫吃什么", "还记得上次说的电影吗", "who fixed the driver problem last week?", "?",
    "ok", "/help", "@Helper which one was it", "他说的是哪个？", "what was the name of that package I asked about",
)  # fmt: skip
Option = Callable[[random.Random, pb.BuildContextRequest, Channel], None]


def _set(name: str, *values: Any) -> Option:
    def option(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
        value = draw.choice(values)
        if isinstance(value, tuple):
            getattr(request, name).extend(value)
        else:
            setattr(request, name, value)

    return option


def override(name: str, *values: Any) -> Option:
    def option(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
        setattr(request.overrides, name, draw.choice(values))

    return option


def _reply(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
    if channel.messages:
        some = channel.messages[-draw.choice([1, 5, 40, 200]) :]
        request.reply.message_id = draw.choice(some).id
        request.reply.inferred = draw.random() < 0.2


def _trigger(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
    if channel.messages:
        one = draw.choice(channel.messages[-60:])
        request.trigger_message_id = one.id if draw.random() < 0.9 else "nothing"
        if draw.random() < 0.5:
            request.ClearField("asked_at_ms")
            request.question = ""


def _mention(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
    people = [one.author.id for one in channel.messages[-50:]]
    request.mentions.add(user_id=draw.choice([*people, "bot"]))


def _system(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
    request.system.text = draw.choice(
        ["Be kind.", '/ "你\n好" {{x}}', "{{asker_name}}: {{question}} {{asked_at}}"]
    )
    request.system.is_template = request.system.text.startswith("{{")


def _sources(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
    request.overrides.sources.extend(
        draw.sample(["recent", "thread", "window", "semantic", "chain", "pinned", "mention"], 2)
    )


OPTIONS: tuple[Option, ...] = (
    _set("layout", 1, 2, 2, 3, 3, 4, 4), _set("speaker_style", 1, 2), _set("time_style", 1, 2, 3, 3),
    _set("time_zone", "Asia/Shanghai", "Pacific/Kiritimati"), _system, _system, _set("include_system", True),
    _set("tools_json", TOOLS), _set("reserve_tokens", 17, 500),
    _set("preferences", ("tea\n/ no coffee",), ("喝茶", "short")),
    _set("token_budget", 2_000, 1_000, 1_000, 500, 300, 200, 120, 60, 1), _set("token_budget", 1_000, 500, 250),
    _set("token_budget", 700, 400),
    _set("tokenizer", 1, 2, 3), _set("payload_formats", (1,), (2,)), _set("model", "gpt-4o", '模"\\型'),
    _set("explain", True), _set("explain", True), _set("question_label", "Q: ", ""), _set("include_names", True),
    _set("include_names", True), _set("visible_since_membership", True), _set("omit", (1,), (2, 4), (3,)),
    _set("stored_system_rows", 1, 2, 3), _set("language", "zh", "en"), _set("thread_id", "t1", ""), _reply, _reply,
    _trigger, _trigger, _mention, _set("self_ids", ("bot",), ("bot", "other")), _set("self_ids", ("bot",)), _sources,
    _set("semantic_scope", 1, 2, 3), override("use_intelligent_context", False, True),
    override("max_context", 1, 4, 60, 200),
    override("time_window_hours", 1, 100), override("relevance_threshold", 0.0, 0.5),
    override("max_chars_per_message", 16, 400), override("recent_limit", 2, 50), override("recent_floor", 0, 3),
    override("decay_per_hour", 0.01), override("recency_half_life_minutes", 5.0),
)  # fmt: skip


def requests(channels: dict[str, Channel]) -> list[pb.BuildContextRequest]:
    """The first ask for each option alone, of any profile and then of `balanced`; the rest mixes several."""
    draw = random.Random(30)
    return [_request(draw, number, channels) for number in range(COUNT)]


def _request(
    draw: random.Random, number: int, channels: dict[str, Channel]
) -> pb.BuildContextRequest:
    name = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    channel = channels.get(name, Channel(name, []))
    request = pb.BuildContextRequest(channel=name, profile=draw.choice(PROFILES))
    request.asked_at_ms = channel.last_ms + draw.choice(
        [1_000, 10_000, 10_000, HOUR_MS, 5 * HOUR_MS, 9 * DAY_MS]
    )
    ask(draw, request, channel)
    alone = 40 * len(OPTIONS)
    if number < alone:
        if number >= alone // 2:
            request.profile = "balanced"
        OPTIONS[number % len(OPTIONS)](draw, request, channel)
        return request
    for option in draw.sample(OPTIONS, draw.choice([0, 0, 1, 1, 2, 2, 3, 4, 6, 9])):
        option(draw, request, channel)
    return request


def ask(draw: random.Random, request: pb.BuildContextRequest, channel: Channel) -> None:
    """What comes next in the chat, what was said long ago, or one of a few questions; by whoever it is."""
    kind = draw.random()
    if kind < 0.5 and channel.upcoming:
        one = draw.choice(channel.upcoming)
        request.question = one.line.content or "?"
        request.asker.CopyFrom(one.message().author)
    elif kind < 0.75 and channel.messages:
        old = draw.choice(channel.messages)
        words = old.parts[0].text.text if old.parts else ""
        request.question = (
            f"do you remember: {words[:60]}"
            if draw.random() < 0.7
            else f"之前说的{words[:20]}是什么？"
        )
        request.asker.CopyFrom(draw.choice(channel.messages).author)
    else:
        request.question = draw.choice(WORDS)
        request.asker.CopyFrom(message_pb2.Author(id="new", name="/new <x>"))
    who = draw.random()
    if who < 0.05:
        request.ClearField("asker")
    elif who < 0.1:
        request.asker.CopyFrom(BOT)
