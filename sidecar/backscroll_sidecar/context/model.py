"""What goes into a build and what comes out: the values the edge translates to and from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.context.visibility import EVERYTHING, Viewer, VisibilityRule
from backscroll_sidecar.domain import (
    Author,
    ChannelKey,
    Degradation,
    Embedding,
    Event,
    Fate,
    Layout,
    MediaPart,
    Mention,
    MessageType,
    NeutralMessage,
    Overrides,
    Reply,
    ResponsePart,
    Rung,
    SearchScope,
    SpeakerStyle,
    StoredSystemRows,
    TimeStyle,
    TokenizerName,
)
from backscroll_sidecar.sessions.session import AuthorVisibility
from backscroll_sidecar.texts import Language, LanguageTag
from backscroll_sidecar.tool_outputs import OutputPolicy


class SystemPrompt(msgspec.Struct, frozen=True):
    """The bot's own instruction; with `is_template`, ``{{name}}`` is replaced."""

    text: str
    is_template: bool = False
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)


class CatchUp(msgspec.Struct, frozen=True):
    """From where on somebody wants to know what happened: behind a message, else from a time on."""

    since_message_id: str = ""
    since_ms: int = 0


class BuildRequest(msgspec.Struct, frozen=True):
    """One BuildContext call, checked for types and sizes by the edge. Field meanings: context.proto.

    `key.channel` may be empty. `time_left_s` is what remains of the caller's deadline, None without one.
    `own_question_id` is the id under which a chat stores the question beside the build: its row is no history, whether
    or not it is there yet; `own_message_ids` are others that the question tells. `payload_formats`: None for that of
    OpenAI Chat Completions. `viewer` is what the builder makes of `viewer_id`, the session and the authors allowed.
    `calibration` is what it knows of the model's vendor: its tokens for one of ours. `token_budget` is in the vendor's.
    What arrived behind `seen_until_seq` is not seen. Of other channels only those `allowed` are; None: all.
    `exploration_seed`: what a draw goes by; None: one is made. `names_layout`: the layout is not only the usual one.
    With `catch_up` all that is new is ranked, not what answers best. What `only_looks` is recorded and counted nowhere.
    """

    key: ChannelKey
    question: str = ""
    asker: Author | None = None
    trigger_message_id: str = ""
    own_question_id: str = ""
    own_message_ids: tuple[str, ...] = ()
    asked_at_ms: int | None = None
    reply: Reply | None = None
    mentions: tuple[Mention, ...] = ()
    thread_id: str | None = None
    session_id: str = ""
    self_ids: tuple[str, ...] = ()
    profile: str = ""
    overrides: Overrides = Overrides()
    layout: Layout = Layout.TURNS
    names_layout: bool = False
    speaker_style: SpeakerStyle | None = None
    time_style: TimeStyle | None = None
    time_zone: str = ""
    system: SystemPrompt | None = None
    include_system: bool = False
    tools_json: str = ""
    reserve_tokens: int = 0
    preferences: tuple[str, ...] = ()
    query_embedding: Embedding | None = None
    token_budget: int | None = None
    tokenizer: TokenizerName = TokenizerName.O200K
    payload_formats: tuple[str, ...] | None = None
    model: str = ""
    explain: bool = False
    question_label: str | None = None
    include_names: bool = False
    visible_since_membership: bool = False
    stored_system_rows: StoredSystemRows | None = None
    semantic_scope: SearchScope = SearchScope.CHANNEL
    omit: frozenset[ResponsePart] = frozenset()
    language: LanguageTag | None = None
    provider: str = ""
    without_summary: bool = False
    tool_outputs: OutputPolicy | None = None
    tool_output_chars: int | None = None
    cache_marks: bool | None = None
    pictures: tuple[MediaPart, ...] = ()
    include_pictures: bool = False
    viewer_id: str = ""
    author_visibility: AuthorVisibility | None = None
    allowed_author_ids: tuple[str, ...] = ()
    viewer: Viewer = EVERYTHING
    seen_until_seq: int | None = None
    catch_up: CatchUp | None = None
    time_left_s: float | None = None
    only_looks: bool = False
    calibration: float = 1.0
    allowed: AllowedChannels | None = None
    exploration_seed: int | None = None


class TokenCounts(msgspec.Struct, frozen=True):
    """Where the tokens went; `total` is the sum of all parts and at most `budget`.

    `budget` is in our tokens: what was asked for, divided by `calibration`.
    """

    tokenizer: TokenizerName
    budget: int
    system: int = 0
    tools: int = 0
    preferences: int = 0
    recent: int = 0
    semantic: int = 0
    question: int = 0
    framing: int = 0
    reserve: int = 0
    summary: int = 0
    calibration: float = 1.0

    @property
    def total(self) -> int:
        """Sum of all parts, the reserve included."""
        return (
            self.system
            + self.tools
            + self.preferences
            + self.recent
            + self.semantic
            + self.question
            + self.framing
            + self.reserve
            + self.summary
        )


