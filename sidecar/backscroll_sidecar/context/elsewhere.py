"""Lines of other channels: references beside those of the channel itself.

They stand behind the channel's own candidates: their rows are counted on from those of the view. Nothing is looked for
unless the request names a wider scope and the operator permits it, or other channels share with this one.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import zip_longest
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring.layout import BY_MEANING_ALONE, BY_MEMORY, OVER_LIMIT, SELECTED
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.context.candidates import SOURCE_SHARE, Gathered
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.history_search import Meaning
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.ranking import MEANING, Contributions, Ranked
from backscroll_sidecar.context.selection import HEAD, Selection
from backscroll_sidecar.context.shared_channels import SHARING, SharedChannels, SharedLines
from backscroll_sidecar.context.tool_exchanges import whole_exchanges
from backscroll_sidecar.context.visibility import VisibilityRule
from backscroll_sidecar.domain import (
    Degradation,
    Role,
    Rung,
    SearchScope,
    Sharing,
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


class Opened(Protocol):
    """Where channels come from (`opening.Opening`)."""

    @property
    def views(self) -> Rows:
        """Makes rows."""

    @property
    def shared(self) -> SharedChannels:
        """Finds lines of channels that share with another."""


class Found(NamedTuple):
    """Lines of other channels by one way of looking; what their scores are made of, by `factors`."""

    lines: Sequence[Line] = ()
    factors: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    exhaustive: bool = True


class Line(NamedTuple):
    """A line of another channel, and why it may be shown."""

    stored: StoredMessage
    source: str
    stage: int
    score: float
    linear: float
    shares: Sequence[float]
    rule: VisibilityRule
    group: str = ""


async def with_elsewhere(
    picked: Picked,
    request: BuildRequest,
    query: StrategyQuery,
    source: object,
    opening: Opened,
    sharing: Sharing | None,
    deadline: Deadline,
    *,
    skips_system: bool,
) -> Picked:
    """What was picked and lines of other channels: where the request's scope is wider, and of those that share with
    this one. Raises nothing.

    `source`: the semantic strategy, if there is one; `sharing`: what is set for the channel.
    """
    if picked.rung is not Rung.RANKED:
        return picked
    found = list[Found]()
    if request.semantic_scope is not SearchScope.CHANNEL:
        wide, lost = await _wider(
            picked.profile, request, query, source, deadline, skips_system=skips_system
        )
        found.append(wide)
        picked = _without(picked, lost)
    if sharing is not None:
        meaning = source if isinstance(source, Meaning) else None
        lines = await opening.shared.find(query, request, sharing, meaning, deadline)
        found.append(_shared(lines, known={_copy(one.stored) for one in _lines_of(found)}))
        if lines.lost:
            picked = _without(picked, Degradation("gather", lines.lost, SHARING))
    return _beside(picked, query.view, found, opening.views)


def _without(picked: Picked, lost: Degradation | None) -> Picked:
    known = picked.degradations
    if lost is None or lost in known:
        return picked
    return replace(picked, degradations=(*known, lost))


async def _wider(
    profile: Profile,
    request: BuildRequest,
    query: StrategyQuery,
    source: object,
    deadline: Deadline,
    *,
    skips_system: bool,
) -> tuple[Found, Degradation | None]:
    """What the semantic source finds in the request's scope, and why it does not."""
    try:
        if SEMANTIC not in profile.sources + profile.memory_sources:
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
        return _by_meaning(hits, request, skips_system=skips_system), None
    except TimeoutError:
        reason = "TIMEOUT"
    except SourceFailed as failed:
        reason = failed.reason
    except BackscrollError as error:
        reason = error.reason.value
    except Exception as error:
        log.warning("looking elsewhere failed", error=type(error).__name__, exc_info=True)
        reason = "ERROR"
    return Found(), Degradation("gather", reason, SEMANTIC)


def _by_meaning(hits: WideHits, request: BuildRequest, *, skips_system: bool) -> Found:
    """With one factor: the cosine, which is all that these lines are scored by."""
    is_users = request.semantic_scope is SearchScope.USER
    rule = VisibilityRule.USER_SCOPE if is_users else VisibilityRule.TENANT_SCOPE
    lines = [
        Line(stored, SEMANTIC, BY_MEANING_ALONE, max(0.0, score), max(0.0, score), (max(0.0, score),), rule)
        for stored, score in hits.hits
        if request.viewer.may_see(stored)
        and not (skips_system and stored.message.role is Role.SYSTEM)
    ]  # fmt: skip
    return Found(lines, (MEANING,), (1.0,), hits.exhaustive)


def _shared(found: SharedLines, known: Set[tuple[str, str]]) -> Found:
    """Scored as the histories of their channels are. `known`: lines that are shown anyway."""
    lines = [
        Line(
            one.stored, SHARING, BY_MEMORY, one.score, one.linear, one.shares.tolist(),
            VisibilityRule.SHARING, one.group,
        )
        for one in found.lines
        if _copy(one.stored) not in known
    ]  # fmt: skip
    return Found(lines, found.factors, found.weights, found.is_exhaustive)


def _copy(stored: StoredMessage) -> tuple[str, str]:
    """What two copies of a message have in common."""
    return stored.message.author.id, stored.analysis.text.strip()


