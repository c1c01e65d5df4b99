"""Chats to columns: what the models are fitted on, computed by the functions that serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.link_columns import MAX_NAMED, START, LinkArrays, LinkQuestion
from backscroll_scoring.link_model import LinkModel
from backscroll_scoring.links import (
    ReplyLinks,
    candidates,
    chances,
    conversation_columns,
    extend_links,
    first_row,
    link_columns,
    new_links,
    with_rows,
)  # fmt: skip
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.reply_ranker import alike_rows, line_cues, rare_identifiers
from backscroll_sidecar.context.shared_errors import rows_of_same_error
from bench.training.data import Ask, Chat


@dataclass
class Example:
    """One annotated message: its candidates, their columns, what is right."""

    ask: Ask
    rows: NDArray[np.int32]
    n_extra: int
    x: NDArray[np.float32]
    start: NDArray[np.float64]
    gold: NDArray[np.bool_]
    group: str
    more: NDArray[np.float32] | None = None
    p: NDArray[np.float64] | None = None
    starts_new: float = 0.0

    @property
    def both(self) -> NDArray[np.float32]:
        """The columns of both stages."""
        assert self.more is not None
        return np.concatenate([self.x, self.more], axis=1)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Whether it is known of each candidate if it belongs to the conversation."""
        if not self.ask.conversation:
            return np.zeros(len(self.rows), np.bool_)
        return (self.rows >= self.ask.judged_from) & (np.arange(len(self.rows)) >= self.n_extra)

    @property
    def belongs(self) -> NDArray[np.bool_]:
        """Which candidates belong to the conversation."""
        return np.isin(self.rows, self.ask.conversation or ())


def arrays_of(chat: Chat) -> LinkArrays:
    """A chat's arrays with the cues of all its rows."""
    view = chat.view
    k = view.explicit_columns
    return LinkArrays(
        k.time_ms, k.author, k.parent, k.mention_offsets, k.mention_ids, k.keyword_offsets, k.keyword_ids,
        view.message_type, view.token_count, *line_cues(view, 0, view.count),
    )  # fmt: skip


def question_at(
    view: ChannelView, arrays: LinkArrays, row: int, allowed: NDArray[np.uint8]
) -> LinkQuestion:
    """A stored message as a question."""
    author = int(arrays.author[row])
    named = arrays.mention_ids[
        arrays.mention_offsets[row] : arrays.mention_offsets[row + 1]
    ].tolist()
    named = [] if len(named) > MAX_NAMED else [user for user in named if user != author]
    parent = int(arrays.parent[row])
    for user in (int(arrays.called[row]), int(arrays.author[parent]) if 0 <= parent < row else -1):
        if user not in {-1, author, *named}:
            named.append(user)
    numbers = arrays.keyword_ids[arrays.keyword_offsets[row] : arrays.keyword_offsets[row + 1]]
    words = [view.keyword_ids.word(number) for number in numbers.tolist()]
    return LinkQuestion(
        int(arrays.time_ms[row]), author, int(arrays.message_type[row]), int(arrays.flags[row]),
        int(arrays.called[row]), int(arrays.shortened[row]), np.array(named, np.int32),
        numbers, int(arrays.tokens[row]),
        rare_identifiers(view, view.texts[row], words, numbers.tolist(), allowed[:row].view(np.bool_)),
        rows_of_same_error(view, view.texts[row], allowed[:row].view(np.bool_)),
    )  # fmt: skip


def examples(chat: Chat, arrays: LinkArrays, every: int = 1) -> list[Example]:
    """The first-stage columns of each n-th annotated message."""
    out = []
    allowed = np.ones(chat.view.count, np.uint8)
    for ask in chat.asks[::every]:
        question = question_at(chat.view, arrays, ask.row, allowed)
        rows, n_extra = _candidates(chat, arrays, allowed, question, ask.row)
        if len(rows) == 0:
            continue
        x, start = link_columns(arrays, question, rows, n_extra)
        gold = np.isin(rows, ask.gold)
        out.append(Example(ask, rows.copy(), n_extra, x.astype(np.float32), start, gold, ask.group))
    return out


def _candidates(
    chat: Chat, arrays: LinkArrays, allowed: NDArray[np.uint8], question: LinkQuestion, end: int
) -> tuple[NDArray[np.int32], int]:
    """What a question at a row is ranked with, and how many of them stand before the window."""
    rows, n_older = candidates(arrays, end, allowed, 0, question)
    alike = alike_rows(chat.view, question, allowed[:end].view(np.bool_))
    found = with_rows(rows, alike)
    return found, int((found < rows[n_older]).sum()) if n_older < len(rows) else len(found)


def add_conversations(arrays: LinkArrays, found: Sequence[Example], model: LinkModel) -> None:
    """The second-stage columns of a chat's examples, by the first stage of a model."""
    allowed = np.ones(len(arrays.author), np.uint8)
    links: ReplyLinks | None = None
    for one in found:
        end = one.ask.row
        if links is None or links.first != first_row(end):
            links = new_links(first_row(end))
            done = links.first
        extend_links(arrays, allowed, 0, links, done, end, model)
        done, count = end, end - links.first
        known = ReplyLinks(
            links.first,
            links.rows[:count],
            links.chances[:count],
            links.starts[:count],
            links.together[:count],
        )
        x = one.x.astype(np.float64)
        scores = x @ model.first.weights + model.first.intercept
        one.p, one.starts_new = chances(scores, one.start, model.start)
        parent = int(arrays.parent[end])
        if parent in one.rows:
            one.p, one.starts_new = (one.rows == parent).astype(np.float64), 0.0
        one.more = conversation_columns(
            arrays,
            known,
            one.rows,
            one.n_extra,
            int(arrays.author[end]),
            x,
            one.p,
            one.starts_new,
            float(one.start[START.index("quiet")]),
        ).astype(np.float32)
