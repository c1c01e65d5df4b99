"""Everything a build found out, as its answer and as its log line. Pure but for the log."""

from __future__ import annotations

import logging
import secrets

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView, shown_id
from backscroll_sidecar.context.budget import Fitted
from backscroll_sidecar.context.candidates import Gathered
from backscroll_sidecar.context.compress import Limits
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.model import (
    BuildRequest,
    BuiltContext,
    Diagnostics,
    Explanation,
    OfOtherChannel,
)
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.ranking import (
    CHAIN,
    LINK,
    MEMORY,
    RECENCY_FACTORS,
    SCORE,
    STAGES,
    Ranked,
)
from backscroll_sidecar.context.selection import Selection
from backscroll_sidecar.context.stable_prefix import StablePrefix
from backscroll_sidecar.context.visibility import VisibilityRule
from backscroll_sidecar.domain import Degradation, Event, Rung
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.lines.line_source import Elsewhere
from backscroll_sidecar.ports import Clock
from backscroll_sidecar.telemetry.spans import BuildSpan

log = structlog.get_logger(__name__)
_RANKED = Rung.RANKED
_is_logged = logging.getLogger(__name__).isEnabledFor
"""Asked first: it remembers its answer, while the other logger is put together anew for every question."""


class Opened(msgspec.Struct, frozen=True, eq=False):
    """The channel a build reads, and what was lost on the way to it."""

    view: ChannelView
    known: bool
    cache_hit: bool
    degradations: tuple[Degradation, ...] = ()


def built_context(
    request: BuildRequest,
    model: str,
    context_id: str,
    opened: Opened,
    question: Question,
    picked: Picked,
    fitted: Fitted,
    content: NDArray[np.uint8],
    events: tuple[Event, ...],
    degradations: tuple[Degradation, ...],
    prefix: StablePrefix,
    watch: Stopwatch,
) -> BuiltContext:
    """Put the answer together; what the fit had to drop has its fate already."""
    gathered, parts = picked.gathered, fitted.parts
    return BuiltContext(
        context_id=context_id,
        channel_known=opened.known,
        asked_at_ms=question.asked_at_ms,
        profile=picked.profile.name,
        content=content,
        item_count=len(parts.lines),
        tokens=fitted.tokens,
        stable_prefix_tokens=prefix.tokens,
        stable_prefix_messages=prefix.message_count,
        rung=Rung.EMPTY if opened.degradations else picked.rung,
        degradations=degradations,
        layout=request.layout,
        speaker_style=parts.speaker,
        diagnostics=Diagnostics(
            watch.laps_us,
            opened.cache_hit,
            opened.view.generation,
            gathered.exhaustive,
            len(gathered.rows),
            prefix.change,
        ),
        trigger_fragment=opened.view.fragments[question.trigger_row]
        if question.trigger_row >= 0
        else None,
        addressed=question.addressed,
        question_type=question.message_type,
        events=events,
        summary=parts.summary or None,
        explanation=_explained(opened, picked, fitted) if request.explain else None,
        channel=request.key.channel,
        narrow_thread_id=question.narrow_thread_id,
        session_id=request.viewer.session_id,
        model=model,
        language=parts.texts.language,
        omit=request.omit,
        draw=picked.draw,
    )


def _explained(opened: Opened, picked: Picked, fitted: Fitted) -> Explanation:
    picked.selection.drop(fitted.dropped)
    return explain(
        opened.view, picked.gathered, picked.ranked, picked.selection, picked.profile, picked.elsewhere
    )  # fmt: skip


def reason_of(error: Exception) -> str:
    """The word for what went wrong with what the store keeps."""
    if isinstance(error, TimeoutError):
        return "TIMEOUT"
    return error.reason.value if isinstance(error, BackscrollError) else "ERROR"


def not_found(request: BuildRequest, opened: Opened, question: Question) -> tuple[Degradation, ...]:
    """What is named and not stored: a trigger costs its edges, mentions and place in time, a reply its edge.

    With neither channel nor asker nobody's messages are looked at.
    """
    lost: tuple[Degradation, ...] = ()
    if opened.degradations:
        return lost
    if not request.key.channel and question.asker is None:
        lost += (Degradation("question", "NO_ASKER"),)
    if request.trigger_message_id and question.trigger_row < 0:
        lost += (Degradation("question", "TRIGGER_NOT_FOUND"),)
    if request.reply is not None and opened.view.row_of(request.reply.message_id) < 0:
        lost += (Degradation("question", "REPLY_NOT_FOUND"),)
    return lost


def log_built(built: BuiltContext) -> None:
    """The path taken and the number of messages, no texts."""
    level = logging.DEBUG if built.rung is _RANKED else logging.WARNING
    if not _is_logged(level):
        return
    log.log(
        level,
        "context built",
        context_id=built.context_id,
        profile=built.profile,
        rung=built.rung.name,
        messages=built.item_count,
        tokens=built.tokens.total,
        degradations=[f"{d.stage}:{d.source}:{d.reason}" for d in built.degradations],
    )


