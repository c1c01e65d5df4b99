"""A message as it is written for a model: alone, as a line among others, counted and encoded. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from backscroll_scoring import Pieces
from backscroll_sidecar.adapters import OPENAI_CHAT, Adapter, Speaker, inside_json
from backscroll_sidecar.adapters.token_costs import message_tokens, missing_result_tokens
from backscroll_sidecar.analyze import count_with_breaks, repeated_tokens, token_counter
from backscroll_sidecar.channels import ChannelView, shown_id
from backscroll_sidecar.domain import (
    CUT_ARGUMENTS,
    CUT_MARK,
    AuthorKind,
    MediaPart,
    NeutralMessage,
    Part,
    ProviderStatePart,
    Role,
    SpeakerStyle,
    StoredSystemRows,
    TextPart,
    TokenizerName,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    render_part,
    result_message,
)
from backscroll_sidecar.lines.escaping import escape, shown_parts
from backscroll_sidecar.lines.line_format import Said, line_prefix, outside
from backscroll_sidecar.lines.line_safety import indent
from backscroll_sidecar.lines.names import has_mention_token, with_mentions
from backscroll_sidecar.tool_outputs import WHOLE, OutputPolicy, ToolOutputs

RENDER_US, RENDER_US_PER_CHAR = 25.0, 0.2
"""Rough microseconds to render a message and to encode it, measured on the shipped chats on a busy core."""

_ROLES = {int(one): one for one in Role}
_KINDS = {int(one): one for one in AuthorKind}
_USER, _ASSISTANT, _SYSTEM = Role.USER, Role.ASSISTANT, Role.SYSTEM
_AS_SYSTEM, _O200K = StoredSystemRows.SYSTEM, TokenizerName.O200K
NOBODY = Speaker("", "")


class AnswerCodec(Hashable, Protocol):
    """How the edge encodes what answers are put together of; the fields are those of the contract.

    `keys`: the bytes that items and messages are made with (`layout.ITEM_KEY` and what follows); `payload`, `body`,
    `text`, `messages`, `content`: keys of fields, behind which their size is written; `formats`, `roles`: the fields
    that name a payload's format, and a message's role.
    """

    @property
    def keys(self) -> bytes: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def body(self) -> bytes: ...
    @property
    def text(self) -> bytes: ...
    @property
    def messages(self) -> bytes: ...
    @property
    def content(self) -> bytes: ...
    @property
    def formats(self) -> Mapping[str, bytes]: ...
    @property
    def roles(self) -> Mapping[Role, bytes]: ...

    def item(self, line: RenderedLine) -> bytes:
        """The fields that the item of a line begins with."""

    def id_field(self, message_id: str) -> bytes:
        """The field that names a message among those shown together."""

    def message(self, message: NeutralMessage) -> bytes:
        """The field of the answer that holds a message."""

    def payload_field(self, name: str, body: bytes) -> bytes:
        """The field of the answer that holds a payload of this format."""

    def sources(self, sources: tuple[str, ...], kinds: tuple[int, ...]) -> Pieces:
        """The fields that items end with: bit i of a kind, the i-th source proposed it."""


class RenderStyle(NamedTuple):
    """All that the rendered form of a message depends on, besides the message and the time mark before it.

    `self_ids` are the bot's own ids: whose lines are the model's own. `keep_control`: control tokens in texts stay.
    `system_rows`: those of ROLE_SYSTEM are lines of the chat unless it is SYSTEM.
    """

    speaker: SpeakerStyle
    tokenizer: TokenizerName = TokenizerName.O200K
    with_names: bool = False
    self_ids: tuple[str, ...] = ()
    keep_control: bool = False
    system_rows: StoredSystemRows = StoredSystemRows.USER
    adapter: Adapter = OPENAI_CHAT
    tool_outputs: ToolOutputs = WHOLE

    def render(
        self,
        said: Said,
        mark: str = "",
        fragment: bytes = b"",
        *,
        is_shared: bool = False,
        channel: str = "",
    ) -> RenderedLine:
        """The message in both forms, counted; the rest is as in `RenderedLine`."""
        counter, whole = token_counter(self.tokenizer), said.whole
        prefix, text_cost = line_prefix(said, self.speaker, mark), self._text_cost(said)
        line = prefix + indent(whole)
        line_cost = text_cost + whole.count("\n") + repeated_tokens(prefix, self.tokenizer)
        last_tokens, line_tokens, gap_tokens = count_with_breaks(counter, line)
        content, turn_cost, turn_tokens = line, line_cost, last_tokens
        if outside(said, self.speaker):
            content, turn_cost = mark + whole, text_cost + repeated_tokens(mark, self.tokenizer)
            turn_tokens = counter.count(content)
        turn_tokens += self.adapter.framing.message_tokens
        turn_cost += self.adapter.framing.message_tokens
        if said.parts:
            turn_tokens = turn_cost = self._parts_tokens(said)
        speaker = NOBODY
        if not said.is_own and said.role is not _SYSTEM:
            speaker = Speaker(said.author_id, said.author_name or said.author_id)
        added = 0
        if self.with_names and not said.parts:
            of = self.adapter, self.tokenizer
            added = name_tokens(self.adapter.name_alone(speaker, is_shared=is_shared), *of)
            turn_cost += max(added, name_tokens(self.adapter.name_alone(speaker), *of))
        return RenderedLine(
            said, self, mark, fragment, is_shared, content, speaker, turn_cost, turn_tokens, line, line_cost,
            line_tokens, last_tokens, gap_tokens, added, channel,
        )  # fmt: skip

    def _parts_tokens(self, said: Said) -> int:
        """Of a message of parts. What is added to it are results that nobody gave."""
        count, framing = token_counter(self.tokenizer).count, self.adapter.framing
        missing = said.addition.count("\n") * missing_result_tokens(count, framing)
        return message_tokens(message_of(said), count, framing) + missing

    def is_own(self, role: Role, author_id: str) -> bool:
        """Whether what somebody says is the model's own."""
        return role is _ASSISTANT and (not self.self_ids or author_id in self.self_ids)

    def is_platform(self, role: Role) -> bool:
        """Whether nobody speaks: a system message that is one."""
        return role is _SYSTEM and self.system_rows is _AS_SYSTEM

    def _text_cost(self, said: Said) -> int:
        """An upper bound for the text: the count stored with the message, where it is still its own.

        BPE counts of pieces add up to at least the count of the whole for such joins; the recount in `budget.fit` has
        the last word anyway.
        """
        if self.tokenizer is _O200K and said.token_count and not said.truncated:
            return said.token_count
        return token_counter(self.tokenizer).count(said.whole + "\n")


