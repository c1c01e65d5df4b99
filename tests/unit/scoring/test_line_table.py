"""Tables of rendered lines against what dictionaries and sorting say. Also run with NUMBA_DISABLE_JIT=1."""

from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import LineTable, Pieces, add_up, key_of, take_fitting
from backscroll_scoring import layout as at
from backscroll_scoring.line_table import FIRST_LINES
from tests.kit.examples import examples
from tests.reference import line_table as reference
from tests.reference.line_table import Rendered

MANY = settings(deadline=None, max_examples=examples(150))
KINDS = (1, 2, 2**32 - 1)
EDGES = (127, 128, 16_383, 16_384)
"""Sizes and numbers on both sides of a varint's next byte."""
small = st.text(max_size=3).map(str.encode)
form = small | st.sampled_from(EDGES).map(bytes)
number = st.integers(0, 300) | st.sampled_from((*EDGES, 2**31 - 1))
seqs = st.builds(lambda low, high: low + (high << 31), st.integers(1, 9), st.integers(0, 3))
"""Those with the same low part are looked for in the same places, whatever the table's size."""


@st.composite
def rendered(draw):
    numbers = draw(st.lists(number, min_size=at.NUMBERS, max_size=at.NUMBERS))
    numbers[at.IS_SEAMLESS - at.FIRST_NUMBER] = draw(st.integers(0, 1))
    numbers[at.ROLE - at.FIRST_NUMBER] = draw(st.integers(0, 3))
    return Rendered(draw(st.lists(form, min_size=at.FORMS, max_size=at.FORMS)), numbers)


def plain(seq):
    """A line that can be told from others by all it has."""
    return Rendered(
        [b"%d %d" % (seq, form) for form in range(at.FORMS)], [seq % 3, *[seq] * 6, 0, 1, 2]
    )


def enter(table, known, lines):
    """Add lines to a table and to what is known of it; the slots are those behind all that are there."""
    before = table.used_bytes
    slots = table.add(list(lines), *zip(*lines.values(), strict=True))
    assert len(slots) == len(lines)
    known |= lines
    assert table.used_bytes - before == sum(len(b"".join(one.forms)) for one in lines.values())


marks = st.integers(0, 3) | st.just(2**19 - 1)
keys = st.builds(key_of, seqs, marks, st.booleans())
lines = st.dictionaries(keys, rendered(), min_size=1, max_size=6)


@st.composite
def tables(draw):
    """A table that has lived, and those that were made from it without some lines; and what each knows."""
    lived = [(LineTable(), {})]
    if draw(st.booleans()):
        many = range(1, draw(st.sampled_from([FIRST_LINES, 3 * FIRST_LINES])))
        enter(*lived[0], {key_of(seq, seq % 2, is_shared=False): plain(seq) for seq in many})
    for some in draw(st.lists(lines, max_size=4)):
        table, known = draw(st.sampled_from(lived))
        enter(table, known, some)
        if draw(st.booleans()):
            table.lend([[b"lent"] * at.FORMS] * 80, [[1] * at.NUMBERS] * 80)
        gone = draw(st.sets(seqs, max_size=3))
        if gone:
            left = {key: one for key, one in known.items() if key >> 20 not in gone}
            lived.append((table.without(gone), left))
    return lived


@st.composite
def selections(draw):
    """Candidates, of which some are selected: rows that somebody rendered or nobody, and those of elsewhere."""
    seq = draw(st.lists(seqs, unique=True, max_size=8))
    time_ms = draw(st.lists(st.integers(0, 9), min_size=len(seq), max_size=len(seq)))
    rows = draw(st.lists(st.integers(0, len(seq) + 1), max_size=8, unique=True))
    m = len(rows)
    semantic = draw(st.lists(st.booleans(), min_size=m, max_size=m))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=m, max_size=m))
    order = draw(st.permutations(range(m)))[: m - draw(st.integers(0, 2))]
    return order, rows, semantic, kinds, seq, time_ms, draw(st.sampled_from([0, 5, 10]))


def step(number, *of):
    return st.tuples(st.just(number), *of).map(lambda one: (*one, *[-1] * (at.STEP - len(one))))


pieces, forms = st.integers(0, 3), st.integers(0, at.FORMS - 1)
groups = st.sampled_from([at.TALK, at.REFERENCES])
perhaps = pieces | st.just(-1)
steps = st.one_of(
    step(at.COPY_PIECE, pieces),
    step(at.OPEN_FIELD, pieces),
    step(at.CLOSE_FIELD),
    step(at.COPY_LINES, forms, groups, perhaps, perhaps),
    step(at.WRITE_ITEMS, st.sampled_from([at.TURN_COST, at.LINE_COST])),
    step(at.WRITE_MESSAGES),
)


@st.composite
def programs(draw):
    """Steps in any order; each field that is opened is closed."""
    program, depth = [], 0
    for one in draw(st.lists(steps, min_size=2, max_size=8)):
        if one[0] != at.CLOSE_FIELD or depth:
            depth += (one[0] == at.OPEN_FIELD) - (one[0] == at.CLOSE_FIELD)
            program.append(one)
    return program + [(at.CLOSE_FIELD, -1, -1, -1, -1)] * depth


def laid_out(table, known, selection):
    """The selected candidates as columns, with their sums and kinds; and as lines."""
    order, rows, semantic, kinds, seq, time_ms, dated_before_ms = selection
    laid = table.lay_out(
        np.array(order, np.int64), np.array(rows, np.int32), np.array(semantic, np.bool_), np.array(kinds, np.uint32),
        np.array(seq, np.int64), np.array(time_ms, np.int64), dated_before_ms,
    )  # fmt: skip
    return *laid, reference.lay_out(*selection, known)


