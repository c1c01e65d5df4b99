"""When somebody was a member: how what is told of joining and leaving changes the stays known. Pure.

Stays are in order of time and do not overlap; only the first may have no beginning, only the last no end.
"""

from __future__ import annotations

from backscroll_sidecar.domain import MAX_STAYS, Stay

Stays = tuple[Stay, ...]


def stays_after(known: Stays, joined_at_ms: int | None, left_at_ms: int | None) -> Stays:
    """The stays once a joining, a leaving, or both are told; no leaving: still there.

    Safe to tell again, and in any order as far as the times say which stay is meant. Of more than `MAX_STAYS` the
    oldest go.
    """
    if joined_at_ms is not None and left_at_ms is not None and left_at_ms <= joined_at_ms:
        return stays_after(stays_after(known, None, left_at_ms), joined_at_ms, None)  # back again
    if not known:
        told = (joined_at_ms, left_at_ms) != (None, None)
        return (Stay(joined_at_ms, left_at_ms),) if told else ()
    if joined_at_ms is None:
        return _left(known, left_at_ms)
    return _joined(known, joined_at_ms, left_at_ms)[-MAX_STAYS:]


def _left(known: Stays, left_at_ms: int | None) -> Stays:
    """The last stay that began before then ended then; it goes on where nobody left."""
    at = len(known) - 1
    while left_at_ms is not None and at > 0 and _begin(known[at]) >= left_at_ms:
        at -= 1
    return _replaced(known, at, Stay(known[at].joined_at_ms, left_at_ms))


def _joined(known: Stays, joined_at_ms: int, left_at_ms: int | None) -> Stays:
    last = known[-1]
    for at, one in enumerate(known[:-1]):
        if one.joined_at_ms == joined_at_ms:  # told again
            return (
                known
                if left_at_ms is None
                else _replaced(known, at, Stay(joined_at_ms, left_at_ms))
            )
    told = Stay(joined_at_ms, left_at_ms)
    if last.left_at_ms is not None and last.left_at_ms <= joined_at_ms:
        return (*known, told)
    if left_at_ms is not None and joined_at_ms < left_at_ms <= _begin(last):
        before = [one for one in known if _begin(one) < joined_at_ms]
        return _in_order((*before, told, *known[len(before) :]))
    return _replaced(known, len(known) - 1, told)


def _replaced(known: Stays, at: int, stay: Stay) -> Stays:
    return _in_order((*known[:at], stay, *known[at + 1 :]))


def _in_order(stays: Stays) -> Stays:
    """Stays that overlap the ones before are one with them: what was told last may have moved a bound."""
    out: list[Stay] = []
    for one in stays:
        before = out[-1] if out else None
        if before is None or (before.left_at_ms is not None and before.left_at_ms <= _begin(one)):
            out.append(one)
        else:
            out[-1] = Stay(before.joined_at_ms, one.left_at_ms)
    return tuple(out)


def _begin(stay: Stay) -> int:
    return -1 if stay.joined_at_ms is None else stay.joined_at_ms
