"""Frozen values that every layer shares. No I/O, no clock, no protobuf.

Times are milliseconds since the epoch (``_ms``), durations name their unit, texts are `str` without lone surrogates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

import msgspec

from backscroll_sidecar.known_names import NameTimes

DEFAULT_TENANT = "default"
MAX_TEXT_BYTES = 64 * 1024
MAX_STATE_BYTES = 256 * 1024
"""Of all provider states of a message together."""
MAX_ID_BYTES = 512
MAX_BATCH_ITEMS = 1_000
MAX_BATCH_BYTES = 4 * 1024 * 1024
MAX_QUERY_BYTES = 4 * 1024
MAX_SEARCH_HITS = 200
MAX_DIMENSIONS = 8_192
MAX_STAYS = 1_000
MAX_AUDIENCE = 1_000
MAX_PINNED = 50
MAX_FORMER_NAMES = 1_000
"""Of one member in an import."""
MAX_ROLE_BYTES = 64


class AuthorKind(IntEnum):
    """Who wrote a message, as the calling bot knows it."""

    HUMAN = 1
    BOT = 2
    SYSTEM = 3


class Role(IntEnum):
    """The stored role. Only the calling bot sets it; text never decides it."""

    USER = 1
    ASSISTANT = 2
    SYSTEM = 3
    TOOL = 4


class ReplyKind(IntEnum):
    """What makes a message a reply."""

    QUOTE = 1
    MENTION = 2
    THREAD = 3


class MessageType(IntEnum):
    """Coarse type of a message, decided once at ingest."""

    QUESTION = 1
    ANSWER = 2
    DISCUSSION = 3
    NOTIFICATION = 4
    CASUAL = 5


class MessageState(IntEnum):
    """LIVE; RECALLED: its text is gone; PARTIAL: a reply that broke off, whole text kept, out of contexts.

    An erased message has no row at all, only a tombstone.
    """

    LIVE = 0
    RECALLED = 1
    PARTIAL = 2


class SearchScope(IntEnum):
    """How far a semantic search reaches; each scope includes those before."""

    CHANNEL = 1
    USER = 2
    TENANT = 3


class ChannelKey(NamedTuple):
    """Names one channel of one tenant: part of every key, cache key, index and statement."""

    tenant: str
    channel: str


class Author(msgspec.Struct, frozen=True):
    """Who wrote a message. `name` is what people saw; it never stands in for `id`."""

    id: str
    name: str = ""
    kind: AuthorKind = AuthorKind.HUMAN


class TextPart(msgspec.Struct, frozen=True):
    """A run of text."""

    text: str


class MediaPart(msgspec.Struct, frozen=True):
    """A picture, file, voice note, sticker. `alt_text` is analysed and found; `uri` is only passed on."""

    kind: str
    uri: str = ""
    alt_text: str = ""
    mime: str = ""


class ToolCallPart(msgspec.Struct, frozen=True):
    """A call the model asked for. `arguments_json` is passed on as it came."""

    id: str
    name: str
    arguments_json: str = "{}"


class ToolResultPart(msgspec.Struct, frozen=True):
    """What a tool answered to the call `call_id`."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


class ProviderStatePart(msgspec.Struct, frozen=True):
    """Something a model's API gave for itself alone, such as a signed thought: kept unread and part of no text.

    It goes back only to who gave it (`adapters.target.Target`). `provider` is the API's address, `api` its format,
    `data` JSON. One that concerns a single part stands before that part.
    """

    provider: str
    api: str
    model: str
    kind: str
    data: bytes


Part = TextPart | MediaPart | ToolCallPart | ToolResultPart | ProviderStatePart


class Reply(msgspec.Struct, frozen=True):
    """An edge to the message this one answers. An inferred edge is stored as inferred and ignored by `classic`.

    `user_id` is who wrote that message, as the sender said; where the message is stored it tells that itself.
    """

    message_id: str
    kind: ReplyKind = ReplyKind.QUOTE
    inferred: bool = False
    user_id: str = ""


class Mention(msgspec.Struct, frozen=True):
    """A person named in the text. `start` and `end` count Unicode code points; both 0: position unknown."""

    user_id: str
    name: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector the caller made itself, for this message and revision."""

    embedder_id: str
    values: Sequence[float]


class Message(msgspec.Struct, frozen=True):
    """One message of a channel, as the calling bot sent it. `audience`: ids of those it is for; empty: everybody."""

    id: str
    channel: str
    author: Author
    parts: tuple[Part, ...]
    sent_at_ms: int
    role: Role = Role.USER
    thread_id: str = ""
    session_id: str = ""
    reply: Reply | None = None
    mentions: tuple[Mention, ...] = ()
    embeddings: tuple[Embedding, ...] = ()
    dedupe_key: str = ""
    is_partial: bool = False
    audience: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All parts as one text: text as it is, everything else as a mark (see `render_part`)."""
        if len(self.parts) == 1:
            part = self.parts[0]
            return part.text if type(part) is TextPart else render_part(part)
        return "\n".join(filter(None, map(render_part, self.parts)))


