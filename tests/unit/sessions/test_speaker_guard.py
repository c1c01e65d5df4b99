"""An answer ends where it begins to speak for somebody else, and its own labels go."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.sessions.participants import Participant, ParticipantKind
from backscroll_sidecar.sessions.persona_prompts import persona_prompt
from backscroll_sidecar.sessions.speaker_guard import MAX_HELD_BLANKS, NOBODY, SpeakerGuard
from backscroll_sidecar.texts import Language
from tests.kit.examples import examples

OWN = ("小黑", "Blacky", "hei")
OTHERS = {
    "小白": "bai",
    "小白猫": "bai",
    "bai": "bai",
    "小白白": "baibai",
    "Ann": "u-ann",
    "Ann Lee": "u-lee",
    "u-ann": "u-ann",
    "u-lee": "u-lee",
    "Weiß": "u-weiss",
    "Élodie": "u-elo",
    "김치": "u-kim",
    "Иван": "u-ivan",
    "Bob: the cat": "u-bob",
    "_kitty_": "u-kit",
    "A[x]": "u-ax",
    "http": "u-http",
    "12": "u-12",
    "❤\ufe0f": "u-heart",
    "李 明": "u-li",
}


def heard(text: str, *cuts: int) -> tuple[str, str]:
    """What is shown of a text that comes in pieces, and whose line began."""
    guard = SpeakerGuard(OWN, OTHERS)
    places = [0, *sorted(cuts), len(text)]
    shown = "".join(guard.take(text[a:b]) for a, b in pairwise(places))
    return shown + guard.rest(), guard.foreign_id


# What is cut stands behind ⟦, with whose line it is.
FOREIGN_ZH = [
    ("⟦小白：你好", "bai"),
    ("⟦小白:你好", "bai"),
    ("⟦小白: 你好", "bai"),
    ("⟦小白 ：你好", "bai"),
    ("⟦  小白：你好", "bai"),
    ("⟦\n\n小白：你好", "bai"),
    ("你好⟦\n小白：你好", "bai"),
    ("你好。⟦\n\n小白：你好\n小黑：好", "bai"),
    ("你好⟦  \n 　小白：你好", "bai"),
    ("你好⟦\r\n小白：你好", "bai"),
    ("你好⟦\r小白：你好", "bai"),
    ("你好⟦\u2028小白：你好", "bai"),
    ("你好⟦\n小白猫：喵", "bai"),
    ("你好⟦\n小白白：喵", "baibai"),
    ("你好⟦\nbai：喵", "bai"),
    ("你好⟦\n**小白**：喵", "bai"),
    ("你好⟦\n**小白：**喵", "bai"),
    ("你好⟦\n- 小白：喵", "bai"),
    ("你好⟦\n> 小白：喵", "bai"),
    ("你好⟦\n> **小白**：喵", "bai"),
    ("你好⟦\n### 小白：喵", "bai"),
    ("你好⟦\n小白 <bai>: 喵", "bai"),
    ("你好⟦\n小白 <bai> [bot]: 喵", "bai"),
    ("你好⟦\n小白 [bot]：喵", "bai"),
    ("你好⟦\n<bai>: 喵", "bai"),
    ("你好⟦\n[2026-11-20] 小白：喵", "bai"),
    ("你好⟦\n[2026-11-20] 小白 <bai> [bot]: 喵", "bai"),
    ("你好⟦\n李　明：喵", "u-li"),
    ("你好⟦\n小白：", "bai"),
    ("你好⟦\n小白：\n喵", "bai"),
    ("我说小白：你好⟦\n小白：喵", "bai"),
    ("小白，你好⟦\n小白：喵", "bai"),
    ("```\n小白：喵\n```⟦\n小白：喵", "bai"),
    ("```\n小白：喵\n```\n\n好⟦\n小白：喵", "bai"),
    ("~~~\n```\n小白：喵\n~~~⟦\n小白：喵", "bai"),
    ("`小白：`⟦\n小白：喵", "bai"),
    ("```小白：``` 好⟦\n小白：喵", "bai"),
    ("好\n\n    小白：喵\n\n好⟦\n小白：喵", "bai"),
    ("好⟦\n    小白：不是代码", "bai"),
    ("你好⟦\n小黑 <bai>：喵", "bai"),
    ("你好⟦\n小白（人类）：喵", "bai"),
    ("你好⟦\n- 小白（机器人）：喵", "bai"),
    ("你好⟦\n小白 <bai>（机器人）：喵", "bai"),
    ("你好⟦\n【小白】：喵", "bai"),
    ("你好⟦\n「小白」：喵", "bai"),
    ("你好⟦\n“小白”：喵", "bai"),
    ("你好⟦\n（小白）：喵", "bai"),
    ("你好⟦\n1、小白：喵", "bai"),
    ("你好⟦\n@小白：喵", "bai"),
    ("你好⟦\n小白﹕喵", "bai"),
    ("你好⟦\n小\u200b白：喵", "bai"),
    ("你好⟦\n小白 <hei>：喵", "bai"),
]
FOREIGN_EN = [
    ("⟦Ann: hi", "u-ann"),
    ("⟦ann:hi", "u-ann"),
    ("⟦ANN : hi", "u-ann"),
    ("⟦Ａｎｎ： hi", "u-ann"),
    ("⟦\nAnn: hi", "u-ann"),
    ("hi⟦\nAnn: hi\nhi", "u-ann"),
    ("hi⟦\n\n\nAnn: hi", "u-ann"),
    ("hi⟦ \t\n \nAnn: hi", "u-ann"),
    ("hi⟦\nAnn Lee: hi", "u-lee"),
    ("hi⟦\nann   lee: hi", "u-lee"),
    ("hi⟦\nu-lee: hi", "u-lee"),
    ("hi⟦\nWeiß: hi", "u-weiss"),
    ("hi⟦\nWEISS: hi", "u-weiss"),
    ("hi⟦\nÉlodie: hi", "u-elo"),
    ("hi⟦\ne\u0301lodie: hi", "u-elo"),
    ("hi⟦\n김치: hi", "u-kim"),
    ("hi⟦\nиВАН: hi", "u-ivan"),
    ("hi⟦\nBob: the cat: hi", "u-bob"),
    ("hi⟦\nBob: the cat <u-bob> [bot]: hi", "u-bob"),
    ("hi⟦\nBob\\: the cat: hi", "u-bob"),
    ("hi⟦\n_kitty_: hi", "u-kit"),
    ("hi⟦\nkitty: hi", "u-kit"),
    ("hi⟦\nA\\[x\\]: hi", "u-ax"),
    ("hi⟦\nA[x]: hi", "u-ax"),
    ("hi⟦\n❤: hi", "u-heart"),
    ("hi⟦\n12: hi", "u-12"),
    ("hi⟦\nhttp: hi", "u-http"),
    ("hi⟦\n**Ann:** hi", "u-ann"),
    ("hi⟦\n__Ann__: hi", "u-ann"),
    ("hi⟦\n**Ann** <u-ann> [bot]: hi", "u-ann"),
    ("hi⟦\n**Ann <u-ann>**: hi", "u-ann"),
    ("hi⟦\n* Ann: hi", "u-ann"),
    ("hi⟦\n> > Ann: hi", "u-ann"),
    ("hi⟦\n## Ann: hi", "u-ann"),
    ("hi⟦\n[2026-11-20] Ann <u-ann>: hi", "u-ann"),
    ("hi⟦\n[2026-11-20] **Ann**: hi", "u-ann"),
    ("hi⟦\n[5 minutes ago] Ann <u-ann>: hi", "u-ann"),
    ("hi⟦\nAnn <u-other>: hi", "u-ann"),
    ("hi⟦\nAnn <u-lee>: hi", "u-lee"),
    ("hi⟦\n<u-lee>: hi", "u-lee"),
    ("hi⟦\n\u200bAnn: hi", "u-ann"),
    ("hi⟦\nAnn [BOT]: hi", "u-ann"),
    ("hi⟦\n- Ann (person): yes", "u-ann"),
    ("hi⟦\nAnn (bot): yes", "u-ann"),
    ("hi⟦\nAnn <u-ann> (person): yes", "u-ann"),
    ("hi⟦\n1. Ann: hi", "u-ann"),
    ("hi⟦\n 12) **Ann**: hi", "u-ann"),
    ("hi⟦\n(1) Ann: hi", "u-ann"),
    ("hi⟦\n• Ann: hi", "u-ann"),
    ("hi⟦\n+ Ann: hi", "u-ann"),
    ("hi⟦\n– Ann: hi", "u-ann"),
    ("hi⟦\n- [ ] Ann: hi", "u-ann"),
    ("hi⟦\n- [x] Ann: hi", "u-ann"),
    ("hi⟦\n[Ann]: hi", "u-ann"),
    ("hi⟦\n(Ann): hi", "u-ann"),
    ("hi⟦\n**[Ann]**: hi", "u-ann"),
    ("hi⟦\n([Ann] (bot)): hi", "u-ann"),
    ("hi⟦\n[Ann <u-ann>]: hi", "u-ann"),
    ("hi⟦\n[Ann] <u-ann> [bot]: hi", "u-ann"),
    ('hi⟦\n"Ann": hi', "u-ann"),
    ('hi⟦\n"Ann" :  hi', "u-ann"),
    ("hi⟦\n'Ann': hi", "u-ann"),
    ("hi⟦\n`Ann`: hi", "u-ann"),
    ("hi⟦\n@Ann: hi", "u-ann"),
    ("hi⟦\n1. [2026-11-20] @Ann: hi", "u-ann"),
    ("hi⟦\nAnn﹕hi", "u-ann"),
    ("hi⟦\nAnn∶ hi", "u-ann"),
    ("hi⟦\nA\u200bn\u2060n: hi", "u-ann"),
    ("hi⟦\n\u202eAnn: hi", "u-ann"),
    ("hi⟦\nA\u00adnn\ufeff: hi", "u-ann"),
    ("say Ann: hi⟦\nAnn: hi", "u-ann"),
    ("```py\nAnn: 1\n```⟦\nAnn: hi", "u-ann"),
    ("- ```py\n  Ann: 1\n  ```⟦\nAnn: hi", "u-ann"),
]


@pytest.mark.parametrize(("marked", "whose"), FOREIGN_ZH + FOREIGN_EN)
def test_a_line_of_somebody_else_ends_the_answer(marked: str, whose: str) -> None:
    shown = marked.partition("⟦")[0]
    text = marked.replace("⟦", "")
    assert heard(text) == (shown, whose)
    assert heard(text, *range(1, len(text))) == (shown, whose)


# What is taken away stands in ⟦ and ⟧.
OWN_ZH = [
    "⟦小黑：⟧你好",
    "⟦小黑:⟧你好",
    "⟦小黑： ⟧你好",
    "⟦ 小黑：⟧你好",
    "⟦小黑 <hei>: ⟧你好",
    "⟦小黑 <hei> [bot]: ⟧你好",
    "⟦[2026-11-20] 小黑：⟧你好",
    "⟦[2026-11-20] 小黑 <hei> [bot]: ⟧你好",
    "⟦**小黑**：⟧你好",
    "⟦**小黑：** ⟧你好",
    "**⟦小黑：⟧你好**",
    "- ⟦小黑：⟧你好",
    "> ⟦**小黑**：⟧你好",
    "⟦小黑：\n⟧你好",
    "⟦小黑：\r\n⟧你好",
    "⟦小黑：\n\n  \n⟧你好",
    "⟦小黑：\n⟧    缩进",
    "⟦小黑：⟧",
    "⟦小黑：⟧小黑：你好",
    "⟦小黑：⟧小白：你好",
    "你好\n⟦小黑：⟧再见",
    "你好\n\n⟦小黑：⟧再见\n⟦小黑：⟧再见",
    "⟦小黑：⟧```\n小白：喵\n```",
    "⟦hei：⟧你好",
    "⟦【小黑】：⟧你好",
    "⟦小黑（机器人）：⟧你好",
    "1. ⟦小黑：⟧你好",
    "⟦@小黑：⟧你好",
]
OWN_EN = [
    "⟦Blacky: ⟧hi",
    "⟦blacky:⟧hi",
    "⟦BLACKY : ⟧hi",
    "⟦Ｂｌａｃｋｙ： ⟧hi",
    "⟦Blacky <hei>: ⟧hi",
    "⟦Blacky <hei> [bot]: ⟧hi",
    "⟦Blacky [bot]: ⟧hi",
    "⟦<hei>: ⟧hi",
    "⟦[2026-11-20] Blacky <hei> [bot]: ⟧hi",
    "⟦[just now] Blacky: ⟧hi",
    "⟦**Blacky:** ⟧hi",
    "⟦**Blacky**: ⟧hi",
    "⟦**Blacky**: ⟧**hi**",
    "⟦__Blacky__ <hei>: ⟧hi",
    "⟦[2026-11-20] **Blacky:** ⟧hi",
    "**⟦Blacky: ⟧hi**",
    "# ⟦Blacky: ⟧hi",
    "* ⟦Blacky: ⟧hi",
    "⟦Blacky:\t⟧hi",
    "⟦Blacky: \n⟧hi",
    "one\n⟦Blacky: ⟧two\r\n⟦Blacky: ⟧three",
    "⟦Blacky: ⟧Ann: hi",
    "⟦Blacky: ⟧http://x.y",
    "⟦Blacky: ⟧12:30",
    "⟦[Blacky]: ⟧hi",
    "⟦Blacky (bot): ⟧hi",
    "- [ ] ⟦Blacky: ⟧hi",
    "• ⟦[just now] @Blacky: ⟧hi",
    "1. ⟦**Blacky:** ⟧hi",
]


@pytest.mark.parametrize("marked", OWN_ZH + OWN_EN)
def test_a_label_of_its_own_is_taken_away(marked: str) -> None:
    shown = "".join(piece.rpartition("⟧")[2] for piece in marked.split("⟦"))
    text = marked.replace("⟦", "").replace("⟧", "")
    assert heard(text) == (shown, "")
    assert heard(text, *range(1, len(text))) == (shown, "")


PLAIN_ZH = [
    "你好",
    "我觉得小白：很好",
    "小白",
    "小白说：你好",
    "小白，你好：",
    "小白很好：真的",
    "小白们：你好",
    "“小白：你好”",
    "【小白】你好：",
    "【小白：你好】",
    "小白（人类",
    "小白（猫）：你好",
    "1、小白你好",
    "（小白：你好）",
    "小白\n：你好",
    "小白 和 小黑：你好",
    "小白、Ann：你好",
    "大家：你好",
    "大小白：你好",
    "小白 <bai> 你好：",
    "小白 [bot",
    "小白 <bai",
    "[2026-11-20] 你好：",
    "[2026-11-20] 小白来了",
    "**小白**你好：",
    "# 小白",
    "## 计划\n小白 做：一",
    "| 小白：| 喵 |",
    "```\n小白：喵\n小黑：喵\n```",
    "```\n小白：喵",
    "~~~ 小白\n小白：喵\n~~~",
    "好\n\n    小白：代码\n    小黑：代码\n",
    "好\n\n\t小白：代码",
    "- ```\n  小白：喵\n  ```",
    "1. ```\n   小白：喵\n   ```",
    "````\n```\n小白：喵\n````",
    "`小白：喵`",
    '{"小白": 1}',
    '{\n"小白": "喵",\n"小黑": "喵"\n}',
    "小白\\：你好",
    "时间 12：30",
    "\n\n你好\n\n",
    "　　你好\u3000",
]
PLAIN_EN = [
    "hi",
    "I say Ann: great name",
    "Ann",
    "Ann is here: look",
    "Ann's idea: good",
    "Anna: hi",
    "Ann Leer: hi",
    "Ann and Ann Lee: hi",
    "Ann, look: here",
    "Ann -- look: here",
    "Ann\nLee: hi",
    '"Ann: hi"',
    "'Ann: hi'",
    "`Ann`'s: hi",
    "(Ann) said: hi",
    "[Ann: hi]",
    "1.Anna: hi",
    "1.5: Ann",
    "• Anna: hi",
    "- [ ] tell Ann: hi",
    "@Anna: hi",
    "((((Ann)))): hi",
    "Ann (cat): hi",
    '"Ann": "hi"',
    '"Ann":  {"x": 1}',
    '  "Ann": 12,',
    "(Ann: hi)",
    "http://x.y/z",
    "http://x.y: Ann",
    "12:30 we meet",
    "12:30",
    "at 12:30",
    "https://x.y",
    "Note: Ann",
    "Joann: hi",
    "Hi Ann:\nyou",
    "Ann\\: hi",
    "Ann <u-ann> said: hi",
    "Ann <u-ann\nhi",
    "Ann [bot] said: hi",
    "[2026-11-20]: hi",
    "[2026-11-2 Ann: hi",
    "# Ann",
    "# Plan: Ann",
    "**Note:** Ann",
    "---",
    "---\n***\n___\n",
    "- - -\n> > >",
    "```yaml\nAnn: 1\nBlacky: 2\n```",
    "```yaml\nAnn: 1\n``` no end\nAnn: 2\n```",
    "```\nAnn: 1",
    "Then\n\n    Ann: code\n\n    Blacky: code\n",
    '{"Ann": 1, "name": "Ann: hi"}',
    '"name": "Ann"',
    "| Ann: | hi |",
    "Bob: hi",
    "Bob: the dog: hi",
    "u-: hi",
    "a\r\nb\r\n\r\nc\r\n",
    "  hi  \n\n\n  there  ",
    " ",
    "",
    ":",
    "：：",
    "<>: hi",
    "<u-ann>",
    "**",
]


@pytest.mark.parametrize("text", PLAIN_ZH + PLAIN_EN)
def test_what_is_no_label_passes(text: str) -> None:
    assert heard(text) == (text, "")
    assert heard(text, *range(1, len(text))) == (text, "")


def test_what_is_shown_goes_at_once() -> None:
    guard = SpeakerGuard(OWN, OTHERS)
    said = [guard.take(piece) for piece in ("小", "白是", "我的", "朋友 ", "。\n", "An", "d", "n")]
    assert said == ["", "小白是", "我的", "朋友", " 。", "", "\nAnd", "n"]
    assert guard.rest() == ""


def test_nothing_is_told_behind_the_cut() -> None:
    guard = SpeakerGuard(OWN, OTHERS)
    assert guard.take("hi\nAnn: you\nme") == "hi"
    assert guard.is_cut
    assert guard.foreign_id == "u-ann"
    assert guard.take("more\n") == guard.rest() == guard.take("小黑：hi") == ""


def test_a_cut_in_what_was_held_back() -> None:
    guard = SpeakerGuard(OWN, OTHERS)
    assert guard.take("hi\nAnn:") == "hi"
    assert not guard.is_cut
    assert guard.rest() == ""
    assert guard.is_cut


def test_it_starts_anew() -> None:
    guard = SpeakerGuard(OWN, OTHERS)
    guard.take("```\nhi\n\nAnn")
    guard.start_anew()
    assert guard.take("Ann: hi") == ""
    assert guard.is_cut
    guard.start_anew()
    assert not guard.is_cut
    assert guard.foreign_id == ""
    assert guard.take("小黑：") + guard.take("hi ") + guard.rest() == "hi "


def test_its_own_name_is_its_own_whoever_else_has_it() -> None:
    guard = SpeakerGuard(["Sam", "p-sam"], {"sam": "u-sam", "u-sam": "u-sam"})
    assert guard.take("Sam: hi\nSam <u-sam>: you") == "hi"
    assert guard.foreign_id == "u-sam"


def test_without_names_all_passes_at_once() -> None:
    guard = SpeakerGuard([], {"": "x", "***": "y"})
    assert guard.take("***: hi\nAnn: ") == "***: hi\nAnn:"
    assert guard.rest() == " "


@pytest.mark.parametrize(
    "flood", [" ", "*", "- ", "\n", "> \n", "[", "<", "Ann", "Ann ", "Ann*", ":"]
)
def test_a_flood_is_not_held_back(flood: str) -> None:
    guard = SpeakerGuard(OWN, OTHERS)
    text = flood * 2_000
    shown = guard.take(text)
    assert len(text) - len(shown) <= guard.most_held
    assert shown + guard.rest() == text


def test_of_a_flood_of_blanks_those_at_the_end_go() -> None:
    assert heard("a" + "\n" * 99 + "Ann: hi") == ("a" + "\n" * (99 - MAX_HELD_BLANKS), "u-ann")


MARKS = [
    *":：*_>-#`[]<> \t\n\r7\\\u0301",
    *("**", "```", "~~~", "\r\n", "\n\n", "    ", "//", "[bot]", "<u-ann>"),
    *("[2026-11-20] ", "[just now] ", "hi"),
    *(
        "(bot)",
        "（人类）",
        "(",
        ")",
        "（",
        "）",
        "【",
        "】",
        '"',
        "1. ",
        "• ",
        "+",
        "@",
        "[ ] ",
        "12",
    ),
    *("\u200b", "\u202e", "﹕", "﹕", "5", "{"),
]
PIECES = [*OTHERS, *OWN, *MARKS, *MARKS]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map("".join)
labels = st.lists(
    st.sampled_from(["小黑", "小白", "Ann", "：", ": ", "\n", "x", "**"]), max_size=12
)


@settings(max_examples=examples(600))
@given(texts | labels.map("".join), st.data())
def test_cuts_between_pieces_do_not_matter(text: str, data: st.DataObject) -> None:
    whole = heard(text)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    assert heard(text, *cuts) == heard(text, *range(1, len(text))) == whole


@settings(max_examples=examples(300))
@given(texts)
def test_little_is_held_back_and_nothing_behind_the_cut_is_shown(text: str) -> None:
    guard = SpeakerGuard([], OTHERS)
    shown = ""
    for place, char in enumerate(text, 1):
        was_cut = guard.is_cut
        more = guard.take(char)
        shown += more
        assert text.startswith(shown)
        assert not (was_cut and more)
        assert guard.is_cut or place - len(shown) <= guard.most_held
    was_cut = guard.is_cut
    rest = guard.rest()
    assert text.startswith(shown + rest)
    assert not (was_cut and rest)
    assert guard.is_cut or shown + rest == text


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=5)).map("".join))
def test_without_names_in_it_a_text_stays(text: str) -> None:
    guard = SpeakerGuard(["Zoë Quill"], {"Yan Xu": "id-of-yan"})
    assert guard.take(text) + guard.rest() == text
    assert not guard.is_cut


LABELS = ("User says: ", "铲屎官说：", "no colon", ":", "")


@pytest.mark.parametrize(
    "line", ["User says: hi", "铲屎官说：喵", "- **user says**: hi", "铲屎官说:"]
)
def test_a_question_of_its_own_ends_the_answer(line: str) -> None:
    for text in (f"hi\n{line}", line):
        guard = SpeakerGuard(OWN, OTHERS, LABELS)
        shown = "".join(map(guard.take, text)) + guard.rest()
        assert (shown, guard.foreign_id) == (text.removesuffix(line).rstrip(), NOBODY)


@pytest.mark.parametrize(
    "text", ["User: hi", "User says hi", "no colon: hi", "User says so: hi", ": x"]
)
def test_what_only_begins_like_a_question_passes(text: str) -> None:
    guard = SpeakerGuard(OWN, OTHERS, LABELS)
    assert guard.take(text) + guard.rest() == text


@pytest.mark.parametrize("language", [Language.EN, Language.ZH])
@pytest.mark.parametrize("kind", ParticipantKind)
@pytest.mark.parametrize("name", ["Ann", "Ann (bot)", "A[n]: n"])
def test_a_line_as_the_prompt_has_it_ends_the_answer(
    language: Language, kind: ParticipantKind, name: str
) -> None:
    me = Participant("me", "Me", ParticipantKind.PERSONA)
    line = persona_prompt("{{colleagues}}", me, [Participant("a", name, kind)], [], language)
    guard = SpeakerGuard(["Me"], {name: "a"})
    assert guard.take(f"hi\n{line}: hi") == "hi"
    assert guard.foreign_id == "a"


MANY = {
    name: f"id{n}"
    for n in range(100)
    for name in (f"id{n}", f"name{n}", *(f"{word}{n}猫" for word in map(str, range(48))))
}
"""Of a room with as many participants and names as there may be."""


@pytest.mark.parametrize(
    "line",
    [
        "```\n```", "~~~\n```\n", "name1 [bot\n", "name1 [bot", "name1 <id", "name1\n", "n\n", "\n",
        "a:\n", "**", "[[[(", '"name1": 1\n', "1. [ ] @\n", ":::::::\n", "name1 <x> y: z\n",
        "[name1] x:\n", "hi there, this is a line of an answer.\n",
    ],
)  # fmt: skip
def test_a_long_answer_in_one_piece_is_heard_at_once(line: str) -> None:
    guard = SpeakerGuard(["Own"], MANY)
    text = (line * 60_000)[:60_000]
    began = time.process_time()
    shown = guard.take(text) + guard.rest()
    took = time.process_time() - began
    assert shown == text
    assert took < 0.5


def test_a_name_that_has_an_at_sign_is_found_without_it() -> None:
    for line in ("@Joe: hi", "Joe: hi"):
        guard = SpeakerGuard(["Me"], {"@Joe": "joe"})
        assert guard.take(f"hi\n{line}") == "hi"
        assert guard.foreign_id == "joe"
