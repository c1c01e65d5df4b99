"""Messages on the page that answers are joined of (`channels.written`): found there, and put there.

A message is put on it for the first question that shows it, or ahead of all questions, once what the last question
asked for is known (`ahead`). Nothing depends on it: what is not there goes the long way. For the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from datetime import tzinfo
from itertools import accumulate
from typing import Any, NamedTuple, Protocol
from zoneinfo import ZoneInfo

import numpy as np
import orjson
from numpy.typing import NDArray

from backscroll_scoring import LaidOut, Page, Tails
from backscroll_scoring.layout import MISSING, SLOT
from backscroll_scoring.link_columns import WINDOW
from backscroll_scoring.links import NO_ROWS
from backscroll_sidecar.adapters import openai_chat
from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.channels.written import page_keys
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.concurrency.offload import INLINE_US
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.rendering import MESSAGE_TOKENS, Drafts, Pen, Written, draft
from backscroll_sidecar.domain import Role, SpeakerStyle, TimeStyle
from backscroll_sidecar.lines.line_format import MS_PER_DAY, LineStyle

NEW_MESSAGES, NEW_CHARS, MOST_TIMES = 16, 4_096, 8
"""So many messages, of so many characters, or what is written in `INLINE_US`, are put on a page at once, then others
get their turn; so many times in one build. With more it goes the long way, which writes and keeps them, so that
the next one has only to put them there; a longer message never stands on a page."""
MOST_TOKENS = 24_000
"""Of what is selected: more would not fit on a page (`MAX_PAGE_BYTES`), so it is not tried."""
AHEAD_BYTES, AHEAD_LINE_CHARS = 32_768, 1_024
"""Of the newest lines so much text, UTF-8, is put on a page ahead, six times as much in all forms, half of what a page
may hold; longer lines are left to who asks: one of 1,900 characters takes longer than `INLINE_US`."""
_ISO_DATE = TimeStyle.ISO_DATE
_TAGGED, _ROLE = SpeakerStyle.TAGGED, SpeakerStyle.ROLE
_USER = np.uint8(Role.USER)
_NEVER_MS, _ALWAYS_MS = -(2**62), 2**62


class AnswerCodec(Hashable, Protocol):
    """How the edge encodes what answers are joined of; the fields are those of the contract.

    `keys`: see `Page.join`; `payload_head`: what a payload of OpenAI's format begins with, up to
    the size of its body; `rendered_head`: what a rendered message of a user's begins with, up to that of its content.
    """

    keys: bytes
    payload_head: bytes
    rendered_head: bytes

    def forms(self, written: Written) -> tuple[bytes, bytes, bytes, bytes]:
        """The fields its item begins with, as a message of its own and as a reference; its field among the messages of
        the answer; the field that names it among those shown together.
        """

    def asked(self, question: str) -> bytes:
        """The field of the answer with the question as a message."""

    def tails(self, sources: tuple[str, ...], kinds: tuple[int, ...]) -> Tails:
        """The fields that items end with: bit i of a kind, the i-th source proposed it."""


class Wanted(NamedTuple):
    """How a question wants lines written: all that their forms depend on but the time it is asked at."""

    pen: Pen
    zone: tzinfo
    time_style: TimeStyle | None

    @property
    def page_style(self) -> Hashable:
        """What a page has in common: dated and undated lines have keys of their own on it."""
        return self.pen, self.zone

    def style(self, asked_at_ms: int) -> LineStyle:
        """How lines are written for a question asked then."""
        return LineStyle(self.pen.speaker, self.time_style, asked_at_ms, self.zone)

    def dated_before_ms(self, asked_at_ms: int) -> int:
        """What was said before is written with its date (`lines.time_mark`)."""
        if self.time_style is None:
            return asked_at_ms - MS_PER_DAY
        return _ALWAYS_MS if self.time_style is _ISO_DATE else _NEVER_MS


USUAL = Wanted(Pen(_TAGGED), ZoneInfo("UTC"), None)
"""What a bot in a group wants that leaves all to us."""


def first_wanted(view: ChannelView, elsewhere: Wanted) -> Wanted:
    """How the first question about a channel will most likely want its lines: as one about another channel did, with
    speakers where two people or more speak.
    """
    newest = slice(max(0, view.count - WINDOW), view.count)
    people = np.unique(view.columns.author[newest][view.role[newest] == _USER])
    speaker = _TAGGED if len(people) > 1 else _ROLE
    return elsewhere._replace(pen=elsewhere.pen._replace(speaker=speaker))


async def laid_out(
    view: ChannelView,
    picked: Picked,
    wanted: Wanted,
    asked_at_ms: int,
    codec: AnswerCodec,
    deadline: Deadline,
) -> tuple[Page, LaidOut]:
    """The selected candidates on their page; those that are not there yet are put on it, a few at a time.

    In between a full page may begin anew, and so it does when somebody is renamed: what was put there is put again.
    """
    view.written.wanted = wanted
    gathered = picked.gathered
    selected = (
        picked.selection.chosen, gathered.rows, gathered.semantic, gathered.source_bits, view.seq, view.columns.time_ms,
        wanted.dated_before_ms(asked_at_ms),
    )  # fmt: skip
    page, laid = _found(view, wanted, selected)
    for time in range(MOST_TIMES):
        if not laid.totals[MISSING]:
            break
        rows = gathered.rows[laid.places]
        missing = draft(view, rows[laid.laid[SLOT] < 0], wanted.style(asked_at_ms), wanted.pen)
        if time == 0 and (view.token_count[rows].sum() > MOST_TOKENS or _are_too_many(missing)):
            break
        few = _a_few(missing)
        if not len(few.rows) or not deadline.allows(INLINE_US):
            break
        put_on_page(few, wanted, asked_at_ms, codec)
        page, laid = _found(view, wanted, selected)
        if laid.totals[MISSING]:
            await asyncio.sleep(0)
            page, laid = _found(view, wanted, selected)
    return page, laid


def _found(view: ChannelView, wanted: Wanted, selected: tuple[Any, ...]) -> tuple[Page, LaidOut]:
    """What there is now."""
    page = view.written.page(wanted.page_style)
    return page, page.lay_out(*selected)


def _are_too_many(drafts: Drafts) -> bool:
    """Whether writing them a few at a time is too long: they are sooner written together, in a thread."""
    texts, each_us = drafts.view.texts, drafts.each_us()
    return (
        max(each_us) > INLINE_US
        or sum(each_us) > (MOST_TIMES - 2) * INLINE_US
        or max(len(texts[row]) for row in drafts.rows.tolist()) > NEW_CHARS
    )


def _a_few(drafts: Drafts) -> Drafts:
    """The first of them, as many as may be put on a page at once."""
    drafts = drafts.first(NEW_MESSAGES).within(INLINE_US)
    texts = drafts.view.texts
    chars = accumulate(len(texts[row]) for row in drafts.rows.tolist())
    return drafts.first(sum(so_far <= NEW_CHARS for so_far in chars))


def missing_lately(
    view: ChannelView, wanted: Wanted, asked_at_ms: int, older: NDArray[np.int32] = NO_ROWS
) -> NDArray[np.int32]:
    """int32[k]: of the newest live rows, `WINDOW` at most, and of `older` ones, ascending, what can be put on their
    page ahead, the newest first.
    """
    newest = np.arange(max(0, view.count - WINDOW), view.count, dtype=np.int32)
    rows = np.concatenate((older, newest[view.state[newest] == LIVE]))
    count, dated_before_ms = len(rows), wanted.dated_before_ms(asked_at_ms)
    none = np.zeros(count, np.uint32)
    laid = view.written.page(wanted.page_style).lay_out(
        np.arange(count), rows, none.astype(np.bool_), none, view.seq, view.columns.time_ms, dated_before_ms
    )  # fmt: skip
    out: list[int] = []
    left = AHEAD_BYTES
    for row in rows[laid.laid[SLOT] < 0][::-1].tolist():
        text = view.texts[row]
        if len(text) <= AHEAD_LINE_CHARS:
            left -= len(text.encode())
            if left < 0:
                break
            out.append(row)
    return np.array(out, np.int32)


def put_on_page(
    drafts: Drafts, wanted: Wanted, asked_at_ms: int, codec: AnswerCodec, *, kept: bool = True
) -> None:
    """Write messages and put them on their page; `kept`: for the long way, too."""
    view, rows = drafts.view, drafts.rows
    dated = view.columns.time_ms[rows] < wanted.dated_before_ms(asked_at_ms)
    pairs = zip(view.seq[rows].tolist(), dated.tolist(), strict=True)
    keys = [page_keys(seq)[is_dated] for seq, is_dated in pairs]
    written = drafts.finish(kept=kept)
    view.written.keep_on_page(
        wanted.page_style,
        keys,
        [_forms(one, codec) for one in written],
        [_numbers(one) for one in written],
    )


def _forms(one: Written, codec: AnswerCodec) -> Sequence[bytes]:
    """All forms of a message, in the order of `layout`."""
    item, reference, rendered, id_field = codec.forms(one)
    body = openai_chat.message_body(one.turn)
    return item, reference, rendered, body, one.line.encode(), inside_json(one.line), id_field


def _numbers(one: Written) -> Sequence[int]:
    """What a page knows of a message, in the order of `layout`."""
    is_seamless = not one.line.startswith("/") and "\n/" not in one.line
    # As a message of its own it mostly is its line, which is counted already; it has no name of its own here.
    is_counted = one.turn.content is one.line
    last = one.turn_tokens - MESSAGE_TOKENS if is_counted else token_counter().count(one.line)
    return (
        one.turn_tokens, one.turn_cost, one.line_tokens, one.line_cost, last, len(one.said.text), is_seamless,
    )  # fmt: skip


def inside_json(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON text."""
    return orjson.dumps(text)[1:-1]
