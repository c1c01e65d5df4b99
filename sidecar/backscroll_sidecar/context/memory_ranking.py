"""The score for long memory as a build's ranking. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.strategies.memory import Memory, MemoryQuestion, rank_memory, seek


def rank_rows_by_memory(
    view: ChannelView,
    question: Question,
    rows: NDArray[np.int32],
    dense: NDArray[np.float32] | None = None,
) -> Memory:
    """The candidates' scores, in their order. All rows before the question count for what is rare and what is best."""
    eligible = question.eligible(view, None)
    asker = question.asker
    asked = MemoryQuestion(
        question.text,
        question.asked_at_ms,
        asker.id if asker else "",
        asker.name if asker else "",
    )
    return rank_memory(view, seek(view, asked, eligible), dense, rows=rows)
