"""A question with its chat as a test that anybody can run. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2
from backscroll_sidecar.inspector.said import said

MOST_MESSAGES = 1_000
"""Before the question: more than any profile looks at by itself, save for its searches."""

TEST = '''"""{title}"""

import json
from pathlib import Path

import grpc
from google.protobuf.json_format import ParseDict

from backscroll.testing import serve
from backscroll.v1 import context_pb2, context_pb2_grpc, history_pb2, history_pb2_grpc

CASE = json.loads(Path(__file__).with_name("case.json").read_text("utf-8"))


def test_the_question_finds_its_lines():
    request = ParseDict(CASE["request"], context_pb2.BuildContextRequest())
    with serve() as server, grpc.insecure_channel(server.address) as channel:
        history = history_pb2_grpc.HistoryServiceStub(channel)
        for at in range(0, len(CASE["messages"]), 500):
            batch = {{"channel": request.channel, "messages": CASE["messages"][at : at + 500]}}
            history.AppendMessages(ParseDict(batch, history_pb2.AppendMessagesRequest()))
        built = context_pb2_grpc.ContextServiceStub(channel).BuildContext(request)
    assert [item.message.id for item in built.items] == CASE["expected"]
'''


@dataclass(frozen=True, slots=True)
class Case:
    """Two files. `case_json`: the messages, the question, the lines that are expected; `test`: what runs it."""

    case_json: str
    test: str
    message_count: int
    expected_count: int


def case_of(
    request: pb.BuildContextRequest,
    built: pb.BuildContextResponse,
    messages: Sequence[history_pb2.StoredMessage],
) -> Case:
    """The case: what was stored up to the question, in order of arrival, and what was shown of it.

    Lines of other channels are not expected: a case has one.
    """
    here = {one.message.id for one in messages}
    expected = [item.message.id for item in built.items if item.message.id in here]
    pinned = pb.BuildContextRequest()
    pinned.CopyFrom(request)
    pinned.asked_at_ms, pinned.explain, pinned.profile = built.asked_at_ms, False, built.profile
    case = {
        "request": _as_json(pinned),
        "expected": expected,
        "expected_texts": [
            said(item.message).text for item in built.items if item.message.id in here
        ],
        "messages": [_message(one) for one in messages],
    }
    title = "Made of one question of a chat: what it shows is what is expected. Change `expected` to what you want."
    return Case(
        json.dumps(case, ensure_ascii=False, indent=1),
        TEST.format(title=title),
        len(messages),
        len(expected),
    )


def _message(one: history_pb2.StoredMessage) -> dict[str, Any]:
    """As it is to be appended: an edge that the server concluded is left for it to conclude again."""
    value = _as_json(one.message)
    value.pop("channel", None)
    value.pop("embeddings", None)
    if one.HasField("reply") and one.reply.inferred:
        value.pop("reply", None)
    return value


def _as_json(message: Any) -> dict[str, Any]:  # noqa: ANN401 - of protobuf
    return json_format.MessageToDict(message, preserving_proto_field_name=True)
