"""`backscroll call`: any RPC of a server that offers reflection, JSON in and out. The one use of gRPC here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, cast

import grpc
import typer
from google.protobuf import descriptor, descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from backscroll import TlsConfig
from backscroll._channel import metadata_for, open_channel
from backscroll.errors import error_from
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import no_server, resolved
from backscroll_sidecar.cli.console import CommandError, print_json, usage
from backscroll_sidecar.importers.protobuf_json import misfit, protobuf_words

METHOD = "backscroll.v1.ContextService/BuildContext, ContextService/BuildContext or BuildContext."
EPILOG = """Example: backscroll call GetChannel '{"channel": "demo"}'"""


def call(
    method: Annotated[str, typer.Argument(help=f"Method to call: {METHOD}")] = "",
    request: Annotated[
        str,
        typer.Argument(
            help="Request as JSON; a client stream takes several, one after the other. -: read it."
        ),
    ] = "",
    show: Annotated[bool, typer.Option("--list", help="List the methods there are.")] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait for the answer.", min=0.001)
    ] = 30.0,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Call one method of a running server. A stream's messages are printed one a line, as they come.

    The method is found by reflection, so this needs no .proto file.
    """
    if not show and not method:
        usage("name a method", "backscroll call --list shows what there is")
    target = resolved(target)
    with _channel(target) as channel, _failures(target):
        database = ProtoReflectionDescriptorDatabase(cast("grpc.Channel", channel))
        pool = descriptor_pool.DescriptorPool(database)
        services = [pool.FindServiceByName(name) for name in sorted(database.get_services())]
        if show:
            _print_methods(services, as_json)
            return
        found = _find(services, method)
        reply = message_factory.GetMessageClass(found.output_type)
        replies = _send(channel, found, _requests(found, request), reply, timeout)
        for answer in replies:
            value = json_format.MessageToDict(
                answer, preserving_proto_field_name=True, descriptor_pool=pool
            )
            print_json(value, indent=None if as_json or found.server_streaming else 2)


@contextmanager
def _channel(target: options.Target) -> Iterator[_WithMetadata]:
    ca: Any = target.tls_ca
    tls = TlsConfig(ca=ca) if ca else None
    try:
        metadata = metadata_for(target.server, target.token, tls)
    except ValueError as error:
        raise CommandError(str(error), "give --tls-ca", exit_code=2) from None
    with open_channel(grpc, target.server, tls) as channel:
        yield _WithMetadata(channel, metadata)


@contextmanager
def _failures(target: options.Target) -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as failed:
        error = error_from(failed)
        if error.code is grpc.StatusCode.UNAVAILABLE and not error.reason:
            raise no_server(error, target) from None
        more = "".join(f"\n  {key}: {value}" for key, value in sorted(error.metadata.items()))
        raise CommandError(f"{error.code.name}: {error}{more}") from None


def _find(
    services: Sequence[descriptor.ServiceDescriptor], wanted: str
) -> descriptor.MethodDescriptor:
    service_name, _, name = wanted.replace(".", "/").rpartition("/")
    service_name = service_name.replace("/", ".")
    matches = [
        method
        for service in services
        for method in service.methods
        if method.name == name and (not service_name or _is_named(service, service_name))
    ]
    if not matches:
        usage(f"the server has no method {wanted}", "backscroll call --list shows what there is")
    if len(matches) > 1:
        usage(f"there are several methods {wanted}", "  ".join(map(_path, matches)))
    return matches[0]


def _is_named(service: descriptor.ServiceDescriptor, wanted: str) -> bool:
    return service.full_name == wanted or service.full_name.endswith("." + wanted)


def _path(method: descriptor.MethodDescriptor) -> str:
    return f"{method.containing_service.full_name}/{method.name}"


def _print_methods(services: Sequence[descriptor.ServiceDescriptor], as_json: bool) -> None:
    methods = [method for service in services for method in service.methods]
    if as_json:
        print_json([_path(method) for method in methods])
        return
    for method in methods:
        streams = [
            " stream" if one else "" for one in (method.client_streaming, method.server_streaming)
        ]
        print(f"{_path(method)}({streams[0].strip()}{' ' * bool(streams[0])}{method.input_type.name})"
              f" ->{streams[1]} {method.output_type.name}")  # fmt: skip


def _requests(method: descriptor.MethodDescriptor, text: str) -> list[Any]:
    """The JSON documents given, as messages. Nothing given: one empty request."""
    kind = message_factory.GetMessageClass(method.input_type)
    text = sys.stdin.read() if text == "-" else text
    documents: list[Any] = []
    decoder, at = json.JSONDecoder(), 0
    try:
        while at < len(text) and text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            value, at = decoder.raw_decode(text, at)
            documents += value if isinstance(value, list) else [value]
        for value in documents:
            if wrong := misfit(value, method.input_type):
                usage(f"the request is no {method.input_type.name}: {wrong}")
        requests = [json_format.ParseDict(value, kind()) for value in documents or [{}]]
    except (json.JSONDecodeError, json_format.ParseError, TypeError, AttributeError) as error:
        usage(f"the request is no {method.input_type.name}: {protobuf_words(error)}")
    if len(requests) > 1 and not method.client_streaming:
        usage(f"{method.name} takes one request, not {len(requests)}")
    return requests


def _send(
    channel: _WithMetadata,
    method: descriptor.MethodDescriptor,
    requests: list[Any],
    reply: type[Any],
    timeout: float,
) -> Iterator[Any]:
    kind = f"{_arity(method.client_streaming)}_{_arity(method.server_streaming)}"
    make: Callable[..., Callable[..., Any]] = getattr(channel, kind)
    stub = make(
        "/" + _path(method),
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=reply.FromString,
    )
    argument = iter(requests) if method.client_streaming else requests[0]
    answer = stub(argument, timeout=timeout)
    if method.server_streaming:
        yield from answer
    else:
        yield answer


def _arity(stream: bool) -> str:
    return "stream" if stream else "unary"


class _WithMetadata:
    """A channel whose every call carries this metadata, reflection's own included."""

    def __init__(self, channel: grpc.Channel, metadata: tuple[tuple[str, str], ...]) -> None:
        self._channel = channel
        self._metadata = metadata

    def __getattr__(self, arity: str) -> Callable[..., Callable[..., Any]]:
        make: Callable[..., Callable[..., Any]] = getattr(self._channel, arity)
        return lambda *path, **codec: partial(make(*path, **codec), metadata=self._metadata)
