"""BuildContext, top to bottom: route, open, question, pick, render, fit, assemble, record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import structlog
from msgspec.structs import replace

from backscroll_sidecar.adapters import ADAPTERS, OPENAI_CHAT, Adapter, PayloadOptions, Speaker
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.context.assembly import assemble, payload_messages, with_parts
from backscroll_sidecar.context.budget import Fitted, Frame, frame_of
from backscroll_sidecar.context.compress import Limits
from backscroll_sidecar.context.elsewhere import SEMANTIC, with_elsewhere
from backscroll_sidecar.context.fallback_ladder import Picked, Picker
from backscroll_sidecar.context.layouts import Parts
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.context.opening import Opening
from backscroll_sidecar.context.own_stages import fit_in_stages
from backscroll_sidecar.context.profiles import ContextSettings, Profile, Route, Routes
from backscroll_sidecar.context.prompt_texts import (
    question_text,
    shown_preferences,
    shown_summary,
    speaker_style,
    system_text,
)
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rendered_lines import lines_of
from backscroll_sidecar.context.response import (
    Opened,
    RandomIds,
    Stopwatch,
    built_context,
    compression_events,
    log_built,
    not_found,
    reason_of,
)
from backscroll_sidecar.domain import (
    Degradation,
    Event,
    Layout,
    ResponsePart,
    Role,
    SpeakerStyle,
)
from backscroll_sidecar.lines.line_source import Wanted
from backscroll_sidecar.lines.rendering import AnswerCodec, RenderStyle
from backscroll_sidecar.ports import Clock, EventSink
from backscroll_sidecar.strategies import Strategy
from backscroll_sidecar.telemetry.metrics import BuildNumbers
from backscroll_sidecar.tool_outputs import ToolOutputs

log = structlog.get_logger(__name__)


class _Begun(NamedTuple):
    """A build whose candidates are picked.

    `lost`: which preferences, or summary, could not be had.
    """

    request: BuildRequest
    summary: str
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
    dims_of : the size of an embedder's vectors by its id, 0 when it is not known.

    Attributes
    ----------
    opening : opens the channels that builds read.
    build_count : how many builds were begun.
    numbers : what those that were answered came to.
    """

    def __init__(
        self,
        opening: Opening,
        strategies: Mapping[str, Strategy],
        settings: ContextSettings,
        clock: Clock,
        events: EventSink,
        codec: AnswerCodec,
        *,
        adapters: Mapping[str, Adapter] = ADAPTERS,
        picker: Picker | None = None,
        dims_of: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self.opening = opening
        self._settings = settings
        self._clock = clock
        self._events = events
        self._adapters = _working(adapters)
        self._codec = codec
        self._semantic = strategies.get(SEMANTIC)
        self._ids = RandomIds()
        self.build_count = 0
        self.numbers = BuildNumbers()
        self._picker = picker or Picker(
            strategies,
            fallback_on_error=settings.fallback_on_error,
            orphan_calls=settings.orphan_calls,
            now_us=lambda: clock.monotonic_s() * 1e6,
        )
        self._routes = Routes(settings, dims_of)

    async def build(self, request: BuildRequest, *, as_values: bool = False) -> BuiltContext:
        """The context of one question. Raises typed errors for bad requests only; what fails inside degrades.

        `as_values`: its payload's messages as values, too, for who calls a model.
        """
        try:
            begun = await self._begin(request)
            return await self._written(begun, as_values=as_values)
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
        question = await self.opening.question_of(request, route, opened.view)
        language = request.language.language if request.language else None
        route = route.asked(self._settings.wordings.of(language, question.text))
        lost, query = await self.opening.query_of(request, route.profile, question, deadline)
        summary, unread = await self.opening.summary_of(request, question, deadline)
        if question.view is not opened.view:
            opened = replace(opened, view=question.view)
        watch.lap("question")
        picked = await self._picker.pick(
            query, question, route, deadline, has_history=not opened.degradations
        )
        picked = await with_elsewhere(
            picked, request, query, self._semantic, self.opening.views, deadline,
            skips_system=question.skips_system,
        )  # fmt: skip
        watch.lap("pick")
        context_id = self._ids.next()
        return _Begun(
            request, summary, (*lost, *unread), route, opened, question, picked, deadline, context_id, watch
        )  # fmt: skip

    async def _written(self, begun: _Begun, *, as_values: bool) -> BuiltContext:
        """Render, fit, assemble, record: the picked candidates as an answer."""
        request, summary, unread, route, opened, question, picked, deadline, context_id, watch = (
            begun
        )
        formats = self._formats(request)
        adapter = next(filter(None, map(self._adapters.get, formats)), OPENAI_CHAT)
        parts, kinds = await self._parts(
            request, route, opened.view, question, picked, adapter, summary
        )
        watch.lap("write")
        frame = frame_of(request, picked.profile, adapter)
        fitted, lost = await fit_in_stages(parts, frame, picked.profile, deadline)
        watch.lap("fit")
        fitted = with_parts(fitted, frame)
        has_form = adapter.line_form and not fitted.parts.lines.has_parts
        times = formats.count(adapter.name) if has_form else 0
        content = assemble(fitted, picked, kinds, frame, self._codec, route.model, times)
        not_adapted: tuple[Degradation, ...] = ()
        if times < len(formats):
            others = [one for one in formats if not times or one != adapter.name]
            fields, not_adapted = self._payload_fields(others, request, route, fitted, frame)
            content = np.concatenate((content, np.frombuffer(fields, np.uint8)))
        watch.lap("adapt")
        degradations = (
            *opened.degradations,
            *not_found(request, opened, question),
            *unread,
            *picked.degradations,
            *lost,
            *not_adapted,
        )
        events = self._record(request, context_id, fitted, picked.profile, watch)
        messages = payload_messages(fitted, frame) if as_values else ()
        built = built_context(
            request, route.model, context_id, opened, question, picked, fitted, content, events, degradations,
            messages, watch,
        )  # fmt: skip
        self._finish(built, opened, watch)
        return built

    def _finish(self, built: BuiltContext, opened: Opened, watch: Stopwatch) -> None:
        watch.lap("record")
        self.numbers.add(watch.total_s, cache_hit=opened.cache_hit)
        self.numbers.tell(built.rung, built.degradations)
        log_built(built)

    def _payload_fields(
        self,
        names: Sequence[str],
        request: BuildRequest,
        route: Route,
        fitted: Fitted,
        frame: Frame,
    ) -> tuple[bytes, tuple[Degradation, ...]]:
        """The fields of the answer for payloads that are made of values; a format costs only itself."""
        fields: list[bytes] = []
        lost: tuple[Degradation, ...] = ()
        options = PayloadOptions(
            route.model,
            request.tools_json,
            request.include_names,
            request.provider or self._settings.provider,
            request.reserve_tokens or None,
        )
        messages = payload_messages(fitted, frame)
        for name in names:
            try:
                body = self._adapters[name].payload(messages, options)
                fields.append(self._codec.payload_field(name, body))
            except Exception as error:
                log.warning(
                    "adapter failed", format=name, error=type(error).__name__, exc_info=True
                )
                lost += (Degradation("adapt", "ERROR", name),)
        return b"".join(fields), lost

    def _formats(self, request: BuildRequest) -> tuple[str, ...]:
        """The payload formats that are wanted."""
        if ResponsePart.PAYLOADS in request.omit:
            return ()
        wanted = request.payload_formats
        return (OPENAI_CHAT.name,) if wanted is None else wanted

    async def _parts(
        self,
        request: BuildRequest,
        route: Route,
        view: ChannelView,
        question: Question,
        picked: Picked,
        adapter: Adapter,
        summary: str,
    ) -> tuple[Parts, list[int]]:
        """All that is to be shown, rendered; and the kinds of the lines."""
        rows = picked.gathered.rows[picked.selection.chosen]
        there = picked.elsewhere is not None
        own_rows = rows[rows < view.count] if there else rows
        speaker = speaker_style(request, route, question, view, own_rows.tolist())
        if len(own_rows) < len(rows) and request.speaker_style is None:
            speaker = SpeakerStyle.TAGGED  # who speaks elsewhere is somebody else
        style = RenderStyle(
            speaker,
            request.tokenizer,
            request.include_names,
            request.self_ids,
            route.keep_control,
            route.system_rows,
            adapter,
            ToolOutputs(
                request.tool_outputs or self._settings.tool_outputs.policy,
                request.tool_output_chars or self._settings.tool_outputs.max_chars,
            ),
        )
        wanted = Wanted(style, route.zone, request.time_style)
        name, author_id = "", ""
        if question.asker is not None:
            name, author_id = question.asker.name or question.asker.id, question.asker.id
        lines, kinds = await lines_of(
            view,
            picked,
            wanted,
            wanted.line_style(question.asked_at_ms, route.texts),
            self._codec,
            has_turns=request.layout is Layout.TURNS,
            has_tools=bool(request.tools_json),
            answered_row=question.explicit_parent_row,
            asker=Speaker(author_id, name),
        )
        label = request.question_label
        return Parts(
            question=question_text(request, question, view, style, route.texts),
            lines=lines,
            system=system_text(request, self._settings, route, question),
            preferences=shown_preferences(picked.gathered.preferences, style),
            summary=shown_summary(summary, style),
            texts=route.texts,
            question_label=route.texts.question_label if label is None else label,
            question_name=name,
            question_author_id=author_id,
            speaker=speaker,
        ), kinds

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


def _working(adapters: Mapping[str, Adapter]) -> Mapping[str, Adapter]:
    """Those that do not break: one vendor's format costs only itself."""
    found = {}
    for name, adapter in adapters.items():
        try:
            if form := adapter.line_form:
                form.envelope("", "")
                form.around(Role.USER, "name")
            found[name] = adapter
        except Exception as error:
            log.warning("adapter failed", format=name, error=type(error).__name__, exc_info=True)
    return found
