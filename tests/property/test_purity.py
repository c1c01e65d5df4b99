"""Compressor and assembler are pure: same input, same output, nothing touched, no I/O."""

import builtins
import socket
import sysconfig

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_sidecar.adapters import OpenAIChat, PayloadOptions
from backscroll_sidecar.context.compress import Limits, SimpleCompressor, cut_text
from backscroll_sidecar.context.layouts import Parts, StandardAssembler
from backscroll_sidecar.context.selected_lines import Line, Lines
from backscroll_sidecar.domain import CUT_MARK, Category, Layout, TokenizerName
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.lines.line_format import time_mark
from backscroll_sidecar.lines.rendering import RenderStyle
from tests.kit.chats import ANN, HOUR_MS, say
from tests.kit.rooms import Room, ids
from tests.property.chats import plain_texts, texts
from tests.property.test_roles import said, styles


@pytest.fixture
def _no_io(monkeypatch):
    real, packages = builtins.open, sysconfig.get_path("purelib")

    def refuse(*args, **kwargs):
        raise AssertionError(f"I/O: {args!r}")

    def refuse_but_imports(
        path, *args, **kwargs
    ):  # of parts of hypothesis it has not needed before
        return real(path, *args, **kwargs) if str(path).startswith(packages) else refuse(path)

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(builtins, "open", refuse_but_imports)


@st.composite
def some_lines(draw: st.DrawFn) -> Lines:
    style, has_turns = draw(styles), draw(st.booleans())
    rendering = RenderStyle(style.speaker)
    lines = []
    for n, one in enumerate(draw(st.lists(said, max_size=8))):
        written = rendering.render(
            replace(one, message_id=f"m{n}"), time_mark(one.sent_at_ms, style)
        )
        category = Category.SEMANTIC if n % 3 == 2 else Category.RECENT
        is_turn = has_turns and category is Category.RECENT
        lines.append(Line(written, n + 1, n, category, is_turn))
    return Lines.of(lines)


limits = st.builds(
    Limits,
    max_messages=st.none() | st.integers(1, 6),
    max_chars_per_message=st.none() | st.integers(16, 60),
    max_tokens=st.none() | st.integers(-5, 200),
)


@pytest.mark.row("S3-05")
@pytest.mark.usefixtures("_no_io")
@given(some_lines(), limits)
def test_the_compressor_is_pure(given_lines, given_limits):
    """S3-05, S3-09, S3-11, S3-12, S3-21: same input, same output, input untouched, no I/O; the limits hold; with
    nothing to do the output is the input."""
    before = list(given_lines)
    one, other = (SimpleCompressor().compress(given_lines, given_limits) for _ in range(2))
    assert (list(one.lines), one.dropped) == (list(other.lines), other.dropped)
    assert list(given_lines) == before
    kept = [line.place for line in one.lines]
    assert kept == sorted(kept)
    assert set(kept).isdisjoint(one.dropped)
    assert set(kept) | set(one.dropped) == {line.place for line in given_lines}
    if given_limits.max_messages is not None:
        newest = range(max(0, len(given_lines) - given_limits.max_messages), len(given_lines))
        assert set(kept) <= set(newest)
    if given_limits.max_chars_per_message is not None:
        assert all(len(line.said.text) <= given_limits.max_chars_per_message for line in one.lines)
    if given_limits.max_tokens is not None:
        assert sum(line.cost for line in one.lines) <= max(0, given_limits.max_tokens)
    if given_limits == Limits():
        assert (one.lines is given_lines, one.was_cut) == (True, False)


