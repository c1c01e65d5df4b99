"""Lines that tell what was erased."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.history.tombstones import Erasure, check, decode, encode

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
WHERE = st.one_of(
    st.fixed_dictionaries({"channel": NAMES}),
    st.fixed_dictionaries({"channel": NAMES, "user_id": NAMES}),
    st.fixed_dictionaries(
        {"channel": NAMES, "message_ids": st.lists(NAMES, min_size=1, max_size=3).map(tuple)}
    ),
    st.fixed_dictionaries({"user_id": NAMES, "all_channels": st.just(value=True)}),
    st.fixed_dictionaries({"whole_tenant": st.just(value=True)}),
)
ERASURES = st.builds(
    lambda where, tenant, at_ms: Erasure(tenant=tenant, erased_at_ms=at_ms, **where),
    WHERE,
    NAMES,
    st.integers(0, 2**53),
)


@given(st.lists(ERASURES, max_size=5))
def test_lines_are_read_back(erasures):
    written = b"".join(map(encode, erasures))
    assert decode(written.splitlines(keepends=True)) == erasures


def test_fields_that_say_nothing_are_left_out():
    line = encode(Erasure(tenant="t", channel="房间", user_id="u1", erased_at_ms=5))
    assert json.loads(line) == {
        "tenant": "t",
        "channel": "房间",
        "user_id": "u1",
        "erased_at_ms": 5,
    }
    assert line.count(b"\n") == 1


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ({}, "channel"),
        ({"user_id": "u"}, "channel"),
        ({"message_ids": ("m",)}, "channel"),
        ({"channel": "c", "user_id": "u", "message_ids": ("m",)}, "message_ids"),
        ({"all_channels": True}, "user_id"),
        ({"all_channels": True, "user_id": "u", "channel": "c"}, "channel"),
        ({"all_channels": True, "user_id": "u", "message_ids": ("m",)}, "message_ids"),
        ({"whole_tenant": True, "all_channels": True, "user_id": "u"}, "all_channels"),
        ({"whole_tenant": True, "channel": "c"}, "channel"),
        ({"whole_tenant": True, "user_id": "u"}, "user_id"),
        ({"whole_tenant": True, "message_ids": ("m",)}, "message_ids"),
    ],
)
def test_what_is_ambiguous_names_the_field(where, field):
    with pytest.raises(InvalidRequest) as refused:
        check(Erasure(tenant="t", erased_at_ms=1, **where))
    assert refused.value.field == field


@pytest.mark.parametrize(
    "line",
    [
        b'{"tenant":"t","channel":"c","erased_at',
        b'{"tenant":"t","channel":"c"}',
        b'{"tenant":"t","erased_at_ms":1}',
        b'{"tenant":"t","channel":"c","erased_at_ms":1,"more":1}',
        b'{"tenant":"t","channel":7,"erased_at_ms":1}',
        b"\xff",
        b"[]",
    ],
)
def test_a_line_that_is_none_is_told_by_its_number(line):
    good = encode(Erasure(tenant="t", channel="c", erased_at_ms=1))
    with pytest.raises(InvalidRequest, match=r"^line 3: "):
        decode([good, b"\n", line])
