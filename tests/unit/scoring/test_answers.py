"""Pages and the answers joined of them, in both engines. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import Page, Pieces, Tails, kernels_answers
from backscroll_scoring.layout import FORMS, KNOWN, MISSING, NUMBERS, RECENT, SLOT
from tests.reference import answers as reference_answers

ENGINES = (kernels_answers, reference_answers)
KEYS = b"\x3a\x42\x2a\x18\x21\x32"
small = st.binary(max_size=6)
form = small | st.integers(100, 20_000).map(bytes)
message = st.tuples(
    st.lists(form, min_size=FORMS, max_size=FORMS),
    st.lists(st.integers(0, 300), min_size=NUMBERS, max_size=NUMBERS),
)


@st.composite
def selections(draw):
    """Messages on a page, some of them dated, some not there; candidates, of which some are selected."""
    n = draw(st.integers(1, 8) | st.just(70))
    seqs = draw(st.permutations(range(1, n + 1)))
    times = sorted(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    there = {
        2 * seq + dated: draw(message) if n < 9 else ([bytes([seq])] * FORMS, [seq] * NUMBERS)
        for seq in range(1, n + 1)
        for dated in (0, 1)
        if n > 8 or draw(st.booleans())
    }
    rows = sorted(draw(st.sets(st.integers(0, n - 1), min_size=1)))
    m = len(rows)
    chosen = draw(st.lists(st.integers(0, m - 1), min_size=1, unique=True))
    semantic = draw(st.lists(st.booleans(), min_size=m, max_size=m))
    kinds = draw(st.lists(st.sampled_from([1, 2, 6]), min_size=m, max_size=m))
    return there, seqs, times, rows, semantic, kinds, chosen


def laid_out(engine, selection, gone=()):
    there, seqs, times, rows, semantic, kinds, chosen = selection
    page = Page(engine)
    keys, some = list(there), list(there.values())
    for part in (slice(0, 1), slice(1, None)):
        if some[part]:
            page.add(keys[part], *zip(*some[part], strict=True))
    if gone:
        page = page.without(gone)
    laid = page.lay_out(
        np.array(chosen), np.array(rows, np.int32), np.array(semantic), np.array(kinds, np.uint32),
        np.array(seqs), np.array(times), 5,
    )  # fmt: skip
    return page, laid


@settings(deadline=None, max_examples=150)
@given(
    selections(), st.lists(form, min_size=10, max_size=10), st.lists(small, min_size=3, max_size=3),
    st.booleans(), st.data(),
)  # fmt: skip
def test_twins(selection, pieces, tails, wants_payload, data):
    """The same order, sums and bytes, whatever the sizes; what is not there is said to be missing."""
    gone = data.draw(st.sets(st.sampled_from(sorted(selection[0])))) if selection[0] else set()
    (page, fast), (twin, plain) = (laid_out(engine, selection, gone) for engine in ENGINES)
    assert fast.totals == plain.totals
    np.testing.assert_array_equal(fast.laid[:KNOWN], plain.laid[:KNOWN])
    assert fast.kinds == plain.kinds
    assert fast.places.tolist() == sorted(selection[-1])
    if fast.totals[MISSING]:
        assert (fast.laid[SLOT] < 0).sum() == fast.totals[MISSING]
        return
    assert set(fast.kinds) == {selection[-2][place] for place in fast.places}
    m, scored = len(selection[3]), None
    if data.draw(st.booleans()):  # only some have a score
        more = data.draw(st.sets(st.integers(0, m - 1)))
        scored = np.array(sorted(more.union(fast.places.tolist())), np.int32)
    n_scores = m if scored is None else len(scored)
    scores = np.array(data.draw(st.lists(st.floats(), min_size=n_scores, max_size=n_scores)))
    keys = KEYS if wants_payload else b"\0" + KEYS[1:]
    rest = (scores, scored, Tails.of([6, 1, 2], tails), keys, Pieces.of(pieces[2:]), *pieces[:2])
    assert page.join(fast, *rest).tobytes() == twin.join(plain, *rest).tobytes()


def test_a_page_grows_and_forgets():
    """What was there is there behind two doublings; what was taken out is missing in the copy alone."""
    page = Page()
    for keys in (range(1), range(1, 200), range(200, 300)):
        page.add(
            keys,
            [[bytes([key % 256]) * key] * FORMS for key in keys],
            [[key] * NUMBERS for key in keys],
        )
    n = np.arange(150)
    wanted = (
        n[::-1].copy(),
        n.astype(np.int32),
        np.zeros(150, np.bool_),
        np.ones(150, np.uint32),
        n,
        np.zeros(150, np.int64),
        0,
    )
    laid = page.lay_out(*wanted)
    assert laid.laid[SLOT].tolist() == list(range(0, 300, 2))
    assert laid.totals[RECENT] == sum(range(0, 300, 2))
    copy = page.without([4, 6])
    assert copy.lay_out(*wanted).totals[MISSING] == 2
    copy.add([4], [[b"new"] * FORMS], [[1] * NUMBERS])
    assert copy.lay_out(*wanted).laid[SLOT, 2] == 300
    assert page.lay_out(*wanted).laid[SLOT, 2] == 4
    assert page.nbytes > page.used_bytes == FORMS * sum(range(300))
