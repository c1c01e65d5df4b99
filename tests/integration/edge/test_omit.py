"""Copies of the selected text are left out of BuildContext's answer; all else stays as it is."""

from itertools import combinations
from typing import Any

import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2 as mpb
from tests.integration.edge.conftest import START_MS, Served, refused, text

pytestmark = pytest.mark.asyncio(loop_scope="module")

PARTS = {
    pb.RESPONSE_PART_ITEM_MESSAGES: "items",
    pb.RESPONSE_PART_MESSAGES: "messages",
    pb.RESPONSE_PART_PAYLOADS: "payloads",
    pb.RESPONSE_PART_TEXT: "text",
}
SUBSETS = [list(one) for n in range(1, 5) for one in combinations(PARTS, n)]


async def build(served: Served, channel: str, **fields: Any) -> tuple[pb.BuildContextResponse, int]:
    """The answer without what differs between two equal ones, and its bytes as they came."""
    asked = pb.BuildContextRequest(
        channel=channel, question="which train was it? 哪一班?", asker=mpb.Author(id="u1"),
        asked_at_ms=START_MS + 60_000, **fields,
    )  # fmt: skip
    answer = await served.context.BuildContext(asked)
    answer.context_id = ""
    answer.diagnostics.Clear()
    return answer, answer.ByteSize()


@pytest.mark.parametrize("omit", SUBSETS)
@pytest.mark.parametrize("explain", [False, True], ids=["joined", "put together"])
@pytest.mark.parametrize("profile", ["balanced", "classic", "hybrid"])
async def test_what_is_left_is_equal(served, name, profile, explain, omit) -> None:
    lines = [f"the train at 10.{n:02} is late 火车" for n in range(9)]
    await served.append(
        name, *[text(line, f"m{n}", sent_at_ms=START_MS + n) for n, line in enumerate(lines)]
    )
    fields = {"profile": profile, "explain": explain}
    fields["overrides"] = pb.Overrides(relevance_threshold=0)
    whole, whole_bytes = await build(served, name, **fields)
    assert whole.items
    less, less_bytes = await build(served, name, omit=[0, *omit], **fields)
    assert less_bytes < whole_bytes
    for part in omit:
        if part == pb.RESPONSE_PART_ITEM_MESSAGES:
            for item in whole.items:
                item.message.CopyFrom(mpb.Message(id=item.message.id))
        else:
            whole.ClearField(PARTS[part])
    assert less == whole


async def test_a_part_that_is_none_is_refused(served: Served, name: str) -> None:
    found = await refused(build(served, name, omit=[99]))
    assert (found.reason, found.field) == ("INVALID_FIELD", "omit[0]")
