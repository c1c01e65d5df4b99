"""Profiles: short, named lists of stages with their settings.

What is pinned is in every profile but `classic` and `naive`, which stay the formulas they are.

The MEMORY_ weights, threshold and window define `classic` only; maximum, switches and timeout apply to all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo

import msgspec

from backscroll_scoring import ScoreParameters
from backscroll_sidecar.context.compress import Compressor
from backscroll_sidecar.context.layouts import Assembler
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.moment import PartialReplies
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import ChannelSettings, Embedding, Overrides, StoredSystemRows
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.ports import ArmSettings
from backscroll_sidecar.texts import ENGLISH, NEUTRAL, Texts, Wordings
from backscroll_sidecar.tool_outputs import WHOLE, ToolOutputs

WORTH_ITS_TOKENS = 0.1
"""Probability from which a line is worth its tokens behind the first 20: of those said to be .1 to .2 likely .046
belong, of those below .023. On irc_dev (every second question) 34 lines hold .967 of the conversation in 755 tokens;
from .05 it takes 924 for .978, all 103 candidates take 2,328."""

MOST_RECALLED = 40
"""Lines of the whole history that a build takes at most. Those behind are not worth their tokens either: 64 find
as much of the evidence in 2,048 tokens (.918, .869, .887 on locomo_dev, madial_zh_dev and madial_en_dev; 40: .916,
.876, .900; 32: .907, .854, .842); in 1,024 tokens 40 and 64 are the same."""

EXPLORATION_TEMPERATURE = 0.1
"""Of `classic` the lines about its last places score some hundredths apart, and its sum is at most 1."""

PREFERENCES, RECENT = "preferences", "recent"
KEPT_ROUTES = 256
"""Combinations of profile, overrides, time zone and model that are kept; a bot uses one or two."""
USUAL_CHANNEL, USUAL_ARM = ChannelSettings(), ArmSettings()
S = TypeVar("S", bound=msgspec.Struct)
SHOWN_CHARS = 40
"""Of an unknown name so many printable ASCII characters are repeated: enough to see the slip."""

Diversity = Literal["none", "collapse", "mmr"]
Fusion = Literal["rrf", "linear"]


@dataclass(frozen=True, slots=True)
class Profile:
    """How context is picked.

    `sources` run in this order. `recent_limit` (messages) and `window_limit`, `window_hours`, `thread_limit` bound
    them, `recall_limit` those that look through the whole history. `parameters` None means recency decides, with
    `replies` the reply model, with `by_memory` the score for long memory. `threshold` is compared with the score;
    the `least_context` best, the `recent_floor` newest and, with `keep_chain`, the question's ancestors are kept
    whatever their score. So is, with `keep_answered`, the message that it replies to: a candidate whatever the sources.
    With `keep_thread` a trigger inside a thread narrows the build to it.
    `diversity` says what happens to references that are alike: of near-duplicates the best ranked stays, or all are
    ranked by MMR. `fusion` ranks by what the sources themselves hold best, by their ranks ("rrf") or their scores
    ("linear"); age then takes at most `recency_share` of that away, half of it at `recency_half_life_minutes`.
    `references` are sources whose finds are shown as references, whatever they say. `memory_sources` look through the
    whole history where the gate says that the question needs it. `max_messages` and `max_chars_per_message` are the
    compressor's limits, None: no limit of its own. `compressor` and `assembler` are the operator's, None: built
    in. With `falls_back` the last messages are taken where each source of messages failed. `names_sources`: the request
    said which sources. `is_steady`: the newest messages are shown from a point on that moves in steps
    (`steady_window`), whatever their score; what else is found is shown as references behind them.
    The last `exploration_slots` places are drawn, at `exploration_temperature` in units of the weighted sum; only where
    `parameters` make one.
    """

    name: str
    sources: tuple[str, ...]
    parameters: ScoreParameters | None = None
    by_memory: bool = False
    threshold: float = 0.0
    least_context: int = 0
    max_context: int = 20
    token_budget: int = 4_096
    recent_limit: int = 20
    window_limit: int = 50
    window_hours: int = 24
    thread_limit: int = 15
    semantic_limit: int = 5
    recall_limit: int = 64
    recent_floor: int = 0
    allows_floor: bool = True
    keep_chain: bool = False
    keep_answered: bool = True
    keep_thread: bool = True
    replies: bool = False
    fusion: Fusion | None = None
    recency_share: float = 0.0
    recency_half_life_minutes: float = 60.0
    references: tuple[str, ...] = ()
    memory_sources: tuple[str, ...] = ()
    follow_inferred: bool = True
    collapse_duplicates: bool = False
    diversity: Diversity = "none"
    max_messages: int | None = None
    max_chars_per_message: int | None = None
    is_instructed: bool = False
    compressor: Compressor | None = None
    assembler: Assembler | None = None
    falls_back: bool = False
    names_sources: bool = False
    is_steady: bool = False
    exploration_slots: int = 0
    exploration_temperature: float = EXPLORATION_TEMPERATURE

    @property
    def explores(self) -> bool:
        """Whether its last places are drawn."""
        return self.exploration_slots > 0 and self.parameters is not None

    @property
    def asks_memory_alone(self) -> bool:
        """Whether nothing but sources of the history were asked for: then no gate stands before them."""
        if not (self.names_sources and self.memory_sources):
            return False
        return not self.message_sources

    @property
    def message_sources(self) -> tuple[str, ...]:
        """Those of its sources that propose messages."""
        return tuple(name for name in self.sources if name != PREFERENCES)

    @property
    def has_own_stages(self) -> bool:
        """Whether a stage is the operator's: then it runs in a thread."""
        return self.compressor is not None or self.assembler is not None


