"""The answer to a build: complete, and equal to what protobuf itself would have made of it."""

from dataclasses import replace
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.context.model import (
    BuiltContext,
    Diagnostics,
    Explanation,
    Items,
    Payload,
    TokenCounts,
)
from backscroll_sidecar.context.rendering import Pen, Shown, Written
from backscroll_sidecar.domain import (
    AuthorKind,
    Category,
    Degradation,
    Event,
    Fate,
    Layout,
    MessageType,
    NeutralMessage,
    Role,
    Rung,
    SpeakerStyle,
    TokenizerName,
)
from backscroll_sidecar.edge.convert.built import encode_built, encode_items, encode_message
from backscroll_sidecar.edge.convert.fields import SOURCE_NUMBERS
from backscroll_sidecar.lines.line_format import Said
from backscroll_sidecar.strategies import BUILTIN
from tests.unit.edge.builders import chat_message

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
FRAGMENT = chat_message().SerializeToString()


def written(
    fragment: bytes = FRAGMENT,
    role: Role = Role.USER,
    *,
    truncated: bool = False,
    turn_cost: int = 300,
    line_cost: int = 300,
) -> Written:
    said = Said(
        "m1",
        role,
        role is Role.ASSISTANT,
        "u1",
        "Ann",
        AuthorKind.HUMAN,
        "hello",
        1,
        truncated=truncated,
    )
    made = Pen(SpeakerStyle.TAGGED).write(said, fragment=fragment)
    return replace(made, turn_cost=turn_cost, line_cost=line_cost)


BUILT = BuiltContext(
    context_id="c1",
    channel_known=True,
    asked_at_ms=5,
    profile="balanced",
    items=Items(
        Shown([written(), written(role=Role.ASSISTANT, truncated=True)]),
        [1, 200],
        np.array([0.75, 0.75]),
        [1, 2],
        {1: ("recent",), 2: ("lexical", "mine", "thread", "yours")},
        [Category.RECENT, Category.SEMANTIC],
        channels=["", "another"],
    ),
    messages=(NeutralMessage(Role.USER, "hello", message_ids=("m1",)),),
    payloads=(Payload("openai_chat", b"{}"),),
    text="Conversation (recent):",
    tokens=TokenCounts(TokenizerName.CHARS_4, 100, 1, 2, 3, 4, 5, 6, 7, 8),
    stable_prefix_tokens=9,
    rung=Rung.RECENT,
    degradations=(Degradation("gather", "TIMEOUT", "semantic"),),
    layout=Layout.SINGLE_USER,
    speaker_style=SpeakerStyle.TAGGED,
    diagnostics=Diagnostics({"gather": 12}, True, 3, True, 40),
    trigger_fragment=FRAGMENT,
    addressed=True,
    question_type=MessageType.QUESTION,
    summary="before",
    channel="room",
    events=(
        Event("e2", "context.compressed", "turn", 6, "e1", {"n": 2, "on": True, "share": 0.5}),
    ),
    explanation=Explanation(
        "balanced",
        ("time", "reply"),
        (0.5, 0.25),
        0.3,
        "identity",
        message_ids=["m1", "m2"],
        sources=[("recent", "mine"), ("thread", "mine")],
        shares=np.array([[0.5, 0.25], [0.25, 0.125]]),
        linear=np.array([0.75, 0.375]),
        scores=np.array([0.875, 0.25]),
        fates=[Fate.SELECTED, Fate.THRESHOLD],
        decided_by=["score", "threshold"],
        ranks=[1, 2],
        scored_by=["link", "score"],
    ),
)


def decoded(built: BuiltContext) -> pb.BuildContextResponse:
    return pb.BuildContextResponse.FromString(encode_built(built, "1.2.3", 7))


