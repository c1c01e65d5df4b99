"""Mentions as ids: S5-03, P-27."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.analyze import StaticRoster, mention_ids
from backscroll_sidecar.domain import Author, Member, Mention
from tests.unit.analyze.texts import ANY_TEXT

MEMBERS = (
    Member("u-hei", "小黑"),
    Member("u-bai", "小白", aliases=("白",)),
    Member("u-heihei", "小黑黑"),
    Member("u-bob", "Bob"),
    Member("u-smith", "Bob Smith"),
    Member("u-ann", "Anna", former_names=("Ann",)),
    Member("u-no", "no"),
    Member("u-tom1", "Tom"),
    Member("u-tom2", "tom"),
    Member("robert", "Rob"),
    Member("u-ss", "Weiß"),
)


@pytest.fixture
def roster() -> StaticRoster:
    return StaticRoster(MEMBERS)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("@小黑你好", ("u-hei",)),  # no space after it
        ("@小黑黑你好", ("u-heihei",)),  # the longest known name
        ("你好＠小黑，还有@小白。", ("u-hei", "u-bai")),
        ("@bob hi", ("u-bob",)),
        ("hi @BOB!", ("u-bob",)),
        ("@Bob Smith hi", ("u-smith",)),
        ("@bob smithers", ("u-bob",)),
        ("@bobby", ()),
        ("@bob.smith", ()),
        ("@bob-smith", ()),
        ("thanks @bob.", ("u-bob",)),
        ("@bob's idea", ("u-bob",)),
        ("@bob你好", ("u-bob",)),
        ("mail a@bob.com or me@bob", ()),
        ("@@bob", ("u-bob",)),
        ("@ bob", ()),
        ("@小白 @小黑 @小白", ("u-bai", "u-hei")),
        ("@nobody 你好", ()),
        ("bob: try again", ("u-bob",)),
        ("Bob, try again", ("u-bob",)),
        ("bob : try again", ("u-bob",)),
        ("bob:", ("u-bob",)),
        ("Bob Smith: hello", ("u-smith",)),
        ("小黑：你看", ("u-hei",)),
        ("小黑，你看", ("u-hei",)),
        ("bob:foo", ()),
        ("I told bob: try again", ()),
        ("hello\n  bob: and you", ("u-bob",)),
        ("@小黑\nbob: x @小白", ("u-hei", "u-bob", "u-bai")),
        ("no, it is not", ()),  # an answer, not a call for the user "no"
        ("no: really", ("u-no",)),
        ("小黑", ()),
        ("", ()),
        ("@", ()),
    ],
)
def test_names_in_the_text_are_the_fallback(roster, text, ids):
    """S5-03: text only as fallback."""
    assert mention_ids(text, (), roster) == ids


def test_entities_of_the_sender_are_taken_as_sent(roster):
    """S5-03: ids from platform data; then the text is not looked at."""
    sent = (Mention("U024", "小黑", 0, 3), Mention("u-nobody-knows"), Mention("U024"))
    assert mention_ids("@小黑 @bob", sent, roster) == ("U024", "u-nobody-knows")


def test_an_entity_without_an_id_is_looked_up_by_its_name(roster):
    sent = (Mention("", "@bob"), Mention("", "stranger"), Mention(""))
    assert mention_ids("@小黑", sent, roster) == ("u-bob",)


def test_a_display_name_never_equals_an_id_silently(roster):
    """S5-03: "robert" is an id, and only an id; "Rob" is a name."""
    assert mention_ids("@robert hi", (), roster) == ()
    assert mention_ids("robert: hi", (), roster) == ()
    assert mention_ids("@u-bob hi", (), roster) == ()
    assert mention_ids("@rob hi", (), roster) == ("robert",)


def test_a_name_that_two_users_share_names_nobody(roster):
    assert roster.user_for_name("Tom") is None
    assert mention_ids("@Tom hi", (), roster) == ()


def test_old_and_new_names_find_the_same_person(roster):
    """P-27: a rename keeps mentions right, old and new."""
    assert mention_ids("@Ann or @Anna?", (), roster) == ("u-ann",)
    assert roster.user_for_name("Ann") == roster.user_for_name("ANNA") == "u-ann"
    assert mention_ids("@白", (), roster) == ("u-bai",)


def test_case_is_folded_not_only_lowered(roster):
    assert mention_ids("@WEISS hallo", (), roster) == ("u-ss",)


def test_a_roster_learns_while_a_batch_is_analysed():
    roster = StaticRoster((), {"u1": "m0"})
    assert mention_ids("@小黑你好", (), roster) == ()
    assert roster.longest_name_chars == 0
    roster.note_author(Author("u1", "小黑"), "m1")
    assert mention_ids("@小黑你好", (), roster) == ("u1",)
    assert roster.last_message_id("u1") == "m1"
    assert roster.last_message_id("u2") is None
    roster.note_author(Author("u2", "小黑"), "m2")  # a second user takes the name
    assert mention_ids("@小黑你好", (), roster) == ()
    roster.note_author(Author("u1", "小黑"), "m3")  # and it stays ambiguous
    assert roster.user_for_name("小黑") is None
    assert roster.last_message_id("u2") == "m2"


def test_blank_names_and_ids_are_not_learned():
    roster = StaticRoster([Member("", "ghost"), Member("u1", "  ")])
    roster.note_author(Author("", "nobody"), "m1")
    assert mention_ids("@ghost @nobody @ ", (), roster) == ()
    assert roster.last_message_id("") is None


NAMES = {"bob", "小黑", "小黑黑", "a b", "李"}
PIECES = st.sampled_from(
    ["@", "＠", " ", "\n", ":", "：", ", ", "，", "bo", "x", "小", *sorted(NAMES)]
)


@given(st.lists(PIECES).map("".join))
def test_only_users_of_known_names_are_found(text):
    roster = StaticRoster(Member(f"id of {name}", name) for name in sorted(NAMES))
    ids = mention_ids(text, (), roster)
    assert len(set(ids)) == len(ids)
    for user_id in ids:
        assert user_id.removeprefix("id of ") in NAMES
        assert user_id.removeprefix("id of ") in text


@given(ANY_TEXT)
def test_nobody_is_found_where_nobody_is_known(text):
    assert mention_ids(text, (), StaticRoster()) == ()


@given(st.text(alphabet="@＠: ,：ab小黑\n"), st.text(alphabet="ab小黑", min_size=1))
def test_an_unknown_name_gives_no_id(text, known):
    """The only known name is not in the text: nothing may be found, whatever else is."""
    roster = StaticRoster([Member("u", known)])
    if known not in text:
        assert mention_ids(text, (), roster) == ()


def test_a_very_long_name_is_found_by_entities_only():
    name = "n" * 65
    roster = StaticRoster([Member("u-long", name), Member("u-max", "x" * 64)])
    assert mention_ids(f"@{name}", (), roster) == ()
    assert mention_ids(f"{name}: hi", (), roster) == ()
    assert mention_ids("", (Mention("", name),), roster) == ("u-long",)
    assert mention_ids("@" + "x" * 64, (), roster) == ("u-max",)


@pytest.mark.parametrize("unit", ["@", "@小", "a:b, ", "n, \n", "\n:"])
def test_a_flood_of_marks_takes_bounded_time(unit):
    roster = StaticRoster([*MEMBERS, Member("u-long", "n" * 200)])
    start = time.process_time()
    mention_ids(unit * (65_536 // len(unit.encode())), (), roster)
    assert time.process_time() - start < 0.5


def test_a_name_learnt_later_is_found_in_a_text_that_was_read_before():
    """What follows from a text alone is remembered; whom its names mean is not."""
    roster, text = StaticRoster(), "marlowe: did it help?"
    assert mention_ids(text, (), roster) == ()
    roster.note_author(Author("u7", "Marlowe"), "m1")
    assert mention_ids(text, (), roster) == ("u7",)