_HYBRID = Profile(
    "hybrid", ("recent", "lexical", "semantic", "graph", "pinned", "preferences"), None,
    fusion="rrf", recency_share=0.2, references=("lexical", "semantic"), diversity="mmr",
    max_context=20, recent_limit=20, recall_limit=20, semantic_limit=20, thread_limit=20,
)  # fmt: skip

_BALANCED = Profile(
    "balanced", ("thread", "recent", "pinned", "preferences"), None, replies=True, follow_inferred=False,
    memory_sources=("lexical", "semantic"), diversity="collapse",
    threshold=WORTH_ITS_TOKENS, least_context=20, max_context=200, recent_limit=100, recent_floor=2,
    recall_limit=MOST_RECALLED, keep_chain=True, collapse_duplicates=False,
)  # fmt: skip

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        _BALANCED,
        Profile(
            "classic", ("thread", "window", "preferences"), ScoreParameters(),
            threshold=0.3, max_context=20, follow_inferred=False, allows_floor=False, keep_answered=False,
            keep_thread=False,
        ),
        Profile(
            "chain_recent", ("chain", "recent", "pinned", "preferences"), None,
            max_context=25, recent_limit=10, keep_chain=True,
        ),
        Profile(
            "retrieval", ("recent", "semantic", "pinned", "preferences"), None,
            max_context=15, recent_limit=10, semantic_limit=5, diversity="collapse", is_instructed=True,
        ),
        Profile(
            "naive", ("recent", "preferences"), None,
            max_context=500, recent_limit=12, window_limit=12, thread_limit=12, semantic_limit=12, recall_limit=12,
            max_messages=12, max_chars_per_message=4_000, token_budget=16_384, falls_back=True,
        ),
        Profile(
            "memory", ("lexical", "recall", "pinned", "preferences"), by_memory=True, collapse_duplicates=True,
        ),
        _HYBRID,
        replace(_HYBRID, name="hybrid_linear", fusion="linear"),
        replace(
            _BALANCED, name="steady", is_steady=True, max_context=1_000, recent_limit=1_000, recent_floor=0,
            allows_floor=False, token_budget=16_384, max_chars_per_message=8_000,
        ),
        Profile("room", ("recent", "pinned", "preferences"), None, max_context=20, recent_limit=20),
    )
}  # fmt: skip


def with_overrides(profile: Profile, overrides: Overrides) -> Profile:
    """The profile with a request's overrides applied."""
    if profile.max_messages is not None and overrides.max_context is not None:
        profile = _taking(profile, overrides.max_context)
    wanted = tuple(dict.fromkeys(overrides.sources))
    gated = profile.memory_sources
    changes = {
        "max_context": overrides.max_context,
        "window_hours": overrides.time_window_hours,
        "threshold": overrides.relevance_threshold,
        # Who gives a threshold means it for every place.
        "least_context": None if overrides.relevance_threshold is None else 0,
        "max_chars_per_message": overrides.max_chars_per_message,
        "recent_limit": overrides.recent_limit,
        "sources": tuple(name for name in wanted if name not in gated) if wanted else None,
        "memory_sources": tuple(name for name in gated if name in wanted) if wanted else None,
        "recent_floor": overrides.recent_floor if profile.allows_floor else None,
        "recency_half_life_minutes": overrides.recency_half_life_minutes,
        "falls_back": False if wanted else None,
        "names_sources": True if wanted else None,
        "is_steady": False if wanted and RECENT not in wanted else None,
        "parameters": _scoring(profile.parameters, overrides),
        "exploration_slots": overrides.exploration_slots,
        "exploration_temperature": overrides.exploration_temperature,
    }
    kept = {name: value for name, value in changes.items() if value is not None}
    return replace(profile, **kept) if kept else profile  # type: ignore[arg-type]


