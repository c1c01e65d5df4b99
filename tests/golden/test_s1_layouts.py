"""Design S1: every combination of parts in every layout, and the example of its section 5.2 byte for byte."""

import json
from itertools import product

import pytest

from backscroll_sidecar.context.model import SystemPrompt
from backscroll_sidecar.domain import Layout
from tests.golden import by_hand
from tests.golden.conftest import as_golden
from tests.golden.example import example_request, example_room
from tests.kit.rooms import payload

PARTS = ("system", "preferences", "recent", "semantic")
COMBINATIONS = [dict(zip(PARTS, on, strict=True)) for on in product((False, True), repeat=4)]


def name_of(parts: dict[str, bool]) -> str:
    return "+".join(name for name, on in parts.items() if on) or "nothing"


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("parts", COMBINATIONS, ids=name_of)
def test_parts_in_layouts(layout, parts, golden):
    """S1-04, S1-06, S1-07, S1-08, S1-09, S1-10, S1-12, S1-13, S1-14, S1-15, S1-16, S1-20: order, titles, blank lines,
    absent parts, and the shape of each layout."""
    on = dict(parts)
    system = on.pop("system")
    built = example_room().build_now(
        **example_request(**on),
        layout=layout,
        system=SystemPrompt(by_hand.SYSTEM if system else ""),
        include_system=True,
    )
    assert as_golden(built) == by_hand.expected(layout.value, **parts)
    golden(f"s1/{layout.value}/{name_of(parts)}", built)


def test_the_files_are_what_the_document_says(request):
    """S1-10: a file recorded from a mistake would differ from the example as copied from the document."""
    folder = request.path.parent / "files" / "s1"
    for layout, parts in product(Layout, COMBINATIONS):
        recorded = json.loads((folder / layout.value / f"{name_of(parts)}.json").read_text("utf-8"))
        assert recorded == by_hand.expected(layout.value, **parts)


def test_the_example_of_section_5_2():
    """S1-15, S1-17, S1-18, S3-03: the request body of 5.2, contents byte for byte, model as asked for; the system text
    is prepended downstream and is no part of the list."""
    built = example_room().build_now(
        **example_request(preferences=True, recent=True, semantic=True),
        layout=Layout.SINGLE_USER,
        model="gpt-3.5-turbo",
    )
    body = payload(built)
    assert body == by_hand.BODY_OF_5_2
    contents = [message["content"].encode() for message in body["messages"]]
    assert contents == [by_hand.SYSTEM.encode(), by_hand.CONTENT_OF_5_2.encode()]
    assert [message.content for message in built.messages] == [by_hand.CONTENT_OF_5_2]
    assert [(c.source, c.reason) for c in built.degradations] == []


@pytest.mark.parametrize("layout", Layout)
def test_the_system_text_is_prepended_downstream(layout):
    """S1-17, S1-09: without include_system neither list nor text form has the system text, the payload has its bytes
    once; scheme C keeps it in its system message in any case (S1-16)."""
    built = example_room().build_now(
        **example_request(preferences=True, recent=True, semantic=True), layout=layout
    )
    assert "System:" not in built.text
    in_list = [m.content for m in built.messages if m.role.name == "SYSTEM"]
    assert in_list == ([by_hand.SYSTEM] if layout is Layout.SYSTEM_AND_USER else [])
    messages = payload(built)["messages"]
    assert messages[0] == {"role": "system", "content": by_hand.SYSTEM}
    assert json.dumps(messages, ensure_ascii=False).count(by_hand.SYSTEM) == 1


def test_unset_layout_is_turns():
    """S1-22: one documented default layout; unset gives that golden."""
    room = example_room()
    request = example_request(preferences=True, recent=True, semantic=True)
    unset = room.build_now(**request)
    assert unset.layout is Layout.TURNS
    assert as_golden(unset) == as_golden(room.build_now(**request, layout=Layout.TURNS))


def test_one_build_gives_both_forms():
    """S1-20: text form and message list come from one build and agree: the context message is the text form."""
    built = example_room().build_now(
        **example_request(preferences=True, recent=True, semantic=True),
        layout=Layout.CONTEXT_AND_QUESTION,
    )
    context, question = built.messages
    assert context.content == built.text
    assert question.content == by_hand.QUESTION
    assert context.message_ids == ("m3", "m4", "m5", "m6", "m1", "m2")
