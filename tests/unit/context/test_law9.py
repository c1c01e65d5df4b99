"""Law 9: what one request may bring is read to a stated bound, and what is still long is done off the event loop."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from msgspec.structs import replace

from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.analyze.ends import QUESTION_CHARS, ends_of
from backscroll_sidecar.analyze.reply_cues import RARE_CHARS, NamesLately, names_called
from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.channels.people import NameParts
from backscroll_sidecar.concurrency.offload import INLINE_US
from backscroll_sidecar.context import (
    history_search,
    opening,
    own_stages,
    rendered_lines,
    selection,
)
from backscroll_sidecar.context import question as question_module
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.question import resolve_question
from backscroll_sidecar.strategies.memory import Sought
from backscroll_sidecar.strategies.names import named_in
from tests.kit.chats import ANN, BEN, CAT, KEY, NOON_MS, PlainCodec, say, stored_in_order
from tests.kit.rooms import Room

LINES = [
    say(f"m{n}", (ANN, BEN, CAT)[n % 3], f"line {n} about the cat", (99 - n) * 1_000)
    for n in range(90)
]
SIZES = {"中": 21_000, "cat ": 16_000}


class Lookups(NameParts):
    """Counts how often a name is looked for."""

    count = 0

    def get(self, *args):  # type: ignore[no-untyped-def]
        self.count += 1
        return super().get(*args)


class Counting(Analyzer):
    """Counts the characters it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.chars = 0

    def features(self, text: str) -> tuple[tuple[str, ...], int]:
        self.chars += len(text)
        return super().features(text)


