"""Whose name a text shortens: what was said lately is read once for a place, whoever asks there."""

import pytest

from backscroll_sidecar.analyze.reply_cues import FLAGS, NamesLately, flags_of, names_called


class Texts(list):
    """Counts how often it is read."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        return super().__iter__()


def test_recent_texts_are_read_once_and_only_if_a_name_is_shortened():
    names, texts = NamesLately({"krystian": 1, "packageman": 2}), Texts(["hello"] * 100)
    assert names_called("what is that?", names, 9, texts) == (-1, -1)
    assert texts.reads == 0
    for _ in range(3):
        assert names_called("krys said so", names, 9, texts) == (-1, 1)
    assert names_called("ask package about it", names, 9, texts) == (-1, 2)
    assert texts.reads == 1


def test_a_common_word_shortens_no_name_however_often_it_is_asked():
    names, texts = NamesLately({"packageman": 2}), ["install the package"] * 100
    for _ in range(2):
        assert names_called("which package is it", names, 9, texts) == (-1, -1)


def test_another_place_has_other_texts():
    rare = NamesLately({"packageman": 2})
    assert names_called("which package is it", rare, 9, ["x"] * 100) == (-1, 2)
    common = NamesLately({"packageman": 2})
    assert names_called("which package is it", common, 9, ["a package"] * 100) == (-1, -1)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("anybody here?", "alphabet"), ("Ann: café", "alphabet"), ("有人吗？", "ideographs"),
        ("pip 怎么装", "ideographs"), ("ねこ", "ideographs"), ("ann: 好的", "ideographs"),
        ("привет", "other_script"), ("12 :-)", ""), ("？！", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_line_has_one_script_or_none(text, script):
    bits = flags_of(text)
    found = [name for at, name in enumerate(FLAGS) if bits >> at & 1 and name in FLAGS[-3:]]
    assert found == ([script] if script else [])