@given(seqs, marks, st.booleans())
def test_keys(seq, mark, is_shared):
    assert key_of(seq, mark, is_shared) == reference.key_of(seq, mark, is_shared)


@MANY
@given(tables(), selections())
def test_selected_lines(lived, selection):
    """The same order, numbers and sums; what nobody rendered has no slot."""
    columns, sums, kinds, expected = laid_out(*lived[-1], selection)
    assert sums == add_up(columns) == reference.sums(expected)
    assert kinds == list(dict.fromkeys(one.kind for one in expected))
    columns[at.KIND] = [kinds[one] for one in columns[at.KIND]]
    for column, one in zip(columns.T.tolist(), expected, strict=True):
        told = [column[of] for of in (at.PLACE, at.RANK, at.IS_REFERENCE, at.KIND)]
        assert told == [one.place, one.rank, one.is_reference, one.kind]
        assert (column[at.SLOT] == -1) == (one.rendered is None)
        assert one.rendered is None or column[at.FIRST_NUMBER :] == one.rendered.numbers


@MANY
@given(tables(), selections(), programs(), st.data())
def test_answers(lived, selection, program, data):
    """The same bytes, also of lines that are lent to this answer."""
    table, known = lived[-1]
    columns, _, kinds, selected = laid_out(table, known, selection)
    missing = [i for i, one in enumerate(selected) if one.rendered is None]
    if missing:
        own = data.draw(st.lists(rendered(), min_size=len(missing), max_size=len(missing)))
        columns[at.SLOT, missing] = table.lend(*zip(*own, strict=True))
        columns[at.FIRST_NUMBER :, missing] = np.array([one.numbers for one in own]).T
        for i, one in zip(missing, own, strict=True):
            selected[i] = selected[i]._replace(rendered=one)
    places, scored = range(len(selection[1])), None
    if selected and data.draw(st.booleans()):  # only some have a score
        more = data.draw(st.sets(st.sampled_from(places)))
        places = sorted({one.place for one in selected} | more)
        scored = np.array(places, np.int32)
    n = len(places)
    scores = data.draw(st.lists(st.floats(allow_nan=False), min_size=n, max_size=n))
    tails = dict(zip(KINDS, data.draw(st.tuples(form, form, form)), strict=True))
    keys = data.draw(st.lists(st.integers(0, 127), min_size=14, max_size=14).map(bytes))
    pieces = [keys, *data.draw(st.tuples(form, small, form))]
    made = table.assemble(
        columns, np.array(scores), scored, Pieces.of([tails[kind] for kind in kinds]),
        Pieces.of(pieces[:2], room=3).and_more(pieces[2:]), np.array(program, np.int64).reshape(-1, at.STEP),
    )  # fmt: skip
    score_of = dict(zip(places, scores, strict=True))
    assert made.tobytes() == reference.assemble(selected, score_of, tails, pieces, program)


@MANY
@given(tables())
def test_what_is_there(lived):
    """Each table has its lines, in all forms, and no others: none that was lent, and none of another table."""
    for table, known in lived:
        wanted = np.array([*known, key_of(1, 9, is_shared=True), -1], np.int64)
        columns = np.full((at.COLUMNS, len(wanted)), 7, np.int64)
        table.look_up(wanted, columns)
        assert columns[at.SLOT, len(known) :].tolist() == [-1, -1]
        assert (columns[at.FIRST_NUMBER :, len(known) :] == 7).all()
        for column, one in zip(columns.T.tolist(), known.values(), strict=False):
            assert column[at.FIRST_NUMBER :] == one.numbers
            for number, content in enumerate(one.forms):
                assert table.text(column[at.SLOT], number) == content.decode()
        assert table.nbytes > table.used_bytes


@MANY
@given(st.data())
def test_what_fits(data):
    """The same blocks, best first; those that are needed and do not fit are told, and the walk goes on behind them."""
    k = data.draw(st.integers(0, 8))
    each = partial(st.lists, min_size=k, max_size=k)
    columns = np.zeros((at.COLUMNS, k), np.int64)
    columns[at.RANK] = data.draw(st.permutations(range(1, k + 1)))
    for row, of in ((at.IS_REFERENCE, 1), (at.TURN_COST, 9), (at.LINE_COST, 9)):
        columns[row] = data.draw(each(st.integers(0, of)))
    talk_cost = data.draw(st.sampled_from([at.TURN_COST, at.LINE_COST]))
    columns[at.PLACE] = np.arange(10, 10 + k)
    together = data.draw(each(st.none() | st.integers(0, 3)))
    alone = columns[at.PLACE].tolist()
    blocks = np.array(
        [place if one is None else one for place, one in zip(alone, together, strict=True)],
        np.int64,
    )
    one = st.integers(-1, k - 1)
    needed = data.draw(st.tuples(one, one))
    least, left = data.draw(st.tuples(st.integers(0, 9), st.integers(0, 40)))
    state, fates, stops = np.array((0, left, 0)), np.zeros(k, np.uint8), []
    walk = columns, talk_cost, blocks, needed, least, state, fates
    while (stopped := take_fitting(*walk)) >= 0:
        stops.append(blocks[stopped])
        fates[blocks == blocks[stopped]] = at.PASSED_OVER
    assert fates.all()
    found = stops, set(blocks[fates == at.TAKEN].tolist()), state[at.LEFT]
    costs = np.where(columns[at.IS_REFERENCE], columns[at.LINE_COST], columns[talk_cost])
    given_to = (costs.tolist(), columns[at.RANK].tolist(), blocks.tolist())
    assert found == reference.take_fitting(*given_to, needed, least, left)
