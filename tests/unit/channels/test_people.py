"""Names of people: found, shared, changed, taken away. A name never stands in for an id."""

from backscroll_sidecar.channels.people import People
from backscroll_sidecar.domain import Author, Member, Stay


def test_names_old_and_new():
    """P-27: a rename keeps both names; the person goes by the newer one."""
    people = People()
    people.note_author(Author("u1", "Ann"))
    people.note_members([Member("u1", "Anna", former_names=("Ann",))])
    assert (people.user_for_name("ann"), people.user_for_name("ANNA")) == ("u1", "u1")
    assert people.names[people.index["u1"]] == "Anna"


def test_an_old_message_renames_nobody():
    """P-27, law 2: a late or edited message under an old name adds that name and changes none."""
    people = People()
    people.note_members([Member("u1", "Anna")])
    people.note_author(Author("u1", "Ann"))
    assert people.names == ["Anna"]
    assert people.user_for_name("Ann") == "u1"


def test_a_member_without_a_name_gets_one():
    """P-27: nothing is taken away by that; a name that messages gave still finds who wrote under it."""
    people = People()
    people.note_members([Member("u1", "")])
    people.note_author(Author("u2", "Ben"))
    people.note_members([Member("u1", "Ann")])
    assert (people.user_for_name("ann"), people.user_for_name("ben")) == ("u1", "u2")


def test_shared_names_find_nobody():
    """S5-03: a name two users go by, or went by, is nobody's."""
    people = People()
    people.note_author(Author("u1", "Ann"))
    people.note_author(Author("u2", "ann"))
    people.note_author(Author("u1", "Ann"))
    assert people.user_for_name("Ann") is None
    assert people.user_for_name("u1") is None


def test_an_alias_that_was_taken_away():
    """P-27, law 2: it finds nobody any more, and a name it made ambiguous is found again."""
    people = People()
    people.note_members([Member("u1", "Ann", ("boss", "a")), Member("u2", "Ben", ("Boss",))])
    assert people.user_for_name("boss") is None
    people.note_members([Member("u1", "Ann", ("a",))])
    assert (people.user_for_name("boss"), people.user_for_name("a")) == ("u2", "u1")
    people.note_members([Member("u2", "Ben")])
    assert people.user_for_name("boss") is None


def test_many_names_taken_away_are_forgotten_in_one_go(monkeypatch):
    """Law 9: a thousand members that drop an alias do not each go through all of them."""
    people = People()
    people.note_members([Member(f"u{i}", f"name {i}", (f"alias {i}",)) for i in range(50)])
    forgotten = []
    monkeypatch.setattr(people, "_forget_names", lambda: forgotten.append(True))
    people.note_members([Member(f"u{i}", f"name {i}") for i in range(50)])
    assert len(forgotten) == 1


def test_marks_around_a_name():
    """S5-03: stored with or without its at sign, a name is found the same way."""
    people = People()
    people.note_members([Member("u1", "@Ann "), Member("u2", " ")])
    assert people.user_for_name("ann") == "u1"
    assert people.longest_name_chars == 3


def test_joins_and_leaves():
    """P-03, P-27: times of joining and leaving are known, and unknown again when unset."""
    people = People()
    people.note_members([Member("u1", joined_at_ms=5, left_at_ms=9)])
    assert people.stays == {0: (Stay(5, 9),)}
    people.note_members([Member("u1", joined_at_ms=20, earlier_stays=(Stay(5, 9),))])
    assert people.stays == {0: (Stay(5, 9), Stay(20))}
    people.note_members([Member("u1")])
    assert people.stays == {}
