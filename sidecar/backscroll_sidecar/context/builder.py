"""BuildContext, top to bottom: route, open, question, pick, then join what is there, or fit, adapt, record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import structlog

from backscroll_sidecar.adapters import ADAPTERS, Adapter
from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.context.budget import Fitted
from backscroll_sidecar.context.compress import Limits
from backscroll_sidecar.context.elsewhere import SEMANTIC, drafted, with_elsewhere
from backscroll_sidecar.context.fallback_ladder import Picked, Picker, without_history
from backscroll_sidecar.context.joining import can_be_joined, join_content
from backscroll_sidecar.context.layouts import Parts
from backscroll_sidecar.context.model import BuildRequest, BuiltContext, JoinedContext, Payload
from backscroll_sidecar.context.opening import Asked, Opening, StoredPreferences, Views
from backscroll_sidecar.context.parts import (
    in_time_order,
    lines_of,
    question_text,
    shown_preferences,
    speaker_style,
)
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rendered_lines import AnswerCodec
from backscroll_sidecar.context.rendering import Pen
from backscroll_sidecar.context.response import (
    Opened,
    RandomIds,
    Stopwatch,
    built_context,
    compression_events,
    joined_context,
    log_built,
    not_found,
    reason_of,
)
from backscroll_sidecar.context.routing import ContextSettings, Route, Routes
from backscroll_sidecar.context.stages import fit_in_stages
from backscroll_sidecar.context.system_text import system_text
from backscroll_sidecar.domain import (
    Degradation,
    Event,
    ResponsePart,
    SpeakerStyle,
)
from backscroll_sidecar.lines.line_format import LineStyle
from backscroll_sidecar.ports import Clock, EventSink, HistoryReader
from backscroll_sidecar.strategies import Strategy
from backscroll_sidecar.telemetry.metrics import BuildNumbers

log = structlog.get_logger(__name__)


class _Begun(NamedTuple):
    """A build whose candidates are picked.

    `request` has the asker's stored preferences, too; `lost` says what of it could not be had.
    """

    request: BuildRequest
    lost: tuple[Degradation, ...]
    route: Route
    opened: Opened
    question: Question
    picked: Picked
    deadline: Deadline
    context_id: str
    watch: Stopwatch


class ContextBuilder:
    """Builds contexts. Safe to call from any task of the event loop; keeps nothing of a call but how it was routed.

    Parameters
    ----------
    views : gives the channels that builds read.
    preferences : what is stored of askers; None: nothing.
    dims_of : the size of an embedder's vectors by its id, 0 when it is not known.

    Attributes
    ----------
    opening : opens the channels that builds read.
    build_count : how many builds were begun.
    numbers : what those that were answered came to.
    """

    def __init__(
        self,
        views: Views,
        store: HistoryReader,
        strategies: Mapping[str, Strategy],
        analyzer: Analyzer,
        settings: ContextSettings,
        clock: Clock,
        events: EventSink,
        *,
        adapters: Mapping[str, Adapter] = ADAPTERS,
        picker: Picker | None = None,
        preferences: StoredPreferences | None = None,
        dims_of: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self.opening = Opening(views, store, analyzer, settings, clock, preferences)
        self._settings = settings
        self._clock = clock
        self._events = events
        self._adapters = adapters
        self._joins = adapters is ADAPTERS
        self._semantic = strategies.get(SEMANTIC)
        self._ids = RandomIds()
        self.build_count = 0
        self.numbers = BuildNumbers()
        self._picker = picker or Picker(
            strategies,
            fallback_on_error=settings.fallback_on_error,
            fallback_messages=settings.fallback_messages,
            orphan_calls=settings.orphan_calls,
            now_us=lambda: clock.monotonic_s() * 1e6,
        )
        self._routes = Routes(settings, dims_of)

    async def build(self, request: BuildRequest) -> BuiltContext:
        """The context of one question. Raises typed errors for bad requests only; what fails inside degrades."""
        try:
            return await self._put_together(await self._begin(request))
        except Exception as error:
            self.numbers.errors[reason_of(error)] += 1
            raise

    async def answer(
        self, request: BuildRequest, codec: AnswerCodec
    ) -> BuiltContext | JoinedContext:
        """The same for who wants its bytes alone: joined of stored ones where that is possible."""
        if not (self._joins and can_be_joined(request)):
            return await self.build(request)
        try:
            begun = await self._begin(request)
            joined = await self._join(begun, codec)
            return await self._put_together(begun) if joined is None else joined
        except Exception as error:
            self.numbers.errors[reason_of(error)] += 1
            raise

    async def _begin(self, request: BuildRequest) -> _Begun:
        """Route, open, question, pick: all that does not depend on how the answer is written."""
        self.build_count += 1
        watch = Stopwatch(self._clock)
        deadline = Deadline(self._clock, self._settings.timeout_s, request.time_left_s)
        route = self._routes.of(request)
        watch.lap("route")
        opened = await self.opening.open(request, route, deadline)
        watch.lap("open")
        asked = await self.opening.ask(request, route, opened, deadline)
        request, lost, opened, question, _ = asked
        route = route.asked(self._settings.wordings.of(request.language, question.text))
        watch.lap("question")
        picked = await self._pick(asked, route.profile, deadline)
        watch.lap("pick")
        context_id = self._ids.next()
        return _Begun(
            request, lost, route, opened, question, picked, deadline, context_id, watch
        )  # fmt: skip

    async def _join(self, begun: _Begun, codec: AnswerCodec) -> JoinedContext | None:
        """The answer joined of stored bytes; None where the long way must be gone."""
        request, lost, route, opened, question, picked, deadline, context_id, watch = begun
        if picked.profile.has_own_stages:
            return None
        system = system_text(request, self._settings, route, question)
        try:
            content = await join_content(
                request, route, system, opened.view, question, picked, codec, deadline
            )
        except Exception as error:  # the long way says what is wrong, if anything is
            log.warning("joining failed", error=type(error).__name__, exc_info=True)
            return None
        if content is None:
            return None
        watch.lap("join")
        degradations = (
            *opened.degradations,
            *not_found(request, opened, question),
            *lost,
            *picked.degradations,
        )
        joined = joined_context(
            request, context_id, opened, question, picked, content, degradations, watch
        )
        self._finish(joined, opened, watch)
        return joined

    async def _put_together(self, begun: _Begun) -> BuiltContext:
        """Parts, fit, adapt, record: the picked candidates as neutral messages and payloads."""
        request, unread, route, opened, question, picked, deadline, context_id, watch = begun
        parts = await self._parts(request, route, opened.view, question, picked)
        watch.lap("write")
        fitted, lost = await fit_in_stages(request, picked.profile, parts, deadline)
        watch.lap("fit")
        payloads, not_adapted = self._payloads(request, route, fitted)
        watch.lap("adapt")
        events = self._record(request, context_id, fitted, picked.profile, watch)
        degradations = (
            *opened.degradations,
            *not_found(request, opened, question),
            *unread,
            *picked.degradations,
            *lost,
            *not_adapted,
        )
        built = built_context(
            request, route.model, context_id, opened, question, picked, parts, fitted, payloads, events,
            degradations, watch,
        )  # fmt: skip
        self._finish(built, opened, watch)
        return built

    def _finish(
        self, built: BuiltContext | JoinedContext, opened: Opened, watch: Stopwatch
    ) -> None:
        watch.lap("record")
        self.numbers.add(watch.total_s, cache_hit=opened.cache_hit)
        self.numbers.tell(built.rung, built.degradations)
        log_built(built)

    async def _pick(self, asked: Asked, profile: Profile, deadline: Deadline) -> Picked:
        request, _, opened, question, query = asked
        if opened.degradations:
            return await without_history(query, profile, deadline)
        picked = await self._picker.pick(query, question, profile, deadline)
        return await with_elsewhere(
            picked, request, profile, query, self._semantic, self.opening.views, deadline,
            skips_system=question.skips_system,
        )  # fmt: skip

    async def _parts(
        self,
        request: BuildRequest,
        route: Route,
        view: ChannelView,
        question: Question,
        picked: Picked,
    ) -> Parts:
        """All that is to be shown, written; messages that were not written before in a thread if they take long."""
        chosen, there = in_time_order(picked, view), picked.elsewhere
        own_rows = chosen.rows if there is None else chosen.rows[chosen.rows < view.count]
        speaker = speaker_style(request, route, question, view, own_rows.tolist())
        if len(own_rows) < len(chosen.rows) and request.speaker_style is None:
            speaker = SpeakerStyle.TAGGED  # who speaks elsewhere is somebody else
        style = LineStyle(
            speaker, request.time_style, question.asked_at_ms, route.zone, route.texts
        )
        pen = Pen(
            speaker,
            request.tokenizer,
            request.include_names,
            request.self_ids,
            route.keep_control,
            route.system_rows,
        )
        drafts = drafted(view, there, chosen.rows, style, pen)
        shown = await run(drafts.left_us(), drafts.finish)
        label = request.question_label
        return Parts(
            question=question_text(request, question, view, pen, route.texts),
            lines=lines_of(request.layout, picked, chosen, shown, question),
            system=system_text(request, self._settings, route, question),
            preferences=shown_preferences(picked.gathered.preferences, pen),
            texts=route.texts,
            question_label=route.texts.question_label if label is None else label,
            question_name=question.asker.name or question.asker.id if question.asker else "",
            question_author_id=question.asker.id if question.asker else "",
            speaker=speaker,
        )

    def _payloads(
        self, request: BuildRequest, route: Route, fitted: Fitted
    ) -> tuple[tuple[Payload, ...], tuple[Degradation, ...]]:
        payloads: list[Payload] = []
        lost: list[Degradation] = []
        wanted = () if ResponsePart.PAYLOADS in request.omit else request.payload_formats
        for name in wanted:
            try:
                body = self._adapters[name].payload(
                    fitted.assembled.payload_messages,
                    model=route.model,
                    tools_json=request.tools_json,
                    with_names=request.include_names,
                )
                payloads.append(Payload(name, body))
            except Exception as error:  # one vendor's format costs only itself
                log.warning(
                    "adapter failed", format=name, error=type(error).__name__, exc_info=True
                )
                lost.append(Degradation("adapt", "ERROR", name))
        return tuple(payloads), tuple(lost)

    def _record(
        self,
        request: BuildRequest,
        context_id: str,
        fitted: Fitted,
        profile: Profile,
        watch: Stopwatch,
    ) -> tuple[Event, ...]:
        if not fitted.was_cut:
            return ()
        now_ms = self._clock.now_ms()
        began_ms = now_ms - int(watch.total_s * 1_000)
        asked = request.trigger_message_id or request.own_question_id
        limits = Limits(profile.max_messages, profile.max_chars_per_message)
        events = compression_events(context_id, began_ms, now_ms, asked, fitted, limits)
        self._events.emit(request.key, context_id, events)
        return events
