"""Whatever the bytes, an answer is a typed error: never INTERNAL, never UNKNOWN, and the server goes on."""

from typing import Any

import grpc
import pytest

from backscroll.v1 import history_pb2
from backscroll_sidecar.edge.convert.wire import LENGTH, lengthed, tag
from tests.integration.edge.conftest import Served, refusal, text
from tests.integration.edge.sending import METHODS, OURS, code_of, kind_of, send

pytestmark = pytest.mark.asyncio(loop_scope="module")

BAD_UTF8 = b"\xff\xfe"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize(
    "raw", [b"\xff", b"\x0a\x7f", b"\x07", b"\x0b" * 500, b"\x0a\xff\xff\xff\xff\x7f"], ids=repr
)
async def test_bytes_that_are_no_message(served: Served, method: Any, raw: bytes) -> None:
    """Unwrapped, these are UNKNOWN with the name of a Python type."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send(served, method, raw)
    found = refusal(caught.value)
    assert found.code is grpc.StatusCode.INVALID_ARGUMENT
    assert found.reason == "MALFORMED_REQUEST"


def string_fields(kind: Any) -> list[str]:
    return [field.name for field in kind.DESCRIPTOR.fields if field.type == field.TYPE_STRING]


BAD_STRINGS = [(method, name) for method in OURS for name in string_fields(kind_of(method))]


@pytest.mark.parametrize(
    ("method", "field"), BAD_STRINGS, ids=lambda value: getattr(value, "name", value)
)
async def test_a_string_that_is_not_utf8_is_named(served: Served, method: Any, field: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send(served, method, lengthed(tag(kind_of(method), field, LENGTH), BAD_UTF8))
    found = refusal(caught.value)
    assert found.reason == "MALFORMED_REQUEST"
    assert found.field.removesuffix("[0]") == field


async def test_a_stream_that_turns_malformed_keeps_what_came_before(
    served: Served, name: str
) -> None:
    method = history_pb2.DESCRIPTOR.services_by_name["HistoryService"].methods_by_name[
        "ImportMessages"
    ]
    good = history_pb2.ImportMessagesRequest(channel=name, messages=[text("kept")])
    assert (
        await code_of(served, method, good.SerializeToString(), b"\xff")
        is grpc.StatusCode.INVALID_ARGUMENT
    )
    found = await served.history.GetChannel(history_pb2.GetChannelRequest(channel=name))
    assert found.message_count == 1
