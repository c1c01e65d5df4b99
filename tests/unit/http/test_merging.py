"""What the model gets of the context and of what a client sent, case by case."""

from typing import Any

import pytest

from backscroll_sidecar.edge.http.merging import Merge, conversation_of, merged, text_of


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def bot(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


SYSTEM, DEVELOPER = (
    {"role": "system", "content": "be short"},
    {"role": "developer", "content": "no"},
)
CALL = bot(
    None,
    tool_calls=[{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
)
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "25°"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
TEXT = {"type": "text", "text": "what is this?"}
Q = user("when?")
CONTEXT = [
    user("Ann <u1>: soup is ready"),
    bot("good"),
    user("Ben <u2>: ok"),
    user("Ann <u1>: when?"),
]
SHOWN, ASKED = CONTEXT[:-1], CONTEXT[-1]
OURS = [user("soup is ready"), bot("good"), user("ok")]
OLD = [user("older"), bot("very old")]

CASES: dict[str, tuple[Merge, list[Any], list[Any]]] = {
    "empty": (Merge.REPLACE, [Q], [*SHOWN, ASKED]),
    "equal": (Merge.REPLACE, [*OURS, Q], [*SHOWN, ASKED]),
    "longer": (Merge.REPLACE, [*OLD, *OURS, Q], [*SHOWN, ASKED]),
    "edited": (Merge.REPLACE, [user("soup is cold"), Q], [*SHOWN, ASKED]),
    "system is kept": (Merge.REPLACE, [SYSTEM, *OURS, DEVELOPER, Q], [SYSTEM, DEVELOPER, *SHOWN, ASKED]),
    "tool loop": (Merge.REPLACE, [*OURS, Q, CALL, RESULT], [*SHOWN, ASKED, CALL, RESULT]),
    "tool loop before": (Merge.REPLACE, [CALL, RESULT, bot("x"), Q], [*SHOWN, ASKED]),
    "empty, prepended": (Merge.PREPEND, [Q], [*SHOWN, ASKED]),
    "equal, prepended": (Merge.PREPEND, [*OURS, Q], [*OURS, ASKED]),
    "overlapping, prepended": (Merge.PREPEND, [*OURS[1:], Q], [SHOWN[0], *OURS[1:], ASKED]),
    "longer, prepended": (Merge.PREPEND, [*OLD, *OURS, Q], [*OLD, *OURS, ASKED]),
    "edited, prepended": (
        Merge.PREPEND, [user("soup is cold"), *OURS[1:], Q], [SHOWN[0], user("soup is cold"), *OURS[1:], ASKED],
    ),
    "of another author, prepended": (Merge.PREPEND, [bot("ok"), Q], [*SHOWN, bot("ok"), ASKED]),
    "of another place, prepended": (
        Merge.PREPEND, [user("ok"), user("soup is ready"), Q], [*SHOWN[1:], user("ok"), user("soup is ready"), ASKED],
    ),
    "other spaces, prepended": (
        Merge.PREPEND, [user(" soup  is\nready"), Q], [*SHOWN[1:], user(" soup  is\nready"), ASKED],
    ),
    "tool loop before, prepended": (
        Merge.PREPEND, [CALL, RESULT, bot("good"), Q], [SHOWN[0], SHOWN[2], CALL, RESULT, bot("good"), ASKED],
    ),
    "a name of the question stays": (Merge.REPLACE, [{**Q, "name": "ann"}], [*SHOWN, {**ASKED, "name": "ann"}]),
}  # fmt: skip


@pytest.mark.parametrize(("merge", "sent", "wanted"), CASES.values(), ids=CASES)
def test_what_the_model_gets(merge: Merge, sent: list[Any], wanted: list[Any]) -> None:
    found = merged(CONTEXT, conversation_of(sent), merge)
    assert found == wanted
    assert sum("when?" in text_of(one) for one in found) == 1


def test_said_twice_and_sent_once_stays_once() -> None:
    context = [user("ok"), bot("a"), user("ok"), ASKED]
    assert merged(context, conversation_of([user("ok"), Q]), Merge.PREPEND) in (
        [bot("a"), user("ok"), user("ok"), ASKED],
        [user("ok"), bot("a"), user("ok"), ASKED],
    )


@pytest.mark.parametrize(
    ("content", "shown", "wanted"),
    [
        ([TEXT, PICTURE], "what is this?\n(image)", [TEXT, PICTURE]),
        ([TEXT, PICTURE], "Ann <u1>: what is this?\n(image)", [{**TEXT, "text": "Ann <u1>: what is this?"}, PICTURE]),
        ([PICTURE, TEXT], "Ann <u1>: (image)\nwhat is this?", [PICTURE, {**TEXT, "text": "Ann <u1>: what is this?"}]),
        ([PICTURE], "Ann <u1>: (image)", [{"type": "text", "text": "Ann <u1>: "}, PICTURE]),
        ([TEXT, PICTURE], "escaped", [{"type": "text", "text": "escaped"}, PICTURE]),
        ("  spaced \n", "Ann <u1>: spaced", "Ann <u1>:   spaced \n"),
    ],
)  # fmt: skip
def test_a_question_of_many_parts_keeps_them(content: Any, shown: str, wanted: Any) -> None:
    found = merged([user(shown)], conversation_of([user(content)]), Merge.REPLACE)
    assert found == [user(wanted)]


def test_without_a_question_nobody_asks() -> None:
    assert conversation_of([SYSTEM, bot("x")]).question is None
    assert conversation_of([]).question_text == ""


def test_long_histories_take_no_longer_than_they_must() -> None:
    said = [user("ok") for _ in range(20_000)]
    found = merged([*said[:400], ASKED], conversation_of([*said, Q]), Merge.PREPEND)
    assert len(found) == 20_001
