"""A model's tool calls and their results are taken or left together (P-10). Pure.

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

NO_RESULT = "[result {name}: none]"
"""The synthetic result of a call that was never answered, one a tool."""


class OrphanCalls(StrEnum):
    """What becomes of a tool call without its result."""

    SYNTHETIC = "synthetic"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Rounds:
    """The tool rounds among the candidates.

    Attributes
    ----------
    members : round by place
        Places (indices into the candidate rows) of a round are mapped to the lowest of them.
    dropped : places
        Orphans that may not be shown.
    unanswered : names of tools by place
        Calls that get a synthetic result.
    """

    members: Mapping[int, int] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    unanswered: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


NO_ROUNDS = Rounds()


def missing_members(
    view: ChannelView, eligible: NDArray[np.bool_], rows: NDArray[np.int32]
) -> dict[int, int]:
    """Eligible rows that the rounds of the candidate rows lack, each with a candidate that needs it."""
    if not view.tool_rounds:
        return {}
    known = set(rows.tolist())
    return {m: row for row in rows.tolist() for m in _round(view, eligible, row) if m not in known}


def find_rounds(
    view: ChannelView,
    eligible: NDArray[np.bool_],
    rows: NDArray[np.int32],
    policy: OrphanCalls,
) -> Rounds:
    """The rounds of these candidate rows, `missing_members` among them. `eligible` bool[end]: rows there are."""
    if not view.tool_rounds:
        return NO_ROUNDS
    place_of = {row: place for place, row in enumerate(rows.tolist())}
    members: dict[int, int] = {}
    dropped: set[int] = set()
    unanswered: dict[int, tuple[str, ...]] = {}
    for row, place in place_of.items():
        ids = view.tool_rounds.of_message(view.message_ids[row])
        if ids is None:
            continue
        places = [place_of[m] for m in _round(view, eligible, row) if m in place_of]
        members[place] = min([place, *places])
        if any(_call_row(view, eligible, row, call_id) is None for call_id in ids.results):
            dropped.add(place)
        names = tuple(
            name
            for call_id, name in ids.calls.items()
            if not _result_rows(view, eligible, row, call_id)
        )
        if names and policy is OrphanCalls.DROP:
            dropped |= {place, *places}  # results of its other calls would be orphans without it
        elif names:
            unanswered[place] = names
    return Rounds(members, frozenset(dropped), unanswered)


def with_synthetic_results(text: str, names: tuple[str, ...]) -> str:
    """The text of a call with a result that says there is none, for each of the unanswered tools."""
    return "\n".join([text, *(NO_RESULT.format(name=name) for name in names)])


def _round(view: ChannelView, eligible: NDArray[np.bool_], row: int) -> set[int]:
    """The rows of the round a tool message belongs to: its call, and all results of that."""
    ids = view.tool_rounds.of_message(view.message_ids[row])
    if ids is None:
        return set()
    callers = {_call_row(view, eligible, row, call_id) for call_id in ids.results}
    if ids.calls:
        callers.add(row)
    out: set[int] = set()
    for caller in callers:
        made = None if caller is None else view.tool_rounds.of_message(view.message_ids[caller])
        if caller is not None and made is not None:
            out.add(caller)
            out.update(*(_result_rows(view, eligible, caller, call_id) for call_id in made.calls))
    return out


def _call_row(
    view: ChannelView, eligible: NDArray[np.bool_], result_row: int, call_id: str
) -> int | None:
    """The newest call of that id before a result: vendors' ids are unique, some local servers count from one again."""
    calls = [row for row in _rows(view, eligible, call_id, makes=True) if row <= result_row]
    return max(calls, default=None)


def _result_rows(
    view: ChannelView, eligible: NDArray[np.bool_], call_row: int, call_id: str
) -> list[int]:
    """The results of a call, up to the next call of that id."""
    following = [row for row in _rows(view, eligible, call_id, makes=True) if row > call_row]
    before = min(following, default=len(eligible))
    return [row for row in _rows(view, eligible, call_id, makes=False) if call_row <= row < before]


def _rows(
    view: ChannelView, eligible: NDArray[np.bool_], call_id: str, *, makes: bool
) -> list[int]:
    """Eligible rows that make the call, or answer it."""
    out = []
    for message_id in view.tool_rounds.of_call(call_id):
        row, ids = view.row_of(message_id), view.tool_rounds.of_message(message_id)
        if not 0 <= row < len(eligible) or not eligible[row] or ids is None:
            continue
        if call_id in (ids.calls if makes else ids.results):
            out.append(row)
    return out
