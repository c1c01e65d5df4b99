"""The common answer, joined of bytes that are there: what parts, fit, assemble and adapt come to where nothing is cut.

Most builds show stored messages as they are, each a message of its own or a line of the reference, inside the budget.
Then the answer is a matter of looking up and copying: a page (`channels.written`) has every message in all the forms an
answer needs, with its tokens, and two kernels find, add up and copy. Everything else goes the long way, which is the
specification: `tests/property/test_joining.py` holds both to the same bytes. Pure but for what is kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from backscroll_scoring import LaidOut, Page, Pieces, Tails
from backscroll_scoring.reference_answers import (
    COST,
    LONGEST,
    MISSING,
    RECENT,
    SEMANTIC,
    SLASHED,
    SLOT,
    TURNS,
)
from backscroll_sidecar.adapters import openai_chat
from backscroll_sidecar.analyze import repeated_tokens, token_counter
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.channels.written import page_keys
from backscroll_sidecar.context.budget import PRIMING_TOKENS, TITLE_TOKENS
from backscroll_sidecar.context.choice import Choice
from backscroll_sidecar.context.layouts import RECENT_TITLE, SEMANTIC_TITLE
from backscroll_sidecar.context.lines import MS_PER_DAY, LineStyle
from backscroll_sidecar.context.model import BuildRequest, TokenCounts
from backscroll_sidecar.context.parts import question_text, speaker_style
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import INLINE_US, Question
from backscroll_sidecar.context.routing import Route
from backscroll_sidecar.context.writing import MESSAGE_TOKENS, Pen, Written, draft
from backscroll_sidecar.domain import (
    Layout,
    NeutralMessage,
    Role,
    SpeakerStyle,
    TimeStyle,
    TokenizerName,
)
from backscroll_sidecar.values import quick

NEW_MESSAGES, NEW_CHARS = 16, 4_096
"""So many messages, of so many characters, are put on a page in one build: some 20 microseconds each, .1 a character
(law 9). With more, it goes the long way; a longer message never stands on a page."""
MOST_TOKENS = 24_000
"""Of what is selected: more would not fit on a page (`MAX_PAGE_BYTES`), so it is not tried."""
_TURNS, _O200K, _USER = Layout.TURNS, TokenizerName.O200K, Role.USER
_ISO_DATE, _RELATIVE = TimeStyle.ISO_DATE, TimeStyle.RELATIVE
_NEVER_MS, _ALWAYS_MS = -(2**62), 2**62
_FORMATS = ((), (openai_chat.OpenAIChat.name,))


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


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What an answer shows, as bytes of the answer (uint8[n]), and what it costs."""

    joined: NDArray[np.uint8]
    speaker: SpeakerStyle
    tokens: TokenCounts
    stable_prefix_tokens: int


@quick
@dataclass(frozen=True, slots=True)
class Envelope:
    """What of a payload is the same from question to question: its bytes, and its tokens."""

    pieces: Pieces
    system_tokens: int
    tools_tokens: int


def can_be_joined(request: BuildRequest) -> bool:
    """Whether a request asks for nothing that only the long way gives."""
    return (
        request.layout is _TURNS
        and request.tokenizer is _O200K
        and request.time_style is not _RELATIVE
        and request.payload_formats in _FORMATS
        and not (request.explain or request.include_names or request.include_system)
        and (request.system is None or not request.system.is_template)
    )


def join_content(
    request: BuildRequest,
    route: Route,
    system: str,
    view: ChannelView,
    question: Question,
    choice: Choice,
    codec: AnswerCodec,
) -> Content | None:
    """What the answer shows; None where something must be cut, or written that takes long: the long way does that."""
    count = len(choice.chosen)
    if not count or not choice.is_plain:
        return None
    speaker = speaker_style(request, question, view, map(choice.rows.item, choice.chosen))
    page, laid = _laid_out(request, route, view, choice, question.asked_at_ms, speaker, codec)
    if laid.totals[MISSING]:
        return None
    envelope = _envelope(route.model, request.tools_json, system, codec)
    asked = question_text(question, speaker, _TURNS)
    tokens = _fitting(request, choice.profile, envelope, asked, count, laid.totals)
    if tokens is None:
        return None
    joined = page.join(
        laid,
        choice.scores,
        choice.scored,
        codec.tails(choice.sources, tuple(laid.kinds)),
        codec.keys if request.payload_formats else b"\0" + codec.keys[1:],
        envelope.pieces,
        _QUESTION + orjson.dumps(asked) + b"}",
        codec.asked(asked),
    )
    return Content(joined, speaker, tokens, envelope.tools_tokens + envelope.system_tokens)


