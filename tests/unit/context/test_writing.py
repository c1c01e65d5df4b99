"""Messages are written once: what is kept gives the same answers as what is made for one."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace

from backscroll_sidecar.channels import line_cache
from backscroll_sidecar.channels.line_cache import LineCache
from backscroll_sidecar.concurrency import offload
from backscroll_sidecar.context import rendered_lines
from backscroll_sidecar.domain import (
    Author,
    Layout,
    Member,
    MessageState,
    Role,
    SpeakerStyle,
    TextPart,
    TimeStyle,
    TokenizerName,
)
from backscroll_sidecar.lines.rendering import RenderStyle
from backscroll_sidecar.ports import Applied
from tests.kit.chats import ANN, BEN, BOT, DAY_MS, HOUR_MS, KEY, say, stored_in_order
from tests.kit.rooms import Room, ids, payload

LINES = [
    say("m0", ANN, "猫在哪？\nand the dog", 3 * DAY_MS),
    say("m1", Author("u/4", "/slash"), "here", 2 * HOUR_MS),
    say("m2", BOT, "on the mat", HOUR_MS, role=Role.ASSISTANT),
    say("m3", BEN, "which mat? " * 5, 9_000),
    say("m4", ANN, "that mat", 8_000),
]


@pytest.fixture
def written(monkeypatch):
    """The messages that were written, in order."""
    seen = []
    real = RenderStyle.render

    def render(self, said, *rest, **more):
        seen.append(said.message_id)
        return real(self, said, *rest, **more)

    monkeypatch.setattr(RenderStyle, "render", render)
    return seen


def answer(built):
    """All that a caller gets of the messages."""
    return built.answer, built.tokens


async def test_a_message_is_written_once(written):
    """Law 9: the next build shows what the first one wrote, and writes only what is new."""
    room = Room(LINES)
    first = await room.build(profile="room")
    assert written == ["m0", "m1", "m2", "m3", "m4"]
    assert answer(await room.build(profile="room")) == answer(first)
    room.channels.publish(
        KEY, Applied(stored=(replace(stored_in_order([say("m5", ANN, "hm", 7_000)])[0], seq=6),))
    )
    assert ids(await room.build(profile="room"))[-1] == "m5"
    assert written[5:] == ["m5"]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("time", [None, *TimeStyle])
async def test_what_was_kept_for_others_changes_no_answer(layout, time):
    """Law 2: after builds in every other style a build gives what it gives in a channel just loaded."""
    styles = [
        {"speaker_style": speaker, "tokenizer": tokenizer, "include_names": names, "self_ids": own}
        for speaker in SpeakerStyle
        for tokenizer in (TokenizerName.O200K, TokenizerName.CHARS_4)
        for names in (False, True)
        for own in ((), ("bot",))
    ]
    used = Room(LINES)
    for _ in range(2):
        for style in styles:
            request = {"profile": "room", "layout": layout, "time_style": time, **style}
            fresh = await Room(LINES).build(**request)
            assert answer(await used.build(**request)) == answer(fresh)


async def test_a_recalled_message_is_not_shown_again():
    """Law 1: nor an edited one as it was, nor anybody by a former name."""
    room = Room(LINES)
    await room.build(profile="room")
    stored = stored_in_order(LINES)
    recalled = replace(
        stored[3],
        analysis=replace(stored[3].analysis, text=""),
        state=MessageState.RECALLED,
        revision=1,
    )
    edited = replace(
        stored[4],
        message=replace(stored[4].message, parts=(TextPart("this mat"),)),
        analysis=replace(stored[4].analysis, text="this mat"),
        revision=1,
    )
    room.channels.publish(KEY, Applied(stored=(recalled, edited), members=(Member("u1", "Anna"),)))
    built = await room.build(profile="room")
    assert ids(built) == ["m0", "m1", "m2", "m4"]
    assert "which mat" not in built.text
    assert "Anna <u1>: this mat" in built.text
    assert "Ann <" not in built.text


async def test_the_same_id_in_two_channels():
    """S1-03: over all of a user's channels two messages of one id are two messages."""
    room = Room(
        [say("m1", ANN, "here"), replace(say("m1", ANN, "there", 1_000), channel="elsewhere")],
        hot=False,
    )
    built = await room.build(key=KEY._replace(channel=""), profile="room")
    assert [message.content.rpartition(": ")[2] for message in built.messages[:-1]] == [
        "here",
        "there",
    ]


async def test_a_thread_leaves_the_cache_alone(monkeypatch):
    """Rendering in a thread asks for no number of a mark: the loop, which goes on, owns what that changes."""
    callers = set()
    real = LineCache.mark_number

    def mark_number(self, mark):
        callers.add(threading.get_ident())
        return real(self, mark)

    monkeypatch.setattr(LineCache, "mark_number", mark_number)
    monkeypatch.setattr(offload, "INLINE_US", -1.0)
    room = Room(LINES)
    first = await room.build(profile="room", time_style=TimeStyle.RELATIVE)
    assert callers == {threading.get_ident()}
    assert answer(await room.build(profile="room", time_style=TimeStyle.RELATIVE)) == answer(first)


async def test_names_that_change_while_lines_are_rendered(monkeypatch):
    """Two people have one name only since a thread renders what they said: the payload tells them apart."""
    room = Room(LINES)

    async def run(cost_us, work):
        room.channels.publish(KEY, Applied(members=(Member("u2", "Ann"),)))
        return work()

    monkeypatch.setattr(rendered_lines, "run", run)
    built = await room.build(profile="room", include_names=True)
    named = {one["content"][:8]: one.get("name") for one in payload(built)["messages"]}
    assert "Ann" not in named.values()
    monkeypatch.undo()
    later = await room.build(profile="room", include_names=True)
    assert payload(later)["messages"][-2:] == payload(built)["messages"][-2:]


async def test_a_table_that_begins_anew_with_a_mark_too_many(monkeypatch):
    """Where a question's own marks are too many the old table's lines stay whole."""
    room = Room(LINES)
    whole = answer(await room.build(profile="room", time_style=TimeStyle.RELATIVE))
    monkeypatch.setattr(line_cache, "MOST_MARKS", 1)
    room = Room(LINES)
    for _ in range(3):
        assert answer(await room.build(profile="room", time_style=TimeStyle.RELATIVE)) == whole
