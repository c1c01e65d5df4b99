"""gRPC's own server bound to the pipeline: an endpoint as a handler of bytes."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Never

import grpc

from backscroll_sidecar.edge.call_pipeline import Endpoint
from backscroll_sidecar.edge.grpc.status import trailing_metadata
from backscroll_sidecar.edge.status import Refused
from backscroll_sidecar.edge.tenants import Metadata

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_MAKERS: Mapping[tuple[bool, bool], Callable[[Any], grpc.RpcMethodHandler[Any, Any]]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


class Handlers(grpc.GenericRpcHandler):
    """The handlers of all endpoints, found by path."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._handlers = {one.path: _handler(one) for one in endpoints}

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        return self._handlers.get(handler_call_details.method)


class _Caller:
    """Who calls, by gRPC's context of the call."""

    __slots__ = ("_context",)

    def __init__(self, context: Any) -> None:  # noqa: ANN401 - its stubs do not agree with each other
        self._context = context

    @property
    def metadata(self) -> Metadata:
        return self._context.invocation_metadata() or ()

    @property
    def time_left_s(self) -> float | None:
        left_s = self._context.time_remaining()
        return None if left_s == math.inf else left_s


def _handler(endpoint: Endpoint) -> grpc.RpcMethodHandler[Any, Any]:
    async def answer(request: Any, context: Any) -> bytes:  # noqa: ANN401
        try:
            body: bytes = await endpoint.answer(request, _Caller(context))
        except Refused as refused:
            await _abort(refused, context)
        return body

    async def answers(request: Any, context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401
        try:
            async with aclosing(endpoint.answer(request, _Caller(context))) as found:
                async for one in found:
                    yield one
        except Refused as refused:
            await _abort(refused, context)

    make = _MAKERS[endpoint.client_streaming, endpoint.server_streaming]
    return make(answers if endpoint.server_streaming else answer)


async def _abort(refused: Refused, context: Any) -> Never:  # noqa: ANN401
    await context.abort(_CODES[refused.code], refused.text, trailing_metadata(refused))
    raise AssertionError("gRPC's abort raises")
