"""Channels that a caller may see: patterns, and how lists of names find them."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed, just_before

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00*"), min_size=1, max_size=4)


def test_a_name_a_prefix_and_all() -> None:
    allowed = AllowedChannels.of(["support", "guild-1/*"])
    assert allowed is not None
    seen = ["support", "guild-1/", "guild-1/a", "guild-1/a/b"]
    hidden = ["support2", "Support", "guild-1", "guild-10/a", "xguild-1/a", ""]
    assert allowed.among([*seen, *hidden]) == seen
    assert AllowedChannels.of(["support", "*"]) is None
    assert is_allowed("anything", None)


@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=3), st.lists(NAMES))
def test_each_allowed_name_is_found_from_one_start(
    names: list[str], prefixes: list[str], channels: list[str]
) -> None:
    allowed = AllowedChannels.of([*names, *(f"{one}*" for one in prefixes)])
    assert allowed is not None
    assert list(allowed.starts) == sorted(allowed.starts)
    for one in channels:
        found = [
            start
            for start in allowed.starts
            if one == start or (start in allowed.prefixes and one.startswith(start))
        ]
        assert len(found) == (one in allowed)


@given(NAMES, NAMES)
def test_nothing_stands_between_a_name_and_what_is_before_it(name: str, other: str) -> None:
    """By code points, which is how UTF-8 sorts, too."""
    assert just_before(name).encode() < name.encode()
    if other < name and "\U0010ffff" not in other:
        assert other < just_before(name)
