"""The picked candidates and the question as parts to be written. Pure."""

from __future__ import annotations

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.lines import Line, LineStyle, escape_name, indent
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.picking import Picked
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rounds import synthetic_results
from backscroll_sidecar.domain import AuthorKind, Category, Layout, Role, SpeakerStyle


def lines_of(request: BuildRequest, view: ChannelView, picked: Picked) -> list[Line]:
    """The chosen candidates in time order, ready to be written."""
    rank_of = {place: rank for rank, place in enumerate(picked.selection.order, 1)}
    rows = picked.gathered.rows
    own = set(request.self_ids)
    out = []
    for place in sorted(rank_of):
        row = int(rows[place])
        role, author_id = Role(int(view.role[row])), view.author_id(row)
        unanswered = picked.gathered.rounds.unanswered.get(place, ())
        out.append(
            Line(
                message_id=view.message_ids[row],
                role=role,
                is_own=role is Role.ASSISTANT and (not own or author_id in own),
                author_id=author_id,
                author_name=view.author_name(row),
                kind=AuthorKind(int(view.kind[row])),
                text=view.texts[row],
                sent_at_ms=int(view.columns.time_ms[row]),
                rank=rank_of[place],
                category=Category.SEMANTIC if picked.gathered.semantic[place] else Category.RECENT,
                place=place,
                round=picked.gathered.rounds.members.get(place),
                addition=synthetic_results(unanswered),
                token_count=0 if unanswered else int(view.token_count[row]),
            )
        )
    return out


def speaker_style(request: BuildRequest, question: Question, lines: list[Line]) -> SpeakerStyle:
    """As asked; else tagged with two or more people, the asker included (N-07); the bot's own tools are nobody."""
    if request.speaker_style is not None:
        return request.speaker_style
    people = {
        line.author_id
        for line in lines
        if not line.is_own
        and line.role is not Role.SYSTEM
        and not (line.role is Role.TOOL and line.author_id in request.self_ids)
    }
    if question.asker:
        people.add(question.asker.id)
    return SpeakerStyle.TAGGED if len(people) > 1 else SpeakerStyle.ROLE


def question_text(question: Question, style: LineStyle, layout: Layout) -> str:
    """The question as it is written: in tagged style with its speaker, like every other line.

    In one message with the context it cannot begin a line of its own, which would pass for somebody else's (law 4).
    """
    if style.speaker is SpeakerStyle.ROLE or question.asker is None:
        is_apart = layout in (Layout.TURNS, Layout.CONTEXT_AND_QUESTION)
        return question.text if is_apart else indent(question.text)
    name, author_id = escape_name(question.asker.name), escape_name(question.asker.id)
    who = f"{name} <{author_id}>" if name else f"<{author_id}>"
    return f"{who}: {indent(question.text)}"
