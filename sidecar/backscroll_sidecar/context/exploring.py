"""The last places of a selection, drawn: what is learnt about other weights is learnt here. Pure.

Drawn for are the places of the candidates whose score alone got them there. Those that the next best could not take, a
pin, the chain, a tool exchange, keep theirs. As many lines are shown as without a draw.
"""

from __future__ import annotations

import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring.layout import BELOW_THRESHOLD, BY_SCORE, OVER_LIMIT, SELECTED
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.model import BuildRequest, Draw
from backscroll_sidecar.context.selection import BY_EXPLORATION, Selection
from backscroll_sidecar.context.usage import policy_id
from backscroll_sidecar.domain import Degradation, Rung
from backscroll_sidecar.learning.exploration import SlotDraw, draw_slots, seed_of
from backscroll_sidecar.times import day_of

log = structlog.get_logger(__name__)

POOL = 16
"""So many candidates compete for the places. The more, the further apart they lie, and the more a draw teaches."""


def explored(picked: Picked, request: BuildRequest, asked_at_ms: int, context_id: str) -> Picked:
    """What was picked in one channel with its last places drawn, where its profile says so. Raises nothing.

    A fallback is never drawn.
    """
    is_own = bool(request.key.channel)
    if picked.rung is not Rung.RANKED or picked.ranked.features is None or not is_own:
        return picked
    try:
        return _explored(picked, request, asked_at_ms, context_id)
    except Exception as error:  # whatever broke, the bot gets what was picked
        log.warning("exploration failed", error=type(error).__name__, exc_info=True)
        lost = (*picked.degradations, Degradation("select", "ERROR", "exploration"))
        return replace(picked, degradations=lost)


def _explored(picked: Picked, request: BuildRequest, asked_at_ms: int, context_id: str) -> Picked:
    profile, ranked = picked.profile, picked.ranked
    assert ranked.features is not None
    features = ranked.features()
    linear = features @ np.asarray(ranked.weights)
    chosen = picked.selection.chosen
    ranking, slots = _ranking(picked, linear)
    slots = min(slots, profile.exploration_slots)
    if not slots:
        return picked
    seed = request.exploration_seed
    if seed is None:
        asked = request.trigger_message_id or request.own_question_id or context_id
        tenant, channel = request.key
        where = f"{len(tenant)}:{tenant}{channel}"
        seed = seed_of(policy_id(profile), where, day_of(asked_at_ms), asked)
    found = draw_slots(
        ranking, linear, size=len(chosen), slots=slots, pool=POOL,
        temperature=profile.exploration_temperature, seed=seed,
    )  # fmt: skip
    if not found.is_explored:
        return picked
    inclusion = np.zeros(len(linear))
    inclusion[ranking] = found.inclusion
    drawn = np.zeros(len(linear), np.bool_)
    drawn[found.order] = True
    draw = Draw(
        slots, profile.exploration_temperature, seed, found.probability, ranked.factors, features, inclusion, drawn,
        seed_given=request.exploration_seed is not None,
    )  # fmt: skip
    if ranked.all_scores is not None:  # only those over the threshold have one
        ranked = replace(ranked, scores=ranked.all_scores(), places=None, all_scores=None)
    selection = _with_draw(picked.selection, found, inclusion)
    return replace(picked, ranked=ranked, selection=selection, draw=draw)


def _ranking(picked: Picked, linear: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """The candidates as they are drawn from, and how many places may be drawn for: those that stay, those whose place
    is the next best's without a draw, those that might have one, by the weighted sum.
    """
    selection, exchanges = picked.selection, picked.gathered.exchanges
    bound = [*exchanges.members, *exchanges.dropped]
    is_free = selection.stage == BY_SCORE
    is_free[bound] = False
    chosen = selection.chosen
    may_go = is_free[chosen]
    is_rival = (selection.fate == OVER_LIMIT) | (selection.fate == BELOW_THRESHOLD)
    is_rival[bound] = False
    rivals = np.flatnonzero(is_rival)[::-1]  # of equal sums the later first
    rivals = rivals[np.argsort(-linear[rivals], kind="stable")]
    return np.concatenate((chosen[~may_go], chosen[may_go], rivals)), int(may_go.sum())


def _with_draw(selection: Selection, found: SlotDraw, inclusion: NDArray[np.float64]) -> Selection:
    fate, stage = selection.fate.copy(), selection.stage.copy()
    is_left = (inclusion > 0.0) & (inclusion < 1.0)
    fate[is_left & (fate == SELECTED)] = OVER_LIMIT
    fate[found.order] = SELECTED
    stage[is_left & (fate == SELECTED)] = BY_EXPLORATION
    return Selection(found.order, fate, stage)
