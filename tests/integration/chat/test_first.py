"""StreamChat over a real socket, with the echo model."""

import grpc
import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import context_pb2_grpc, message_pb2
from tests.kit.served import served


def turn(question: str = "hello?") -> pb.StreamChatRequest:
    return pb.StreamChatRequest(
        context=pb.BuildContextRequest(
            channel="room",
            question=question,
            asker=message_pb2.Author(id="u1", name="Ann"),
            self_ids=["bot"],
        )
    )


@pytest.mark.row("P-18", "S2-02", "S2-19")
async def test_without_a_key_an_echo_answers_and_all_is_stored() -> None:
    """S2-02, S2-19, P-18: context, deltas, end; question and reply stand in the history afterwards."""
    async with served() as (client, _app):
        async with grpc.aio.insecure_channel(client._target) as channel:
            stub = context_pb2_grpc.ContextServiceStub(channel)
            events = [event async for event in stub.StreamChat(turn())]
            whole = await stub.Chat(pb.ChatRequest(turn=turn("and again?")))
        kinds = [event.WhichOneof("event") for event in events]
        assert (kinds[0], kinds[-1], set(kinds[1:-1])) == ("context", "end", {"delta"})
        end = events[-1].end
        assert end.reason == pb.END_REASON_COMPLETE
        stored = [m.message async for m in client.list_messages("room")]
        assert [m.parts[0].text.text for m in stored[:2]] == [
            "hello?",
            "".join(e.delta for e in events[1:-1]),
        ]
        assert stored[1].id == end.reply_message_id
        assert whole.end.reason == pb.END_REASON_COMPLETE