def span_of(built: BuiltContext, watch: Stopwatch) -> BuildSpan:
    """What a trace tells of a build."""
    return BuildSpan(
        built.channel,
        built.context_id,
        built.profile,
        built.rung,
        watch.laps_us,
        watch.total_s,
        built.item_count,
        built.tokens.total,
        built.diagnostics.candidate_count,
        built.diagnostics.cache_hit,
        built.degradations,
    )


def agent_event_id(context_id: str) -> str:
    """Of what everything of a turn hangs under."""
    return f"{context_id}:agent"


def turn_event_id(context_id: str) -> str:
    """Of the turn's begin."""
    return f"{context_id}:turn"


def beginning_events(context_id: str, began_ms: int, message_id: str) -> tuple[Event, ...]:
    """That the bot began, and its turn, about this message."""
    agent, turn = agent_event_id(context_id), turn_event_id(context_id)
    return (
        Event(agent, "agent.started", "agent", began_ms, message_id=message_id),
        Event(turn, "turn.started", "turn", began_ms, agent, message_id=message_id),
    )


def compression_events(
    context_id: str, began_ms: int, at_ms: int, message_id: str, fitted: Fitted, limits: Limits
) -> tuple[Event, ...]:
    """What is recorded when something was cut: the agent's event, its turn, and the cut under the agent's."""
    return (
        *beginning_events(context_id, began_ms, message_id),
        Event(
            f"{context_id}:compressed",
            "context.compressed",
            "turn",
            at_ms,
            agent_event_id(context_id),
            {
                "original_count": fitted.original_count,
                "compressed_count": len(fitted.parts.lines),
                "max_messages": limits.max_messages or 0,
                "max_chars_per_message": limits.max_chars_per_message or 0,
            },
            message_id,
        ),
    )


ID_BYTES = 16
AT_ONCE = 256
"""Asking the system for random bytes costs a build some 8 µs, for how many hardly matters."""


class RandomIds:
    """Random ids of 128 bits in hexadecimal digits, each given once."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: list[str] = []

    def next(self) -> str:
        """One that nobody had."""
        if not self._left:
            digits = secrets.token_hex(ID_BYTES * AT_ONCE)
            self._left = [
                digits[at : at + 2 * ID_BYTES] for at in range(0, len(digits), 2 * ID_BYTES)
            ]
        return self._left.pop()


class Stopwatch:
    """Laps by name, in microseconds. `now_s`: when the last one ended."""

    __slots__ = ("_began_s", "_clock_s", "laps_us", "now_s")

    def __init__(self, clock: Clock) -> None:
        self._clock_s = clock.monotonic_s
        self._began_s = self.now_s = self._clock_s()
        self.laps_us: dict[str, int] = {}

    @property
    def total_s(self) -> float:
        """From the beginning to the last lap, in seconds."""
        return self.now_s - self._began_s

    def lap(self, stage: str) -> None:
        """The time since the last lap was that of `stage`, with what it took before."""
        now_s, laps_us = self._clock_s(), self.laps_us
        laps_us[stage] = laps_us.get(stage, 0) + int((now_s - self.now_s) * 1e6)
        self.now_s = now_s


def explain(
    view: ChannelView,
    gathered: Gathered,
    ranked: Ranked,
    selection: Selection,
    profile: Profile,
    elsewhere: Elsewhere | None = None,
) -> Explanation:
    """One entry a candidate, in time order; behind them those of other channels, in theirs."""
    shares, linear = ranked.contributions()
    scores = ranked.scores if ranked.all_scores is None else ranked.all_scores()
    count = len(scores)
    own = count if elsewhere is None else count - len(elsewhere.channels)
    ids = [shown_id(view.message_ids[row]) for row in gathered.rows[:own].tolist()]
    if elsewhere is not None:
        ids += map(shown_id, elsewhere.view.message_ids[:])
    ranks = np.zeros(count, np.int64)
    ranks[selection.chosen] = np.arange(1, len(selection.chosen) + 1)
    fates, decided_by = selection.account()
    return Explanation(
        profile.name,
        ranked.factors,
        ranked.weights,
        profile.threshold,
        ranked.link,
        ids,
        [gathered.sources_in(bits) for bits in gathered.source_bits.tolist()],
        np.ascontiguousarray(shares),
        linear,
        scores,
        fates,
        decided_by,
        ranks.tolist(),
        _kinds(ranked, profile),
        () if elsewhere is None else _of_others(elsewhere),
    )


def _of_others(elsewhere: Elsewhere) -> list[OfOtherChannel]:
    rules = map(VisibilityRule, elsewhere.rules.tolist())
    return list(map(OfOtherChannel, elsewhere.channels, rules, elsewhere.groups))


def _kinds(ranked: Ranked, profile: Profile) -> list[str]:
    """What each candidate's score is the score of."""
    by_score = "recency" if ranked.factors == RECENCY_FACTORS else SCORE
    # A parent known from the platform stands first among the links, with a link's score.
    words = {CHAIN: LINK, SCORE: MEMORY if profile.by_memory else by_score}
    return [words.get(STAGES[stage], STAGES[stage]) for stage in ranked.stages.tolist()]
