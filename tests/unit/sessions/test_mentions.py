"""Whom a text mentions, and the text without that."""

import pytest

from backscroll_sidecar.domain import Mention
from backscroll_sidecar.sessions.mentions import (
    GROUP_NAMES,
    MAX_PLACES,
    Names,
    begins_line,
    read_mentions,
    without_spans,
)
from backscroll_sidecar.sessions.participants import Participant, ParticipantKind

PERSONA, BOT = ParticipantKind.PERSONA, ParticipantKind.BOT
NAMES = Names(
    [
        Participant("u-kate", "Kate", aliases=("小黑猫", "Kate O'Neil")),
        Participant("u-bob", "Bob Smith", nickname="bob"),
        Participant("hei", "小黑", PERSONA, aliases=("Blacky", "黑2号")),
        Participant("heihei", "小黑黑", PERSONA),
        Participant("opus", "Claude Opus", PERSONA, nickname="🐱", aliases=("欧普斯opus",)),
        Participant("opus-4.5", "Opus 4", PERSONA, aliases=("gpt-4o", "🐱🐱")),
        Participant("weiss", "Weiß", PERSONA, aliases=("Élodie", "ﬁne", "①号", "❤\ufe0f")),
        Participant("kana", "みかん", PERSONA, aliases=("ガオ", "김치", "น้อง", "Иван")),
        Participant("mr", "Mr. T.", PERSONA, aliases=("@at", "full　width  name", "x_1", "👍")),
        Participant("weather", "WeatherBot", BOT),
    ]
)

