"""What a build begins with: the channel, the question in it, the asker's preferences. What it waits for is here."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import UTC
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import structlog
from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.analyze import Analyzer, DateStyle
from backscroll_sidecar.channels import HIDDEN, WITHHELD, ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.concurrency.offload import INLINE_US, run
from backscroll_sidecar.context.arms import laid_out, takes_part
from backscroll_sidecar.context.candidates import SOURCE_SHARE
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.moment import moment_of, now_or_newest
from backscroll_sidecar.context.profiles import (
    PREFERENCES,
    USUAL_CHANNEL,
    ContextSettings,
    Profile,
    Route,
)
from backscroll_sidecar.context.question import Question, resolve_question, resolve_us
from backscroll_sidecar.context.response import Opened, reason_of
from backscroll_sidecar.context.shared_channels import SharedChannels
from backscroll_sidecar.context.viewers import viewer_of
from backscroll_sidecar.domain import (
    ChannelKey,
    ChannelSettings,
    Degradation,
    StoredMessage,
    StoredSystemRows,
)
from backscroll_sidecar.errors import (
    BackscrollError,
    InvalidRequest,
    StoreUnavailable,
    unknown_channel,
)
from backscroll_sidecar.lines.line_format import iso_date
from backscroll_sidecar.ports import (
    NOWHERE,
    Clock,
    HistoryReader,
    Placement,
    StoredChannelSettings,
    StoredExperiments,
)
from backscroll_sidecar.sessions.session import Session
from backscroll_sidecar.strategies import StrategyQuery
from backscroll_sidecar.summaries.compaction import Conversation

MOST_OF_USER = 1_000
"""Of what somebody said in all channels so many messages are looked through, the newest."""
LOOKS_BACK = frozenset({"lexical", "recall", "semantic"})
"""Sources that look through the whole history."""
log = structlog.get_logger(__name__)


class StoredSummary(Protocol):
    """A summary of a conversation, as far as builds read it."""

    @property
    def text(self) -> str: ...
    @property
    def upto_seq(self) -> int: ...
    @property
    def newest_ms(self) -> int: ...


class ToldSummary(NamedTuple):
    """What is told of before."""

    text: str
    upto_seq: int
    newest_ms: int


class StoredPeriod(StoredSummary, Protocol):
    """A summary of a past period, as far as builds read it."""

    @property
    def start_ms(self) -> int: ...
    @property
    def end_ms(self) -> int: ...


class StoredPeriods(Protocol):
    """Where a build gets the summaries of past periods from."""

    @property
    def usual_hours(self) -> int:
        """The length of a period where none is set for a channel; 0: none are summarised."""

    async def shown(self, key: ChannelKey, hours: int) -> Sequence[StoredPeriod]:
        """The newest ones, the oldest first; none where none are wanted. Raises `StoreUnavailable`."""


class StoredSummaries(Protocol):
    """Where a build gets the summary of a channel, or of one thread of it, from."""

    def is_known(self, conversation: Conversation) -> bool:
        """Whether `known` can tell; else it must be read."""

    def known(self, conversation: Conversation) -> Sequence[StoredSummary]:
        """The newest ones, the newest first."""

    async def read(self, conversation: Conversation) -> Sequence[StoredSummary]:
        """The same from the store. Raises `StoreUnavailable`."""


class Views(Protocol):
    """Where a build gets the channel from: the only part of the path that does I/O."""

    def hot_view(self, key: ChannelKey) -> ChannelView | None:
        """The channel if it is in memory."""

    async def view(self, key: ChannelKey) -> ChannelView | None:
        """The channel, loaded if need be; None when it was never heard of. Raises `StoreUnavailable`."""

    async def view_of_user(
        self, tenant: str, user_id: str, limit: int, channels: Sequence[str] = ()
    ) -> ChannelView | None:
        """What one user said in these channels, newest `limit`; none named: in any."""

    def view_of(self, tenant: str, stored: Sequence[StoredMessage]) -> ChannelView:
        """Messages of any channels, by time, as a view of their own."""

    def empty_view(self, key: ChannelKey) -> ChannelView:
        """A channel with nothing in it."""


class StoredPreferences(Protocol):
    """Where a build gets preferences from."""

    def known(
        self, key: ChannelKey, user_id: str, question: str, at_ms: int
    ) -> tuple[str, ...] | None:
        """The lines about a user that hold in a channel at a moment, of too many those that matter for the question;
        None: they must be read.
        """

    async def read(
        self, key: ChannelKey, user_id: str, question: str, at_ms: int
    ) -> tuple[str, ...]:
        """The same, read. Raises `StoreUnavailable`."""


class StoredSessions(Protocol):
    """Where a build gets the session that it is for from."""

    async def find(
        self,
        tenant: str,
        session_id: str,
        channel: str = "",
        allowed: AllowedChannels | None = None,
    ) -> Session | None:
        """The session of this id or alias, that of the channel first; None: there is none in an allowed channel.

        Raises `StoreUnavailable`, and `InvalidRequest` where several could be meant.
        """


class Opening:
    """Opens channels as views, and finds in them what is asked. `preferences`: of askers; None: nothing is stored."""

    def __init__(
        self,
        views: Views,
        store: HistoryReader,
        analyzer: Analyzer,
        settings: ContextSettings,
        clock: Clock,
        preferences: StoredPreferences | None,
        summaries: StoredSummaries | None = None,
        sessions: StoredSessions | None = None,
        channel_settings: StoredChannelSettings | None = None,
        experiments: StoredExperiments | None = None,
        periods: StoredPeriods | None = None,
    ) -> None:
        self.views = views
        self._store = store
        self._analyzer = analyzer
        self._settings = settings
        self._clock = clock
        self._preferences = preferences
        self._summaries = summaries
        self._sessions = sessions
        self._channel_settings = channel_settings
        self._periods = periods
        self.shared = SharedChannels(views, store, channel_settings)
        self._experiments = experiments

    async def settings_of(
        self, key: ChannelKey, deadline: Deadline
    ) -> tuple[ChannelSettings, tuple[Degradation, ...]]:
        """What is set for the channel; the usual, and why, where that cannot be read now."""
        stored = self._channel_settings
        if stored is None or not key.channel:
            return USUAL_CHANNEL, ()
        known = stored.known(key)
        if known is not None:
            return known, ()
        try:
            return await deadline.bound(stored.read(key)), ()
        except (TimeoutError, BackscrollError) as error:
            return USUAL_CHANNEL, (Degradation("route", reason_of(error), "channel_settings"),)

    async def placed(
        self, request: BuildRequest, deadline: Deadline
    ) -> tuple[Placement, BuildRequest]:
        """Where the channel is among the arms of an experiment, and the request as that arm has it.

        Nowhere, and why, where that cannot be known now; and where the request itself says what the arms set.
        """
        experiments, key = self._experiments, request.key
        if experiments is None or not key.channel or request.catch_up is not None:
            return NOWHERE, request
        placement = experiments.known(key)
        if placement is None:
            try:
                placement = await deadline.bound(experiments.read(key))
            except (TimeoutError, BackscrollError) as error:
                lost = (Degradation("route", reason_of(error), "experiments"),)
                return Placement(lost=lost), request
        if not placement.experiment_id:
            return placement, request
        is_part = takes_part(request, placement)
        experiments.count(key, placement, takes_part=is_part)
        return (placement, laid_out(request, placement)) if is_part else (NOWHERE, request)

    async def seen_by_viewer(self, request: BuildRequest, deadline: Deadline) -> BuildRequest:
        """The request with whose eyes it is for, and in the channel of its session.

        Raises
        ------
        InvalidRequest
            It names another channel than its session has, or an id that sessions of several spaces have.
        StoreUnavailable
            The session cannot be read: what may be shown is not known.
        """
        session = None
        if request.session_id and self._sessions is not None:
            tenant = request.key.tenant
            try:
                found = self._sessions.find(
                    tenant, request.session_id, request.key.channel, request.allowed
                )
                session = await deadline.bound(found)
            except TimeoutError as error:
                raise StoreUnavailable("the session cannot be read now") from error
        if session is not None:
            if request.key.channel not in ("", session.key.channel):
                raise InvalidRequest("the session is in another channel", field="channel")
            request = replace(request, key=session.key, session_id=session.id)
        viewer = viewer_of(request, session)
        return request if viewer is request.viewer else replace(request, viewer=viewer)

    async def name_of_bot(self, request: BuildRequest) -> str:
        """The name that the bot has in the session of the request; empty: none that is known."""
        if not request.session_id or not request.self_ids or self._sessions is None:
            return ""
        try:
            session = await self._sessions.find(
                request.key.tenant, request.session_id, request.key.channel, request.allowed
            )
        except BackscrollError as error:
            log.warning("the session cannot be read", reason=error.reason.value)
            return ""
        bot = None if session is None else session.participant(request.self_ids[0])
        return "" if bot is None else bot.name

    async def open(self, request: BuildRequest, route: Route, deadline: Deadline) -> Opened:
        """The channel as of now; an empty one, with the reason, when it cannot be had.

        Raises
        ------
        NotFound
            The question is a stored message of a channel that was never heard of.
        StoreUnavailable
            The question is a stored message, and it cannot be read now.
        """
        hot = self.views.hot_view(request.key) if request.key.channel else None
        if hot is not None:
            return Opened(hot, known=True, cache_hit=True)
        try:
            view = await deadline.bound(self._load(request, route))
        except Exception as error:  # whatever went wrong on the way
            if not request.question.strip():
                raise StoreUnavailable("the history cannot be read now") from error
            reason = reason_of(error)
            log.warning("history unavailable", reason=reason, exc_info=reason == "ERROR")
            lost = (Degradation("gather", reason, "history"),)
            return Opened(self.views.empty_view(request.key), True, False, lost)
        known = view is not None
        is_stored = request.trigger_message_id and not request.question.strip()
        if request.key.channel and is_stored and not known:
            raise unknown_channel()
        return Opened(view or self.views.empty_view(request.key), known, cache_hit=False)

    async def _load(self, request: BuildRequest, route: Route) -> ChannelView | None:
        if request.key.channel:
            return await self.views.view(request.key)
        if request.asker is None:
            return None
        profile = route.profile
        limit = max(profile.recent_limit, profile.window_limit)
        if not LOOKS_BACK.isdisjoint(profile.sources + profile.memory_sources):
            limit = max(limit, MOST_OF_USER)
        tenant, user_id = request.key.tenant, request.asker.id
        if request.allowed is None:
            return await self.views.view_of_user(tenant, user_id, limit)
        channels = request.allowed.among(await self._store.channels_of_user(tenant, user_id))
        if not channels:  # none named would be all
            return None
        return await self.views.view_of_user(tenant, user_id, limit, channels)

    async def question_of(self, request: BuildRequest, route: Route, view: ChannelView) -> Question:
        """What is asked; a long text is read in a thread. No deadline: it is bounded, and all wait for it."""
        cost_us = resolve_us(request, view)
        resolve = partial(
            resolve_question,
            request,
            view,
            self._analyzer,
            self._clock.now_ms(),
            keep_thread=route.profile.keep_thread,
            partial_replies=self._settings.partial_replies,
            skips_system=route.system_rows is StoredSystemRows.SKIP,
            dates=DateStyle(
                route.zone, request.language is not None and request.language.is_day_first
            ),
        )
        return await run(cost_us, resolve)

    async def query_of(
        self, request: BuildRequest, profile: Profile, question: Question, deadline: Deadline
    ) -> tuple[tuple[Degradation, ...], StrategyQuery]:
        """What strategies are asked with; before it what could not be had of that.

        The stored preferences of the asker stand before those of the request, each once. The marks of rows that may be
        candidates are made already, in a thread, where that takes long; mostly nobody asks for them.
        """
        asker, stored = question.asker, self._preferences
        lost: tuple[Degradation, ...] = ()
        preferences, make_eligible = request.preferences, question.eligible
        if stored is not None and asker is not None and PREFERENCES in profile.sources:
            try:
                asked = (request.key, asker.id, question.text, question.asked_at_ms)
                lines = stored.known(*asked)
                if lines is None:
                    lines = await deadline.bound(stored.read(*asked), SOURCE_SHARE)
                if lines:
                    preferences = tuple(dict.fromkeys(map(str.strip, (*lines, *preferences))))
            except Exception as error:  # it costs only itself
                reason = reason_of(error)
                log.warning("preferences unavailable", reason=reason, exc_info=reason == "ERROR")
                lost = (Degradation("gather", reason, PREFERENCES),)
        if (cost_us := question.eligible_us()) > INLINE_US:
            marks = await run(cost_us, make_eligible)
            make_eligible = lambda: marks  # noqa: E731
        query = StrategyQuery(
            store=self._store,
            key=request.key,
            view=question.view,
            end=question.end,
            excluded=question.excluded(),
            make_eligible=make_eligible,
            user_id=question.asker.id if question.asker else "",
            question=question.text,
            asked_at_ms=question.asked_at_ms,
            parent_row=question.parent_row
            if profile.follow_inferred
            else question.explicit_parent_row,
            preferences=preferences,
            recent_limit=profile.recent_limit,
            window_limit=profile.window_limit,
            window_hours=profile.window_hours,
            thread_limit=profile.thread_limit,
            semantic_limit=profile.semantic_limit,
            recall_limit=profile.recall_limit,
            follow_inferred=profile.follow_inferred,
            query_embedding=request.query_embedding,
            trigger_row=question.trigger_row,
            self_ids=request.self_ids,
            thread_id=question.thread_id,
            is_narrow=question.is_narrow,
            lost_parent=question.lost_parent,
            mentioned=question.mentioned,
            dates=question.dates,
        )
        return lost, query

    async def summaries_of(
        self,
        request: BuildRequest,
        question: Question,
        deadline: Deadline,
        *,
        hours: int | None,
        is_steady: bool,
    ) -> tuple[Sequence[StoredSummary], tuple[Degradation, ...]]:
        """The summaries of the conversation that the question belongs to, the newest first, and what went wrong.

        None of them tells of what was said after the question, or is hidden from the asker. `hours`: of past periods
        whose summaries stand before it, as it is set for the channel; a window that moves in steps has none.
        """
        summaries, thread_id = self._summaries, question.narrow_thread_id
        if summaries is None or request.without_summary or not request.key.channel:
            return (), ()
        session_id = "" if thread_id else request.viewer.session_id
        conversation = Conversation(request.key, thread_id, session_id)
        try:
            if summaries.is_known(conversation):
                found = summaries.known(conversation)
            else:
                found = await deadline.bound(summaries.read(conversation), SOURCE_SHARE)
            periods: Sequence[StoredPeriod] = ()
            if self._periods is not None and hours is None:
                hours = self._periods.usual_hours
            if self._periods is not None and hours and not (is_steady or thread_id):
                periods = await deadline.bound(
                    self._periods.shown(request.key, hours), SOURCE_SHARE
                )
        except Exception as error:  # it costs only itself
            reason = reason_of(error)
            log.warning("a summary is unavailable", reason=reason, exc_info=reason == "ERROR")
            return (), (Degradation("gather", reason, "summary"),)
        told = [one for one in found if _may_be_told(one, question, conversation)]
        past = [one for one in periods if _may_be_told(one, question, conversation)]
        return ([_behind(past, told)] if past else told), ()

    async def asked_now_ms(self, key: ChannelKey) -> int:
        """When a question without a time of its own is asked: now, and not before the newest line of its channel."""
        deadline = Deadline(self._clock, self._settings.timeout_s, None)
        return now_or_newest(await self._view_if_any(key, deadline), self._clock.now_ms())

    async def stored_question(self, request: BuildRequest) -> tuple[str, int] | None:
        """The id of the stored message that is the request's question though it names none, and when it is asked."""
        deadline = Deadline(self._clock, self._settings.timeout_s, request.time_left_s)
        view = await self._view_if_any(request.key, deadline)
        if view is None or not request.question.strip():
            return None
        moment = moment_of(request, view, self._clock.now_ms())
        row = moment.trigger_row
        return None if row < 0 else (view.message_ids[row], moment.asked_at_ms)

    async def _view_if_any(self, key: ChannelKey, deadline: Deadline) -> ChannelView | None:
        """The channel as of now; None, too, where it cannot be had: a build names what is wrong with the store."""
        view = self.views.hot_view(key)
        if view is None:
            with contextlib.suppress(Exception):
                view = await deadline.bound(self.views.view(key))
        return view


