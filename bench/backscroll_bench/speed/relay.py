"""The least a server must do to pass a model's answer on: `grpc.aio`, the vendor's client, nothing else.

It builds no context, stores nothing, checks nothing; its messages are those of StreamChat.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc
import openai

from backscroll.v1 import context_pb2
from backscroll_bench.speed.children import serve
from backscroll_bench.speed.loops import run

MODULE = "backscroll_bench.speed.relay"
METHOD = "/relay.Relay/StreamChat"


class _Relay:
    def __init__(self, base_url: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)

    async def stream(
        self,
        request: context_pb2.StreamChatRequest,
        _context: Any,  # noqa: ANN401
    ) -> AsyncIterator[context_pb2.StreamChatResponse]:
        """Every delta of the model as a message of its own."""
        asked = request.context
        answer = await self._client.chat.completions.create(
            model=asked.model,
            messages=[{"role": "user", "content": asked.question}],
            stream=True,
        )
        async with answer:
            async for chunk in answer:
                if chunk.choices and (text := chunk.choices[0].delta.content):
                    yield context_pb2.StreamChatResponse(delta=text)


def _handler(base_url: str) -> grpc.GenericRpcHandler:
    service, _, name = METHOD[1:].partition("/")
    stream = grpc.unary_stream_rpc_method_handler(
        _Relay(base_url).stream,
        request_deserializer=context_pb2.StreamChatRequest.FromString,
        response_serializer=context_pb2.StreamChatResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(service, {name: stream})


if __name__ == "__main__":
    run(serve(_handler(sys.argv[1])))