# id: a participant; *: everybody; ?name: nobody; #id: in code. What is expected is every mention, in order.
TABLE = {
    "where a name ends: zh": [
        ("@小黑", "hei"),
        ("@小黑你好", "hei"),
        ("请@小黑来", "hei"),
        ("请@小黑来@opus看", "hei opus"),
        ("@小黑,你好", "hei"),
        ("@小黑，你好", "hei"),
        ("@小黑abc", "hei"),
        ("@小黑123", "hei"),
        ("@小黑_", "hei"),
        ("@小黑.com", "hei"),
        ("@小黑\n你好", "hei"),
        ("@小黑@opus", "hei opus"),
        ("@みかんさん", "kana"),
        ("@김치야", "kana"),
        ("@น้องครับ", "kana"),
        ("@黑2号线", "hei"),
    ],
    "where a name ends: en": [
        ("@opus", "opus"),
        ("@opus hi", "opus"),
        ("@opus请看", "opus"),
        ("hi @opus.", "opus"),
        ("hi @opus. Next", "opus"),
        ("@opus... well", "opus"),
        ("@opus.请", "opus"),
        ("@opus- x", "opus"),
        ("@opus--x", "opus"),
        ("@opus, @hei!", "opus hei"),
        ("@opus's idea", "opus"),
        ("@opus’s idea", "opus"),
        ("(@opus)", "opus"),
        ("@opus/x", "opus"),
        ("**@opus**", "opus"),
        ("@opus😀", "opus"),
        ("@opusx", "?opusx"),
        ("@opus1", "?opus1"),
        ("@opus_", "?opus_"),
        ("@opusé", "?opusé"),
        ("@opuse\u0301", "?opuse\u0301"),
        ("@opusж", "?opusж"),
        ("@opusＡ", "?opusＡ"),
        ("@opus\u0308", "?opus\u0308"),
        ("@opus-45", "?opus-45"),
        ("@opus.com", "?opus.com"),
        ("@Ивана", "?Ивана"),
        ("@иван!", "kana"),
        ("@x_1", "mr"),
        ("@x_12", "?x_12"),
    ],
    "the longest one": [
        ("@小黑黑你好", "heihei"),
        ("@小黑猫", "u-kate"),
        ("@小黑猫 @小黑", "u-kate hei"),
        ("@opus-4.5 hi", "opus-4.5"),
        ("@opus 4 hi", "opus-4.5"),
        ("@opus 4.5", "opus"),
        ("@opus 45", "opus"),
        ("@Bob Smith hi", "u-bob"),
        ("@bob smithers", "u-bob"),
        ("@🐱🐱", "opus-4.5"),
        ("@🐱", "opus"),
        ("@gpt-4o", "opus-4.5"),
        ("@gpt-4", "?gpt-4"),
        ("@weatherbot @欧普斯OPUS", "weather opus"),
    ],
    "names as they may be written": [
        ("@OPUS", "opus"),
        ("＠opus", "opus"),
        ("＠小黑你好", "hei"),
        ("@ｏｐｕｓ", "opus"),
        ("@claude opus", "opus"),
        ("@CLAUDE\u3000\u00a0Opus", "opus"),
        ("@Claude   Opus.", "opus"),
        ("@Claude\nOpus", "?Claude"),
        ("@WEISS", "weiss"),
        ("@weiß", "weiss"),
        ("@E\u0301lodie", "weiss"),
        ("@éLODIE!", "weiss"),
        ("@fine", "weiss"),
        ("@1号", "weiss"),
        ("@❤", "weiss"),
        ("@❤\ufe0f你好", "weiss"),
        ("@ｶﾞｵ", "kana"),
        ("@Mr. T. hi", "mr"),
        ("@Mr. T.x", "mr"),
        ("@kate o'neil", "u-kate"),
        ("@at", "mr"),
        ("@full width\tname", "mr"),
        ("@👍", "mr"),
        ("@👍🏽", "?👍🏽"),
        ("@@opus", "opus"),
        ("@＠小黑", "hei"),
    ],
    "everybody": [
        ("@all", "*"),
        ("@ALL: hi", "*"),
        ("@allies", "?allies"),
        ("@all-in", "?all-in"),
        ("@here's", "*"),
        ("@Everyone!", "*"),
        ("＠大家好", "*"),
        ("@全体成员开会", "*"),
        ("@みんなで", "*"),
        ("@所有人 @小黑", "* hei"),
    ],
    "nobody": [
        ("@nobody hi", "?nobody"),
        ("@no.body. hi", "?no.body"),
        ("@no-body- hi", "?no-body"),
        ("@nobody你好", "?nobody"),
        ("@小花，你好", "?小花"),
        ("@小花abc d", "?小花abc"),
        ("@" + "花" * 40, "?" + "花" * 32),
        ("@🦊!", "?🦊"),
        ("@", ""),
        ("@ opus", ""),
        ("@, @。 @!", ""),
        ("@\n", ""),
        ("@-opus", ""),
        ("opus 小黑", ""),
        ("", ""),
    ],
    "mail and addresses": [
        ("foo@opus.com", ""),
        ("foo@opus", ""),
        ("a.b@opus", ""),
        ("a+b_@opus hi", ""),
        ("a%@opus", ""),
        ("x-@opus", ""),
        ("foo@@opus", ""),
        ("foo@nobody.org", ""),
        ("foo@all", ""),
        ("hi@小黑", "hei"),
        ("hi@小花", "?小花"),
        ("hi@ｏｐｕｓ", "opus"),
        ("你好@opus", "opus"),
        ("-@opus", "opus"),
        ("\n>-@opus", "opus"),
        ("https://x.com/@opus", ""),
        ("https://x.com/a?u=@opus&b", ""),
        ("https://opus@x.com/@小黑", ""),
        ("看https://x.com/路/@opus 了", ""),
        ("tiktok.com/@opus", ""),
        ("[x](https://x.com)@opus", "opus"),
        ("https://x.com @opus", "opus"),
        ("看https://x.com/a请@小黑来", "hei"),
        ("and/@opus", "opus"),
    ],
    "code and escapes": [
        ("`@opus`", "#opus"),
        ("`@opus` @小黑", "#opus hei"),
        ("``a`@opus`` @小黑", "#opus hei"),
        ("`@nobody`", ""),
        ("`@all`", "#*"),
        ("`foo@opus`", ""),
        ("`a @opus", "opus"),
        ("`a\n\nb @opus` c", "opus"),
        ("\\`@opus`", "opus"),
        ("```\n@opus\n```\n@小黑", "#opus hei"),
        ("```py\n@opus", "#opus"),
        ("~~~\n@opus\n~~~\n@小黑", "#opus hei"),
        ("~~~\n```\n@opus", "#opus"),
        ("````\n```\n@opus\n````\n@小黑", "#opus hei"),
        ("> - ```\n> @opus", "#opus"),
        ("```\nx\n``` @opus", "opus"),
        ("see ```x\n\n@opus``` @小黑", "#opus hei"),
        ("what is ``` for? @opus", "opus"),
        ("```a``` @opus", "opus"),
        ("好的~~~ @opus", "opus"),
        ("\\@opus", ""),
        ("\\\\@opus", "opus"),
        ("\\@nobody @小黑", "hei"),
    ],
}


