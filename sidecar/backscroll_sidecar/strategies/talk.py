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
MOST_SINCE_PAUSE, SINCE_PAUSE_ROWS = 200, 1_500
"""Lines of a long talk that are kept from the history, among so many of the newest rows."""
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


_NO_ROWS = np.empty(0, np.int32)


class TalkLines(NamedTuple):
    """Lines of a talk, the newest first.

    Attributes
    ----------
    rows : int32[k]
    weights : float64[k]
        0 to 1: how surely a line belongs to the question's conversation, less the further back it stands.
    with_bot : bool
        Asker and bot were the last to talk. After a pause that is all that is left of a talk: it has no lines.
    since_pause : int32[m]
        All that both said since the last pause, of `MOST_SINCE_PAUSE` at most: it is no part of the history.
    """

    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    with_bot: bool = False
    since_pause: NDArray[np.int32] = _NO_ROWS


NO_TALK = TalkLines(_NO_ROWS, np.empty(0))


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
    people = view.people.index
    bots = [people[user_id] for user_id in self_ids if user_id in people]
    by_bot = _by_bot(view, rows, bots)
    asker = people.get(asker_id, _NOBODY) if asker_id else _NOBODY
    if asker == _NOBODY or not by_bot.any():
        return NO_TALK
    authors = view.columns.author[rows]
    surely = (replies.together[since:] - TOGETHER) / (1.0 - TOGETHER)
    own = authors == asker
    # A bot speaks when it is spoken to, which the model does not know.
    answered = own[:-1] & by_bot[1:]
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
    since_pause = _since_pause(view, int(rows[-1]) + 1, asker, bots, asked_at_ms)
    return TalkLines(rows[places], weights, True, since_pause)


def _by_bot(view: ChannelView, rows: NDArray[np.int32], bots: list[int]) -> NDArray[np.bool_]:
    """bool[k]: the bot's rows, by role or by one of its users."""
    by_bot: NDArray[np.bool_] = view.role[rows] == _ASSISTANT
    for bot in bots:
        by_bot |= view.columns.author[rows] == bot
    return by_bot


def _since_pause(
    view: ChannelView, end: int, asker: int, bots: list[int], asked_at_ms: int
) -> NDArray[np.int32]:
    """The rows below `end` of asker and bot since their last pause."""
    rows = np.arange(max(0, end - SINCE_PAUSE_ROWS), end, dtype=np.int32)
    rows = rows[_by_bot(view, rows, bots) | (view.columns.author[rows] == asker)]
    rows = rows[-MOST_SINCE_PAUSE:]
    since: NDArray[np.int32] = rows[_begin(view, rows, asked_at_ms) :]
    return since


def _begin(view: ChannelView, rows: NDArray[np.int32], asked_at_ms: int) -> int:
    """The place of the first row behind the last pause; their count where the question itself stands behind one."""
    times_ms = np.append(view.columns.time_ms[rows], asked_at_ms)
    pauses = np.flatnonzero(np.diff(times_ms) >= TALK_PAUSE_MS)
    return int(pauses[-1]) + 1 if len(pauses) else 0
