"""Lines of other channels that mean what the question means: references beside those of the channel itself.

They stand behind the channel's own candidates: their rows are counted on from those of the view. Nothing is looked for
unless the request names a wider scope and the operator permits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Protocol, runtime_checkable

import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring.layout import BY_MEANING_ALONE, OVER_LIMIT, SELECTED
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.context.candidates import SOURCE_SHARE, Gathered
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.ranking import MEANING, Contributions, Ranked
from backscroll_sidecar.context.selection import HEAD, Selection
from backscroll_sidecar.context.tool_exchanges import whole_exchanges
from backscroll_sidecar.domain import (
    ChannelKey,
    Degradation,
    Role,
    Rung,
    SearchScope,
    StoredMessage,
)
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.lines.line_source import Elsewhere
from backscroll_sidecar.ports import WideHits
from backscroll_sidecar.strategies import SourceFailed, StrategyQuery

log = structlog.get_logger(__name__)
SEMANTIC = "semantic"


@runtime_checkable
class WideMeaning(Protocol):
    """The part of the semantic source that looks beyond the channel."""

    async def elsewhere(
        self,
        query: StrategyQuery,
        scope: SearchScope,
        *,
        in_stays: bool,
        allowed: AllowedChannels | None = None,
    ) -> WideHits:
        """What it finds in other allowed channels. Raises `SourceFailed`, `NotAllowed`, `StoreUnavailable`."""


class Rows(Protocol):
    """Makes rows of stored messages."""

    def view_of(self, tenant: str, stored: Sequence[StoredMessage]) -> ChannelView:
        """Messages of whatever channels as a view, in their order where that is by time."""


async def with_elsewhere(
    picked: Picked,
    request: BuildRequest,
    query: StrategyQuery,
    source: object,
    rows: Rows,
    deadline: Deadline,
    *,
    skips_system: bool,
) -> Picked:
    """What was picked and, as far as the request's scope is wider, lines of other channels. Raises nothing.

    `source`: the semantic strategy, if there is one.
    """
    if request.semantic_scope is SearchScope.CHANNEL or picked.rung is not Rung.RANKED:
        return picked
    try:
        if SEMANTIC not in picked.profile.sources + picked.profile.memory_sources:
            raise SourceFailed("NOT_IN_PROFILE")
        if not isinstance(source, WideMeaning):
            raise SourceFailed("NOT_CONFIGURED")
        looking = source.elsewhere(
            query,
            request.semantic_scope,
            in_stays=request.visible_since_membership,
            allowed=request.allowed,
        )
        hits = await deadline.bound(looking, SOURCE_SHARE)
        seen = [one for one in hits.hits if request.viewer.may_see(one.stored)]
        hits = hits._replace(hits=seen)
        if skips_system:
            shown = [one for one in hits.hits if one.stored.message.role is not Role.SYSTEM]
            hits = hits._replace(hits=shown)
        return _beside(picked, query.view, _lines(hits, request.key, rows), hits.exhaustive)
    except TimeoutError:
        reason = "TIMEOUT"
    except SourceFailed as failed:
        reason = failed.reason
    except BackscrollError as error:
        reason = error.reason.value
    except Exception as error:
        log.warning("looking elsewhere failed", error=type(error).__name__, exc_info=True)
        reason = "ERROR"
    lost = Degradation("gather", reason, SEMANTIC)
    known = picked.degradations
    return picked if lost in known else replace(picked, degradations=(*known, lost))


def _lines(hits: WideHits, key: ChannelKey, rows: Rows) -> Elsewhere:
    by_time = sorted(hits.hits, key=lambda hit: (hit.stored.rank_time_ms, hit.stored.seq))
    stored = [hit.stored for hit in by_time]
    return Elsewhere(
        rows.view_of(key.tenant, stored),
        tuple(one.message.channel for one in stored),
        np.array([max(0.0, hit.score) for hit in by_time], np.float64),
    )


def _beside(picked: Picked, view: ChannelView, there: Elsewhere, exhaustive: bool) -> Picked:
    """The candidates with those lines behind them; of the selected the best come first, then both take turns."""
    count, k = len(picked.gathered.rows), len(there.channels)
    if not k:
        gathered = picked.gathered
        return replace(
            picked, gathered=replace(gathered, exhaustive=gathered.exhaustive and exhaustive)
        )
    own: list[int] = picked.selection.chosen.tolist()
    best_first = (np.argsort(-there.scores, kind="stable") + count).tolist()
    order = own[:HEAD]
    for pair in zip_longest(best_first, own[HEAD:]):
        order += [place for place in pair if place is not None]
    most, members = picked.profile.max_context, picked.gathered.exchanges.members
    chosen = whole_exchanges(order, members, most) if members else order[:most]
    fate = np.append(picked.selection.fate, np.full(k, OVER_LIMIT, np.uint8))
    fate[picked.selection.chosen] = OVER_LIMIT
    fate[chosen] = SELECTED
    return replace(
        picked,
        gathered=_gathered(picked.gathered, view.count, k, exhaustive),
        ranked=_ranked(picked.ranked, count, there.scores),
        selection=Selection(
            np.array(chosen, np.int64),
            fate,
            np.append(picked.selection.stage, np.full(k, BY_MEANING_ALONE, np.uint8)),
        ),
        elsewhere=there,
    )


def _gathered(gathered: Gathered, first_row: int, k: int, exhaustive: bool) -> Gathered:
    sources = gathered.sources
    if SEMANTIC not in sources:
        sources += (SEMANTIC,)
    bit = np.uint32(1 << sources.index(SEMANTIC))
    return replace(
        gathered,
        rows=np.append(gathered.rows, np.arange(first_row, first_row + k, dtype=np.int32)),
        source_bits=np.append(gathered.source_bits, np.full(k, bit)),
        semantic=np.append(gathered.semantic, np.ones(k, np.bool_)),
        sources=sources,
        exhaustive=gathered.exhaustive and exhaustive,
    )


def _ranked(ranked: Ranked, count: int, scores: NDArray[np.float64]) -> Ranked:
    """With a factor more: the cosine, which is all that the other lines are scored by."""
    places, all_scores = ranked.places, ranked.all_scores

    def contributions() -> Contributions:
        shares, linear = ranked.contributions()
        wider = np.zeros((count + len(scores), shares.shape[1] + 1))
        wider[:count, :-1], wider[count:, -1] = shares, scores
        return wider, np.append(linear, scores)

    more = np.arange(count, count + len(scores), dtype=np.int32)
    return replace(
        ranked,
        scores=np.append(ranked.scores, scores),
        stages=np.append(ranked.stages, np.full(len(scores), BY_MEANING_ALONE, np.uint8)),
        contributions=contributions,
        factors=(*ranked.factors, MEANING),
        weights=(*ranked.weights, 1.0),
        places=None if places is None else np.append(places, more),
        all_scores=None if all_scores is None else lambda: np.append(all_scores(), scores),
    )