def watched(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[bool]:
    """Whether each call of a function ran on the loop's thread, in order."""
    inline: list[bool] = []
    real = getattr(module, name)

    def call(*args: object, **fields: object) -> object:
        inline.append(threading.current_thread() is threading.main_thread())
        return real(*args, **fields)

    monkeypatch.setattr(module, name, call)
    return inline


def test_a_text_without_names_costs_no_look_up():
    """64 KiB of Chinese in a channel of Chinese names: only where a name begins is one looked for, only as long."""
    names = Lookups()
    for user, name in enumerate(
        ("小明", "小明同学", "王二", "阿里巴巴和四十个大盗的故事们", "ann")
    ):
        names.note(name, user)
    assert named_in("今天天气很好" * 3_000, names).users == frozenset()
    assert names.count == 0
    found = named_in("请问小明同学和小王二在哪" * 2_000, names)
    assert found.users == {1, 2}
    assert names.count <= 4 * 2_000
    assert "请问" in found.rest
    assert "小明" not in found.rest


def test_names_taken_away_are_looked_for_no_more():
    """The table of first characters goes with the names."""
    names = NameParts()
    names.note("小明", 1)
    names.clear()
    assert (names.lengths, named_in("小明在吗", names).users) == ({}, frozenset())


@pytest.mark.parametrize(("unit", "times"), SIZES.items())
def test_a_long_question_is_read_at_its_ends(unit, times):
    """However long a question is, as much of it is cut into words; both ends count."""
    view = HotChannel(KEY, PlainCodec(), stored_in_order(LINES)).view()
    analyzer = Counting()
    text = f"zebra {unit * times} tiger"
    request = BuildRequest(KEY, text, asker=ANN, asked_at_ms=NOON_MS)
    question = resolve_question(request, view, analyzer, NOON_MS)
    assert analyzer.chars <= QUESTION_CHARS + 1
    assert {"zebra", "tiger"} <= set(question.keywords)
    _, exact = Analyzer().features(text)
    assert abs(question.token_count - exact) < 0.1 * exact
    assert question.text == text  # what the model gets is whole


def test_up_to_the_bound_nothing_is_left_out():
    """A question of ordinary length is read whole."""
    text = "x" * QUESTION_CHARS
    assert ends_of(text, QUESTION_CHARS) is text
    cut = ends_of("a" * 600 + "b" * 600, QUESTION_CHARS)
    assert cut == "a" * 500 + "\n" + "b" * 500


@pytest.mark.parametrize(
    ("question", "inline"),
    [("which cat is it?", True), ("哪只猫？" * 20, True), ("哪只猫？" * 5_000, False), ("cat " * 16_000, False)],
)  # fmt: skip
async def test_long_questions_leave_the_loop(question, inline, monkeypatch):
    """Reading the question and looking it up: at once for short ones, in a thread for long ones."""
    resolving = watched(monkeypatch, opening, "resolve_question")
    seeking = watched(monkeypatch, history_search, "seek")
    built = await Room(LINES).build(question, token_budget=200_000)
    assert (resolving, seeking) == ([inline], [inline])
    assert built.items
    assert not built.degradations


@pytest.mark.parametrize(("times", "inline"), [(1, True), (400, False)])
async def test_long_lines_are_rendered_off_the_loop(times, inline, monkeypatch):
    """Lines that are to be written for the first time, and those to be cut for every build."""
    rendering = watched(monkeypatch, rendered_lines, "_rendered")
    fitting = watched(monkeypatch, own_stages, "fit")
    text = "which cat is it? " * times
    room = Room([say(f"m{n}", ANN, text, 9_000 - n) for n in range(5)])
    most = {"overrides": {"max_chars_per_message": 2_000}, "profile": "naive"}
    for request in ({"profile": "room"}, {"profile": "room"}, most):
        await room.build(**request, token_budget=200_000)
    assert rendering == [inline]
    assert fitting == [True, True, inline]


async def test_a_trigger_counts_like_a_question(monkeypatch):
    """A stored message of 64 KiB that is the question is long, too."""
    resolving = watched(monkeypatch, opening, "resolve_question")
    room = Room([*LINES, say("long", ANN, "cat " * 16_000, 500)])
    await room.build("", trigger_message_id="long", token_budget=200_000)
    assert resolving == [False]


async def test_words_that_all_say_leave_the_loop(monkeypatch):
    """What many postings cost is predicted: a word of every row is counted in a thread, a rare one at once, whatever
    the rows; and it is not counted at all where it cannot matter.
    """
    rows = stored_in_order([say("a", ANN, "zebra crossing quagga", 9_000), LINES[0]])
    many = [
        replace(row, message=replace(row.message, id=f"m{n}"), seq=n + 1, rank_time_ms=n)
        for n, row in enumerate([rows[0], *[rows[1]] * 9_000])
    ]
    whole, bounds = [], []
    real = Sought.best_before

    def noted(self, row, worth):
        inline = threading.current_thread() is threading.main_thread()
        (bounds if worth.least == math.inf else whole).append(inline)
        return real(self, row, worth)

    monkeypatch.setattr(Sought, "best_before", noted)
    room = Room(many)
    await room.build("zebra crossing?")
    assert (whole, bounds) == ([True], [])
    await room.build("cat?")
    assert (whole, bounds) == ([True], [True])
    await room.build("zebra crossing quagga cat?")
    assert (whole, bounds) == ([True, False], [True, True])


async def test_a_word_that_others_said_leaves_the_loop(monkeypatch):
    """In a thread_id of a few rows the newest row that counts may stand behind all that have the word."""
    (row,) = stored_in_order([LINES[0]])
    many = [
        replace(
            row,
            message=replace(row.message, id=f"m{n}", thread_id="t" if n else "few"),
            seq=n + 1,
            rank_time_ms=n,
        )
        for n in range(9_000)
    ]
    seeking = watched(monkeypatch, history_search, "seek")
    await Room(many).build("cat", thread_id="few")
    assert seeking == [False]


def test_what_looking_up_costs_is_predicted():
    """A Chinese word the channel does not have is sought by its characters: they are what it costs. So are rows."""
    view = HotChannel(KEY, PlainCodec(), stored_in_order(
        [say(f"m{n}", ANN, "猫在这里。鱼在那里。", n) for n in range(200)]
    )).view()  # fmt: skip

    def us(*words, end=view.count, excluded=()):
        question = resolve_question(
            BuildRequest(KEY, "x", asker=ANN, asked_at_ms=NOON_MS), view, Analyzer(), NOON_MS
        )
        query = type("Query", (), {"view": view, "end": end, "excluded": excluded})
        asked = replace(question, keywords=words, _numbers=[])
        return sum(history_search.look_up_us(query, asked, asked.numbers()))

    assert us("猫鱼") == us("猫", "鱼") > us("猫") > us("zebra")
    assert us("zebra") < INLINE_US
    assert us("zebra", end=1_000_000) < INLINE_US  # all count: no look at their states
    assert us("zebra", end=1_000_000, excluded=None) > INLINE_US


@pytest.mark.parametrize(("us_per_row", "inline"), [(0.0011, True), (100.0, False)])
async def test_marks_of_very_many_rows_are_made_off_the_loop(us_per_row, inline, monkeypatch):
    """A channel of a million messages with a partial one: what may be a candidate is said row by row."""
    monkeypatch.setattr(question_module, "MARK_US_PER_ROW", us_per_row)
    marking = watched(monkeypatch, question_module.Question, "eligible")
    room = Room([*LINES, say("cut", BEN, "the cat is", 500, is_partial=True)])
    built = await room.build("cat")
    assert marking == [inline]
    assert built.items
    assert "cut" not in {item.message_id for item in built.items}


def test_marking_a_million_rows_is_predicted_to_take_long():
    live, partial = (
        HotChannel(KEY, PlainCodec(), stored_in_order([say("m", ANN, "cat", 5, is_partial=cut)])).view()
        for cut in (False, True)
    )  # fmt: skip
    asked = resolve_question(BuildRequest(KEY, "x"), live, Analyzer(), NOON_MS)
    asked = replace(asked, end=1_000_000)
    assert replace(asked, view=partial).eligible_us() > INLINE_US
    assert replace(asked, thread_id="t", is_narrow=True).eligible_us() > INLINE_US
    assert asked.eligible_us() == 0


def test_shortened_names_are_sought_in_the_beginnings_of_lines():
    """A pasted log among the last lines is read to the bound; a word said often there shortens no name."""

    class Text(str):  # noqa: SLOT000
        folded = 0

        def __getitem__(self, part):  # type: ignore[no-untyped-def]
            return Text(super().__getitem__(part))

        def casefold(self) -> str:
            Text.folded += len(self)
            return super().casefold()

    names = {f"install{k}er": k for k in range(40)} | {"packageman": 50}
    texts = [Text("install the package " * 3_000)] * 100
    question = "install package again " * 9
    assert names_called(question, NamesLately(names), 99, texts) == (-1, -1)
    assert 0 < Text.folded <= 100 * RARE_CHARS
    assert names_called(question, NamesLately(names), 99, texts[:6]) == (-1, 0)
    late = [("x" * RARE_CHARS) + " install package"] * 100
    assert names_called(question, NamesLately(names), 99, late)[1] != -1


def test_long_references_are_compared_by_their_ends(monkeypatch):
    """P-05: what is cut into shingles has a bound a line; short lines are whole, and both ends of long ones count."""
    seen: list[str] = []
    real = selection.shingle_sets
    monkeypatch.setattr(selection, "shingle_sets", lambda texts: seen.extend(texts) or real(texts))
    long = "the same words over and over " * 2_000
    texts = ["a short line", long + "cats", long + "dogs"]
    view = HotChannel(KEY, PlainCodec(), stored_in_order(
        [say(f"m{n}", ANN, text, 9 - n) for n, text in enumerate(texts)]
    )).view()  # fmt: skip
    selection.cut(view, np.arange(3, dtype=np.int32))
    assert seen[0] == "a short line"
    assert all(len(text) <= selection.COMPARED_CHARS + 1 for text in seen)
    assert seen[1].endswith("cats")
    assert seen[2].endswith("dogs")
    assert seen[1].startswith("the same")
