"""Numbered strings: numbers, readers beside a writer. Also run with the JIT off."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import Packed, Slots, StringTable

TWINS = settings(deadline=None, max_examples=60)
words = st.text(alphabet="ab猫é", max_size=4)
batches = st.lists(st.lists(words, max_size=30), max_size=8)


def filled(batches):
    table = StringTable()
    return table, [table.add(Packed.of(batch)).tolist() for batch in batches]


@TWINS
@given(batches, st.lists(words, max_size=10))
def test_numbers(batches, sought):
    """Each string has one number, given in the order in which they came."""
    known: dict[str, int] = {}
    expected = [[known.setdefault(word, len(known)) for word in batch] for batch in batches]
    table, numbers = filled(batches)
    assert numbers == expected
    view = table.view()
    assert len(table) == view.count == len(known)
    assert list(view.packed()) == [view[n] for n in range(len(known))] == list(known)
    found = view.numbers(sought).tolist()
    assert found == [known.get(word, -1) for word in sought]
    assert [view.find(word) for word in sought] == found
    numbers, ascending = view.looked_up(sought)
    assert numbers.tolist() == found
    assert [n for n in ascending.tolist() if n >= 0] == sorted(n for n in found if n >= 0)
    unknown = [n for n in ascending.tolist() if n < 0]
    assert unknown == list(range(-1 - found.count(-1), -1))


@TWINS
@given(batches, batches)
def test_a_reader_beside_a_writer(early, late):
    """A view knows the strings that were there when it was taken, whatever came after."""
    table, _ = filled(early)
    view = table.view()
    before = list(view.packed())
    for batch in late:
        table.add(Packed.of(batch))
    assert list(view.packed()) == before
    new = [word for batch in late for word in batch if word not in before]
    assert view.numbers(new).tolist() == [-1] * len(new)
    assert view.numbers(before).tolist() == list(range(len(before)))


def test_many_strings_and_long_ones():
    """Tables grow by what comes, were it one string longer than all before, and give spare room back."""
    many = [f"word {n}" for n in range(5_000)]
    long = ["x" * 100_000, "", "y" * 70_000]
    table, _ = filled([[word] for word in many[:500]] + [many, long])
    assert table.view().numbers([*many, *long]).tolist() == list(range(5_003))
    before = table.nbytes
    table.trim()
    assert table.nbytes < before
    assert table.view().find("word 77") == 77
    assert table.view().find("x") == -1
    exact = StringTable()
    exact.reserve([Packed.of(many)])
    room = exact.nbytes
    exact.add(Packed.of(many))
    assert exact.nbytes == room


def test_packed_strings_are_taken_by_number():
    packed = Packed.of(["one", "zwei", "", "猫"])
    assert list(packed.take(np.array([3, 0, 2, 3], np.int32))) == ["猫", "one", "", "猫"]
    assert list(packed.take(np.array([], np.int32))) == []
    assert Packed.of(["\ud800"]).data.tobytes() == b"\xed\xa0\x80"


@TWINS
@given(st.lists(words, unique=True), st.lists(words))
def test_a_table_goes_on_from_kept_slots(kept, more):
    """It knows the same strings as one that entered them itself, also in tables with more room, and takes new ones."""
    packed, known = Packed.of(kept).with_slots(), list(dict.fromkeys([*kept, *more]))
    assert packed.slots.fit(len(kept))
    for room in ([packed], [packed, Packed.of(known)]):
        table = StringTable()
        table.reserve(room)
        assert table.add(packed, distinct=True).tolist() == list(range(len(kept)))
        taken = table.view().seed == packed.slots.seed
        assert taken or len(table.view().slots) > len(packed.slots.table)
        assert table.view().numbers(kept).tolist() == list(range(len(kept)))
        assert table.add(Packed.of(more)).tolist() == [known.index(word) for word in more]
        assert list(table.view().packed()) == known


def test_slots_of_other_strings_do_not_fit():
    """Law 2: what could lead past the end, or round for ever, is not taken."""
    slots = Packed.of([f"w{n}" for n in range(40)]).with_slots().slots
    assert slots.fit(40)
    full, outside, before = slots.table.copy(), slots.table.copy(), slots.table.copy()
    full[full < 0] = 0
    outside[outside == 7] = 40
    before[before == 7] = -2
    for table in (full, outside, before, slots.table[:-1], slots.table[:0]):
        assert not Slots(table, slots.seed).fit(40)
    assert not Slots(slots.table, -1).fit(40)
    assert not slots.fit(41)


def test_nobody_can_write_strings_that_collide():
    """The hash begins with a number of the table's own: the same strings stand in other places in another table."""
    tables = [filled([[f"w{n}" for n in range(300)]])[0].view() for _ in range(2)]
    assert tables[0].slots.tolist() != tables[1].slots.tolist()
