"""`backscroll mcp`: one channel of a running server as tools of a model, over the Model Context Protocol."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backscroll.errors import BackscrollError
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected, connected_for_talk, explained, resolved
from backscroll_sidecar.cli.console import CommandError, err, os_words, print_json, usage
from backscroll_sidecar.cli.mcp.words import LanguageName
from backscroll_sidecar.config.sources import dotenv_value
from backscroll_sidecar.edge.bind_policy import Address, Reach, parse_address
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.time_zones import zone_named

if TYPE_CHECKING:
    from backscroll_sidecar.cli.mcp.chat import Chat

EPILOG = "Example: backscroll mcp --channel my-group --server 127.0.0.1:7171"
INSTALL = 'in the source tree: pip install ".[mcp]"'
CALL_TIMEOUT_S, LOOK_TIMEOUT_S = 30.0, 3.0
MIN_TOKEN_CHARS = 16
PEEKED_CHANNELS = 2
_PROXY = "listen on 127.0.0.1, let a proxy with TLS pass its calls on, and name its host with --http-host"


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How it is served over HTTP, where it is."""

    http: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Serve over streamable HTTP at http://ADDRESS/mcp instead of standard input and output. "
            "host:port of this machine's own; port 0: a free one.",
        ),
    ] = ""
    http_token: Annotated[
        str,
        typer.Option(
            envvar="BACKSCROLL_MCP_TOKEN",
            metavar="TOKEN",
            help=f"Token that callers over HTTP must bring, of {MIN_TOKEN_CHARS} characters or more. Not the server's.",
        ),
    ] = ""
    http_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Host name that callers may use beside this machine's own: that of a proxy in front. May be repeated.",
        ),
    ] = None


STDIO = HttpOptions()


def mcp(
    channel: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Channel that the tools read. Default: the only one that the token may see.",
        ),
    ] = "",
    asker: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="User id of the person it works for: who asks. Default: nobody known.",
        ),
    ] = "",
    profile: options.Profile = None,
    language: Annotated[
        LanguageName,
        typer.Option(help="Of what is said beside the chat's text. auto: as the question."),
    ] = "auto",
    time_zone: Annotated[
        str, typer.Option(metavar="NAME", help="Of the times shown, such as Asia/Shanghai.")
    ] = "UTC",
    over: HttpOptions = STDIO,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Give a model tools that read one channel: search, the context of a question, and why it was picked.

    Serves the Model Context Protocol on standard input and output, or over HTTP, until that ends. It is a client of a
    running server. It stores nothing, and no argument of a model's reaches another channel.
    """
    try:
        from backscroll_sidecar.cli.mcp import protocol
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("backscroll"):
            raise
        raise CommandError(f"this command needs {error.name}, which is missing", INSTALL) from None
    zone = zone_named(time_zone)
    if zone is None:
        usage(f"--time-zone {time_zone}: there is no such time zone", "for example Asia/Shanghai")
    if profile is not None:
        options.known_profile(profile)
    token = over.http_token or dotenv_value("BACKSCROLL_MCP_TOKEN")
    address = _address(over, token)
    target = resolved(target)
    channel = channel or _only_channel(target)
    from backscroll_sidecar.cli.mcp.chat import Chat

    with connected_for_talk(target, CALL_TIMEOUT_S) as (runner, client):
        chat = Chat(client, target, channel, asker, profile, language, zone, time_zone)
        runner.run(_tell_unknown(chat))
        server = protocol.server_of(chat)
        if address is None:
            runner.run(protocol.serve_stdio(server))
            return
        with _listening(address) as listening:
            _tell_address(listening, channel, as_json=as_json)
            hosts = over.http_host or ()
            runner.run(protocol.serve_http(server, listening, token, hosts))


def _address(over: HttpOptions, token: str) -> Address | None:
    """Where HTTP is served; None: nowhere. The network would carry the chat in the clear: it is refused."""
    if not over.http:
        if over.http_host:
            usage("--http-host is of HTTP", "give --http, such as 127.0.0.1:7180")
        return None
    try:
        address = parse_address(over.http, "--http")
    except StartRefused as error:
        usage(str(error), "for example 127.0.0.1:7180")
    if address.reach is Reach.SOCKET:
        usage("--http takes host:port", "for example 127.0.0.1:7180")
    if address.reach is Reach.NETWORK:
        usage(f"--http {over.http} can be reached from the network, without TLS", _PROXY)
    if len(token) < MIN_TOKEN_CHARS:
        usage(
            f"HTTP needs a token of {MIN_TOKEN_CHARS} characters or more, or any program here could read the chat",
            "give --http-token, or set BACKSCROLL_MCP_TOKEN; openssl rand -hex 32 makes one",
        )
    return address


def _only_channel(target: options.Target) -> str:
    """The one channel that the token may see."""
    with connected(target) as client:
        seen = [one.channel for one in islice(client.list_channels(page_size=PEEKED_CHANNELS), 2)]
    if len(seen) != 1:
        told = "sees several channels" if seen else "sees no channel with messages"
        usage(f"this token {told}", "give --channel; backscroll channels lists them")
    return seen[0]


async def _tell_unknown(chat: Chat) -> None:
    """Warn the operator of a channel never heard of, and of a server that is not there. Both may come yet."""
    try:
        await chat.client.get_channel(chat.channel, timeout_s=LOOK_TIMEOUT_S)
    except BackscrollError as error:
        if error.reason != "CHANNEL_NOT_FOUND":
            err().print(f"[yellow]{escape(explained(error, chat.target).message)}[/]")
            return
        near = await chat.client.near_channels(chat.channel, timeout_s=LOOK_TIMEOUT_S)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        err().print(
            f"[yellow]the channel {escape(chat.channel)} has no messages yet{escape(meant)}[/]"
        )


@contextmanager
def _listening(address: Address) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise CommandError(
            f"{address.target} cannot be listened on: {os_words(error)}",
            "give --http another port; 0 takes a free one",
        ) from None
    with listening:
        yield listening


def _tell_address(listening: socket.socket, channel: str, *, as_json: bool) -> None:
    host, port = listening.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"
    if as_json:
        print_json({"url": url, "channel": channel}, indent=None)
    else:
        err().print(f"Serving the channel {escape(channel)} at {url}")
