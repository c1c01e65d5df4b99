"""The texts of a prompt that are no lines: the bot's instruction, the question, what is known of the asker. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, tzinfo
from functools import lru_cache

from msgspec.structs import replace

from backscroll_sidecar.adapters.pictures import MOST_PICTURES, picture_of, picture_tokens
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.context.layouts import QUESTION_APART, bare_preference
from backscroll_sidecar.context.model import BuildRequest, SystemPrompt
from backscroll_sidecar.context.profiles import ContextSettings, Profile, Route
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.domain import Degradation, MediaPart, Role, SpeakerStyle, StoredSystemRows
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.lines.escaping import escape, escape_marks
from backscroll_sidecar.lines.line_safety import escape_name, indent
from backscroll_sidecar.lines.names import shown_name, with_mentions
from backscroll_sidecar.lines.rendering import RenderStyle, row_text
from backscroll_sidecar.scripts import shows_nothing
from backscroll_sidecar.texts import Language, Texts, Wordings

PICTURES_SHARE = 0.5
"""Of the token budget, at most."""
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_JOINERS = "\u200c\u200d"
"""They shape letters of Persian and Indic names, and hold emoji together."""
_SAME_ALL_ALONG = frozenset({"channel", "thread_id", "session_id"})
"""The parameters that have the same value in the next turn; what the bot itself fills in is not known to."""
_ASSISTANT, _SYSTEM, _TOOL = int(Role.ASSISTANT), int(Role.SYSTEM), int(Role.TOOL)
_TAGGED, _ROLE = SpeakerStyle.TAGGED, SpeakerStyle.ROLE


def system_text(
    request: BuildRequest,
    settings: ContextSettings,
    route: Route,
    question: Question,
) -> str:
    """The request's text, else the bot's, else the server's, else the profile's; a blank one is none."""
    text = _chosen(request, settings, route, question)
    return "" if shows_nothing(text) else text


def _chosen(
    request: BuildRequest,
    settings: ContextSettings,
    route: Route,
    question: Question,
) -> str:
    if request.system is not None:
        return fill(request.system, _parameters(request, question, route.zone))
    bot = settings.bots.get(request.self_ids[0]) if request.self_ids else None
    if bot is not None and bot.system_text is not None:
        return bot.system_text
    if settings.system_text is not None:
        return settings.system_text
    return route.texts.instruction if route.profile.is_instructed else ""


def stable_system_text(request: BuildRequest, question: Question, text: str) -> str:
    """The beginning of the system text that the next turn has, too: all of it, or what comes before the first
    parameter that depends on who asks, what and when.
    """
    prompt = request.system
    if prompt is None or not prompt.is_template:
        return text
    changing = (m for m in _PLACEHOLDER.finditer(prompt.text) if m[1] not in _SAME_ALL_ALONG)
    first = next(changing, None)
    if first is None:
        return text
    same = {
        "channel": one_line(request.key.channel),
        "thread_id": one_line(question.thread_id),
        "session_id": one_line(request.session_id),
    }
    return fill(SystemPrompt(prompt.text[: first.start()], is_template=True), same)


def fill(prompt: SystemPrompt, parameters: dict[str, str]) -> str:
    """Replace ``{{name}}``; an unknown name is an error, so that no model ever reads a placeholder.

    A parameter of the request may be what people wrote: it is written like a line of theirs. Our own come escaped.
    """
    if not prompt.is_template:
        return prompt.text
    given = {name: indent(escape(value)) for name, value in prompt.parameters.items()}
    known = {**given, **parameters}

    def value(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise InvalidRequest(
                "system.text uses a placeholder that is no parameter", field="system.text"
            )
        return known[match[1]]

    return _PLACEHOLDER.sub(value, prompt.text)


def one_line(name: str) -> str:
    """A parameter as it may stand in an instruction: no line break, nothing unseen but joiners, no mark."""
    shown = (c for c in name if c.isprintable() or c.isspace() or c in _JOINERS)
    return escape(" ".join("".join(shown).split()))


def _parameters(request: BuildRequest, question: Question, zone: tzinfo) -> dict[str, str]:
    asker = question.asker
    try:
        asked_at = datetime.fromtimestamp(question.asked_at_ms / 1000, zone).isoformat(
            "T", "seconds"
        )
    except (OverflowError, ValueError, OSError):
        asked_at = ""
    return {
        "asker_id": one_line(asker.id) if asker else "",
        "asker_name": one_line(asker.name or asker.id) if asker else "",
        "channel": one_line(request.key.channel),
        "thread_id": one_line(question.thread_id),
        "session_id": one_line(request.session_id),
        "question": one_line(question.text),
        "asked_at": asked_at,
    }


def speaker_style(
    request: BuildRequest,
    route: Route,
    question: Question,
    view: ChannelView,
    rows: Iterable[int],
) -> SpeakerStyle:
    """As asked; else tagged with two or more people, the asker included; the bot's own tools are nobody, and
    where their rows are system messages, platforms.
    """
    if request.speaker_style is not None:
        return request.speaker_style
    own, ids = request.self_ids, view.people.ids
    somebody = question.asker.id if question.asker else None
    has_system = route.system_rows is StoredSystemRows.SYSTEM
    author_of, role_of = view.columns.author.item, view.role.item
    for row in rows:
        speaker, role = ids[author_of(row)], role_of(row)
        if speaker == somebody or (role == _SYSTEM and has_system):
            continue
        is_bot = speaker in own
        if (role == _ASSISTANT and (is_bot or not own)) or (role == _TOOL and is_bot):
            continue
        if somebody is not None:
            return _TAGGED
        somebody = speaker
    return _ROLE


def shown_summary(text: str, style: RenderStyle) -> str:
    """A summary as it is written, without anything that equals a mark."""
    return _escaped(text, style.keep_control) if text else ""


@lru_cache(maxsize=256)
def _escaped(text: str, keep_control: bool) -> str:
    """A text that is shown again and again."""
    return escape_marks(text, keep_control=keep_control)


@lru_cache(maxsize=256)
def summary_title(wordings: Wordings, language: Language | None, summary: str) -> str:
    """What stands above a summary, in the summary's own language unless the request names one."""
    return wordings.of(language, summary).summary_title