def name_tokens(name: str, adapter: Adapter, tokenizer: TokenizerName) -> int:
    """What a name adds to a payload, with the field it stands in."""
    return adapter.framing.name_tokens + repeated_tokens(name, tokenizer) if name else 0


@dataclass(frozen=True, slots=True)
class RenderedLine:
    r"""One message in one style.

    Attributes
    ----------
    fragment : bytes
        The message's wire form.
    is_shared : bool
        Somebody else shown has the name of who speaks.
    content, turn_tokens, turn_cost : the text of a message of its own, the tokens that one adds to a payload, the most
        it adds.
    line, line_cost : the line among others, the most tokens it adds.
    line_tokens, last_tokens, gap_tokens : those of ``line + "\n"``, ``line`` and ``line + "\n\n"``.
    name_tokens : what the name of a message of its own adds to a payload that has names.
    channel : where it was said, if not where is asked.
    """

    said: Said
    style: RenderStyle
    mark: str
    fragment: bytes
    is_shared: bool
    content: str
    speaker: Speaker
    turn_cost: int
    turn_tokens: int
    line: str
    line_cost: int
    line_tokens: int
    last_tokens: int
    gap_tokens: int
    name_tokens: int
    channel: str = ""

    def telling(self, said: Said, *, is_shared: bool | None = None) -> RenderedLine:
        """The same message with something else, or less, to tell, or with another name."""
        return self.style.render(
            said,
            self.mark,
            self.fragment,
            is_shared=self.is_shared if is_shared is None else is_shared,
            channel=self.channel,
        )

    @property
    def turn(self) -> NeutralMessage:
        """It as a message of its own."""
        said, (author_id, name) = self.said, self.speaker
        if said.parts:
            return message_of(said)
        return NeutralMessage(
            said.turn_role, self.content, name, (said.message_id,), author_id=author_id
        )

    @property
    def numbers(self) -> Sequence[int]:
        """What a table knows of it, in the order of `layout`."""
        return (
            self.turn_tokens, self.turn_cost, self.line_tokens, self.line_cost, self.last_tokens, self.gap_tokens,
            len(self.said.text), not self.line.startswith("/"), self.said.turn_role, self.name_tokens,
        )  # fmt: skip

    def forms(self, codec: AnswerCodec) -> Sequence[bytes]:
        """What a table holds of it, in the order of `layout`."""
        adapter, style = self.style.adapter, self.style
        name = (
            adapter.name_alone(self.speaker, is_shared=self.is_shared) if style.with_names else ""
        )
        form = adapter.line_form
        head, tail = form.around(self.said.turn_role, name) if form else (b"", b"")
        line, escaped = self.line.encode(), inside_json(self.line)
        is_line = self.content is self.line
        content = line if is_line else self.content.encode()
        body = escaped if is_line else inside_json(self.content)
        return (
            codec.item(self), content, head + body + tail, line, escaped, codec.id_field(self.said.message_id),
        )  # fmt: skip


