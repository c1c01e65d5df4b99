"""The picked candidates and the question as parts to be written. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.lines import escape_name, indent
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.picking import Picked
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rounds import synthetic_results
from backscroll_sidecar.context.writing import Line, Written
from backscroll_sidecar.domain import Category, Layout, Role, SpeakerStyle


def lines_of(
    layout: Layout, picked: Picked, places: Sequence[int], written: Sequence[Written]
) -> list[Line]:
    """The chosen candidates in time order. `places`: which they are, ascending; `written`: they, as written."""
    gathered = picked.gathered
    ranks = {place: rank for rank, place in enumerate(picked.selection.order, 1)}
    references = gathered.semantic[places].tolist()
    has_turns = layout is Layout.TURNS
    categories = [Category.SEMANTIC if one else Category.RECENT for one in references]
    turns = [has_turns and not one for one in references]
    rounds = map(gathered.rounds.members.get, places)
    fields = zip(written, map(ranks.get, places), places, categories, turns, rounds, strict=True)
    lines = list(map(Line._make, fields))
    for place, names in gathered.rounds.unanswered.items():
        if place in ranks:
            at = places.index(place)
            lines[at] = _with_addition(lines[at], synthetic_results(names))
    return lines


def _with_addition(line: Line, addition: str) -> Line:
    return line.rewritten(replace(line.said, addition=addition, token_count=0))


def speaker_style(
    request: BuildRequest, question: Question, view: ChannelView, rows: Sequence[int]
) -> SpeakerStyle:
    """As asked; else tagged with two or more people, the asker included (N-07); the bot's own tools are nobody."""
    if request.speaker_style is not None:
        return request.speaker_style
    own = request.self_ids
    people = {question.asker.id} if question.asker else set()
    for row in rows:
        role, author_id = view.role[row], view.author_id(row)
        is_bot = not own or author_id in own
        if role == Role.SYSTEM or (role == Role.ASSISTANT and is_bot):
            continue
        if role == Role.TOOL and author_id in own:
            continue
        people.add(author_id)
        if len(people) > 1:
            return SpeakerStyle.TAGGED
    return SpeakerStyle.ROLE


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