def unset_fields(message: Any, path: str = "") -> list[str]:
    """Every field, however deep, that has its default."""
    found = []
    present = {field.name: value for field, value in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        if field.name not in present:
            found.append(path + field.name)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            value = present[field.name]
            for one in [value] if hasattr(value, "ListFields") else value[-1:]:
                if not isinstance(one, message_pb2.Message):
                    found += unset_fields(one, f"{path}{field.name}.")
    return found


def test_every_field_of_the_answer_is_filled() -> None:
    """A field that the contract gets and this translation forgets is found here."""
    assert unset_fields(decoded(BUILT)) == []


def test_the_values_are_those_of_the_build() -> None:
    """S1-05: each item tells its sources and its category."""
    answer = decoded(BUILT)
    first, second = answer.items
    assert first.message == chat_message()
    assert (first.role, first.rank, first.score, first.token_count) == (1, 1, 0.75, 300)
    assert list(first.sources) == [pb.SOURCE_RECENT]
    assert first.category == pb.CATEGORY_RECENT
    assert not first.truncated
    assert (second.role, second.rank, second.truncated) == (message_pb2.ROLE_ASSISTANT, 200, True)
    assert list(second.sources) == [pb.SOURCE_LEXICAL, pb.SOURCE_OWN, pb.SOURCE_THREAD]
    assert list(second.own_sources) == ["mine", "yours"]
    assert second.category == pb.CATEGORY_SEMANTIC
    assert answer.trigger == chat_message()
    assert answer.tokens.total == sum(range(1, 9))
    assert answer.tokens.tokenizer == pb.TOKENIZER_CHARS_4
    assert answer.diagnostics.server_version == "1.2.3"
    stages = dict(answer.diagnostics.stage_microseconds)
    assert stages.keys() == {"parse", "gather", "encode"}
    assert (stages["parse"], stages["gather"]) == (7, 12)
    assert dict(answer.events[0].payload) == {"n": "2", "on": "true", "share": "0.5"}
    assert answer.explanation == pb.Explanation(
        profile="balanced",
        factors=["time", "reply"],
        weights=[0.5, 0.25],
        threshold=0.3,
        link="identity",
        candidates=[
            pb.CandidateExplanation(
                message_id="m1", sources=[pb.SOURCE_RECENT, pb.SOURCE_OWN], own_sources=["mine"], shares=[0.5, 0.25],
                linear=0.75, score=0.875, decided_by="score", fate=pb.FATE_SELECTED, rank=1, scored_by="link",
            ),
            pb.CandidateExplanation(
                message_id="m2", sources=[pb.SOURCE_THREAD, pb.SOURCE_OWN], own_sources=["mine"], shares=[0.25, 0.125],
                linear=0.375, score=0.25, decided_by="threshold", fate=pb.FATE_THRESHOLD, rank=2,
                scored_by="score",
            ),
        ],
    )  # fmt: skip


@pytest.mark.parametrize("name", ["trigger", "summary", "explanation"])
def test_what_there_is_not_stays_unset(name: str) -> None:
    bare = msgspec.structs.replace(
        BUILT, trigger_fragment=None, summary=None, explanation=None, question_type=None
    )
    assert not decoded(bare).HasField(name)
    assert decoded(bare).question_type == message_pb2.MESSAGE_TYPE_UNSPECIFIED


SOURCES = {"recent": pb.SOURCE_RECENT, "thread": pb.SOURCE_THREAD, "mine": pb.SOURCE_OWN}
FRAGMENTS = st.binary(max_size=200).map(
    lambda raw: chat_message(dedupe_key=raw.hex()).SerializeToString()
)
TOKENS = st.integers(0, 2**32 - 1)
ROW = st.tuples(
    st.builds(
        written,
        FRAGMENTS,
        st.sampled_from([*Role][:3]),
        truncated=st.booleans(),
        turn_cost=TOKENS,
        line_cost=TOKENS,
    ),
    st.integers(0, 2**32 - 1),
    st.floats(allow_nan=False),
    st.lists(st.sampled_from([*SOURCES]), unique=True).map(tuple),
    st.sampled_from(Category),
)


@given(st.lists(ROW, max_size=3), st.lists(st.booleans(), min_size=3))
def test_joined_items_are_those_protobuf_makes(rows: list[Any], has_turns: list[bool]) -> None:
    """Made anew and as they were kept from the first time, in whichever section and at whatever cost."""
    messages = [row[0] for row in rows]
    shown = Shown(messages)
    more = [(*row[:4], other[4]) for row, other in zip(rows, reversed(rows), strict=True)]
    for given_rows, turns in product((rows, more, rows), has_turns):
        _, ranks, scores, sources, categories = (
            map(list, zip(*given_rows, strict=True)) if rows else [[]] * 5
        )
        names = dict(enumerate(dict.fromkeys(sources)))
        numbers = {said: number for number, said in names.items()}
        items = Items(
            shown,
            ranks,
            np.array(scores, np.float64),
            [numbers[said] for said in sources],
            names,
            categories,
            turns,
        )
        found = pb.BuildContextResponse.FromString(encode_items(items)).items
        for (one, rank, score, sources, category), back in zip(given_rows, found, strict=True):
            is_turn = turns and category is Category.RECENT
            assert back == pb.Item(
                message=message_pb2.Message.FromString(one.fragment),
                role=one.turn.role,
                rank=rank,
                score=score,
                sources=[SOURCES[name] for name in sources],
                own_sources=["mine"] if "mine" in sources else [],
                category=1 if category is Category.RECENT else 2,
                token_count=one.turn_cost if is_turn else one.line_cost,
                truncated=one.said.truncated,
            )


@given(
    st.builds(
        NeutralMessage,
        st.sampled_from(Role),
        TEXT,
        message_ids=st.lists(TEXT, max_size=3).map(tuple),
    )
)
def test_a_joined_message_is_the_one_protobuf_makes(message: NeutralMessage) -> None:
    (found,) = pb.BuildContextResponse.FromString(encode_message(message)).messages
    assert found == pb.RenderedMessage(
        role=message.role, content=message.content, message_ids=message.message_ids
    )


def test_every_source_of_ours_has_its_number() -> None:
    """S1-07: SOURCE_OWN is an operator's alone."""
    ours = {*BUILTIN, "semantic"} - {"preferences"}  # proposes lines of the request, no messages
    assert ours <= set(SOURCE_NUMBERS)