def _behind(past: Sequence[StoredPeriod], told: Sequence[StoredSummary]) -> ToldSummary:
    """Summaries of periods, each with the days it is of, and behind them that of the conversation."""
    texts = [f"## {_days(one)}\n{one.text}" for one in past]
    return ToldSummary(
        "\n\n".join((*texts, *(one.text for one in told[:1]))),
        max(one.upto_seq for one in (*past, *told[:1])),
        max(one.newest_ms for one in (*past, *told[:1])),
    )


def _days(period: StoredPeriod) -> str:
    """``2026-11-20``, ``2026-11-16 – 2026-11-22``: from the first to the last day, by UTC."""
    first, last = iso_date(period.start_ms, UTC), iso_date(period.end_ms - 1, UTC)
    return first if first == last else f"{first} – {last}"


def _may_be_told(summary: StoredSummary, question: Question, conversation: Conversation) -> bool:
    """Whether all that a summary tells of was said before the question, and its asker may see it."""
    view = question.view
    if summary.newest_ms > question.asked_at_ms:
        return False
    if view.all_live:
        return True
    told = view.seq <= summary.upto_seq
    hidden = view.state == HIDDEN
    session_id = conversation.session_id
    told_of = [  # what is not for everybody is in no summary, of another session not in a session's
        not audience and (not session_id or of in ("", session_id)) for of, audience in view.scopes
    ]
    hidden |= (view.state == WITHHELD) & np.array(told_of, np.bool_)[view.scope]
    return not bool((hidden & told).any())
