"""Messages on the page that answers are joined of (`channels.written`): found there, and put there.

A message is put on it for the first question that shows it, or ahead of all questions, once what the last question
asked for is known (`ahead`). Nothing depends on it: what is not there goes the long way. For the event loop's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from datetime import tzinfo
from itertools import accumulate
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

import numpy as np
import orjson
from numpy.typing import NDArray

from backscroll_scoring import LaidOut, Page, Tails
from backscroll_scoring.link_columns import WINDOW
from backscroll_scoring.reference_answers import MISSING, SLOT
from backscroll_sidecar.adapters import openai_chat
from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.channels.written import page_keys
from backscroll_sidecar.context.choice import Choice
from backscroll_sidecar.context.lines import MS_PER_DAY, LineStyle
from backscroll_sidecar.context.question import INLINE_US
from backscroll_sidecar.context.writing import MESSAGE_TOKENS, Drafts, Pen, Written, draft
from backscroll_sidecar.domain import MessageState, Role, SpeakerStyle, TimeStyle

NEW_MESSAGES, NEW_CHARS, MOST_TIMES = 16, 4_096, 8
"""So many messages, of so many characters, or what is written in `INLINE_US`, are put on a page at once, then others
get their turn (law 9); so many times in one build. With more, it goes the long way; a longer message never stands on a
page."""
MOST_TOKENS = 24_000
"""Of what is selected: more would not fit on a page (`MAX_PAGE_BYTES`), so it is not tried."""
AHEAD_CHARS, AHEAD_LINE_CHARS = 32_768, 1_024
"""Of the newest lines so much is put on a page ahead, a third of what a page holds of them; longer ones are left to who
asks: one of 1,900 takes longer than `INLINE_US`."""
_ISO_DATE = TimeStyle.ISO_DATE
_TAGGED, _ROLE = SpeakerStyle.TAGGED, SpeakerStyle.ROLE
_LIVE, _USER = np.uint8(MessageState.LIVE), np.uint8(Role.USER)
_NEVER_MS, _ALWAYS_MS = -(2**62), 2**62


class AnswerCodec(Hashable, Protocol):
    """How the edge encodes what answers are joined of; the fields are those of the contract.

    `keys`: see `reference_answers.join_answer`; `payload_head`: what a payload of OpenAI's format begins with, up to
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


def most_likely_wanted(view: ChannelView, elsewhere: Wanted) -> Wanted:
    """How the next question about a channel will want its lines: as its last one did.

    Before its first one: as the last one about another channel, with speakers where two people or more speak (N-07).
    """
    last: Wanted | None = view.written.wanted
    if last is not None:
        return last
    newest = slice(max(0, view.count - WINDOW), view.count)
    people = np.unique(view.columns.author[newest][view.role[newest] == _USER])
    speaker = _TAGGED if len(people) > 1 else _ROLE
    return elsewhere._replace(pen=elsewhere.pen._replace(speaker=speaker))


async def laid_out(
    view: ChannelView, choice: Choice, wanted: Wanted, asked_at_ms: int, codec: AnswerCodec
) -> tuple[Page, LaidOut]:
    """The selected candidates on their page; those that are not there yet are put on it, a few at a time."""
    view.written.wanted = wanted
    selected = (
        choice.chosen, choice.rows, choice.references, choice.kinds, view.seq, view.columns.time_ms,
        wanted.dated_before_ms(asked_at_ms),
    )  # fmt: skip
    page = view.written.page(wanted.page_style)
    laid = page.lay_out(*selected)
    if not laid.totals[MISSING]:
        return page, laid
    rows = choice.rows[laid.places]
    if view.token_count[rows].sum() > MOST_TOKENS:
        return page, laid
    for _ in range(MOST_TIMES):
        missing = _first_of(view, rows[laid.laid[SLOT] < 0][:NEW_MESSAGES], NEW_CHARS)
        drafts = draft(view, missing, wanted.style(asked_at_ms), wanted.pen).within(INLINE_US)
        if not len(drafts.rows):
            break
        put_on_page(drafts, wanted, asked_at_ms, codec)
        page = view.written.page(wanted.page_style)
        laid = page.lay_out(*selected)
        if not laid.totals[MISSING]:
            break
        await asyncio.sleep(0)
    return page, laid


def missing_lately(view: ChannelView, wanted: Wanted, asked_at_ms: int) -> NDArray[np.int32]:
    """int32[k]: of the newest live rows, `WINDOW` at most, what can be put on their page ahead, the newest first."""
    rows = np.arange(max(0, view.count - WINDOW), view.count, dtype=np.int32)
    rows = rows[view.state[rows] == _LIVE]
    count, dated_before_ms = len(rows), wanted.dated_before_ms(asked_at_ms)
    none = np.zeros(count, np.uint32)
    laid = view.written.page(wanted.page_style).lay_out(
        np.arange(count), rows, none.astype(np.bool_), none, view.seq, view.columns.time_ms, dated_before_ms
    )  # fmt: skip
    missing = rows[laid.laid[SLOT] < 0][::-1].tolist()
    short = [row for row in missing if len(view.texts[row]) <= AHEAD_LINE_CHARS]
    return _first_of(view, np.array(short, np.int32), AHEAD_CHARS)


def put_on_page(drafts: Drafts, wanted: Wanted, asked_at_ms: int, codec: AnswerCodec) -> None:
    """Write messages and put them on their page."""
    view, rows = drafts.view, drafts.rows
    dated = view.columns.time_ms[rows] < wanted.dated_before_ms(asked_at_ms)
    pairs = zip(view.seq[rows].tolist(), dated.tolist(), strict=True)
    keys = [page_keys(seq)[is_dated] for seq, is_dated in pairs]
    written = drafts.finish()
    view.written.keep_on_page(
        wanted.page_style,
        keys,
        [_forms(one, codec) for one in written],
        [_numbers(one) for one in written],
    )


def _first_of(view: ChannelView, rows: NDArray[np.int32], most_chars: int) -> NDArray[np.int32]:
    """The first of the rows, with so many characters together at most."""
    chars = accumulate(len(view.texts[row]) for row in rows.tolist())
    return rows[: sum(so_far <= most_chars for so_far in chars)]


def _forms(one: Written, codec: AnswerCodec) -> Sequence[bytes]:
    """All forms of a message, in the order of `reference_answers`."""
    item, reference, rendered, id_field = codec.forms(one)
    body = openai_chat.message_body(one.turn)
    return item, reference, rendered, body, one.line.encode(), inside_json(one.line), id_field


def _numbers(one: Written) -> Sequence[int]:
    """What a page knows of a message, in the order of `reference_answers`."""
    is_seamless = not one.line.startswith("/") and "\n/" not in one.line
    is_counted = one.turn.content is one.line  # a message of its own is its line, and has no name of its own here
    last = one.turn_tokens - MESSAGE_TOKENS if is_counted else token_counter().count(one.line)
    return (
        one.turn_tokens, one.turn_cost, one.line_tokens, one.line_cost, last, len(one.said.text), is_seamless,
    )  # fmt: skip


def inside_json(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON text."""
    return orjson.dumps(text)[1:-1]
