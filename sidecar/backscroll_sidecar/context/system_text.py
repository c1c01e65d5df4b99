"""The bot's instruction: whose wins, and templates with parameters of the message. Pure."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from backscroll_sidecar.context.model import BuildRequest, SystemPrompt
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.routing import ContextSettings, Route
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.lines.escaping import escape
from backscroll_sidecar.lines.line_format import indent
from backscroll_sidecar.scripts import shows_nothing

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_JOINERS = "\u200c\u200d"
"""They shape letters of Persian and Indic names, and hold emoji together."""
_SAME_ALL_ALONG = frozenset({"channel", "thread_id", "session_id"})
"""The parameters that have the same value in the next turn; what the bot itself fills in is not known to."""


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