CUT_MARK = "…"
"""Behind a text that is not all there."""
CUT_ARGUMENTS = '{"cut": true}'
"""In the place of a call's arguments that are too long."""
KNOWN_KINDS = frozenset((
    "animation", "audio", "contact", "document", "embed", "emoji", "file", "gif", "image", "link", "location", "media",
    "music", "photo", "picture", "poll", "reaction", "sticker", "story", "video", "video_note", "voice",
))  # fmt: skip
"""Kinds of media whose marks begin with the kind; others are ``[media kind: …]``."""
MAX_WORD_CHARS = 64
_NO_WORD = re.compile(r"[\s\[\]:\\]+")


def mark_word(name: str) -> str:
    """The name of a tool or a kind as it may stand in a mark: one word, at most 64 characters."""
    return _NO_WORD.sub("_", name)[:MAX_WORD_CHARS]


def render_part(part: Part) -> str:
    """One part as text. Media become ``[image: alt text]``, calls ``[call name {…}]``, results ``[result name: …]``.

    Of what concerns a provider alone there is none.
    """
    match part:
        case TextPart():
            return part.text
        case MediaPart():
            kind = part.kind or "media"
            if kind.lower() not in KNOWN_KINDS:
                kind = f"media {mark_word(kind)}"
            return f"[{kind}: {part.alt_text}]" if part.alt_text else f"[{kind}]"
        case ToolCallPart():
            return f"[call {mark_word(part.name)} {part.arguments_json}]"
        case ToolResultPart():
            word = "error" if part.is_error else "result"
            return f"[{word} {mark_word(part.name)}: {part.text}]"
        case ProviderStatePart():
            return ""


class Analysis(msgspec.Struct, frozen=True):
    r"""The analysis of one revision of a message, made at ingest and stored.

    `text` is the rendered text all of it refers to; `mention_ids` are user ids without repeats, in order of
    appearance; `keywords` are distinct, in order of appearance; `token_count` counts ``text + "\n"`` in o200k_base.
    `reply` is the sender's edge, else an inferred one, else None.
    """

    text: str
    message_type: MessageType
    mention_ids: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    token_count: int = 0
    reply: Reply | None = None


class Stay(NamedTuple):
    """A time somebody was a member: from the joining on and before the leaving; None: always, and still."""

    joined_at_ms: int | None = None
    left_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A person or bot known in a channel.

    `joined_at_ms` and `left_at_ms` are the last stay, `earlier_stays` those before, oldest first. Where somebody tells
    of a member, `has_all_stays` says that these are all there were. `role` is the platform's word for it.
    `name_times` are the names seen and since when, as far as they are known; the last one is `name`.
    """

    user_id: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    kind: AuthorKind = AuthorKind.HUMAN
    joined_at_ms: int | None = None
    left_at_ms: int | None = None
    former_names: tuple[str, ...] = ()
    earlier_stays: tuple[Stay, ...] = ()
    role: str = ""
    has_all_stays: bool = field(default=False, compare=False)
    name_times: NameTimes = field(default=(), compare=False)

    @property
    def stays(self) -> tuple[Stay, ...]:
        """All stays, oldest first; none where nobody told of any."""
        last = Stay(self.joined_at_ms, self.left_at_ms)
        return (*self.earlier_stays, last) if self.earlier_stays or last != Stay() else ()

    def was_there(self, at_ms: int) -> bool:
        """Whether the member was one then; always where nobody told of any stay."""
        return not (stays := self.stays) or any(
            (one.joined_at_ms is None or one.joined_at_ms <= at_ms)
            and (one.left_at_ms is None or at_ms < one.left_at_ms)
            for one in stays
        )


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as the store returns it: the current revision, its analysis, and where it stands.

    `seq` is the arrival number within the channel (1, 2, …, never reused); `rank_time_ms` is `sent_at_ms` as far as it
    can be right (time zero and times in the future become the time of arrival), and behind the message it answers;
    `revision` counts edits from 0, `moves` how often its rank time or its edge changed since it came. `alias_ids` are
    its other ids: only in what is read by id, by page, by tree or by author.
    """

    message: Message
    analysis: Analysis
    seq: int
    rank_time_ms: int
    revision: int = 0
    state: MessageState = MessageState.LIVE
    moves: int = 0
    alias_ids: tuple[str, ...] = ()


