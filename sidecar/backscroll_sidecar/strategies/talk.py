"""The asker's talk with the bot, as the reply model finds it: what of it a question goes on from. Pure.

A line such as "I felt so lonely then" says nothing by itself; what it is about stands in the lines before it. These are
the asker's own, and the bot's to the asker. Between two people no such thing is read: who asks the bot about long ago
there says it in one line, and the talk leads away from it (locomo_dev, asked ten seconds after the last line: recall@10
.584 with the talk in the question, .818 without).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.links import Ranking
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.domain import Role

LOOKED_BACK = 40
"""The newest candidates of the reply model that are looked at."""
MOST_LINES = 12
TALK_PAUSE_MS = 30 * 60_000
"""A pause as long as that ends a talk."""
TOGETHER = 0.5
"""A line this likely of the question's conversation, or less, does not count. The bot's answers to somebody else in the
same minutes have .2 to .5, those to the asker .85 to .98."""
FADING = 0.8
"""What each line counts for by the next older one."""
LATELY = 3
"""The bot speaks with the asker: it has one of the last so many lines of the talk."""


_ASSISTANT, _NOBODY = np.uint8(Role.ASSISTANT), -1


class TalkLines(NamedTuple):
    """Lines of a talk, the newest first.

    Attributes
    ----------
    rows : int32[k]
    weights : float64[k]
        0 to 1: how surely a line belongs to the question's conversation, less the further back it stands.
    with_bot : bool
        Asker and bot were the last to talk. After a pause that is all that is left of a talk: it has no lines.
    """

    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    with_bot: bool = False


NO_TALK = TalkLines(np.empty(0, np.int32), np.empty(0))


def talk_with_bot(
    view: ChannelView,
    replies: Ranking,
    asker_id: str,
    self_ids: tuple[str, ...],
    asked_at_ms: int,
) -> TalkLines:
    """The lines of asker and bot that the question goes on from; none unless the two are talking."""
    since = max(0, len(replies.rows) - LOOKED_BACK)
    rows = replies.rows[since:]
    by_bot = view.role[rows] == _ASSISTANT
    people = view.people.index
    bots = [people[user_id] for user_id in self_ids if user_id in people]
    for bot in bots:
        by_bot |= view.columns.author[rows] == bot
    asker = people.get(asker_id, _NOBODY) if asker_id else _NOBODY
    if asker == _NOBODY or not by_bot.any():
        return NO_TALK
    authors = view.columns.author[rows]
    surely = (replies.together[since:] - TOGETHER) / (1.0 - TOGETHER)
    own = authors == asker
    answered = (
        own[:-1] & by_bot[1:]
    )  # a bot speaks when it is spoken to, which the model does not know
    surely[:-1][answered] = np.maximum(surely[:-1], surely[1:])[answered]
    counts = (by_bot | own) & (surely > 0.0)
    if not view.all_live:
        counts &= view.state[rows] == LIVE
    places = np.flatnonzero(counts)[::-1][:MOST_LINES]
    turns = by_bot[places]
    if not turns[:LATELY].any() or turns.all():
        return NO_TALK
    places = places[places >= _begin(view, rows, asked_at_ms)]
    weights = surely[places] * FADING ** np.arange(len(places))
    return TalkLines(rows[places], weights, with_bot=True)


def _begin(view: ChannelView, rows: NDArray[np.int32], asked_at_ms: int) -> int:
    """The place of the first row behind the last pause; their count where the question itself stands behind one."""
    times_ms = np.append(view.columns.time_ms[rows], asked_at_ms)
    pauses = np.flatnonzero(np.diff(times_ms) >= TALK_PAUSE_MS)
    return int(pauses[-1]) + 1 if len(pauses) else 0
