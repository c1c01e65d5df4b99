"""The answer to a build: complete, and equal to what protobuf itself would have made of it."""

from dataclasses import replace
from itertools import pairwise
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
    Draw,
    Explanation,
    OfOtherChannel,
    PrefixChange,
    TokenCounts,
)
from backscroll_sidecar.context.visibility import RULE_SHIFT, VisibilityRule
from backscroll_sidecar.domain import (
    AuthorKind,
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
from backscroll_sidecar.edge.convert.built import AnswerFields, encode_built
from backscroll_sidecar.edge.convert.fields import SOURCE_NUMBERS
from backscroll_sidecar.lines.line_format import Said
from backscroll_sidecar.lines.rendering import RenderedLine, RenderStyle
from backscroll_sidecar.strategies import BUILTIN
from tests.unit.edge.builders import chat_message

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
FRAGMENT = chat_message().SerializeToString()


def rendered(
    fragment: bytes = FRAGMENT,
    role: Role = Role.USER,
    *,
    truncated: bool = False,
    channel: str = "",
) -> RenderedLine:
    is_own = role is Role.ASSISTANT
    said = Said("m1", role, is_own, "u1", "Ann", AuthorKind.HUMAN, "hello", 1, truncated=truncated)
    made = RenderStyle(SpeakerStyle.TAGGED).render(said, fragment=fragment)
    return replace(made, channel=channel)


FIELDS = AnswerFields()
CONTENT = pb.BuildContextResponse(
    items=[
        pb.Item(
            message=chat_message(), role=1, rank=1, score=0.75, sources=[pb.SOURCE_RECENT], category=1,
            token_count=300, visible_by=1,
        ),
        pb.Item(
            message=chat_message(), role=2, rank=200, score=0.75, sources=[pb.SOURCE_OWN], own_sources=["mine"],
            category=2, token_count=300, truncated=True, channel="another", visible_by=8,
        ),
    ],
    messages=[pb.RenderedMessage(role=1, content="hello", message_ids=["m1"])],
    payloads=[pb.Payload(format=pb.PAYLOAD_FORMAT_OPENAI_CHAT, body=b"{}")],
    text="Conversation (recent):",
)  # fmt: skip
"""What is put together elsewhere."""
BUILT = BuiltContext(
    context_id="c1",
    channel_known=True,
    asked_at_ms=5,
    profile="balanced",
    content=np.frombuffer(CONTENT.SerializeToString(), np.uint8),
    item_count=2,
    tokens=TokenCounts(TokenizerName.CHARS_4, 100, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1.07),
    stable_prefix_tokens=9,
    stable_prefix_messages=1,
    rung=Rung.RECENT,
    degradations=(Degradation("gather", "TIMEOUT", "semantic"),),
    layout=Layout.SINGLE_USER,
    speaker_style=SpeakerStyle.TAGGED,
    diagnostics=Diagnostics({"gather": 12}, True, 3, True, 40, PrefixChange.STYLE),
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
        elsewhere=[OfOtherChannel("another", VisibilityRule.SHARING, "guild")],
    ),
    experiment_id="e",
    arm="a",
    draw=Draw(
        2,
        0.5,
        7,
        0.25,
        ("time",),
        np.zeros((1, 1)),
        np.array([0.25]),
        np.array([True]),
        seed_given=True,
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
    assert (answer.items, answer.text) == (CONTENT.items, CONTENT.text)
    assert (answer.messages, answer.payloads) == (CONTENT.messages, CONTENT.payloads)
    assert answer.trigger == chat_message()
    assert answer.tokens.total == sum(range(1, 10))
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
                scored_by="score", channel="another", visible_by=pb.VISIBILITY_RULE_SHARING, sharing_group="guild",
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


FRAGMENTS = st.binary(max_size=200).map(
    lambda raw: chat_message(dedupe_key=raw.hex()).SerializeToString()
)


@given(FRAGMENTS, st.sampled_from([*Role][:3]), st.booleans(), st.sampled_from(["", "another"]))
def test_an_item_is_the_one_protobuf_makes(
    fragment: bytes, role: Role, truncated: bool, channel: str
) -> None:
    """What a table holds of it, whatever is asked: the message, its role, whether it is whole, where it was said."""
    line = rendered(fragment, role, truncated=truncated, channel=channel)
    assert pb.Item.FromString(FIELDS.item(line)) == pb.Item(
        message=message_pb2.Message.FromString(fragment),
        role=line.said.rendered_role,
        truncated=truncated,
        channel=channel,
    )


def test_the_sources_of_an_item() -> None:
    """S1-05: bit i of a kind is the i-th source, above them stands the rule; an operator's own share a number."""
    rule = VisibilityRule.AUDIENCE << RULE_SHIFT
    kinds = tuple(bits | rule for bits in (0b1, 0b1111, 0))
    sources = FIELDS.sources(("lexical", "mine", "thread", "yours"), kinds)
    ends = [0, *sources.ends.tolist()]
    told = [pb.Item.FromString(sources.joined[first:last]) for first, last in pairwise(ends)]
    known = [pb.SOURCE_LEXICAL, pb.SOURCE_OWN, pb.SOURCE_THREAD]
    assert told == [
        pb.Item(sources=known[:1], visible_by=pb.VISIBILITY_RULE_AUDIENCE),
        pb.Item(
            sources=known,
            own_sources=["mine", "yours"],
            visible_by=pb.VISIBILITY_RULE_AUDIENCE,
        ),
        pb.Item(visible_by=pb.VISIBILITY_RULE_AUDIENCE),
    ]


@given(
    st.builds(
        NeutralMessage,
        st.sampled_from(Role),
        TEXT,
        message_ids=st.lists(TEXT, max_size=3).map(tuple),
    )
)
def test_a_message_is_the_one_protobuf_makes(message: NeutralMessage) -> None:
    (found,) = pb.BuildContextResponse.FromString(FIELDS.message(message)).messages
    assert found == pb.RenderedMessage(
        role=message.role, content=message.content, message_ids=message.message_ids
    )


def test_every_source_of_ours_has_its_number() -> None:
    """S1-07: SOURCE_OWN is an operator's alone."""
    ours = {*BUILTIN, "semantic"} - {"preferences"}  # proposes lines of the request, no messages
    assert ours <= set(SOURCE_NUMBERS)
