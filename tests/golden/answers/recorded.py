"""Ask a server of this tree the recorded requests.

``python -m tests.golden.answers.recorded`` writes what it answers; only a change of what users get may need that.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict

from backscroll.v1 import context_pb2 as pb
from tests.golden.answers.asked import COUNT, requests
from tests.golden.answers.channels import DAY_MS, channels
from tests.kit.chats import StillClock
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import running

HERE = Path(__file__).parent
DIGESTS, WHOLE = HERE / "answers.sha256", HERE / "answers.jsonl"
WHOLE_COUNT, WHOLE_CHARS = 200, 8_000
"""So many answers are kept whole, none longer: enough to see what became different."""
DIGITS = 9
"""Of scores: the last bits may differ between two kinds of processor."""
METHODS = {
    "AppendMessagesRequest": "HistoryService/AppendMessages",
    "EditMessageRequest": "HistoryService/EditMessage",
    "RecallMessageRequest": "HistoryService/RecallMessage",
    "UpsertMembersRequest": "HistoryService/UpsertMembers",
    "PinMessageRequest": "HistoryService/PinMessage",
    "SetPreferenceRequest": "PreferenceService/SetPreference",
}


async def answers() -> AsyncIterator[tuple[pb.BuildContextRequest, pb.BuildContextResponse | str]]:
    """Each request with its answer, or the error."""
    chats = channels()
    clock = StillClock(max(one.last_ms for one in chats.values()) + 10 * DAY_MS)
    settings = {
        "search_scopes": {"default": "tenant"},
        "memory": {"context_build_timeout_seconds": 60},
    }
    async with (
        running(clock=clock, embedder=FakeEmbedder(), **settings) as (server, _),
        grpc.aio.insecure_channel(server.addresses[0]) as channel,
    ):
        for one in chats.values():
            for step in one.steps():
                method = METHODS[type(step).__name__]
                await channel.unary_unary(f"/backscroll.v1.{method}")(step.SerializeToString())
            await channel.unary_unary("/backscroll.v1.HistoryService/WaitForIndex")(
                b"\n" + _text(one.name)
            )
        build = channel.unary_unary("/backscroll.v1.ContextService/BuildContext")
        for request in requests(chats):
            try:
                answer = pb.BuildContextResponse.FromString(
                    await build(request.SerializeToString())
                )
                yield request, masked(answer)
            except grpc.aio.AioRpcError as error:
                yield request, f"{error.code().name}: {error.details()}"


def _text(text: str) -> bytes:
    return bytes([len(text.encode())]) + text.encode()


def masked(answer: pb.BuildContextResponse) -> pb.BuildContextResponse:
    """An answer without ids and timings that differ from run to run, its scores rounded."""
    answer.context_id = ""
    told = answer.diagnostics
    told.ClearField("stage_microseconds")
    told.ClearField("server_version")
    told.ClearField("cache_hit")
    told.ClearField("channel_generation")
    for event in answer.events:
        event.id = event.parent_id = ""
        event.at_ms = 0
    for item in answer.items:
        item.score = _rounded(item.score)
    for one in answer.explanation.candidates if answer.HasField("explanation") else ():
        one.linear, one.score = _rounded(one.linear), _rounded(one.score)
        one.shares[:] = map(_rounded, one.shares)
    return answer


def _rounded(number: float) -> float:
    return round(number, DIGITS) + 0.0


def digest(answer: pb.BuildContextResponse | str) -> str:
    """SHA-256 of an answer, in hexadecimal."""
    raw = (
        answer.encode() if isinstance(answer, str) else answer.SerializeToString(deterministic=True)
    )
    return hashlib.sha256(raw).hexdigest()


def whole(
    number: int, request: pb.BuildContextRequest, answer: pb.BuildContextResponse | str
) -> str:
    """A request and its answer as a line of JSON."""
    told: Any = answer
    if isinstance(answer, pb.BuildContextResponse):
        told = MessageToDict(answer, preserving_proto_field_name=True)
        for payload, of in zip(told.get("payloads", ()), answer.payloads, strict=True):
            payload["body"] = of.body.decode()
    asked = MessageToDict(request, preserving_proto_field_name=True)
    line = {"number": number, "request": asked, "answer": told}
    return json.dumps(line, ensure_ascii=False, sort_keys=True)


async def _record() -> None:
    digests, lines = [], []
    async for request, answer in answers():
        line = whole(len(digests), request, answer)
        if len(line) <= WHOLE_CHARS and len(digests) * WHOLE_COUNT >= len(lines) * COUNT:
            lines.append(line)
        digests.append(digest(answer))
    DIGESTS.write_text("\n".join(digests) + "\n")
    WHOLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    asyncio.run(_record())