def _taking(profile: Profile, message_count: int) -> Profile:
    """The profile whose compressor keeps so many messages; its sources propose as many at least."""
    return replace(
        profile,
        max_messages=message_count,
        recent_limit=max(profile.recent_limit, message_count),
        window_limit=max(profile.window_limit, message_count),
        thread_limit=max(profile.thread_limit, message_count),
        semantic_limit=max(profile.semantic_limit, message_count),
        recall_limit=max(profile.recall_limit, message_count),
    )


def _scoring(parameters: ScoreParameters | None, overrides: Overrides) -> ScoreParameters | None:
    """The scorer with another rate of decay and other weights; None where it stays as it is."""
    if parameters is None:
        return None
    given = msgspec.structs.astuple(overrides.weights)
    first, second, third, fourth, fifth = (
        usual if one is None else one for usual, one in zip(parameters.weights, given, strict=True)
    )
    weights = (first, second, third, fourth, fifth)
    decay_per_hour = overrides.decay_per_hour
    if decay_per_hour is None:
        decay_per_hour = parameters.decay_per_hour
    changed = replace(parameters, weights=weights, decay_per_hour=decay_per_hour)
    return None if changed == parameters else changed


@lru_cache(maxsize=KEPT_ROUTES)
def both(usual: Overrides, first: Overrides) -> Overrides:
    """What either says; `first` where both do."""
    weights = _each(usual.weights, first.weights)
    return msgspec.structs.replace(_each(usual, first), weights=weights)


def _each(usual: S, first: S) -> S:
    given = {
        name: value
        for name, value in msgspec.structs.asdict(first).items()
        if value not in (None, ())
    }
    return msgspec.structs.replace(usual, **given)


def plain(profile: Profile, message_count: int) -> Profile:
    """The profile with ranking switched off: the last messages, nothing else."""
    return replace(
        profile, sources=("recent", "preferences"), parameters=None, threshold=0.0,
        max_context=message_count, recent_limit=message_count, recent_floor=0, keep_chain=False,
        collapse_duplicates=False, diversity="none", replies=False, fusion=None, references=(),
        memory_sources=(), by_memory=False, is_steady=False, exploration_slots=0,
    )  # fmt: skip


def find_profile(profiles: Mapping[str, Profile], name: str, field: str = "profile") -> Profile:
    """The profile of that name, or `InvalidRequest` with the known names and what can be shown of this one."""
    if name not in profiles:
        known = ", ".join(sorted(profiles))
        given = "".join(c for c in name if " " <= c <= "~")[:SHOWN_CHARS]
        near = get_close_matches(name.strip().casefold(), profiles, n=1)
        raise InvalidRequest(
            f'profile "{given}" is none of: {known}'
            + (f'; did you mean "{near[0]}"?' if near else ""),
            field=field,
            reason=Reason.UNKNOWN_PROFILE,
            metadata={"known": known, "given": given},
        )
    return profiles[name]


class Route(msgspec.Struct, frozen=True):
    """What a request resolves to before anything is read.

    `fallback`: the last messages, where `profile` fails; `keep_control`: control tokens in texts stay; `system_rows`:
    how stored system rows are shown; `texts`: those the server adds, right once the question is known (`asked`).
    """

    profile: Profile
    fallback: Profile
    zone: ZoneInfo
    model: str
    keep_control: bool = False
    system_rows: StoredSystemRows = StoredSystemRows.USER
    texts: Texts = ENGLISH

    def showing_newest(self, count: int) -> Route:
        """The same where so many of the newest messages are shown whatever their score."""
        profile = replace(self.profile, recent_limit=count, recent_floor=count)
        return msgspec.structs.replace(self, profile=profile)

    def asked(self, texts: Texts) -> Route:
        """The same where the server's texts for the question are these."""
        return self if texts is self.texts else msgspec.structs.replace(self, texts=texts)


