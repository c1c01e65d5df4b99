"""ContextService at the edge: translate, build, translate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.errors import NotImplementedYet
from backscroll_sidecar.rpc.guard import Call
from backscroll_sidecar.rpc.translate_built import encode_built
from backscroll_sidecar.rpc.translate_context import build_request


class Builder(Protocol):
    """Builds the context of one question; `context.builder.ContextBuilder` does."""

    async def build(self, request: BuildRequest) -> BuiltContext:
        """Never fails for a part that fails: what it costs stands in the answer (law 5)."""


class ContextServicer:
    """Answers ContextService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["ContextService"]
    PARSERS: Mapping[str, Callable[[bytes], Any]] = {}

    def __init__(self, builder: Builder, server_version: str) -> None:
        self._builder = builder
        self._server_version = server_version

    async def build_context(self, request: pb.BuildContextRequest, call: Call) -> bytes:
        """Select and order the messages for one question; the answer is joined from stored bytes."""
        built = await self._builder.build(build_request(request, call.tenant, call.time_left_s))
        return encode_built(built, self._server_version)

    def stream_chat(
        self,
        request: pb.StreamChatRequest,  # noqa: ARG002
        call: Call,  # noqa: ARG002
    ) -> AsyncIterator[pb.StreamChatResponse]:
        """Refuse: this version builds contexts and calls no model."""
        raise NotImplementedYet("this version calls no model; use BuildContext")

    async def chat(self, request: pb.ChatRequest, call: Call) -> pb.ChatResponse:  # noqa: ARG002
        """Refuse: this version builds contexts and calls no model."""
        raise NotImplementedYet("this version calls no model; use BuildContext")
