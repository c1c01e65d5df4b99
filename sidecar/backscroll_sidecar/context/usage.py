"""What is recorded of a build, made from what it found out. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context import selection
from backscroll_sidecar.context.asked_with import Asking, asked_with
from backscroll_sidecar.context.budget import Fitted
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.domain import Degradation, Fate, Rung
from backscroll_sidecar.ports import (
    FATES,
    NO_TRIAL,
    Chances,
    Exploration,
    ForeignMessage,
    Trial,
    UsageRecord,
    pack_candidates,
)

POLICY_BYTES = 6
_STORED_FATE = np.array([FATES.index(one) for one in selection.FATES], np.uint8)
_SELECTED = FATES.index(Fate.SELECTED)


def usage_record(
    request: BuildRequest,
    context_id: str,
    view: ChannelView,
    question: Question,
    picked: Picked,
    fitted: Fitted,
    rung: Rung,
    degradations: tuple[Degradation, ...],
    created_at_ms: int,
    build_us: int,
    asking: Asking,
    trial: Trial = NO_TRIAL,
) -> UsageRecord:
    """The record of a build whose answer is written. Candidates that found no room have that fate."""
    picked.selection.drop(fitted.dropped)
    ranked, rows = picked.ranked, picked.gathered.rows
    scores = ranked.scores if ranked.all_scores is None else ranked.all_scores()
    fates = _STORED_FATE[picked.selection.fate]
    draw, chances, exploration = picked.draw, None, None
    if draw is not None:
        chances = Chances(draw.features, draw.inclusion, draw.drawn)
        exploration = Exploration(
            draw.slots, draw.temperature, draw.seed, draw.probability, draw.factors, draw.seed_given
        )
    is_own = rows < (0 if view.origins else view.count)
    foreign: tuple[ForeignMessage, ...] = ()
    if not is_own.all():
        foreign = tuple(_foreign(view, picked, scores.tolist(), fates.tolist()))
        rows, scores, fates = rows[is_own], scores[is_own], fates[is_own]
        if chances is not None:
            chances = Chances(
                chances.features[is_own], chances.inclusion[is_own], chances.drawn[is_own]
            )
    seqs = view.seq[rows]
    return UsageRecord(
        context_id,
        question.asker.id if question.asker is not None else "",
        request.trigger_message_id or request.own_question_id,
        tuple(np.sort(seqs[fates == _SELECTED]).tolist()),
        pack_candidates(seqs, scores, fates, chances),
        picked.profile.name,
        policy_id(picked.profile),
        created_at_ms,
        question.asked_at_ms,
        rung,
        degradations,
        fitted.tokens.total,
        fitted.tokens.budget,
        build_us,
        foreign,
        exploration,
        trial,
        request.reply is not None or question.explicit_parent_row >= 0,
        asked_with(request, asking, view, question, fitted),
    )


def _foreign(
    view: ChannelView, picked: Picked, scores: list[float], fates: list[int]
) -> Iterator[ForeignMessage]:
    """The candidates of other channels: rows of a view of many, or those found elsewhere."""
    elsewhere = picked.elsewhere
    for row, score, fate in zip(picked.gathered.rows.tolist(), scores, fates, strict=True):
        if row >= view.count and elsewhere is not None:
            channel, seq = elsewhere.view.origins[row - view.count]
        elif view.origins:
            channel, seq = view.origins[view.seq.item(row) - 1]
        else:
            continue
        yield ForeignMessage(channel, seq, round(score, 4), FATES[fate])


@lru_cache(maxsize=1_024)
def policy_id(profile: Profile) -> str:
    """The profile's name, and a digest of all that decides what it chooses: other weights, another policy."""
    digest = blake2b(repr(profile).encode(), digest_size=POLICY_BYTES).hexdigest()
    return f"{profile.name}@{digest}"
