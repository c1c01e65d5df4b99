"""The common answer, joined of bytes that are there: what parts, fit, assemble and adapt come to where nothing is cut.

Most builds show stored messages as they are, each a message of its own or a line of the reference, inside the budget.
Then the answer is a matter of looking up and copying: a page (`channels.written`) has every message in all the forms an
answer needs, with its tokens, and two kernels find, add up and copy. Everything else goes the long way, which is the
specification: `tests/property/test_joining.py` holds both to the same bytes. Pure but for lines put on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from backscroll_scoring import Pieces
from backscroll_scoring.layout import (
    COST,
    LONGEST,
    MISSING,
    RECENT,
    SEMANTIC,
    SLASHED,
    TURNS,
)
from backscroll_sidecar.adapters import openai_chat
from backscroll_sidecar.analyze import exact_tokens, repeated_tokens
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.context.budget import PRIMING_TOKENS, TITLE_TOKENS
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.model import BuildRequest, TokenCounts
from backscroll_sidecar.context.parts import question_text, speaker_style
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rendered_lines import AnswerCodec, Wanted, inside_json, laid_out
from backscroll_sidecar.context.rendering import MESSAGE_TOKENS, Pen
from backscroll_sidecar.context.routing import Route
from backscroll_sidecar.domain import (
    Layout,
    NeutralMessage,
    Role,
    SearchScope,
    SpeakerStyle,
    TimeStyle,
    TokenizerName,
)

_TURNS, _O200K, _USER = Layout.TURNS, TokenizerName.O200K, Role.USER
_RELATIVE, _CHANNEL = TimeStyle.RELATIVE, SearchScope.CHANNEL
_FORMATS = ((), (openai_chat.OpenAIChat.name,))


class Content(msgspec.Struct, frozen=True, eq=False):
    """What an answer shows, as bytes of the answer (uint8[n]), and what it costs."""

    joined: NDArray[np.uint8]
    speaker: SpeakerStyle
    tokens: TokenCounts
    stable_prefix_tokens: int


class Envelope(msgspec.Struct, frozen=True):
    """What of a payload is the same from question to question: its bytes, and its tokens."""

    pieces: Pieces
    system_tokens: int
    tools_tokens: int
    semantic_title_tokens: int


def can_be_joined(request: BuildRequest) -> bool:
    """Whether a request asks for nothing that only the long way gives."""
    return (
        request.layout is _TURNS
        and request.tokenizer is _O200K
        and request.time_style is not _RELATIVE
        and request.payload_formats in _FORMATS
        and request.semantic_scope is _CHANNEL
        and not (request.explain or request.include_names or request.include_system)
        and (request.system is None or not request.system.is_template)
    )


async def join_content(
    request: BuildRequest,
    route: Route,
    system: str,
    view: ChannelView,
    question: Question,
    picked: Picked,
    codec: AnswerCodec,
    deadline: Deadline,
) -> Content | None:
    """What the answer shows; None where something must be cut, or written that takes long: the long way does that."""
    rows, chosen = picked.gathered.rows, picked.selection.chosen
    if not len(chosen) or not picked.is_plain:
        return None
    speaker = speaker_style(request, route, question, view, rows[chosen].tolist())
    wanted = Wanted(
        Pen(speaker, _O200K, False, request.self_ids, route.keep_control, route.system_rows),
        route.zone,
        request.time_style,
    )
    page, laid = await laid_out(view, picked, wanted, question.asked_at_ms, codec, deadline)
    if laid.totals[MISSING]:
        return None
    titles = route.texts.recent_title, route.texts.semantic_title
    envelope = _envelope(route.model, request.tools_json, system, titles, codec)
    asked = question_text(request, question, view, wanted.pen, route.texts)
    tokens = _fitting(request, picked.profile, envelope, asked, len(chosen), laid.totals)
    if tokens is None:
        return None
    joined = page.join(
        laid,
        picked.ranked.scores,
        picked.ranked.places,
        codec.tails(picked.gathered.sources, tuple(laid.kinds)),
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
    asked = exact_tokens(question) + MESSAGE_TOKENS
    semantic, framing, titles = 0, PRIMING_TOKENS, 0
    if totals[TURNS] < count:
        semantic = envelope.semantic_title_tokens + totals[SEMANTIC]
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


_EMPTY = openai_chat.message_body(NeutralMessage(_USER, ""))
_QUESTION = _EMPTY.removesuffix(b'""}')


@lru_cache(maxsize=16)
def _envelope(
    model: str, tools_json: str, system: str, titles: tuple[str, str], codec: AnswerCodec
) -> Envelope:
    opening, closing = openai_chat.envelope(model, tools_json)
    system_tokens = 0
    if system:
        opening += openai_chat.message_body(NeutralMessage(Role.SYSTEM, system)) + b","
        system_tokens = repeated_tokens(system, _O200K) + MESSAGE_TOKENS
    tools_tokens = repeated_tokens(tools_json, _O200K) if tools_json else 0
    recent_title, semantic_title = titles
    reference = _QUESTION + b'"' + inside_json(semantic_title), b'"}'
    pieces = (
        codec.payload_head, opening, *reference, closing, recent_title.encode(),
        semantic_title.encode(), codec.rendered_head,
    )  # fmt: skip
    title_tokens = repeated_tokens(semantic_title + "\n", _O200K)
    return Envelope(Pieces.of(pieces), system_tokens, tools_tokens, title_tokens)
