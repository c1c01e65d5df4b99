"""gRPC's own services, health and reflection. They ask for no credential, as probes have none, and are not counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2

from backscroll_sidecar.edge.call_pipeline import Call, CallPipeline, CallRecord, Endpoint
from backscroll_sidecar.edge.limits import UNBOUNDED
from backscroll_sidecar.edge.services import Servicer, methods_of
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.edge.tenants import OneTenant

_Status = health_pb2.HealthCheckResponse


class Health:
    """Says whether the server and each of its services are ready."""

    SERVICE: Any = health_pb2.DESCRIPTOR.services_by_name["Health"]

    def __init__(self, services: Iterable[str]) -> None:
        self._services = frozenset(("", *services))
        self._is_serving = False
        self._has_changed = asyncio.Event()

    def say(self, *, serving: bool) -> None:
        """Tell all who ask and who watch, from now on."""
        self._is_serving = serving
        self._has_changed.set()
        self._has_changed = asyncio.Event()

    async def check(self, request: health_pb2.HealthCheckRequest, _: Call) -> _Status:
        """Answer once."""
        if request.service not in self._services:
            raise Refused(Code.NOT_FOUND)
        return _Status(status=self._status(request.service))

    async def watch(
        self, request: health_pb2.HealthCheckRequest, _: Call
    ) -> AsyncIterator[_Status]:
        """Answer now and whenever it changes."""
        told: object = None
        while True:
            has_changed = self._has_changed
            status = self._status(request.service)
            if status != told:
                told = status
                yield _Status(status=status)
            await has_changed.wait()

    async def list(self, *_: object) -> _Status:
        """Not taken: newer contracts have it."""
        raise Refused(Code.UNIMPLEMENTED, "Method not implemented!")

    def _status(self, service: str) -> Any:  # noqa: ANN401 - a number; to the stubs a type of its own
        if service not in self._services:
            return _Status.SERVICE_UNKNOWN
        return _Status.SERVING if self._is_serving else _Status.NOT_SERVING


class _Reflection:
    """Tells which services there are and what they take; by gRPC's own servicer, which asks nothing of its context."""

    SERVICE: Any = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]

    def __init__(self, services: Iterable[str]) -> None:
        self.server_reflection_info = reflection.aio.ReflectionServicer(
            services
        ).ServerReflectionInfo


def platform_endpoints(health: Health, services: Iterable[str]) -> list[Endpoint]:
    """Health, and reflection of these services and of these two."""
    pipeline = CallPipeline(OneTenant(), _tell_nobody, {}, UNBOUNDED)
    pipeline.ready = True
    names = (*services, Health.SERVICE.full_name, _Reflection.SERVICE.full_name)
    servicers: tuple[Servicer, ...] = (health, _Reflection(names))
    return [pipeline.endpoint(method) for one in servicers for method in methods_of(one)]


def _tell_nobody(record: CallRecord) -> None:
    """A probe is no call of a user's."""