def _lines_of(found: Sequence[Found]) -> list[Line]:
    return [line for one in found for line in one.lines]


def _beside(picked: Picked, view: ChannelView, found: Sequence[Found], rows: Rows) -> Picked:
    """The candidates with those lines behind them; of the selected the best come first, then all take turns."""
    exhaustive = all(one.exhaustive for one in found)
    own: list[int] = picked.selection.chosen.tolist()
    shown = picked.gathered.rows[picked.selection.chosen].tolist() if _lines_of(found) else []
    said = {(view.author_id(row), view.texts[row].strip()) for row in shown}
    found = [
        one._replace(lines=[line for line in one.lines if line.source != SHARING or _copy(line.stored) not in said])
        for one in found
    ]  # fmt: skip
    lines = _lines_of(found)
    if not lines:
        gathered = picked.gathered
        if exhaustive:
            return picked
        return replace(picked, gathered=replace(gathered, exhaustive=False))
    count = len(picked.gathered.rows)
    by_time = sorted(lines, key=lambda one: (one.stored.rank_time_ms, one.stored.seq))
    place_of = {id(line): count + at for at, line in enumerate(by_time)}
    best_first = [  # of equal scores the earlier
        sorted((place_of[id(line)] for line in one.lines), key=lambda at: (-by_time[at - count].score, at))
        for one in found
    ]  # fmt: skip
    order = own[:HEAD]
    for some in zip_longest(*best_first, own[HEAD:]):
        order += [place for place in some if place is not None]
    most, members = picked.profile.max_context, picked.gathered.exchanges.members
    chosen = whole_exchanges(order, members, most) if members else order[:most]
    k, stages = len(by_time), np.array([line.stage for line in by_time], np.uint8)
    fate = np.append(picked.selection.fate, np.full(k, OVER_LIMIT, np.uint8))
    fate[picked.selection.chosen] = OVER_LIMIT
    fate[chosen] = SELECTED
    scores = np.array([line.score for line in by_time])
    stored = [line.stored for line in by_time]
    return replace(
        picked,
        gathered=_gathered(picked.gathered, view.count, by_time, exhaustive=exhaustive),
        ranked=_ranked(picked.ranked, count, scores, stages, _contributions(by_time, found)),
        selection=Selection(
            np.array(chosen, np.int64), fate, np.append(picked.selection.stage, stages)
        ),
        elsewhere=Elsewhere(
            rows.view_of(view.key.tenant, stored),
            tuple(one.message.channel for one in stored),
            scores,
            np.array([line.rule for line in by_time], np.uint32),
            tuple(line.group for line in by_time),
            tuple(line.source == SHARING for line in by_time),
        ),
    )


def _contributions(lines: Sequence[Line], found: Sequence[Found]) -> _Added:
    """What the scores of lines of other channels are made of: each way of looking has columns of its own."""
    factors = tuple(name for one in found for name in one.factors)
    weights = tuple(weight for one in found for weight in one.weights)
    shares, first = np.zeros((len(lines), len(factors))), 0
    places = {id(line): at for at, line in enumerate(lines)}
    for one in found:
        end = first + len(one.factors)
        for line in one.lines:
            shares[places[id(line)], first : first + len(line.shares)] = line.shares
        first = end
    return _Added(factors, weights, shares, np.array([line.linear for line in lines]))


class _Added(NamedTuple):
    """Columns that only lines of other channels have: float64[k, f], and their sums, float64[k]."""

    factors: tuple[str, ...]
    weights: tuple[float, ...]
    shares: NDArray[np.float64]
    linear: NDArray[np.float64]


def _gathered(
    gathered: Gathered, first_row: int, lines: Sequence[Line], *, exhaustive: bool
) -> Gathered:
    sources = gathered.sources
    sources += tuple(
        name for name in dict.fromkeys(line.source for line in lines) if name not in sources
    )
    bits = np.array([1 << sources.index(line.source) for line in lines], np.uint32)
    rows = np.arange(first_row, first_row + len(lines), dtype=np.int32)
    return replace(
        gathered,
        rows=np.append(gathered.rows, rows),
        source_bits=np.append(gathered.source_bits, bits),
        semantic=np.append(gathered.semantic, np.ones(len(lines), np.bool_)),
        sources=sources,
        exhaustive=gathered.exhaustive and exhaustive,
    )


def _ranked(
    ranked: Ranked,
    count: int,
    scores: NDArray[np.float64],
    stages: NDArray[np.uint8],
    added: _Added,
) -> Ranked:
    """With the other lines behind the candidates."""
    places, all_scores, k = ranked.places, ranked.all_scores, len(scores)

    def contributions() -> Contributions:
        shares, linear = ranked.contributions()
        own = shares.shape[1]
        wider = np.zeros((count + k, own + len(added.factors)))
        wider[:count, :own], wider[count:, own:] = shares, added.shares
        return wider, np.append(linear, added.linear)

    more = np.arange(count, count + k, dtype=np.int32)
    return replace(
        ranked,
        scores=np.append(ranked.scores, scores),
        stages=np.append(ranked.stages, stages),
        contributions=contributions,
        factors=(*ranked.factors, *added.factors),
        weights=(*ranked.weights, *added.weights),
        places=None if places is None else np.append(places, more),
        all_scores=None if all_scores is None else lambda: np.append(all_scores(), scores),
    )
