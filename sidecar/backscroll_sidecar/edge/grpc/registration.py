"""From the contract's descriptors to gRPC handlers: every RPC of a service finds its method by name, or none starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from backscroll_sidecar.edge.call_pipeline import Guard, Method
from backscroll_sidecar.edge.convert.parsing import parse


class Servicer(Protocol):
    """Answers the RPCs of one service: for ``BuildContext`` it has ``build_context(request, call)``.

    Attributes
    ----------
    SERVICE
        What the contract says of the service.
    PARSERS
        Parsers by RPC, where a request needs another than its message's.
    """

    SERVICE: ServiceDescriptor
    PARSERS: Mapping[str, Callable[[bytes], Any]]


class Registry(Protocol):
    """What answers calls by handlers: `Listeners`, or a server of gRPC's."""

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler], /) -> object:
        """Answer calls of these services."""


def add_servicer(server: Registry, servicer: Servicer, guard: Guard) -> str:
    """Register all RPCs of a service; return its full name."""
    service = servicer.SERVICE
    handlers = {method.name: guard.handler(_method(method, servicer)) for method in service.methods}
    generic = grpc.method_handlers_generic_handler(service.full_name, handlers)
    server.add_generic_rpc_handlers((generic,))
    return str(service.full_name)


def snake_case(name: str) -> str:
    """The method's name for an RPC's: ``BuildContext`` is ``build_context``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _method(method: MethodDescriptor, servicer: Servicer) -> Method:
    kind = message_factory.GetMessageClass(method.input_type)
    service = servicer.SERVICE.full_name
    return Method(
        full_name=f"{service}/{method.name}",
        name=method.name,
        parse=servicer.PARSERS.get(method.name) or partial(parse, kind),
        answer=getattr(servicer, snake_case(method.name)),
        client_streaming=method.client_streaming,
        server_streaming=method.server_streaming,
    )