class Draw(msgspec.Struct, frozen=True, eq=False):
    """How the last places of a selection were drawn. Arrays run parallel to the candidates.

    Attributes
    ----------
    slots, temperature, seed : of the draw; see `learning.exploration.draw_slots`.
    seed_given : the request brought the seed.
    probability : of the set that was drawn, in (0, 1).
    features : float64[m, f]
        What each of `factors` was, before it was weighed.
    inclusion : float64[m]
        The probability of each to be chosen.
    drawn : bool[m]
        Which were chosen, be it that the budget has no room for them.
    """

    slots: int
    temperature: float
    seed: int
    probability: float
    factors: tuple[str, ...]
    features: NDArray[np.float64]
    inclusion: NDArray[np.float64]
    drawn: NDArray[np.bool_]
    seed_given: bool = False


@dataclass(frozen=True, slots=True)
class CandidateExplanation:
    """Why one candidate is in or out; `shares` run parallel to `Explanation.factors` and sum to `linear`.

    `scored_by` says what the score is of: link, conversation, memory, score, recency.
    """

    message_id: str
    sources: tuple[str, ...]
    shares: tuple[float, ...]
    linear: float
    score: float
    decided_by: str
    fate: Fate
    rank: int = 0
    scored_by: str = "score"


class OfOtherChannel(NamedTuple):
    """Where a candidate of another channel is from, and why it may be shown; `group`: see `lines.Elsewhere`."""

    channel: str
    rule: VisibilityRule
    group: str


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Every candidate of a build by column, m long, in time order.

    Attributes
    ----------
    message_ids, sources, fates, decided_by, ranks, scored_by : sequences
        As in `CandidateExplanation`.
    shares : float64[m, f], linear, scores : float64[m]
    elsewhere : the last candidates, as many as are of other channels
    """

    profile: str
    factors: tuple[str, ...]
    weights: tuple[float, ...]
    threshold: float
    link: str
    message_ids: Sequence[str]
    sources: Sequence[tuple[str, ...]]
    shares: NDArray[np.float64]
    linear: NDArray[np.float64]
    scores: NDArray[np.float64]
    fates: Sequence[Fate]
    decided_by: Sequence[str]
    ranks: Sequence[int]
    scored_by: Sequence[str]
    elsewhere: Sequence[OfOtherChannel] = ()

    @property
    def candidates(self) -> tuple[CandidateExplanation, ...]:
        """One entry a candidate."""
        shares = map(tuple, self.shares.tolist())
        columns = (
            self.message_ids, self.sources, shares, self.linear.tolist(), self.scores.tolist(), self.decided_by,
            self.fates, self.ranks, self.scored_by,
        )  # fmt: skip
        return tuple(map(CandidateExplanation, *columns))


class PrefixChange(IntEnum):
    """What a payload begins with, beside the one before of the same conversation (context.proto)."""

    NONE = 1
    FIRST = 2
    TOOLS = 3
    SYSTEM = 4
    SUMMARY = 5
    TRIMMED = 6
    STYLE = 7
    MESSAGES = 8


class Diagnostics(msgspec.Struct, frozen=True):
    """What may differ between two equal requests."""

    stage_us: Mapping[str, int]
    cache_hit: bool = False
    channel_generation: int = 0
    exhaustive_search: bool = True
    candidate_count: int = 0
    prefix_change: PrefixChange | None = None


class BuiltContext(msgspec.Struct, frozen=True, eq=False):
    """The answer to one build.

    `content`, uint8[n], has the fields of payloads, text, items and messages as they are sent; `payload_messages` are
    those of the payload as values, where they were asked for. `narrow_thread_id` is the thread whose messages alone
    were candidates; empty: the whole channel was looked at. `session_id`: the session that it is for, if one is known.
    `draw`: how its last places were drawn; None: nothing was left to chance.
    """

    context_id: str
    channel_known: bool
    asked_at_ms: int
    profile: str
    content: NDArray[np.uint8]
    item_count: int
    tokens: TokenCounts
    stable_prefix_tokens: int
    stable_prefix_messages: int
    rung: Rung
    degradations: tuple[Degradation, ...]
    layout: Layout
    speaker_style: SpeakerStyle
    diagnostics: Diagnostics
    trigger_fragment: bytes | None = None
    addressed: bool = False
    question_type: MessageType | None = None
    summary: str | None = None
    events: tuple[Event, ...] = ()
    explanation: Explanation | None = None
    channel: str = ""
    narrow_thread_id: str = ""
    session_id: str = ""
    model: str = ""
    payload_messages: tuple[NeutralMessage, ...] = ()
    language: Language = Language.EN
    experiment_id: str = ""
    arm: str = ""
    omit: frozenset[ResponsePart] = frozenset()
    draw: Draw | None = None