def shown_preferences(preferences: tuple[str, ...], style: RenderStyle) -> tuple[str, ...]:
    """What is known of the asker, as it may be shown."""
    bare = filter(None, map(bare_preference, preferences))
    return tuple([escape(one, keep_control=style.keep_control) for one in bare])


def question_text(
    request: BuildRequest, question: Question, view: ChannelView, style: RenderStyle, texts: Texts
) -> str:
    """The question as it is written: in tagged style with its speaker, like every other line.

    In one message with the context it cannot begin a line of its own, which would pass for somebody else's.
    """
    text = (
        row_text(view, question.trigger_row, keep_control=style.keep_control).strip()
        if question.is_trigger_text
        else escape(
            with_mentions(question.text, request.mentions, view.people),
            keep_control=style.keep_control,
        )
    )
    if shows_nothing(text):
        text = texts.no_text  # no vendor takes a blank message
    if style.speaker is _ROLE or question.asker is None:
        return text if request.layout in QUESTION_APART else indent(text)
    return f"{_who(question.asker.name, question.asker.id)}: {indent(text)}"


def shown_pictures(
    request: BuildRequest, question: Question, profile: Profile, linked_tokens: int
) -> tuple[tuple[MediaPart, ...], tuple[Degradation, ...]]:
    """The pictures that are shown with the question, and that some were left out.

    They are the request's and, if it says so, those of the question's row and of the row it replies to, each once.
    `linked_tokens`: of one by its link.
    """
    if not (request.pictures or request.include_pictures):
        return (), ()
    view, wanted = question.view, list(request.pictures)
    if request.include_pictures:
        rows = (question.trigger_row, question.explicit_parent_row)
        seen = [row for row in rows if row >= 0 and view.state.item(row) == LIVE]
        stored = [part for row in seen for part in view.parts(row)]
        wanted += [
            replace(one, alt_text="")  # the line has it
            for one in stored
            if isinstance(one, MediaPart) and picture_of(one)
        ]
    budget = profile.token_budget if request.token_budget is None else request.token_budget
    found: dict[str, MediaPart] = {}
    for one in wanted:
        found.setdefault(one.uri, one)
    left, shown = budget * PICTURES_SHARE, list[MediaPart]()
    for one in [*found.values()][:MOST_PICTURES]:
        left -= picture_tokens(one, linked_tokens)
        if left < 0:
            break
        shown.append(one)
    missing = (Degradation("compress", "BUDGET", "pictures"),) if len(shown) < len(found) else ()
    return tuple(shown), missing


@lru_cache(maxsize=1_024)
def _who(name: str, author_id: str) -> str:
    """Who asks."""
    name, author_id = shown_name(name), escape_name(author_id)
    return f"{name} <{author_id}>" if name else f"<{author_id}>"
