"""Warming up, serving, stopping; health and reflection."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import context_pb2_grpc, history_pb2_grpc
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.server import start_server
from tests.integration.edge.conftest import EdgeApp, Served, refused, serving

SERVICES = [
    "",
    "backscroll.v1.AdminService",
    "backscroll.v1.ContextService",
    "backscroll.v1.FeedbackService",
    "backscroll.v1.HistoryService",
    "backscroll.v1.LearningService",
    "backscroll.v1.PreferenceService",
    "backscroll.v1.SessionService",
]
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
QUESTION = pb.BuildContextRequest(question="x", channel="g")


async def health_of(channel: grpc.aio.Channel, service: str) -> int:
    stub = health_pb2_grpc.HealthStub(channel)
    return (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status


# --- when -------------------------------------------------------------------------------------------


async def test_it_says_serving_only_once_it_is_warm(tmp_path: Path) -> None:
    """Until then health says NOT_SERVING and calls may be tried again."""
    path = f"unix:{tmp_path}/b.sock"
    seen: dict[str, Any] = {}

    async def warm_up() -> None:
        async with grpc.aio.insecure_channel(path) as channel:
            seen.update({name: await health_of(channel, name) for name in SERVICES})
            stub = context_pb2_grpc.ContextServiceStub(channel)
            seen["call"] = await refused(stub.BuildContext(QUESTION))

    async with serving() as other:
        app = EdgeApp(other.app.history, other.app.builder, warm_up, other.app.chat)
        running = await start_server(app, listen=[path])
        assert [seen[name] for name in SERVICES] == [NOT_SERVING] * len(SERVICES)
        assert (seen["call"].code, seen["call"].reason) == (
            grpc.StatusCode.UNAVAILABLE,
            "STORE_UNAVAILABLE",
        )
        async with grpc.aio.insecure_channel(path) as channel:
            assert [await health_of(channel, name) for name in SERVICES] == [SERVING] * len(
                SERVICES
            )
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await health_of(channel, "no.such.Service")
            assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        await running.stop(0)


async def test_a_warm_up_that_fails_leaves_no_server(tmp_path: Path) -> None:
    async def warm_up() -> None:
        raise StoreUnavailable("no kernel")

    with pytest.raises(StoreUnavailable, match="no kernel"):
        await start_server(EdgeApp(None, None, warm_up), listen=[f"unix:{tmp_path}/b.sock"])
    assert not (tmp_path / "b.sock").exists()


# --- what there is ----------------------------------------------------------------------------------


async def reflect(served: Served, **request: Any) -> reflection_pb2.ServerReflectionResponse:
    stub = reflection_pb2_grpc.ServerReflectionStub(served.channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**request)]))
    async for answer in call:
        return answer
    raise AssertionError("no answer")


async def test_reflection_lists_every_service() -> None:
    async with serving() as served:
        found = (await reflect(served, list_services="")).list_services_response.service
        assert [one.name for one in found] == [
            "backscroll.v1.AdminService",
            "backscroll.v1.ContextService",
            "backscroll.v1.FeedbackService",
            "backscroll.v1.HistoryService",
            "backscroll.v1.LearningService",
            "backscroll.v1.PreferenceService",
            "backscroll.v1.SessionService",
            "grpc.health.v1.Health",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
        for service in found:
            answer = await reflect(served, file_containing_symbol=service.name)
            assert answer.file_descriptor_response.file_descriptor_proto


def test_every_rpc_is_documented() -> None:
    """Every RPC has its words in the contract and at its handler."""
    import inspect

    from backscroll_sidecar.edge.services import snake_case
    from backscroll_sidecar.edge.services.context import ContextServicer
    from backscroll_sidecar.edge.services.history import HistoryServicer
    from backscroll_sidecar.edge.services.preference import PreferenceServicer

    for module in (context_pb2_grpc, history_pb2_grpc):
        assert "Missing associated documentation comment" not in inspect.getsource(module)
    for servicer in (ContextServicer, HistoryServicer, PreferenceServicer):
        for method in servicer.SERVICE.methods:
            assert inspect.getdoc(getattr(servicer, snake_case(method.name)))
