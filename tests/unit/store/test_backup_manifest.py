"""The end of a backup tells whether all of it is there, and whether it is what was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.tombstones import Erasure
from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.backups.erasures import Received, of_then
from backscroll_sidecar.store.backups.manifest import (
    END_BYTES,
    BackupFault,
    Manifest,
    Part,
    manifest_bytes,
    read,
    written,
)

TOLD = Manifest(
    taken_at_ms=1_795_176_000_000, made_by="0.1.0", schema_version=14, database=Part("db", 40, "aa"),
    indexes=(Part("x.hnsw", 2, "bb"),), row_counts={"messages": 3},
)  # fmt: skip
WHOLE = b"d" * 40 + b"xx" + written(TOLD)


def read_back(whole: bytes) -> Manifest:
    end = whole[-END_BYTES:]
    size_bytes = manifest_bytes(end, len(whole))
    return read(whole[len(whole) - END_BYTES - size_bytes : -END_BYTES], end, len(whole))


def test_what_was_written_is_read_back() -> None:
    assert read_back(WHOLE) == TOLD


@given(st.integers(0, len(WHOLE) - 1))
def test_a_file_that_was_cut_is_refused(length: int) -> None:
    with pytest.raises(BackupFault):
        read_back(WHOLE[:length])


@given(st.integers(42, len(WHOLE) - 1), st.integers(1, 255))
def test_a_changed_byte_of_the_manifest_is_refused(place: int, mask: int) -> None:
    changed = bytearray(WHOLE)
    changed[place] ^= mask
    with pytest.raises(BackupFault):
        read_back(bytes(changed))


@given(st.binary(max_size=300))
def test_other_files_are_refused(other: bytes) -> None:
    with pytest.raises(BackupFault):
        read_back(other)


@given(
    st.lists(st.builds(Received, st.uuids().map(str), st.integers(0, 20))),
    st.integers(0, 20),
    st.sampled_from(["", "u1"]),
)
def test_an_erasure_takes_what_had_come_until_then(
    received: list[Received], at_ms: int, user_id: str
) -> None:
    erasure = Erasure(tenant="t", channel="c", user_id=user_id, erased_at_ms=at_ms)
    before = {one.message_id for one in received if one.at_ms <= at_ms}
    (whole,) = erasure.changes()
    change = of_then(whole, received)
    if len(before) == len(received):
        assert change == EraseChange(ChannelKey("t", "c"), (), user_id, at_ms)
    else:
        assert (set(change.message_ids) if change else set()) == before