class AppendOutcome(StrEnum):
    """What became of one item of an append."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    GONE = "gone"
    REFUSED = "refused"


class WarningCode(StrEnum):
    """Why an accepted item was not taken exactly as sent."""

    REPLY_TO_SELF = "reply_to_self"
    REPLY_CYCLE = "reply_cycle"
    REPLY_PARENT_UNKNOWN = "reply_parent_unknown"
    REPLY_PARENT_IN_OTHER_CHANNEL = "reply_parent_in_other_channel"
    TIME_ZERO = "time_zero"
    TIME_IN_FUTURE = "time_in_future"
    TIME_LOOKS_LIKE_SECONDS = "time_looks_like_seconds"
    METADATA_DIFFERS = "metadata_differs"
    DEDUPE_KEY_SEEN = "dedupe_key_seen"
    TEXT_SANITISED = "text_sanitised"
    OWN_REPLY_SEEN = "own_reply_seen"


class RefusalCode(StrEnum):
    """Why an item was refused. The other items of its batch are not affected."""

    MISSING_ID = "missing_id"
    MISSING_AUTHOR = "missing_author"
    BAD_UTF8 = "bad_utf8"
    NUL_CHARACTER = "nul_character"
    TEXT_TOO_LARGE = "text_too_large"
    ID_TOO_LONG = "id_too_long"
    NEGATIVE_TIME = "negative_time"
    WRONG_CHANNEL = "wrong_channel"
    BAD_EMBEDDING = "bad_embedding"
    UNKNOWN_ENUM = "unknown_enum"
    BAD_STATE = "bad_state"


class AppendResult(msgspec.Struct, frozen=True):
    """The answer to one item. `field` and `refusal` are set for REFUSED only; `duplicate_of` names the stored id."""

    message_id: str
    outcome: AppendOutcome
    warnings: tuple[WarningCode, ...] = ()
    refusal: RefusalCode | None = None
    field: str = ""
    duplicate_of: str = ""
    seq: int = 0


class TokenizerName(StrEnum):
    """How tokens are counted: exactly, or estimated from characters or bytes."""

    O200K = "o200k_base"
    CHARS_4 = "chars/4"
    BYTES_4 = "bytes/4"


class Layout(StrEnum):
    """How messages become model input."""

    TURNS = "turns"
    CONTEXT_AND_QUESTION = "context_and_question"
    SINGLE_USER = "single_user"
    SYSTEM_AND_USER = "system_and_user"


class SpeakerStyle(StrEnum):
    """`role`: plain ``User: `` lines; `tagged`: escaped name and id."""

    ROLE = "role"
    TAGGED = "tagged"


class TimeStyle(StrEnum):
    """Whether a line says when it was said."""

    NONE = "none"
    ISO_DATE = "iso_date"
    RELATIVE = "relative"


class StoredSystemRows(StrEnum):
    """How stored rows of ROLE_SYSTEM are shown: as lines of the chat, as system messages, not at all."""

    USER = "user"
    SYSTEM = "system"
    SKIP = "skip"


class ResponsePart(IntEnum):
    """A copy of the selected text in the answer to a build."""

    ITEM_MESSAGES = 1
    MESSAGES = 2
    PAYLOADS = 3
    TEXT = 4


class Rung(IntEnum):
    """The rung of the ladder a build stands on."""

    RANKED = 1
    RECENT = 2
    EMPTY = 3


class Category(StrEnum):
    """The section a candidate is shown in."""

    RECENT = "recent"
    SEMANTIC = "semantic"


class Fate(StrEnum):
    """What became of a candidate."""

    SELECTED = "selected"
    THRESHOLD = "threshold"
    LIMIT = "limit"
    BUDGET = "budget"
    DUPLICATE = "duplicate"
    DIVERSITY = "diversity"
    VISIBILITY = "visibility"
    RECALLED = "recalled"


@dataclass(frozen=True, slots=True)
class Degradation:
    """A part that failed, as the response names it."""

    stage: str
    reason: str
    source: str = ""


class ScoreWeights(msgspec.Struct, frozen=True):
    """Weights of the factors of `classic`, each 0 to 1; None: the profile's."""

    reply_chain: float | None = None
    user_continuity: float | None = None
    time_decay: float | None = None
    mention_relation: float | None = None
    keyword_overlap: float | None = None


