"""The tools over the protocol: the one module that knows the SDK. Over stdio, and over HTTP with a token."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
import uvicorn
from anyio.lowlevel import checkpoint_if_cancelled
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from backscroll import __version__
from backscroll_sidecar.cli.mcp import resources, tools
from backscroll_sidecar.cli.mcp.chat import Chat, Refused
from backscroll_sidecar.cli.mcp.http_rim import Rim

PATH = "/mcp"
TEXT = "text/plain"
MAX_BODY_BYTES = 256 * 1024
"""A request holds a question and ids."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_READS = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


def server_of(chat: Chat) -> Server[object]:
    """A server of the protocol for one channel; it speaks every version that the SDK does."""

    async def list_tools(_ctx: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.arguments.model_json_schema(),
                    annotations=_READS,
                )
                for name, tool in tools.TOOLS.items()
            ]
        )

    async def call_tool(_ctx: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            async with _cancelled_as_told():
                text, is_error = await tools.call(chat, params.name, params.arguments or {}), False
        except Refused as refused:
            text, is_error = str(refused), True
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)

    async def list_resources(_ctx: object, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=chat.base_uri + path,
                    name=path,
                    title=one.name,
                    description=one.description,
                    mime_type=TEXT,
                )
                for path, one in resources.RESOURCES.items()
            ]
        )

    async def list_templates(_ctx: object, _params: object) -> types.ListResourceTemplatesResult:
        thread = types.ResourceTemplate(
            uri_template=f"{chat.base_uri}{resources.THREAD_PATH}{{message_id}}",
            name="thread",
            title="Reply tree",
            description=resources.THREAD_DESCRIPTION,
            mime_type=TEXT,
        )
        return types.ListResourceTemplatesResult(resource_templates=[thread])

    async def read_resource(
        _ctx: object, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            async with _cancelled_as_told():
                text = await resources.read(chat, uri)
        except Refused as refused:
            raise MCPError(types.INTERNAL_ERROR, str(refused), {"uri": uri}) from None
        if text is None:
            raise MCPError(
                types.INVALID_PARAMS, "there is no such resource; list them first", {"uri": uri}
            )
        contents = types.TextResourceContents(uri=params.uri, text=text, mime_type=TEXT)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "backscroll",
        version=__version__,
        title=f"Backscroll: {chat.channel}",
        instructions=tools.RULES,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


@asynccontextmanager
async def _cancelled_as_told() -> AsyncIterator[None]:
    """A call that its caller takes back ends alone.

    gRPC raises a cancellation of its own in place of the one that was delivered. The SDK's groups of tasks take what is
    not theirs for the end of everything, and the process would go with it.
    """
    try:
        yield
    except asyncio.CancelledError:
        await checkpoint_if_cancelled()  # raises theirs, where it was theirs
        raise


async def serve_stdio(server: Server[object]) -> None:
    """Serve until standard input ends. Nothing but the protocol reaches standard output.

    A line that is no message is answered, too: the SDK would log it, and its sender would wait.
    """
    async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
        messages, taken = anyio.create_memory_object_stream[SessionMessage | Exception]()

        async def refuse_other_lines() -> None:
            async with messages:
                async for item in incoming:
                    if isinstance(item, SessionMessage):
                        await messages.send(item)
                    else:
                        await outgoing.send(SessionMessage(_no_message(item)))

        tasks.start_soon(refuse_other_lines)
        await server.run(taken, outgoing, server.create_initialization_options())


def _no_message(error: Exception) -> types.JSONRPCError:
    """The answer to a line that is no JSON, or JSON of another form. It has no id, as JSON-RPC has it."""
    is_json = not (
        isinstance(error, ValidationError) and error.errors()[0]["type"] == "json_invalid"
    )
    told = (
        types.ErrorData(code=types.INVALID_REQUEST, message="this line is no JSON-RPC message")
        if is_json
        else types.ErrorData(code=types.PARSE_ERROR, message="this line is no JSON")
    )
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=told)


async def serve_http(
    server: Server[object], listening: socket.socket, token: str, hosts: Sequence[str]
) -> None:
    """Serve on a socket that listens already, until a signal. Callers bring the token; `hosts`: names of a proxy's."""
    allowed = [*LOOPBACK, *hosts]
    security = TransportSecuritySettings(
        allowed_hosts=[form for host in allowed for form in (host, f"{host}:*")],
        allowed_origins=[
            form
            for host in allowed
            for scheme in ("http", "https")
            for form in (f"{scheme}://{host}", f"{scheme}://{host}:*")
        ],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,  # every tool reads: there is nothing to keep between two requests
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=security,
    )
    logging.getLogger("mcp").setLevel(logging.WARNING)
    config = uvicorn.Config(
        Rim(app, PATH, token),
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    await uvicorn.Server(config).serve(sockets=[listening])
