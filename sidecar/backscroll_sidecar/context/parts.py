"""The picked candidates and the question as parts to be written. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.layouts import QUESTION_APART, bare_preference
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rendering import Pen, Shown, row_text
from backscroll_sidecar.context.routing import Route
from backscroll_sidecar.context.selected import Lines
from backscroll_sidecar.context.tool_exchanges import synthetic_results
from backscroll_sidecar.domain import Category, Layout, Role, SpeakerStyle, StoredSystemRows
from backscroll_sidecar.lines.escaping import escape
from backscroll_sidecar.lines.line_format import indent
from backscroll_sidecar.lines.names import escape_name, shown_name, with_mentions
from backscroll_sidecar.scripts import shows_nothing
from backscroll_sidecar.texts import Texts

_ASSISTANT, _SYSTEM, _TOOL = int(Role.ASSISTANT), int(Role.SYSTEM), int(Role.TOOL)
_TURNS, _RECENT = Layout.TURNS, Category.RECENT
_TAGGED, _ROLE = SpeakerStyle.TAGGED, SpeakerStyle.ROLE


class Chosen(NamedTuple):
    """The selected candidates in time order.

    Attributes
    ----------
    places : intp[k]
        Which candidates they are; ascending but for lines of other channels.
    ranks : intp[k]
        Their order of selection, 1 is the best.
    rows : int32[k]
        Their rows of the view.
    """

    places: NDArray[np.intp]
    ranks: NDArray[np.intp]
    rows: NDArray[np.int32]


def in_time_order(picked: Picked, view: ChannelView) -> Chosen:
    """What was selected, by time."""
    order = picked.selection.chosen
    by_time = order.argsort()
    if picked.elsewhere is not None:
        there_ms = picked.elsewhere.view.columns.time_ms
        rows = picked.gathered.rows[: len(picked.gathered.rows) - len(there_ms)]
        times_ms = np.append(view.columns.time_ms[rows], there_ms)
        by_time = np.lexsort((order, times_ms[order]))
    places = order[by_time]
    by_time += 1
    return Chosen(places, by_time, picked.gathered.rows[places])


def lines_of(
    layout: Layout, picked: Picked, chosen: Chosen, shown: Shown, question: Question
) -> Lines:
    """The chosen candidates as lines; `shown`: they, as written."""
    gathered, places = picked.gathered, chosen.places.tolist()
    has_turns = layout is _TURNS
    if gathered.exchanges.unanswered:
        shown = _answered(shown, places, gathered.exchanges.unanswered)
    written = shown.written
    costs = [one.turn_cost for one in written] if has_turns else [one.line_cost for one in written]
    categories = [_RECENT] * len(places)
    references = gathered.semantic[chosen.places].nonzero()[0].tolist()
    for at in references:
        categories[at] = Category.SEMANTIC
        costs[at] = written[at].line_cost
    answered = -1
    if question.explicit_parent_row >= 0:
        among = (chosen.rows == question.explicit_parent_row).nonzero()[0].tolist()
        answered = places[among[0]] if among else -1
    return Lines(
        shown,
        chosen.ranks.tolist(),
        places,
        categories,
        costs,
        gathered.exchanges.members,
        has_turns,
        bool(references),
        answered,
    )


def _answered(shown: Shown, places: list[int], unanswered: Mapping[int, tuple[str, ...]]) -> Shown:
    """The same, with a line behind a call whose tools have not answered."""
    written = shown.written.copy()
    for place, tools in unanswered.items():
        if place in places:
            at = places.index(place)
            said = replace(written[at].said, addition=synthetic_results(tools), token_count=0)
            written[at] = written[at].telling(said)
    return Shown(written)


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


def shown_preferences(preferences: tuple[str, ...], pen: Pen) -> tuple[str, ...]:
    """What is known of the asker, as it may be shown."""
    bare = filter(None, map(bare_preference, preferences))
    return tuple([escape(one, keep_control=pen.keep_control) for one in bare])


def question_text(
    request: BuildRequest, question: Question, view: ChannelView, pen: Pen, texts: Texts
) -> str:
    """The question as it is written: in tagged style with its speaker, like every other line.

    In one message with the context it cannot begin a line of its own, which would pass for somebody else's.
    """
    text = (
        row_text(view, question.trigger_row, keep_control=pen.keep_control).strip()
        if question.is_trigger_text
        else escape(
            with_mentions(question.text, request.mentions, view.people),
            keep_control=pen.keep_control,
        )
    )
    if shows_nothing(text):
        text = texts.no_text  # no vendor takes a blank message
    if pen.speaker is _ROLE or question.asker is None:
        return text if request.layout in QUESTION_APART else indent(text)
    return f"{_who(question.asker.name, question.asker.id)}: {indent(text)}"


@lru_cache(maxsize=1_024)
def _who(name: str, author_id: str) -> str:
    """Who asks."""
    name, author_id = shown_name(name), escape_name(author_id)
    return f"{name} <{author_id}>" if name else f"<{author_id}>"
