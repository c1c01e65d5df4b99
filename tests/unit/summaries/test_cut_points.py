"""Where a conversation may be cut: the cases that coding agents learned the hard way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.summaries.cut_points import Cut, Entry, EntryKind, find_cut

KINDS = {"u": EntryKind.SAID, "a": EntryKind.OWN, "c": EntryKind.CALLS, "r": EntryKind.RESULTS}


def entries(spelled: str, tokens: int = 10) -> list[Entry]:
    """``u a c1 r1``: somebody, the bot, a call, its result; ``c12`` makes two calls; ``r1:500`` has 500 tokens."""
    found = []
    for number, word in enumerate(spelled.split()):
        name, _, size = word.partition(":")
        found.append(Entry(f"m{number}", KINDS[name[0]], int(size or tokens), tuple(name[1:])))
    return found


@pytest.mark.parametrize(
    ("spelled", "keep_tokens", "keep_count", "first_kept", "turn_start"),
    [
        ("u a u a u a", 20, 0, 4, 4),  # the newest two have them
        ("u a u a u a", 25, 0, 3, 2),  # the third begins no turn: it goes through one
        ("u a u a u a", 1, 4, 2, 2),  # so many lines stay, whatever they have
        ("u a u c1 r1", 10, 0, 3, 2),  # never before a result: the call stays with it
        ("u a u c1 r1:9000", 500, 0, 3, 2),  # a huge result at the end
        ("u c1 r1:9000", 500, 0, 1, 0),
        ("u a c12 r1 u r2 u", 10, 0, 6, 6),
        ("u a c12 r1 u r2 u", 20, 0, 6, 6),  # not where a call still waits, whoever talks
        ("u a c12 r1 u r2 u", 45, 0, 2, 0),
        ("u c1 r1 u c1 r1 u", 10, 0, 6, 6),
        ("u c1 r1 u c1 r1 u", 40, 0, 3, 3),  # the same id again is another call
        ("r1 u a u", 10, 0, 3, 3),  # a result that lost its call
    ],
)
def test_cuts(spelled, keep_tokens, keep_count, first_kept, turn_start):
    assert find_cut(entries(spelled), keep_tokens, keep_count) == Cut(first_kept, turn_start)


@pytest.mark.parametrize(
    ("spelled", "keep_tokens", "keep_count"),
    [
        ("", 10, 0),
        ("u", 10, 0),
        ("u a u a", 500, 0),  # all of it is kept
        ("u a u a", 0, 4),
        ("c1 r1:9000", 500, 0),  # one exchange alone
        ("r1 r2 r3", 10, 0),
    ],
)
def test_nothing_to_summarise(spelled, keep_tokens, keep_count):
    assert find_cut(entries(spelled), keep_tokens, keep_count) is None


words = st.lists(
    st.sampled_from(["u", "a", "u:300", "c1", "c12", "c3", "r1", "r2", "r3:900", "r12"]),
    max_size=30,
)


@given(words, st.integers(0, 2_000), st.integers(0, 25))
def test_no_cut_parts_a_call_from_its_result(spelled, keep_tokens, keep_count):
    given_entries = entries(" ".join(spelled))
    cut = find_cut(given_entries, keep_tokens, keep_count)
    if cut is None:
        return
    assert 0 < cut.first_kept <= len(given_entries) - keep_count
    assert 0 <= cut.turn_start <= cut.first_kept
    waiting: dict[str, int] = {}
    for at, entry in enumerate(given_entries):
        for call_id in entry.call_ids:
            if entry.kind is EntryKind.CALLS:
                waiting[call_id] = at
            elif call_id in waiting:
                assert not waiting[call_id] < cut.first_kept <= at
    assert given_entries[cut.first_kept].kind is not EntryKind.RESULTS
