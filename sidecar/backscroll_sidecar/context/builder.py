"""BuildContext, top to bottom: route, open, question, pick, render, fit, assemble, record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_sidecar.adapters import (
    ADAPTERS,
    Adapter,
    Speaker,
    writes_breakpoints,
)
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.context import catch_up
from backscroll_sidecar.context.arms import laid_out, takes_part, trial_of
from backscroll_sidecar.context.asked_with import Asking
from backscroll_sidecar.context.assembly import assemble, payload_messages, with_parts
from backscroll_sidecar.context.budget import Fitted, frame_of
from backscroll_sidecar.context.compress import Limits
from backscroll_sidecar.context.elsewhere import SEMANTIC, with_elsewhere
from backscroll_sidecar.context.exploring import explored
from backscroll_sidecar.context.fallback_ladder import Picked, Picker
from backscroll_sidecar.context.layouts import Parts
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.context.opening import Opening, StoredSummary
from backscroll_sidecar.context.own_stages import fit_in_stages
from backscroll_sidecar.context.payload_formats import PayloadFormats
from backscroll_sidecar.context.profiles import ContextSettings, Profile, Route, Routes
from backscroll_sidecar.context.prompt_texts import (
    question_text,
    shown_pictures,
    shown_preferences,
    shown_summary,
    speaker_style,
    stable_system_text,
    summary_title,
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
    span_of,
)
from backscroll_sidecar.context.shadows import Shadows
from backscroll_sidecar.context.stable_prefix import (
    PrefixLog,
    stable_prefix,
    with_cache_marks,
)
from backscroll_sidecar.context.steady_window import end_of_day_ms, speaking_rows, window_behind
from backscroll_sidecar.context.tallying import tally_context
from backscroll_sidecar.context.usage import usage_record
from backscroll_sidecar.context.visibility import VisibilityRule, rules_of
from backscroll_sidecar.domain import (
    Author,
    ChannelSettings,
    Degradation,
    Event,
    Layout,
    MediaPart,
    SearchScope,
    SpeakerStyle,
)
from backscroll_sidecar.errors import StoreUnavailable, unknown_channel
from backscroll_sidecar.learning.recorder import NoUsage
from backscroll_sidecar.lines.line_source import Wanted
from backscroll_sidecar.lines.rendering import AnswerCodec, RenderStyle
from backscroll_sidecar.ports import (
    Clock,
    EventSink,
    Placement,
    Trial,
    UsageSink,
)
from backscroll_sidecar.strategies import Strategy, StrategyQuery
from backscroll_sidecar.telemetry.build_numbers import BuildNumbers
from backscroll_sidecar.telemetry.build_telemetry import NO_TELEMETRY, BuildTelemetry
from backscroll_sidecar.telemetry.usage_numbers import Counted
from backscroll_sidecar.texts import Language
from backscroll_sidecar.tool_outputs import ToolOutputs

log = structlog.get_logger(__name__)


class _Beside(NamedTuple):
    """What is shown whatever is picked.

    Attributes
    ----------
    system, summary : the bot's instruction, and what the conversation held before; empty: none.
    pictures : with the question.
    speaker, speaking : how speakers are written, and rows of those that are told apart; None: that depends on who is
        picked.
    """

    system: str
    summary: str
    pictures: tuple[MediaPart, ...]
    speaker: SpeakerStyle | None
    speaking: NDArray[np.int32] | None


class _Begun(NamedTuple):
    """A build whose candidates are picked. `lost`: which preferences, summary or pictures could not be had."""

    request: BuildRequest
    beside: _Beside
    lost: tuple[Degradation, ...]
    route: Route
    opened: Opened
    question: Question
    picked: Picked
    deadline: Deadline
    context_id: str
    watch: Stopwatch
    erasures_seen: int
    channel: ChannelSettings
    placement: Placement
    trial: Trial


class _Behind(NamedTuple):
    """Of a build behind an answer: by which arm, and the context id of the answer's build."""

    placement: Placement
    context_id: str


