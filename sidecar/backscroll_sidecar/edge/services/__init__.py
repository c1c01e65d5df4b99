"""The servicers: translate, ask the service below, translate.

`methods_of` finds the handler of every RPC by name, after the contract's descriptors; without one nothing starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

from google.protobuf import message_factory
from google.protobuf.descriptor import ServiceDescriptor

from backscroll_sidecar.edge.call_pipeline import Method
from backscroll_sidecar.edge.convert.parsing import parse


class Servicer(Protocol):
    """Answers the RPCs of one service: for ``BuildContext`` it has ``build_context(request, call)``.

    Attributes
    ----------
    SERVICE
        What the contract says of the service.
    PARSERS : mapping, optional
        Parsers by RPC, where a request needs another than its message's.
    """

    SERVICE: ServiceDescriptor


def methods_of(servicer: Servicer) -> Iterator[Method]:
    """All RPCs of a service."""
    service = servicer.SERVICE
    parsers: Mapping[str, Callable[[bytes], Any]] = getattr(servicer, "PARSERS", {})
    for method in service.methods:
        kind = message_factory.GetMessageClass(method.input_type)
        given = parsers.get(method.name)
        yield Method(
            full_name=f"{service.full_name}/{method.name}",
            parse=given or partial(parse, kind),
            answer=getattr(servicer, snake_case(method.name)),
            client_streaming=method.client_streaming,
            server_streaming=method.server_streaming,
            look=partial(parse, kind) if given is bytes else None,
        )


def snake_case(name: str) -> str:
    """The method's name for an RPC's: ``BuildContext`` is ``build_context``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
