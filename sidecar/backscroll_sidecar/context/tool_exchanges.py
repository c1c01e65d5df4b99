"""A model's tool calls and their results are taken or left together. Pure.

A call that lacks a result, or a result that lacks its call, is an orphan: the other half was recalled, never came, or
was said after the question. Left as it is it would show a model something half done. By policy an orphaned call is
dropped, or kept with a synthetic result that says there is none; an orphaned result is always dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.domain import mark_word

NO_RESULT = "[result {name}: none]"
"""The synthetic result of a call that was never answered, one a tool."""
MOST_MEMBERS = 500
"""A larger exchange fits into no context (`MEMORY_MAX_CONTEXT_MESSAGES` ends here): it is left out without a look."""


class OrphanCalls(StrEnum):
    """What becomes of a tool call without its result."""

    SYNTHETIC = "synthetic"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Exchanges:
    """The tool exchange among the candidates.

    Attributes
    ----------
    members : exchange by place
        Places (indices into the candidate rows) of one exchange are mapped to the same place, one of them.
    dropped : places
        Orphans that may not be shown.
    unanswered : names of tools by place
        Calls that get a synthetic result.
    """

    members: Mapping[int, int] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    unanswered: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


NO_EXCHANGES = Exchanges()


def with_whole_exchanges(
    view: ChannelView, eligible: NDArray[np.bool_], rows: NDArray[np.int32], policy: OrphanCalls
) -> tuple[NDArray[np.int32], NDArray[np.intp], Exchanges]:
    """Candidate rows with the rest of their exchanges. `eligible` bool[end]: rows there are.

    Returns int32[n], ascending; intp[n], for each the place among the given rows of itself or of a row that needs it;
    and the exchanges among them.
    """
    places = {row: place for place, row in enumerate(rows.tolist())}
    exchanges = _exchanges_of(view, eligible, rows)
    missing: dict[int, int] = {}
    for members in exchanges:
        if len(members) <= MOST_MEMBERS:
            because = next(places[row] for row in members if row in places)
            missing |= {row: because for row in members if row not in places}
    origins = np.append(np.arange(len(rows)), np.array(list(missing.values()), np.intp))
    rows = np.append(rows, np.array(list(missing), np.int32))
    order = np.argsort(rows)
    rows = rows[order]
    return rows, origins[order], _accounted(view, rows, exchanges, policy)


def _accounted(
    view: ChannelView, rows: NDArray[np.int32], exchanges: list[list[int]], policy: OrphanCalls
) -> Exchanges:
    """What becomes of the exchanges among these rows."""
    place_of = {row: place for place, row in enumerate(rows.tolist())}
    members: dict[int, int] = {}
    dropped: set[int] = set()
    unanswered: dict[int, tuple[str, ...]] = {}
    for members_rows in exchanges:
        places = [place_of[row] for row in members_rows if row in place_of]
        members |= dict.fromkeys(places, places[0])
        if len(members_rows) > MOST_MEMBERS:
            dropped.update(places)  # it was not made whole either
            continue
        ids = {
            place_of[row]: view.tool_exchanges.ids(view.message_ids[row]) for row in members_rows
        }
        made = {call_id for one in ids.values() if one for call_id in one.calls}
        answered = {call_id for one in ids.values() if one for call_id in one.results}
        for place, one in ids.items():
            if one is None:
                continue
            if one.results - made:
                dropped.add(place)
            if names := tuple(name for id, name in one.calls.items() if id not in answered):
                unanswered[place] = names
        if unanswered.keys() & ids.keys() and policy is OrphanCalls.DROP:
            dropped |= ids.keys()  # results of its other calls would be orphans without it
    return Exchanges(members, frozenset(dropped), unanswered)


def synthetic_results(names: tuple[str, ...]) -> str:
    """What is written behind a call: for each of the unanswered tools a line that says there is no result."""
    return "".join("\n" + NO_RESULT.format(name=mark_word(name)) for name in names)


def _exchanges_of(
    view: ChannelView, eligible: NDArray[np.bool_], rows: NDArray[np.int32]
) -> list[list[int]]:
    """The eligible rows of each exchange that has a candidate among them, ascending."""
    tools, seen, out = view.tool_exchanges, set[str](), list[list[int]]()
    for row in view.tool_rows(rows):
        message_id = view.message_ids[row]
        if message_id in seen:
            continue
        members = tools.exchange(message_id)
        seen.update(members)
        found = [view.row_of(member) for member in members]
        there = [one for one in found if 0 <= one < len(eligible) and eligible[one]]
        out.append(sorted(there))
    return out


def whole_exchanges(order: list[int], members: Mapping[int, int], maximum: int) -> list[int]:
    """The first `maximum` places; the members of a tool exchange stand together and none is cut off.

    An exchange that does not fit any more is passed over. So a smaller maximum is a prefix, but for them: a larger one
    may begin with an exchange that did not fit before.
    """
    blocks: dict[int, list[int]] = {}
    for place in order:
        blocks.setdefault(members.get(place, place), []).append(place)
    chosen: list[int] = []
    for block in blocks.values():
        if len(chosen) + len(block) <= maximum:
            chosen += sorted(block)
    return chosen