class Routes:
    """Routes requests by the server's settings. `dims_of`: the size of an embedder's vectors, 0 when not known."""

    def __init__(
        self,
        settings: ContextSettings,
        dims_of: Callable[[str], int],
    ) -> None:
        self._settings = settings
        self._dims_of = dims_of
        self._known = lru_cache(maxsize=KEPT_ROUTES)(self._resolved)

    def of(
        self,
        request: BuildRequest,
        channel: ChannelSettings = USUAL_CHANNEL,
        arm: ArmSettings = USUAL_ARM,
    ) -> Route:
        """Profile: the request's, else the arm's, else the bot's, else the channel's, else the server's.

        What is set for a channel while the server runs comes before what its configuration says of it. Overrides are
        those of all three, one by one: the request's before the arm's before the channel's.
        """
        settings = self._settings
        if request.query_embedding is not None:
            self._check_embedding(request.query_embedding)
        bot = settings.bots.get(request.self_ids[0]) if request.self_ids else None
        name = (
            request.profile
            or (arm.profile if arm.profile in settings.profiles else "")
            or (bot.profile if bot else "")
            or (channel.profile if channel.profile in settings.profiles else "")
            or settings.channel_profiles.get(request.key.channel, "")
            or settings.default_profile
        )
        overrides = request.overrides
        if arm.overrides is not USUAL_ARM.overrides:
            overrides = both(arm.overrides, overrides)
        if channel.overrides is not USUAL_CHANNEL.overrides:
            overrides = both(channel.overrides, overrides)
        return self._known(
            name,
            overrides,
            request.time_zone or settings.time_zone,
            request.model,
            request.stored_system_rows,
        )

    def _resolved(
        self,
        name: str,
        overrides: Overrides,
        time_zone: str,
        model: str,
        system_rows: StoredSystemRows | None,
    ) -> Route:
        """What a request asks for by settings alone; the same for every request that has them."""
        settings = self._settings
        profile = find_profile(settings.profiles, name)
        if settings.max_context is not None:
            profile = replace(profile, max_context=settings.max_context)
        profile = with_overrides(profile, overrides)
        wanted = overrides.use_intelligent_context
        if not (settings.intelligent if wanted is None else wanted):
            limits = (overrides.max_context, settings.max_context)
            most = next((limit for limit in limits if limit is not None), settings.plain_messages)
            profile = plain(profile, min(most, settings.plain_messages))
        return Route(
            profile,
            plain(profile, min(profile.max_context, settings.fallback_messages)),
            ZoneInfo(time_zone),
            model or settings.default_model,
            settings.keep_control_tokens,
            system_rows or settings.stored_system_rows,
            settings.wordings.english,
        )

    def _check_embedding(self, given: Embedding) -> None:
        """A vector of another size is no vector of this embedder: it is refused, not passed over."""
        dims = self._dims_of(given.embedder_id)
        if dims not in {0, len(given.values)}:
            raise InvalidRequest(
                f"query_embedding has {len(given.values)} dimensions, this embedder's vectors have {dims}",
                field="query_embedding.values",
            )


@dataclass(frozen=True, slots=True)
class BotSettings:
    """What is set for one bot, by its user id (the first of `self_ids`). Empty or None: the server's."""

    system_text: str | None = None
    profile: str = ""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Settings of every build.

    Attributes
    ----------
    intelligent : MEMORY_ENABLE_INTELLIGENT_MEMORY; off takes the last `plain_messages`.
    fallback_on_error : MEMORY_FALLBACK_ON_ERROR; off goes from an error straight to an empty context.
    time_zone : of shown times, and of dates in questions, where a request names none.
    max_context : MEMORY_MAX_CONTEXT_MESSAGES; None keeps the profiles' own maximum.
    timeout_s : MEMORY_CONTEXT_BUILD_TIMEOUT_SECONDS, then the ladder.
    fallback_messages : how many the second rung takes.
    orphan_calls : what becomes of a tool call whose result is gone.
    partial_replies : when a reply of the bot's that broke off is shown.
    keep_control_tokens : control tokens of chat templates in stored texts are shown as they are.
    stored_system_rows : how stored system rows are shown where a request leaves it open.
    wordings : the texts the server adds, in each language.
    system_text : the server's system text; None leaves it to the profile.
    channel_profiles : profile by channel.
    provider : who gets payloads, where a request leaves it open.
    tool_outputs : how results of tools are shown, where a request leaves it open.
    """

    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    default_profile: str = "balanced"
    time_zone: str = "UTC"
    default_model: str = "gpt-4o-mini"
    intelligent: bool = True
    fallback_on_error: bool = True
    max_context: int | None = None
    timeout_s: float = 5.0
    plain_messages: int = 10
    fallback_messages: int = 20
    orphan_calls: OrphanCalls = OrphanCalls.SYNTHETIC
    partial_replies: PartialReplies = PartialReplies.WHEN_ASKED
    keep_control_tokens: bool = False
    stored_system_rows: StoredSystemRows = StoredSystemRows.USER
    wordings: Wordings = NEUTRAL
    system_text: str | None = None
    bots: Mapping[str, BotSettings] = field(default_factory=dict)
    channel_profiles: Mapping[str, str] = field(default_factory=dict)
    provider: str = ""
    tool_outputs: ToolOutputs = WHOLE