class Overrides(msgspec.Struct, frozen=True):
    """Single settings of a profile changed for one request or one channel; None keeps the profile's value."""

    use_intelligent_context: bool | None = None
    max_context: int | None = None
    time_window_hours: int | None = None
    relevance_threshold: float | None = None
    sources: tuple[str, ...] = ()
    max_chars_per_message: int | None = None
    recent_limit: int | None = None
    recent_floor: int | None = None
    decay_per_hour: float | None = None
    recency_half_life_minutes: float | None = None
    weights: ScoreWeights = ScoreWeights()
    exploration_slots: int | None = None
    exploration_temperature: float | None = None


class RedactionKind(StrEnum):
    """What may be kept out of stored messages."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    ID_NUMBER = "id_number"
    SECRET = "secret"  # noqa: S105 - a word, none of them


class Sharing(msgspec.Struct, frozen=True):
    """Whose lines builds of a channel may show, and whose builds may show its own.

    Attributes
    ----------
    shares_with : channels whose builds may show lines of this one.
    reads_from : channels whose lines builds of this one may show, if they want it, too.
    groups : who has joined the same one has both.
    max_messages : so many lines of others a build shows.
    """

    shares_with: tuple[str, ...] = ()
    reads_from: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    max_messages: int = 5


class SharedChannel(NamedTuple):
    """A channel whose lines another may show; the group that both have joined, empty: they name each other."""

    channel: str
    group: str = ""


class Readable(NamedTuple):
    """The channels whose lines a channel may show, besides its own; not `is_whole`: there are more."""

    channels: tuple[SharedChannel, ...] = ()
    is_whole: bool = True


class PreferenceExtraction(StrEnum):
    """What reads preferences from what people say of themselves. MODEL: the rules, and a model where there is one."""

    OFF = "off"
    RULES = "rules"
    MODEL = "model"


class Retention(msgspec.Struct, frozen=True):
    """How long messages stay: so many days, and so many of the newest. 0: for good, any number; None: as elsewhere."""

    days: int | None = None
    messages: int | None = None


class ChannelSettings(msgspec.Struct, frozen=True):
    """What is set for one channel.

    Attributes
    ----------
    profile : empty: the server's for it.
    overrides : those of a request come before them, one by one.
    collects_usage : whether its builds are recorded.
    redaction : what is kept out of its stored messages; None: what the server's configuration says.
    sharing : None: with nobody.
    preference_extraction : what reads preferences from its messages; None: what the server's configuration says.
    summary_hours : of periods that are summarised; 0: none, None: what the server's configuration says.
    retention : how long its messages stay; what is None in it: what the server's configuration says.
    """

    profile: str = ""
    overrides: Overrides = Overrides()
    collects_usage: bool = True
    redaction: tuple[RedactionKind, ...] | None = None
    sharing: Sharing | None = None
    preference_extraction: PreferenceExtraction | None = None
    summary_hours: int | None = None
    retention: Retention = Retention()


class NeutralMessage(msgspec.Struct, frozen=True):
    """One message for a model, of no vendor. `message_ids` are the stored messages it was made from.

    `name` is the speaker's, `author_id` tells speakers of one name apart. `content` is its text; `parts` are what it
    consists of where that is more than a text, in order, the text among them. ROLE_TOOL has nothing but results.
    `ends_prefix`: what comes up to here stays for many turns, and vendors are told that their cache may end here.
    """

    role: Role
    content: str
    name: str = ""
    message_ids: tuple[str, ...] = ()
    author_id: str = ""
    parts: tuple[Part, ...] = ()
    ends_prefix: bool = False

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls it makes."""
        return tuple([one for one in self.parts if isinstance(one, ToolCallPart)])

    @property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """The results it tells."""
        return tuple([one for one in self.parts if isinstance(one, ToolResultPart)])


def assistant_message(parts: tuple[Part, ...], message_ids: tuple[str, ...] = ()) -> NeutralMessage:
    """The model's own message of these parts."""
    text = "".join(one.text for one in parts if isinstance(one, TextPart))
    return NeutralMessage(Role.ASSISTANT, text, message_ids=message_ids, parts=parts)


def result_message(
    results: tuple[ToolResultPart, ...], message_ids: tuple[str, ...] = ()
) -> NeutralMessage:
    """The message that tells what tools gave."""
    text = "\n".join(one.text for one in results)
    return NeutralMessage(Role.TOOL, text, message_ids=message_ids, parts=results)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened during a turn. `level` is ``agent`` or ``turn``.

    `message_id` is the message it is about, if it is about one: an erasure of that takes the event along.
    """

    id: str
    type: str
    level: str
    at_ms: int
    parent_id: str = ""
    payload: dict[str, int | float | str | bool] = field(default_factory=dict)
    message_id: str = ""
