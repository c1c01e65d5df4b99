"""gRPC's own services, health and reflection, with malformed requests answered like ours rather than as UNKNOWN."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Never

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from backscroll_sidecar.edge.call_pipeline import Context
from backscroll_sidecar.edge.grpc.registration import Registry
from backscroll_sidecar.edge.status import status_for
from backscroll_sidecar.errors import InvalidRequest, Reason

HEALTH_SERVICE = health.SERVICE_NAME
REFLECTION_SERVICE = reflection.SERVICE_NAME


class Health:
    """Says whether the server and each of its services are ready. Needs no credential, as probes have none."""

    def __init__(self, services: Iterable[str]) -> None:
        self._services = ("", *services)
        self.servicer = health.aio.HealthServicer()

    async def say(self, *, serving: bool) -> None:
        """Set the status of the server as a whole and of every service."""
        statuses = health_pb2.HealthCheckResponse
        for service in self._services:
            status = statuses.SERVING if serving else statuses.NOT_SERVING
            await self.servicer.set(service, status)

    async def leave(self) -> None:
        """Say NOT_SERVING from now on, for good."""
        await self.servicer.enter_graceful_shutdown()


def add_platform(server: Registry, health_servicer: Health, services: Iterable[str]) -> None:
    """Register health and, for these services and its own, reflection."""
    recorder = _Recorder()
    add: Any = health_pb2_grpc.add_HealthServicer_to_server
    add(health_servicer.servicer, recorder)
    names = [*services, HEALTH_SERVICE, REFLECTION_SERVICE]
    add = reflection_pb2_grpc.add_ServerReflectionServicer_to_server
    add(reflection.aio.ReflectionServicer(names), recorder)
    for name, handlers in recorder.services.items():
        checked = {method: _checked(handler) for method, handler in handlers.items()}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, checked),))


class _Recorder:
    """Stands in for a server while generated code registers handlers, to get hold of them."""

    def __init__(self) -> None:
        self.services: dict[str, Mapping[str, grpc.RpcMethodHandler[Any, Any]]] = {}

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """Take nothing: the same handlers come by name."""

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> None:
        """Take the handlers of a service."""
        self.services[service] = handlers


def _checked(handler: Any) -> grpc.RpcMethodHandler[Any, Any]:  # noqa: ANN401 - any of four shapes
    """Make the same handler, but for requests that cannot be parsed: those are INVALID_ARGUMENT."""
    read, write = _lenient(handler.request_deserializer), handler.response_serializer
    if handler.request_streaming:

        async def answers(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
            async for one in handler.stream_stream(_whole(requests, context), context):
                yield one

        return grpc.stream_stream_rpc_method_handler(answers, read, write)
    behaviour = handler.unary_stream or handler.unary_unary

    async def answer(request: Any, context: Context) -> Any:  # noqa: ANN401
        if request is None:
            await _refuse(context)
        return await behaviour(request, context)

    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(answer, read, write)
    return grpc.unary_unary_rpc_method_handler(answer, read, write)


def _lenient(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def parsed(raw: bytes) -> Any:  # noqa: ANN401
        try:
            return read(raw)
        except DecodeError:
            return None

    return parsed


async def _whole(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
    async for request in requests:
        if request is None:
            await _refuse(context)
        yield request


async def _refuse(context: Context) -> Never:
    error = InvalidRequest("the bytes are no such message", reason=Reason.MALFORMED_REQUEST)
    status = status_for(error)
    await context.abort(status.code, status.details, status.trailing_metadata)
