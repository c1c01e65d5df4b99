"""The question of a build as the sources see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import INLINE_US, Question
from backscroll_sidecar.ports import HistoryReader
from backscroll_sidecar.strategies import StrategyQuery


async def strategy_query(
    store: HistoryReader,
    request: BuildRequest,
    profile: Profile,
    view: ChannelView,
    question: Question,
    text: str | None = None,
) -> StrategyQuery:
    """What `strategies` are asked with; `text`: in the place of the question's own."""
    return StrategyQuery(
        store=store,
        key=request.key,
        view=view,
        end=question.end,
        excluded=question.excluded(view),
        make_eligible=await _eligible_rows(question, view),
        user_id=question.asker.id if question.asker else "",
        question=question.text if text is None else text,
        asked_at_ms=question.asked_at_ms,
        parent_row=question.parent_row if profile.follow_inferred else question.explicit_parent_row,
        preferences=request.preferences,
        recent_limit=profile.recent_limit,
        window_limit=profile.window_limit,
        window_hours=profile.window_hours,
        thread_limit=profile.thread_limit,
        semantic_limit=profile.semantic_limit,
        recall_limit=profile.recall_limit,
        follow_inferred=profile.follow_inferred,
        query_embedding=request.query_embedding,
        trigger_row=question.trigger_row,
        self_ids=request.self_ids,
        thread_id=question.thread_id,
        lost_parent=question.lost_parent,
        mentioned=question.mentioned,
    )


async def _eligible_rows(question: Question, view: ChannelView) -> Callable[[], NDArray[np.bool_]]:
    """Makes the marks of rows that may be candidates; they are made already, in a thread, where that takes long."""
    if question.eligible_us(view) <= INLINE_US:
        return partial(question.eligible, view)
    marks = await asyncio.to_thread(question.eligible, view)
    return lambda: marks