def said_of(view: ChannelView, row: int, style: RenderStyle) -> Said:
    """What a line tells of a row of a view."""
    role, author_id = _ROLES[view.role.item(row)], view.author_id(row)
    if role is _SYSTEM and not style.is_platform(role):
        role = _USER
    text = row_text(view, row, style.tool_outputs, keep_control=style.keep_control)
    is_exchange = not view.is_text(row) and view.is_tool_message(row)
    return Said(
        shown_id(view.message_ids[row]),
        role,
        style.is_own(role, author_id),
        author_id,
        view.author_name(row),
        _KINDS[view.kind.item(row)],
        text,
        view.columns.time_ms.item(row),
        token_count=view.token_count.item(row) if text is view.texts[row] else 0,
        is_exchange=is_exchange,
    )


def in_parts(said: Said, parts: Sequence[Part], style: RenderStyle) -> Said:
    """The same as a message of these parts, which are its row's."""
    shown: list[Part] = []
    for part in with_outputs(parts, style.tool_outputs):
        if isinstance(part, TextPart | ToolResultPart):
            text = escape(part.text, keep_control=style.keep_control)
            shown.append(msgspec.structs.replace(part, text=text))
        elif not isinstance(part, MediaPart):
            shown.append(part)
    return msgspec.structs.replace(said, parts=tuple(shown), is_exchange=False)


def message_of(said: Said) -> NeutralMessage:
    """A message of parts. Where the text was cut, they are: results and texts at their ends, arguments as a whole."""
    parts = _cut_parts(said.parts, len(said.text)) if said.truncated else said.parts
    results = tuple([one for one in parts if isinstance(one, ToolResultPart)])
    made = result_message(results) if results else assistant_message(parts)
    return msgspec.structs.replace(made, message_ids=(said.message_id,))


def _cut_parts(parts: Sequence[Part], room: int) -> tuple[Part, ...]:
    """The parts in about so many characters, without what only their vendor can read: that is of the whole."""
    shown: list[Part] = []
    for part in parts:
        if isinstance(part, ProviderStatePart):
            continue
        size = len(render_part(part))
        if size <= room:
            shown.append(part)
        elif isinstance(part, ToolCallPart):
            shown.append(msgspec.structs.replace(part, arguments_json=CUT_ARGUMENTS))
        elif isinstance(part, TextPart | ToolResultPart):
            left = max(0, room - (size - len(part.text)) - 1)
            shown.append(msgspec.structs.replace(part, text=part.text[:left] + CUT_MARK))
        room = max(0, room - size)
    return tuple(shown)


def with_outputs(parts: Sequence[Part], outputs: ToolOutputs) -> Sequence[Part]:
    """The parts with as much of results as is shown; they themselves where all is."""
    if outputs.policy is OutputPolicy.KEEP:
        return parts
    return [
        msgspec.structs.replace(one, text=outputs.shown(one.text))
        if isinstance(one, ToolResultPart)
        else one
        for one in parts
    ]


def row_text(
    view: ChannelView, row: int, outputs: ToolOutputs = WHOLE, *, keep_control: bool
) -> str:
    """The text of a row as it may be shown: its own marks, and none that was typed; names for tokens of mentions."""
    text = view.texts[row]
    mentions = view.mentions(row) if has_mention_token(text) else ()
    if view.is_text(row):
        named = with_mentions(text, mentions, view.people) if mentions else text
        return escape(named, keep_control=keep_control)
    parts = with_outputs(view.parts(row), outputs)
    if mentions:
        parts = [
            TextPart(with_mentions(one.text, mentions, view.people))
            if isinstance(one, TextPart)
            else one
            for one in parts
        ]
    shown = shown_parts(parts, keep_control=keep_control)
    return text if shown == text else shown
