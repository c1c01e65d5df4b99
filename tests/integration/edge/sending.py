"""Raw bytes to any method of a server, and what must hold of every answer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf import message_factory
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    preference_pb2,
    session_pb2,
)
from tests.integration.edge.conftest import Served, refusal

SERVICES = [
    context_pb2.DESCRIPTOR.services_by_name["ContextService"],
    history_pb2.DESCRIPTOR.services_by_name["HistoryService"],
    feedback_pb2.DESCRIPTOR.services_by_name["FeedbackService"],
    preference_pb2.DESCRIPTOR.services_by_name["PreferenceService"],
    admin_pb2.DESCRIPTOR.services_by_name["AdminService"],
    learning_pb2.DESCRIPTOR.services_by_name["LearningService"],
    session_pb2.DESCRIPTOR.services_by_name["SessionService"],
    health_pb2.DESCRIPTOR.services_by_name["Health"],
    reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"],
]
METHODS = [method for service in SERVICES for method in service.methods]
OURS = [
    method
    for method in METHODS
    if method.containing_service.name not in {"Health", "ServerReflection"}
]
NEVER = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


def path(method: Any) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def kind_of(method: Any) -> Any:
    return message_factory.GetMessageClass(method.input_type)


async def send(served: Served, method: Any, *requests: bytes) -> grpc.StatusCode:
    """Send raw bytes and read what comes, at most five answers or one second of a stream."""
    shape = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"

    async def stream() -> AsyncIterator[bytes]:
        for request in requests:
            yield request

    make = getattr(served.channel, shape)
    call = make(path(method))(stream() if method.client_streaming else requests[0])
    if not method.server_streaming:
        await call
        return grpc.StatusCode.OK
    try:
        async with asyncio.timeout(10):
            count = 0
            async for _ in call:
                count += 1
                if count == (1 if method.name == "Watch" else 5):
                    break
    except TimeoutError:  # health watches for ever
        pass
    finally:
        call.cancel()
    return grpc.StatusCode.OK


async def code_of(served: Served, method: Any, *requests: bytes) -> grpc.StatusCode:
    try:
        return await send(served, method, *requests)
    except grpc.aio.AioRpcError as error:
        if error.details() == "Internal error from Core":
            # This client's own words when a stream was ended while it still wrote; no server sent them.
            return grpc.StatusCode.CANCELLED
        typed = method not in OURS or refusal(error).reason
        if error.code() in NEVER or not typed:
            raise AssertionError((method.name, requests)) from error
        return error.code()
