"""The picked candidates and the question as parts to be written. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.lines import escape_name, indent
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.picking import Picked
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rounds import synthetic_results
from backscroll_sidecar.context.selected import Lines
from backscroll_sidecar.context.writing import Written
from backscroll_sidecar.domain import Category, Layout, Role, SpeakerStyle


def lines_of(
    layout: Layout, picked: Picked, places: NDArray[np.intp], written: list[Written]
) -> Lines:
    """The chosen candidates in time order. `places`: which they are, ascending; `written`: they, as written."""
    gathered, ranks, order = picked.gathered, picked.selection.ranks(), places.tolist()
    references = gathered.semantic[places]
    categories = [Category.RECENT] * len(order)
    for at in np.flatnonzero(references).tolist():
        categories[at] = Category.SEMANTIC
    for place, tools in gathered.rounds.unanswered.items():
        if place in ranks:
            at = order.index(place)
            said = replace(written[at].said, addition=synthetic_results(tools), token_count=0)
            written[at] = written[at].telling(said)
    return Lines(
        written,
        [ranks[place] for place in order],
        order,
        categories,
        gathered.rounds.members,
        layout is Layout.TURNS,
        bool(references.any()),
    )


def speaker_style(
    request: BuildRequest, question: Question, view: ChannelView, rows: NDArray[np.int32]
) -> SpeakerStyle:
    """As asked; else tagged with two or more people, the asker included (N-07); the bot's own tools are nobody."""
    if request.speaker_style is not None:
        return request.speaker_style
    own, ids = request.self_ids, view.people.ids
    people = {question.asker.id} if question.asker else set()
    for author, role in set(
        zip(view.columns.author[rows].tolist(), view.role[rows].tolist(), strict=True)
    ):
        is_bot = ids[author] in own
        is_own = role == Role.ASSISTANT and (is_bot or not own)
        if not is_own and role != Role.SYSTEM and not (role == Role.TOOL and is_bot):
            people.add(ids[author])
    return SpeakerStyle.TAGGED if len(people) > 1 else SpeakerStyle.ROLE


def question_text(question: Question, speaker: SpeakerStyle, layout: Layout) -> str:
    """The question as it is written: in tagged style with its speaker, like every other line.

    In one message with the context it cannot begin a line of its own, which would pass for somebody else's (law 4).
    """
    if speaker is SpeakerStyle.ROLE or question.asker is None:
        is_apart = layout in (Layout.TURNS, Layout.CONTEXT_AND_QUESTION)
        return question.text if is_apart else indent(question.text)
    name, author_id = escape_name(question.asker.name), escape_name(question.asker.id)
    who = f"{name} <{author_id}>" if name else f"<{author_id}>"
    return f"{who}: {indent(question.text)}"