def told(text: str, *marked: Mention) -> str:
    """What `TABLE` holds of a text."""
    found = read_mentions(text, NAMES, marked)
    return " ".join(
        "#" * one.is_code + (one.participant_id or ("*" if one.is_group else f"?{one.text}"))
        for one in found
    )


@pytest.mark.parametrize(("text", "expected"), [row for rows in TABLE.values() for row in rows])
def test_a_text_names(text: str, expected: str) -> None:
    assert told(text) == expected
    for one in read_mentions(text, NAMES):
        span = text[one.start : one.end]
        assert span[0] in "@＠"
        assert span.lstrip("@＠") == one.text


@pytest.mark.parametrize("name", GROUP_NAMES)
def test_everybody_has_many_names(name: str) -> None:
    assert told(f"＠{name} !") == "*"


def test_who_is_called_like_everybody_is_meant() -> None:
    names = Names([Participant("u-1", "All"), Participant("p-1", "大家", PERSONA)])
    found = read_mentions("@all @大家 @everyone", names)
    assert [one.participant_id or one.is_group for one in found] == ["u-1", "p-1", True]


def test_an_id_goes_before_a_name_and_the_first_has_a_name() -> None:
    names = Names([Participant("a", "b"), Participant("b", "c"), Participant("d", "c")])
    assert [names.find(one) for one in ("a", "b", "C", "d", "e", "")] == [
        "a",
        "b",
        "b",
        "d",
        None,
        None,
    ]


def test_a_flood_of_at_signs_is_not_read_to_its_end() -> None:
    assert len(read_mentions("@小黑" * (MAX_PLACES + 9), NAMES)) == MAX_PLACES
    assert told("@" * 100_000 + "小黑") == "hei"


MARKS = {
    "by id": ("@Katie hi", [Mention("u-kate", "Katie", 0, 6)], "u-kate"),
    "the id goes before the text": ("@小黑 hi", [Mention("opus", "小黑", 0, 3)], "opus"),
    "by name": ("<@77> hi", [Mention("77", "opus", 0, 5)], "opus"),
    "by what stands there": ("@opus hi", [Mention("77", "", 0, 5)], "opus"),
    "the whole of what stands there": ("@小黑豹 hi", [Mention("77", "小黑豹", 0, 4)], "?小黑豹"),
    "no at-sign in it": ("@opus hi", [Mention("77", "", 1, 5)], "opus"),
    "nobody": ("@Katie hi", [Mention("77", "Katie", 0, 6)], "?Katie"),
    "in the order of the text": ("@小黑 @opus", [Mention("opus", "", 4, 9)], "hei opus"),
    "not in the text": ("@小黑 hi", [Mention("opus")], "opus hei"),
    "shown by the text": ("@小黑 @opus", [Mention("opus"), Mention("hei")], "hei opus"),
    "in code it does not show": ("`@opus`", [Mention("opus")], "opus #opus"),
    "nobody, twice": ("hi @Katie", [Mention("77", "@Katie")], "?Katie"),
    "nobody, no name": ("hi", [Mention("77")], "?77"),
    "everybody": ("hi", [Mention("all")], "*"),
    "everybody by name": ("@全体成员 hi", [Mention("0", "全体成员", 0, 5)], "*"),
    "a place out of the text": ("hi", [Mention("opus", "", 1, 9)], "opus"),
    "one over the other": ("@小黑 x", [Mention("hei", "", 0, 3), Mention("opus", "", 1, 4)], "hei opus"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "marks", "expected"), MARKS.values(), ids=MARKS)
