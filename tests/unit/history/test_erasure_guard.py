"""N-10: what a turn writes is dropped where it would undo an erasure or a recall, and nowhere else."""

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.erasure_guard import REMEMBERED, ErasureGuard
from backscroll_sidecar.ports import (
    TURN,
    AppendChange,
    Change,
    EraseChange,
    RecordChange,
    RetractChange,
    TurnMark,
    about_message,
)

ROOM, OTHER = ChannelKey("a", "room"), ChannelKey("b", "room")


def erase(key: ChannelKey = ROOM) -> EraseChange:
    return EraseChange(key, ("m9",), "", 0)


def recall(id_: str, key: ChannelKey = ROOM) -> RetractChange:
    return RetractChange(key, id_, 0)


def keep(since: int | None, *shown: str) -> RecordChange:
    turn = None if since is None else TurnMark(since)
    return RecordChange(ROOM, TURN, "", b"", tuple(map(about_message, shown)), turn=turn)


def reply(since: int) -> AppendChange:
    return AppendChange(ROOM, (), (), (), 0, TurnMark(since))


def together(since: int, *records: RecordChange) -> AppendChange:
    return AppendChange(ROOM, (), (), (), 0, TurnMark(since), records=records)


@pytest.mark.parametrize(
    ("before", "change", "admitted"),
    [
        ([erase()], keep(0), False),
        ([erase()], reply(0), False),
        ([erase(OTHER)], keep(0), True),
        ([recall("m1")], keep(0, "m1", "m2"), False),
        ([recall("m1")], keep(0, "m2"), True),
        ([recall("m1")], reply(0), True),
        ([recall("m1", OTHER)], keep(0, "m1"), True),
        ([erase(), recall("m5")], keep(1, "m1"), True),
        ([recall("m5"), erase()], keep(1, "m1"), False),
        ([erase()], keep(None, "m9"), True),
        ([erase()], AppendChange(ROOM, (), (), (), 0), True),
        ([recall("m1")], together(1, keep(1, "m1"), keep(0, "m2")), True),
        ([recall("m1")], together(1, keep(0, "m1"), keep(1, "m2")), False),
        ([recall("m1")], together(0, keep(0, "m2"), keep(None, "m1")), False),
        ([recall("m1")], together(1, keep(1, "m2"), keep(None, "m1")), True),
    ],
)
def test_what_is_admitted(before: list[Change], change: Change, *, admitted: bool) -> None:
    guard = ErasureGuard()
    assert all(map(guard.admits, before))
    assert guard.admits(change) == admitted


def test_a_turn_counts_from_what_is_published() -> None:
    """One that begins between an erasure's commit and its publication may have read the old rows."""
    guard = ErasureGuard()
    guard.admits(erase())
    assert not guard.admits(keep(guard.published))
    guard.publish()
    assert guard.admits(keep(guard.published))


def test_what_is_forgotten_counts_as_lost() -> None:
    """The memory is bounded; a turn older than it is dropped rather than trusted."""
    guard = ErasureGuard()
    for _ in range(REMEMBERED + 1):
        guard.admits(recall("m1", OTHER))
    assert not guard.admits(keep(0))
    assert guard.admits(keep(1))


def test_while_a_tenant_is_held_none_of_its_turns_writes() -> None:
    """An erasure goes from channel to channel: a turn elsewhere may have read what goes next."""
    guard = ErasureGuard()
    with guard.holding(ROOM.tenant):
        with guard.holding(ROOM.tenant):
            assert not guard.admits(keep(0))
        assert not guard.admits(keep(0))
        assert guard.admits(RecordChange(OTHER, TURN, "", b"", turn=TurnMark(0)))
        assert guard.admits(keep(None))
    assert guard.admits(keep(0))


def test_a_dry_run_is_no_erasure() -> None:
    guard = ErasureGuard()
    assert guard.admits(EraseChange(ROOM, ("m9",), "", 0, is_dry_run=True))
    assert guard.admits(keep(0))
    assert guard.admits(EraseChange(ROOM, ("m9",), "", 0, is_expiry=True))
    assert guard.admits(keep(0, "m1"))
    assert not guard.admits(keep(0, "m9"))