@pytest.mark.row("S3-06")
@pytest.mark.usefixtures("_no_io")
@given(some_lines(), st.sampled_from(Layout), st.booleans(), texts)
def test_the_assembler_is_pure(given_lines, layout, include_system, question):
    """S3-06, S3-13: same input, same output, input untouched, no I/O; every line in exactly one message; the question
    last."""
    parts = Parts(question, given_lines, "Be kind.", ("tea",))
    before = list(given_lines)
    one, other = (
        StandardAssembler().assemble(parts, layout, include_system=include_system) for _ in range(2)
    )
    assert one == other
    assert list(given_lines) == before
    named = [id for message in one.payload_messages for id in message.message_ids]
    assert sorted(named) == sorted(line.said.message_id for line in given_lines)
    assert one.payload_messages[-1].content.endswith(question)
    options = PayloadOptions("m")
    assert OpenAIChat().payload(one.payload_messages, options) == OpenAIChat().payload(
        other.payload_messages, options
    )


@given(
    plain_texts | texts | st.text(st.sampled_from("ae\u0301\u0300👨‍👩‍👧\u200d🇨🇳🇺क्ष猫\r\n")),
    st.integers(1, 40),
)
def test_cuts_respect_graphemes(text, most):
    """S3-10: a cut text is never longer than allowed, mark included, ends between graphemes, and loses no more than
    it must."""
    cut = cut_text(text, most) if len(text) > most else text
    assert len(cut) <= most or text == cut
    if cut == text:
        return
    assert cut.endswith(CUT_MARK)
    kept = cut.removesuffix(CUT_MARK)
    ends = {0, *(m.end() for m in regex.finditer(r"\X", text))}
    assert text.startswith(kept)
    assert len(kept) in ends
    assert not any(len(kept) < end <= most - 1 for end in ends)


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("abcdef", 4, "abc…"),
        ("猫吃什么呢", 3, "猫吃…"),
        ("ab👨‍👩‍👧cd", 6, "ab…"),  # the family is five code points: it goes as a whole
        ("ab👨‍👩‍👧cd", 8, "ab👨‍👩‍👧…"),
        ("cafe\u0301s!", 5, "caf…"),  # e and its accent are one
        ("🇨🇳🇺🇸", 4, "🇨🇳…"),
        ("a\r\nbcd", 3, "a…"),
        ("e" + "\u0301" * 300, 100, "…"),
        ("ab", 1, "…"),
    ],
)
def test_cuts_by_hand(text, most, expected):
    """S3-10: emoji with joiners, combining marks, flags, CRLF, marks without end: whole or not at all."""
    assert cut_text(text, most) == expected
    cut_text(text, most).encode()  # no half of a surrogate pair


@pytest.mark.row("S3-07")
def test_only_the_provider_does_io(monkeypatch):
    """S3-07: with sockets and files blocked a build on a hot channel runs to its end; a cold one asks its provider and
    nobody else."""
    room = Room(say(f"m{n}", ANN, f"line {n}", HOUR_MS - n) for n in range(5))
    room.build_now(profile="classic")
    cold = Room([say("m", ANN)], hot=False)
    cold.reader.error = StoreUnavailable("down")

    def refuse(*args, **kwargs):
        raise AssertionError(f"I/O: {args!r}")

    async def scenario():
        # An event loop has a socket pair of its own: the block begins once it runs.
        with monkeypatch.context() as patch:
            patch.setattr(socket, "socket", refuse)
            patch.setattr(builtins, "open", refuse)
            for layout in Layout:
                built = await room.build(profile="room", layout=layout, explain=True)
                assert len(ids(built)) == 5
            lost = await cold.build(profile="room")
            assert [d.source for d in lost.degradations] == ["history"]

    import asyncio

    asyncio.run(scenario())


def test_token_estimates():
    """S3-21: one fixture, three known numbers: exact, a quarter of the characters, a quarter of the bytes."""
    text = "猫吃什么？ What do cats eat?"
    built = {
        name: Room().build_now(text, profile="room", tokenizer=name).tokens
        for name in TokenizerName
    }
    question = {name.value: tokens.question - 4 for name, tokens in built.items()}
    assert question == {"o200k_base": 9, "chars/4": 6, "bytes/4": 9}