class ContextBuilder:
    """Builds contexts. Safe to call from any task of the event loop; keeps of a call its route and its prefix.

    Parameters
    ----------
    dims_of : the size of an embedder's vectors by its id, 0 when it is not known.
    telemetry : what it asks and tells beside its numbers.

    Attributes
    ----------
    opening : opens the channels that builds read.
    profiles : all profiles by name.
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
        usage: UsageSink | None = None,
        picker: Picker | None = None,
        dims_of: Callable[[str], int] = lambda _: 0,
        telemetry: BuildTelemetry = NO_TELEMETRY,
    ) -> None:
        self.opening = opening
        self._settings = settings
        self._clock = clock
        self._events = events
        self._usage = usage or NoUsage()
        self._formats = PayloadFormats(codec, settings.provider, adapters)
        self._codec = codec
        self._semantic = strategies.get(SEMANTIC)
        self._ids = RandomIds()
        self.profiles = settings.profiles
        self.build_count = 0
        self.numbers = BuildNumbers(clock.monotonic_s())
        self._picker = picker or Picker(
            strategies,
            fallback_on_error=settings.fallback_on_error,
            orphan_calls=settings.orphan_calls,
            now_us=lambda: clock.monotonic_s() * 1e6,
        )
        self._routes = Routes(settings, dims_of)
        self._prefixes = PrefixLog()
        self._calibration, self._spans = telemetry
        self._shadows: Shadows | None = None

    def make_behind(self, shadows: Shadows) -> None:
        """Have these make builds behind the answers; without them nobody does."""
        self._shadows = shadows

    async def build(self, request: BuildRequest, *, as_values: bool = False) -> BuiltContext:
        """The context of one question. Raises typed errors for bad requests only; what fails inside degrades.

        `as_values`: its payload's messages as values, too, for who calls a model.
        """
        began_s = self._clock.monotonic_s() if self._spans else 0.0
        self.build_count += 1
        if self._shadows is not None:
            self._shadows.begins()
        try:
            begun = await self._begin(request)
            built = await self._written(begun, as_values=as_values)
            collects = begun.channel.collects_usage and not request.only_looks
            if begun.placement.shadow is not None and collects:
                self._offer_shadow(request, begun, begun.placement.shadow)
            return built
        except Exception as error:
            if request.only_looks:
                raise
            reason, now_s = reason_of(error), self._clock.monotonic_s()
            self.numbers.fail(reason, now_s)
            if self._spans:
                self._spans.build_failed(request.key.channel, reason, now_s - began_s)
            raise
        finally:
            if self._shadows is not None:
                self._shadows.ends()

    def _offer_shadow(self, request: BuildRequest, begun: _Begun, shadow: Placement) -> None:
        """Have the same asked again behind the answer, by other settings and of what this build could see."""
        if self._shadows is None or not takes_part(request, shadow):
            return
        newest = begun.opened.view.last_seq
        seen = newest if request.seen_until_seq is None else min(newest, request.seen_until_seq)
        same = replace(
            request, asked_at_ms=begun.question.asked_at_ms, seen_until_seq=seen, explain=False, time_left_s=None
        )  # fmt: skip
        behind = _Behind(shadow, begun.context_id)
        self._shadows.offer(partial(self._build_behind, same, behind))

    async def _build_behind(self, request: BuildRequest, behind: _Behind) -> None:
        """Build and record what nobody gets."""
        await self._written(await self._begin(request, behind), as_values=False)

    async def _begin(self, request: BuildRequest, behind: _Behind | None = None) -> _Begun:
        """Route, open, question, pick: all that does not depend on how the answer is written."""
        watch = Stopwatch(self._clock)
        erasures_seen = self._usage.erasures_seen
        deadline = Deadline(self._clock, self._settings.timeout_s, request.time_left_s)
        request = await self.opening.seen_by_viewer(request, deadline)
        channel, unset = await self.opening.settings_of(request.key, deadline)
        if behind is None:
            placement, request = await self.opening.placed(request, deadline)
            trial = trial_of(placement)
        else:
            placement, request = behind.placement, laid_out(request, behind.placement)
            trial = trial_of(placement, behind.context_id)
        route = self._routes.of(request, channel, placement.settings)
        if self._calibration is not None:
            factor = self._calibration.factor(Counted(route.model, request.tokenizer))
            request = replace(request, calibration=factor or 1.0)
        watch.lap("route")
        opened = await self.opening.open(request, route, deadline)
        watch.lap("open")
        if request.catch_up is not None:
            request, route = self._catching_up(request, route, opened)
        question = await self.opening.question_of(request, route, opened.view)
        request = _asked_by(request, question.asker)
        route = route.asked(self._settings.wordings.of(_language(request), question.text))
        lost, query = await self.opening.query_of(request, route.profile, question, deadline)
        picker = self._picker
        if request.catch_up is None:
            summaries, unread = await self.opening.summaries_of(
                request, question, deadline,
                hours=channel.summary_hours, is_steady=route.profile.is_steady,
            )  # fmt: skip
        else:
            picker, summaries, unread = await self._window(request, route, question)
        if question.view is not opened.view:
            opened = replace(opened, view=question.view)
        looks_elsewhere = request.catch_up is None and (
            request.semantic_scope is not SearchScope.CHANNEL or channel.sharing is not None
        )
        beside, missing, count = self._beside(
            request, route, question, query, summaries, looks_elsewhere=looks_elsewhere
        )
        if count is not None:
            query, route = replace(query, recent_limit=count), route.showing_newest(count)
        watch.lap("question")
        picked = await picker.pick(
            query, question, route, deadline, has_history=not opened.degradations
        )
        context_id = self._ids.next()
        if looks_elsewhere:
            picked = await with_elsewhere(
                picked, request, query, self._semantic, self.opening, channel.sharing, deadline,
                skips_system=question.skips_system,
            )  # fmt: skip
        elif picked.profile.explores and behind is None:
            picked = explored(picked, request, question.asked_at_ms, context_id)
        watch.lap("pick")
        return _Begun(
            request, beside, (*unset, *placement.lost, *lost, *unread, *missing), route, opened, question, picked,
            deadline, context_id, watch, erasures_seen, channel, placement, trial,
        )  # fmt: skip

    def _catching_up(
        self, request: BuildRequest, route: Route, opened: Opened
    ) -> tuple[BuildRequest, Route]:
        """The request with a question, and the route by which all that is new is ranked."""
        if request.catch_up and request.catch_up.since_message_id:
            if opened.degradations:
                raise StoreUnavailable("the history cannot be read now")
            if not opened.known:
                raise unknown_channel()
        wordings = self._settings.wordings
        request = catch_up.with_question(request, opened.view, wordings, _language(request))
        return request, catch_up.catching_up(route, request.overrides)

    async def _window(
        self, request: BuildRequest, route: Route, question: Question
    ) -> tuple[Picker, Sequence[StoredSummary], tuple[Degradation, ...]]:
        """Who picks of what is new, and what is told of it in a summary's place."""
        view, wanted = question.view, request.catch_up
        assert wanted is not None
        first = catch_up.first_row(view, wanted, question.end)
        look = partial(catch_up.window_of, view, question, first)
        window = await run(catch_up.look_us(question.end - first), look)
        picker = Picker(
            catch_up.sources(first),
            ranker=catch_up.ranker(window),
            fallback_on_error=self._settings.fallback_on_error,
            orphan_calls=self._settings.orphan_calls,
            now_us=lambda: self._clock.monotonic_s() * 1e6,
        )
        since_ms = catch_up.since_ms(view, wanted)
        return picker, (catch_up.told(window, since_ms, route.zone, route.texts),), ()

    def _beside(
        self,
        request: BuildRequest,
        route: Route,
        question: Question,
        query: StrategyQuery,
        summaries: Sequence[StoredSummary],
        *,
        looks_elsewhere: bool,
    ) -> tuple[_Beside, tuple[Degradation, ...], int | None]:
        """What is shown whatever is picked; what of that could not be had; and how many of the newest messages stand
        in the window that moves in steps, None without one.
        """
        system = system_text(request, self._settings, route, question)
        adapter = self._formats.wanted(request)[1]
        linked_tokens = adapter.framing.linked_picture_tokens
        pictures, missing = shown_pictures(request, question, route.profile, linked_tokens)
        if not route.profile.is_steady:
            told = summaries[0].text if summaries else ""
            return _Beside(system, told, pictures, request.speaker_style, None), missing, None
        view, profile = question.view, route.profile
        speaking = speaking_rows(view, question.end)
        speaker = speaker_style(request, route, question, view, speaking.tolist())
        if request.speaker_style is None and looks_elsewhere:
            speaker = SpeakerStyle.TAGGED  # whoever is found elsewhere
        wanted = self._wanted(request, route, speaker, adapter)
        summary, count = window_behind(
            summaries,
            query,
            frame_of(request, profile, adapter),
            system,
            Limits(profile.recent_limit, profile.max_chars_per_message),
            wanted.style,
            wanted.line_style(self._dated_at_ms(request, route, question.asked_at_ms)),
        )
        told = summary.text if summary else ""
        return _Beside(system, told, pictures, speaker, speaking), missing, count

    async def _written(self, begun: _Begun, *, as_values: bool) -> BuiltContext:
        """Render, fit, assemble, record: the picked candidates as an answer."""
        request, route, opened, question = begun.request, begun.route, begun.opened, begun.question
        picked, context_id, watch = begun.picked, begun.context_id, begun.watch
        formats, adapter = self._formats.wanted(request)
        parts, kinds = await self._parts(begun, adapter)
        watch.lap("write")
        frame = frame_of(request, picked.profile, adapter)
        fitted, lost = await fit_in_stages(parts, frame, picked.profile, begun.deadline)
        watch.lap("fit")
        fitted = with_parts(fitted, frame)
        is_steady = picked.profile.is_steady
        stable_system = stable_system_text(request, question, begun.beside.system)
        prefix = stable_prefix(
            fitted.parts, frame, fitted.tokens, stable_system, is_steady=is_steady
        )
        is_unseen = bool(begun.trial.shadow_of) or request.only_looks
        if is_steady and frame.layout is Layout.TURNS and not is_unseen:
            asked = (
                request.key,
                question.narrow_thread_id,
                request.self_ids,
                adapter.name,
                route.model,
                _audience(request),
            )
            prefix = self._prefixes.noted(asked, prefix, fitted.parts, frame, stable_system)
        options = self._formats.options(request, route.model)
        has_marks = is_steady if request.cache_marks is None else request.cache_marks
        marked_count = prefix.payload_message_count if has_marks else 0
        has_form = adapter.line_form and not fitted.parts.has_parts
        if formats and formats[0] != adapter.name:  # payloads come in the order they are asked for
            has_form = False
        if marked_count and writes_breakpoints(adapter.name, options):
            has_form = False
        times = formats.count(adapter.name) if has_form else 0
        content = assemble(fitted, picked, kinds, frame, self._codec, route.model, times)
        not_adapted: tuple[Degradation, ...] = ()
        if times < len(formats):
            others = [one for one in formats if not times or one != adapter.name]
            sent = with_cache_marks(payload_messages(fitted, frame), marked_count)
            fields, not_adapted = self._formats.fields(others, sent, options)
            content = np.concatenate((content, np.frombuffer(fields, np.uint8)))
        watch.lap("adapt")
        degradations = (
            *opened.degradations,
            *not_found(request, opened, question),
            *begun.lost,
            *picked.degradations,
            *lost,
            *not_adapted,
        )
        events = (
            () if is_unseen else self._record(request, context_id, fitted, picked.profile, watch)
        )
        built = built_context(
            request, route.model, context_id, opened, question, picked, fitted, content, events, degradations,
            prefix, watch,
        )  # fmt: skip
        if begun.placement.experiment_id:
            there = begun.placement
            built = replace(built, experiment_id=there.experiment_id, arm=there.arm)
        if as_values:
            messages = with_cache_marks(payload_messages(fitted, frame), marked_count)
            built = replace(built, payload_messages=messages)
        self._finish(built, begun, fitted)
        return built

    def _finish(self, built: BuiltContext, begun: _Begun, fitted: Fitted) -> None:
        """Count it, and have it recorded behind the answer."""
        begun.watch.lap("record")
        if begun.request.only_looks:
            return
        if not begun.trial.shadow_of:
            self._count(built, begun, fitted)
        if begun.channel.collects_usage:
            self._note(built, begun, fitted)

    def _count(self, built: BuiltContext, begun: _Begun, fitted: Fitted) -> None:
        opened, watch = begun.opened, begun.watch
        tally = self.numbers.add(
            begun.request.key,
            built.profile,
            watch.now_s,
            watch.total_s,
            watch.laps_us,
            built.rung,
            built.degradations,
            cache_hit=opened.cache_hit,
        )
        tally_context(tally, opened.view, begun.picked, fitted)
        tally.explored += begun.picked.draw is not None
        if self._spans is not None:
            self._spans.built(span_of(built, watch))
        log_built(built)

    def _note(self, built: BuiltContext, begun: _Begun, fitted: Fitted) -> None:
        opened, watch = begun.opened, begun.watch
        make = partial(
            usage_record, begun.request, built.context_id, opened.view, begun.question, begun.picked, fitted,
            built.rung, built.degradations, self._clock.now_ms(), int(watch.total_s * 1e6),
            Asking(
                begun.channel, begun.placement.settings, self._formats.wanted(begun.request)[1].name,
                begun.route.zone.key,
            ),
            begun.trial,
        )  # fmt: skip
        self._usage.note(begun.request.key, built.context_id, make, begun.erasures_seen)

    def _wanted(
        self, request: BuildRequest, route: Route, speaker: SpeakerStyle, adapter: Adapter
    ) -> Wanted:
        """How lines are to be rendered."""
        usual = self._settings.tool_outputs
        style = RenderStyle(
            speaker,
            request.tokenizer,
            request.include_names,
            request.self_ids,
            route.keep_control,
            route.system_rows,
            adapter,
            ToolOutputs(
                request.tool_outputs or usual.policy, request.tool_output_chars or usual.max_chars
            ),
        )
        return Wanted(style, route.zone, request.time_style)

    def _dated_at_ms(self, request: BuildRequest, route: Route, asked_at_ms: int) -> int:
        """The moment that dates are written for: all day long the same where lines are to stay as they are."""
        is_kept = route.profile.is_steady and request.time_style is None
        return end_of_day_ms(asked_at_ms, route.zone) if is_kept else asked_at_ms

    async def _parts(self, begun: _Begun, adapter: Adapter) -> tuple[Parts, list[int]]:
        """All that is to be shown, rendered; and the kinds of the lines."""
        request, route, question, picked = begun.request, begun.route, begun.question, begun.picked
        view, beside = begun.opened.view, begun.beside
        rows = picked.gathered.rows[picked.selection.chosen]
        there = picked.elsewhere is not None
        own_rows = rows[rows < view.count] if there else rows
        speaker = beside.speaker
        if speaker is None:
            speaker = speaker_style(request, route, question, view, own_rows.tolist())
        if len(own_rows) < len(rows) and request.speaker_style is None:
            speaker = SpeakerStyle.TAGGED  # who speaks elsewhere is somebody else
        wanted = self._wanted(request, route, speaker, adapter)
        name, author_id = "", ""
        if question.asker is not None:
            name, author_id = question.asker.name or question.asker.id, question.asker.id
        lines, kinds = await lines_of(
            view,
            picked,
            wanted,
            wanted.line_style(self._dated_at_ms(request, route, question.asked_at_ms), route.texts),
            self._codec,
            has_turns=request.layout is Layout.TURNS,
            has_tools=bool(request.tools_json),
            answered_row=question.explicit_parent_row,
            asker=Speaker(author_id, name),
            rules=self._rules(begun, view),
            speaking=beside.speaking,
        )
        label = request.question_label
        return Parts(
            question=question_text(request, question, view, wanted.style, route.texts),
            lines=lines,
            system=beside.system,
            preferences=shown_preferences(picked.gathered.preferences, wanted.style),
            summary=shown_summary(beside.summary, wanted.style),
            summary_title=route.texts.catch_up_title
            if request.catch_up
            else summary_title(self._settings.wordings, _language(request), beside.summary),
            texts=route.texts,
            question_label=route.texts.question_label if label is None else label,
            question_name=name,
            question_author_id=author_id,
            pictures=beside.pictures,
            speaker=speaker,
        ), kinds

    def _rules(self, begun: _Begun, view: ChannelView) -> NDArray[np.uint32] | VisibilityRule:
        """By which rule each candidate may be shown, or all of them."""
        request = begun.request
        return rules_of(
            view,
            request.viewer,
            begun.picked.gathered.rows,
            quoted_row=begun.question.explicit_parent_row,
            by_membership=request.visible_since_membership,
            elsewhere=None if begun.picked.elsewhere is None else begun.picked.elsewhere.rules,
        )

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


def _asked_by(request: BuildRequest, asker: Author | None) -> BuildRequest:
    """The request for the eyes of who asks, whom a trigger may have told."""
    viewer = request.viewer.asked_by(asker.id) if asker else request.viewer
    return request if viewer is request.viewer else replace(request, viewer=viewer)


def _audience(request: BuildRequest) -> str:
    """Who is shown something of their own; empty: what everybody is."""
    viewer = request.viewer
    if viewer.session_id or viewer.is_narrow:
        return f"{viewer.session_id}\0{viewer.id}"
    return request.asker.id if request.visible_since_membership and request.asker else ""


def _language(request: BuildRequest) -> Language | None:
    """That of the server's texts, where the request says it."""
    return request.language.language if request.language else None