def _fitting(
    request: BuildRequest,
    profile: Profile,
    envelope: Envelope,
    question: str,
    count: int,
    totals: Sequence[int],
) -> TokenCounts | None:
    """Where the tokens go; None where `budget.fit` would have to cut something, or to count lines together."""
    asked = token_counter().count(question) + MESSAGE_TOKENS
    semantic, framing, titles = 0, PRIMING_TOKENS, 0
    if totals[TURNS] < count:
        semantic = repeated_tokens(SEMANTIC_TITLE + "\n", _O200K) + totals[SEMANTIC]
        framing, titles = PRIMING_TOKENS + MESSAGE_TOKENS, MESSAGE_TOKENS + TITLE_TOKENS
    budget = profile.token_budget if request.token_budget is None else request.token_budget
    tokens = TokenCounts(
        _O200K, budget, envelope.system_tokens, envelope.tools_tokens, 0, totals[RECENT],
        semantic, asked, framing, request.reserve_tokens,
    )  # fmt: skip
    total = tokens.total
    at_most = total - framing + PRIMING_TOKENS - totals[RECENT] - semantic + titles + totals[COST]
    most, longest = profile.max_messages, profile.max_chars_per_message
    if (
        max(total, at_most) > budget
        or totals[SLASHED]
        or (most is not None and count > most)
        or (longest is not None and totals[LONGEST] > longest)
    ):
        return None
    return tokens


def _laid_out(
    request: BuildRequest,
    route: Route,
    view: ChannelView,
    choice: Choice,
    asked_at_ms: int,
    speaker: SpeakerStyle,
    codec: AnswerCodec,
) -> tuple[Page, LaidOut]:
    """The selected candidates on their page; a few that are not there yet are put on it."""
    dated_before_ms = _dated_before_ms(request.time_style, asked_at_ms)
    selected = (
        choice.chosen, choice.rows, choice.references, choice.kinds, view.seq, view.columns.time_ms,
        dated_before_ms,
    )  # fmt: skip
    pen = Pen(speaker, _O200K, False, request.self_ids)
    page_style = (pen, route.zone)
    page = view.written.page(page_style)
    laid = page.lay_out(*selected)
    if not laid.totals[MISSING]:
        return page, laid
    rows = choice.rows[laid.places]
    if view.token_count[rows].sum() > MOST_TOKENS:
        return page, laid
    missing = rows[laid.laid[SLOT] < 0][:NEW_MESSAGES]
    chars = accumulate(len(view.texts[row]) for row in missing.tolist())
    missing = missing[: sum(so_far <= NEW_CHARS for so_far in chars)]
    style = LineStyle(speaker, request.time_style, asked_at_ms, route.zone)
    drafts = draft(view, missing, style, pen)
    if drafts.left_us() > INLINE_US:
        return page, laid
    times = view.columns.time_ms[missing].tolist()
    for seq, at_ms, one in zip(view.seq[missing].tolist(), times, drafts.finish(), strict=True):
        key = page_keys(seq)[at_ms < dated_before_ms]
        view.written.keep_on_page(page_style, key, _forms(one, codec), _numbers(one))
    page = view.written.page(page_style)
    return page, page.lay_out(*selected)


def _dated_before_ms(time_style: TimeStyle | None, asked_at_ms: int) -> int:
    """What was said before is written with its date (`lines.time_mark`)."""
    if time_style is None:
        return asked_at_ms - MS_PER_DAY
    return _ALWAYS_MS if time_style is _ISO_DATE else _NEVER_MS


def _forms(one: Written, codec: AnswerCodec) -> Sequence[bytes]:
    """All forms of a message, in the order of `reference_answers`."""
    item, reference, rendered, id_field = codec.forms(one)
    body = openai_chat.message_body(one.turn)
    return item, reference, rendered, body, one.line.encode(), _inside_json(one.line), id_field


def _numbers(one: Written) -> Sequence[int]:
    """What a page knows of a message, in the order of `reference_answers`."""
    is_seamless = not one.line.startswith("/") and "\n/" not in one.line
    return (
        one.turn_tokens, one.turn_cost, one.line_tokens, one.line_cost,
        token_counter().count(one.line), len(one.said.text), is_seamless,
    )  # fmt: skip


def _inside_json(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON text."""
    return orjson.dumps(text)[1:-1]


_EMPTY = openai_chat.message_body(NeutralMessage(_USER, ""))
_QUESTION = _EMPTY.removesuffix(b'""}')
_REFERENCE = _QUESTION + b'"' + _inside_json(SEMANTIC_TITLE), b'"}'


@lru_cache(maxsize=16)
def _envelope(model: str, tools_json: str, system: str, codec: AnswerCodec) -> Envelope:
    opening, closing = openai_chat.envelope(model, tools_json)
    system_tokens = 0
    if system:
        opening += openai_chat.message_body(NeutralMessage(Role.SYSTEM, system)) + b","
        system_tokens = repeated_tokens(system, _O200K) + MESSAGE_TOKENS
    tools_tokens = repeated_tokens(tools_json, _O200K) if tools_json else 0
    pieces = (
        codec.payload_head, opening, *_REFERENCE, closing, RECENT_TITLE.encode(),
        SEMANTIC_TITLE.encode(), codec.rendered_head,
    )  # fmt: skip
    return Envelope(Pieces.of(pieces), system_tokens, tools_tokens)