def test_what_the_platform_marked_is_heeded(text, marks, expected) -> None:
    assert told(text, *marks) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", True),
        ("a\n", True),
        ("- > *\t", True),
        ("a ", False),
        ("1. ", False),
        ("a\n\n  ", True),
    ],
)
def test_a_line_begins(before: str, expected: bool) -> None:
    assert begins_line(f"{before}@opus", len(before)) is expected


# What is cut stands in ⟦ and ⟧.
CUTS = [
    ("⟦@opus⟧ hi", "hi"),
    ("⟦@opus⟧, hi", "hi"),
    ("⟦@opus⟧: hi", "hi"),
    ("⟦@小黑⟧，你好", "你好"),
    ("⟦@小黑⟧：你好", "你好"),
    ("⟦@小黑⟧、⟦@小白⟧你们好", "你们好"),
    ("⟦@opus⟧, ⟦@haiku⟧: hi", "hi"),
    ("⟦@opus⟧! hi", "! hi"),
    ("a\n⟦@opus⟧, hi", "a\nhi"),
    ("- ⟦@opus⟧: hi", "- hi"),
    ("hi ⟦@opus⟧ there", "hi there"),
    ("hi   ⟦@opus⟧ \t there", "hi there"),
    ("hi ⟦@a⟧ ⟦@b⟧ there", "hi there"),
    ("hi ⟦@a⟧⟦@b⟧ there", "hi there"),
    ("hi ⟦@opus⟧, there", "hi, there"),
    ("hi ⟦@opus⟧.", "hi."),
    ("yes, ⟦@opus⟧ do it", "yes, do it"),
    ("(⟦@opus⟧ too)", "(too)"),
    ("请⟦@小黑⟧来", "请来"),
    ("请 ⟦@小黑⟧ 来", "请 来"),
    ("你好⟦@小黑⟧ 在吗", "你好 在吗"),
    ("你好，⟦@小黑⟧ 在吗", "你好，在吗"),
    ("你好 ⟦@小黑⟧，在吗", "你好，在吗"),
    ("hi⟦@小黑⟧you", "hi you"),
    ("hi⟦@小黑⟧你", "hi你"),
    ("hi ⟦@opus⟧", "hi"),
    ("hi ⟦@opus⟧  \nyou", "hi\nyou"),
    ("a\n  ⟦@opus⟧ b", "a\nb"),
    ("a\r\n⟦@opus⟧\r\nb", "a\r\n\r\nb"),
    ("⟦@opus⟧\n\n```\n  x  y\n```", "```\n  x  y\n```"),
    ("⟦@opus⟧", ""),
    (" ⟦@opus⟧ ⟦@小黑⟧ ", ""),
    ("  a  b  ", "a  b"),
]


@pytest.mark.parametrize(("marked", "expected"), CUTS)
def test_a_text_without_mentions_reads_on(marked: str, expected: str) -> None:
    text, spans = "", []
    for piece in marked.split("⟦"):
        cut, closed, rest = piece.partition("⟧")
        if closed:
            spans.append((len(text), len(text) + len(cut)))
        text += cut + rest
    assert without_spans(text, spans) == expected
    assert without_spans(text, [*reversed(spans), *spans]) == expected


def test_spans_may_lie_in_each_other() -> None:
    assert without_spans("请@小黑来", [(2, 3), (1, 4), (3, 4)]) == "请来"
    assert without_spans("@小黑请来", [(0, 3), (1, 2)]) == "请来"
