"""What a bot hands over: plain values, turned into protobuf messages on the way out.

Wherever one of these is asked for, a string is enough if an id says it all: an author, a person
mentioned, a message replied to. Times are aware datetimes or milliseconds since the epoch.
Everything may also be given as the protobuf message itself.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, Literal, Self, TypeAlias

from google.protobuf.message import Message as ProtoMessage

from backscroll._encode import check, encode
from backscroll.v1 import context_pb2, experiment_pb2, history_pb2, message_pb2

When: TypeAlias = datetime | int
"""An aware datetime, or milliseconds since the epoch."""

AuthorKindName: TypeAlias = Literal["human", "bot", "system"]
RoleName: TypeAlias = Literal["user", "assistant", "system", "tool"]
ReplyKindName: TypeAlias = Literal["quote", "mention", "thread"]
LayoutName: TypeAlias = Literal["turns", "context_and_question", "single_user", "system_and_user"]
ResponsePartName: TypeAlias = Literal["item_messages", "messages", "payloads", "text"]
SpeakerStyleName: TypeAlias = Literal["role", "tagged"]
TimeStyleName: TypeAlias = Literal["none", "iso_date", "relative"]
TokenizerName: TypeAlias = Literal["o200k_base", "chars_4", "bytes_4"]
StoredSystemRowsName: TypeAlias = Literal["user", "system", "skip"]
AuthorVisibilityName: TypeAlias = Literal["all", "allowlist", "allowlist_quote"]
SearchScopeName: TypeAlias = Literal["channel", "user", "tenant"]
ToolOutputsName: TypeAlias = Literal["keep", "head_tail", "skip"]
PayloadFormatName: TypeAlias = Literal[
    "openai_chat", "none", "openai_responses", "anthropic_messages", "gemini_contents"
]


class _Value:
    """A value that refuses what its protobuf message could not hold as soon as it is made."""

    __slots__: tuple[str, ...] = ()
    _kind: ClassVar[type[ProtoMessage]]

    def __post_init__(self) -> None:
        check(self._kind, {name: getattr(self, name) for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Author(_Value):
    """Who wrote a message. A name never stands in for the id.

    Examples
    --------
    >>> Author("u1", "Ann")
    Author(id='u1', name='Ann', kind='human')
    """

    _kind = message_pb2.Author

    id: str
    name: str = ""
    kind: AuthorKindName = "human"

    def to_proto(self) -> message_pb2.Author:
        return encode(message_pb2.Author, id=self.id, name=self.name, kind=self.kind)


@dataclass(frozen=True, slots=True)
class Mention(_Value):
    """A person named in a text; start and end count code points, both 0 where unknown."""

    _kind = message_pb2.Mention

    user_id: str
    name: str = ""
    start: int = 0
    end: int = 0

    def to_proto(self) -> message_pb2.Mention:
        return encode(
            message_pb2.Mention,
            user_id=self.user_id,
            name=self.name,
            start=self.start,
            end=self.end,
        )


@dataclass(frozen=True, slots=True)
class Reply(_Value):
    """The edge to the message that is answered; inferred: concluded by somebody, not known.

    `user_id` is who wrote that message, where the server may not have it.
    """

    _kind = message_pb2.Reply

    message_id: str
    kind: ReplyKindName = "quote"
    inferred: bool = False
    user_id: str = ""

    def to_proto(self) -> message_pb2.Reply:
        return encode(
            message_pb2.Reply,
            message_id=self.message_id,
            kind=self.kind,
            inferred=self.inferred,
            user_id=self.user_id,
        )


@dataclass(frozen=True, slots=True)
class Media(_Value):
    """A picture, file or voice note; alt_text is analysed and searched like text.

    Examples
    --------
    >>> Media("image", alt_text="a red bicycle")
    Media(kind='image', alt_text='a red bicycle', uri='', mime='')
    """

    _kind = message_pb2.MediaPart

    kind: str
    alt_text: str = ""
    uri: str = ""
    mime: str = ""

    def to_proto(self) -> message_pb2.MediaPart:
        return encode(
            message_pb2.MediaPart,
            kind=self.kind,
            alt_text=self.alt_text,
            uri=self.uri,
            mime=self.mime,
        )


@dataclass(frozen=True, slots=True)
class ToolCall(_Value):
    """A call that a model asked for; arguments_json is passed on as it came."""

    _kind = message_pb2.ToolCallPart

    id: str
    name: str
    arguments_json: str = ""

    def to_proto(self) -> message_pb2.ToolCallPart:
        return encode(
            message_pb2.ToolCallPart,
            id=self.id,
            name=self.name,
            arguments_json=self.arguments_json,
        )


@dataclass(frozen=True, slots=True)
class ToolResult(_Value):
    """What a tool answered to a call."""

    _kind = message_pb2.ToolResultPart

    call_id: str
    text: str
    name: str = ""
    is_error: bool = False

    def to_proto(self) -> message_pb2.ToolResultPart:
        return encode(
            message_pb2.ToolResultPart,
            call_id=self.call_id,
            name=self.name,
            text=self.text,
            is_error=self.is_error,
        )


@dataclass(frozen=True, slots=True)
class ProviderState(_Value):
    """Something a model's API gave for itself alone, such as a signed thought; kept unread.

    Parameters
    ----------
    provider
        The API's address without scheme and path of the call, such as ``api.anthropic.com/v1``.
    api
        Its format: ``openai_chat``, ``openai_responses``, ``anthropic_messages``,
        ``gemini_contents``.
    model, kind
        Which model gave it, and the API's own word for it.
    data
        As it came, in JSON. One that concerns a single part stands before that part.
    """

    _kind = message_pb2.ProviderStatePart

    provider: str
    api: str
    model: str
    kind: str
    data: bytes

    def to_proto(self) -> message_pb2.ProviderStatePart:
        return encode(
            message_pb2.ProviderStatePart,
            provider=self.provider,
            api=self.api,
            model=self.model,
            kind=self.kind,
            data=self.data,
        )


@dataclass(frozen=True, slots=True)
class Embedding(_Value):
    r"""A vector the caller computed; values are numbers, or little-endian float32 as bytes.

    Examples
    --------
    >>> Embedding("my-model", [1.0, 0.0]).to_proto().values
    b'\x00\x00\x80?\x00\x00\x00\x00'
    """

    _kind = message_pb2.Embedding

    embedder_id: str
    values: Sequence[float] | bytes

    def to_proto(self) -> message_pb2.Embedding:
        values = self.values
        if not isinstance(values, bytes):
            values = struct.pack(f"<{len(values)}f", *values)
        return encode(message_pb2.Embedding, embedder_id=self.embedder_id, values=values)


Part: TypeAlias = str | Media | ToolCall | ToolResult | ProviderState | message_pb2.Part


@dataclass(frozen=True, slots=True)
class Message(_Value):
    """One message of a chat.

    Parameters
    ----------
    id
        The platform's id of the message, unique in its channel.
    author
        Who wrote it: an `Author`, or the user's id alone.
    text
        Its text. Comes before `parts` where both are given.
    sent_at
        When it was sent. 0 is ranked as if sent when it arrives, with a warning. Use the
        platform's time, not the clock: the same id with another time is a conflict.
    parts
        Media, tool calls, tool results, provider states and further texts, in order.
    reply_to
        The message it answers: an id, or a `Reply`.
    mentions
        The people the platform marked in it: ids, or `Mention` values.
    role
        The role the bot gives it; the text never decides it.
    channel
        Only for imports of several channels; empty: the channel of the call.
    thread_id, session_id
        The platform's container inside the channel, and the session it belongs to.
    embeddings
        Vectors of its text, if the bot has them.
    dedupe_key
        Recognises a message that is delivered again under a new id.
    partial
        A reply that broke off; stored, listed, kept out of contexts.
    audience
        The ids of those it is for: nobody else's prompt shows it, but its author's does. None:
        everybody.

    Examples
    --------
    >>> Message("m2", Author("u1", "Ann"), "yes!", 1795132800000, reply_to="m1").to_proto().reply
    message_id: "m1"
    kind: REPLY_KIND_QUOTE
    <BLANKLINE>
    """

    _kind = message_pb2.Message

    id: str
    author: str | Author | message_pb2.Author
    text: str | None = None
    sent_at: When = 0
    parts: Sequence[Part] = ()
    reply_to: str | Reply | message_pb2.Reply | None = None
    mentions: Sequence[str | Mention | message_pb2.Mention] = ()
    role: RoleName = "user"
    channel: str = ""
    thread_id: str | None = None
    session_id: str | None = None
    embeddings: Sequence[Embedding | message_pb2.Embedding] = ()
    dedupe_key: str | None = None
    partial: bool = False
    audience: Sequence[str] = ()

    def __post_init__(self) -> None:
        _Value.__post_init__(self)
        author_of(self.author)
        reply_of(self.reply_to)

    def to_proto(self) -> message_pb2.Message:
        return encode(
            message_pb2.Message,
            id=self.id,
            channel=self.channel,
            thread_id=self.thread_id,
            session_id=self.session_id,
            author=author_of(self.author),
            role=self.role,
            parts=parts_of(self.text, self.parts),
            sent_at_ms=self.sent_at,
            reply=reply_of(self.reply_to),
            mentions=mentions_of(self.mentions),
            embeddings=self.embeddings,
            dedupe_key=self.dedupe_key,
            partial=self.partial,
            audience=self.audience,
        )


@dataclass(frozen=True, slots=True)
class Stay(_Value):
    """A time somebody was a member; None: always there, and still."""

    _kind = history_pb2.Stay

    joined_at: When | None = None
    left_at: When | None = None

    def to_proto(self) -> history_pb2.Stay:
        return encode(history_pb2.Stay, joined_at_ms=self.joined_at, left_at_ms=self.left_at)


@dataclass(frozen=True, slots=True)
class Member(_Value):
    """A person or bot of a channel; what is left out keeps what the server knows.

    Who joined after a known leaving begins a new stay. `stays`, oldest first, replace all that
    are known; `role` is the platform's word, such as "owner".

    Examples
    --------
    >>> Member("u1", stays=[Stay(None, 1795132800000), Stay(1795200000000)]).to_proto().stays[1]
    joined_at_ms: 1795200000000
    <BLANKLINE>
    """

    _kind = history_pb2.Member

    user_id: str
    name: str = ""
    aliases: Sequence[str] = ()
    kind: AuthorKindName = "human"
    joined_at: When | None = None
    left_at: When | None = None
    stays: Sequence[Stay | history_pb2.Stay] = ()
    role: str = ""

    def to_proto(self) -> history_pb2.Member:
        return encode(
            history_pb2.Member,
            user_id=self.user_id,
            name=self.name,
            aliases=self.aliases,
            kind=self.kind,
            joined_at_ms=self.joined_at,
            left_at_ms=self.left_at,
            stays=self.stays,
            role=self.role,
        )


@dataclass(frozen=True, slots=True)
class SystemPrompt(_Value):
    """The bot's instruction; as a template, "{{name}}" is replaced by the parameter of that name.

    Parameters of the request (asker_name, channel, question, …) are always there.

    Examples
    --------
    >>> SystemPrompt("You help {{asker_name}} with {{topic}}.", True, {"topic": "cats"}).is_template
    True
    """

    _kind = context_pb2.SystemPrompt

    text: str
    is_template: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)

    def to_proto(self) -> context_pb2.SystemPrompt:
        return encode(
            context_pb2.SystemPrompt,
            text=self.text,
            is_template=self.is_template,
            parameters=self.parameters,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides(_Value):
    """Settings of the profile to change for one request; None: the profile's value.

    Examples
    --------
    >>> Overrides(max_context=5).to_proto()
    max_context: 5
    <BLANKLINE>
    """

    _kind = context_pb2.Overrides

    use_intelligent_context: bool | None = None
    max_context: int | None = None
    time_window_hours: int | None = None
    relevance_threshold: float | None = None
    sources: Sequence[str] = ()
    max_chars_per_message: int | None = None
    recent_limit: int | None = None
    recent_floor: int | None = None
    decay_per_hour: float | None = None
    recency_half_life_minutes: float | None = None
    weights: Mapping[str, float] | context_pb2.ScoreWeights | None = None
    exploration_slots: int | None = None
    exploration_temperature: float | None = None

    def __new__(cls, **values: object) -> Self:
        names = [each.name for each in fields(cls)]
        if unknown := values.keys() - set(names):
            raise TypeError(f"Overrides has no {min(unknown)!r}; there are {', '.join(names)}")
        return object.__new__(cls)

    def to_proto(self) -> context_pb2.Overrides:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if isinstance(self.weights, Mapping):
            values["weights"] = encode(context_pb2.ScoreWeights, **self.weights)
        return encode(context_pb2.Overrides, **values)


@dataclass(frozen=True, slots=True)
class ExperimentArm(_Value):
    """One way of building that an experiment tries; what it leaves out is as without the experiment.

    Examples
    --------
    >>> ExperimentArm("short", overrides=Overrides(max_context=5)).name
    'short'
    """

    _kind = experiment_pb2.ExperimentArm

    name: str
    weight: float | None = None
    profile: str = ""
    overrides: Overrides | Mapping[str, Any] | context_pb2.Overrides | None = None
    layout: LayoutName | int | None = None

    def to_proto(self) -> experiment_pb2.ExperimentArm:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if isinstance(self.overrides, Mapping):
            values["overrides"] = Overrides(**self.overrides)
        return encode(experiment_pb2.ExperimentArm, **values)


# --- where a string is enough ---------------------------------------------------------------------


def author_of(author: str | Author | message_pb2.Author | None) -> object:
    """Author whose id may stand alone."""
    return author if isinstance(author, _Value | ProtoMessage | None) else Author(author)


def reply_of(reply: str | Reply | message_pb2.Reply | None) -> object:
    """Reply whose message id may stand alone."""
    return reply if isinstance(reply, _Value | ProtoMessage | None) else Reply(reply)


def mentions_of(mentions: Sequence[str | Mention | message_pb2.Mention]) -> list[object]:
    """Mentions whose user ids may stand alone."""
    given = (mentions,) if isinstance(mentions, str) else mentions
    return [each if isinstance(each, _Value | ProtoMessage) else Mention(each) for each in given]


def parts_of(text: str | None, parts: Sequence[Part]) -> list[message_pb2.Part]:
    """Parts of a message, its text first."""
    given = (parts,) if isinstance(parts, str) else parts
    return [_part(each) for each in ((text, *given) if text is not None else given)]


def _part(part: Part) -> message_pb2.Part:
    if isinstance(part, message_pb2.Part):
        return part
    if isinstance(part, str):
        return message_pb2.Part(text=encode(message_pb2.TextPart, text=part))
    if isinstance(part, Media):
        return message_pb2.Part(media=part.to_proto())
    if isinstance(part, ToolCall):
        return message_pb2.Part(tool_call=part.to_proto())
    if isinstance(part, ToolResult):
        return message_pb2.Part(tool_result=part.to_proto())
    if isinstance(part, ProviderState):
        return message_pb2.Part(provider_state=part.to_proto())
    raise TypeError(
        "a text or part must be text, Media, ToolCall, ToolResult or ProviderState, "
        f"not {type(part).__name__}"
    )
