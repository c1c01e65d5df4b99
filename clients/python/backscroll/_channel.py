"""How a connection is made: TLS, the token, limits, keepalive and retries, the same for both clients."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf.wrappers_pb2 import Int32Value, StringValue

from backscroll.v1.admin_pb2_grpc import AdminServiceStub
from backscroll.v1.context_pb2_grpc import ContextServiceStub
from backscroll.v1.feedback_pb2_grpc import FeedbackServiceStub
from backscroll.v1.history_pb2_grpc import HistoryServiceStub
from backscroll.v1.learning_pb2_grpc import LearningServiceStub
from backscroll.v1.preference_pb2_grpc import PreferenceServiceStub
from backscroll.v1.session_pb2_grpc import SessionServiceStub

DEFAULT_TARGET = "127.0.0.1:7171"
_SCHEMES = ("unix:", "unix-abstract:", "dns:", "ipv4:", "ipv6:", "vsock:", "xds:")
_LAST_PORT = 65_535
_RECEIVE_LIMIT_BYTES = 16 * 2**20
# Attempts of a call together hold at most this much for the next attempt: a whole append fits.
_RETRY_BUFFER_BYTES = 4 * 2**20

# What is safe to repeat. Left out: Erase, DeletePreference, DeleteChannelSettings, DeleteExperiment,
# DeletePeriodSummary and DeleteTopicLabels (a repetition would say that nothing was there), ImportMessages and
# ImportSession (too much to hold; send it again), StreamChat and Chat (they call a model), DeleteSession (as Erase),
# UpdateSession (a mode would begin twice). Rooms name sessions, rounds and moves by ids of their own, so that a
# repetition is known for one.
RETRIED: Mapping[str, tuple[str, ...]] = {
    "backscroll.v1.AdminService": (
        "GetChannelSettings",
        "GetExperiment",
        "GetExperimentReport",
        "GetMetrics",
        "GetUsageRecord",
        "ListChannelSettings",
        "ListEvents",
        "ListExperiments",
        "ListUsageRecords",
        "ListWeightVersions",
        "PutExperiment",
        "SetChannelSettings",
        "StopExperiment",
    ),
    "backscroll.v1.ContextService": (
        "BuildContext",
        "Compact",
        "ListPeriodSummaries",
    ),
    "backscroll.v1.FeedbackService": ("RecordFeedback",),
    "backscroll.v1.HistoryService": (
        "AliasMessage",
        "AppendMessages",
        "EditMessage",
        "ExportMessages",
        "GetChannel",
        "GetThread",
        "ListChannels",
        "ListMembers",
        "ListMessages",
        "ListPinnedMessages",
        "PinMessage",
        "RecallMessage",
        "SearchMessages",
        "UnpinMessage",
        "UpsertMembers",
        "WaitForIndex",
    ),
    "backscroll.v1.LearningService": (
        "ExportUsageRecords",
        "GetUsageConsent",
        "ListTopicLabels",
        "ReplayBuilds",
        "SetTopicLabels",
        "SetUsageConsent",
    ),
    "backscroll.v1.PreferenceService": (
        "ListPreferences",
        "ListPreferenceTopics",
        "SetPreference",
    ),
    "backscroll.v1.SessionService": (
        "Act",
        "CreateSession",
        "DeleteSpace",
        "ExportSession",
        "ForkSession",
        "GetSession",
        "GetSpace",
        "ListModes",
        "ListSessions",
        "ListSpaces",
        "ListStates",
        "PrepareRound",
        "PutParticipants",
        "PutSpace",
        "RemoveParticipants",
        "ResumeRound",
        "RouteMessage",
        "StartRound",
    ),
}
CHANNEL_HEADER = "x-backscroll-channel"
"""Of each call that is about one channel, percent-encoded. Servers do not read it."""
_RETRY_POLICY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "backoffMultiplier": 3,
    "maxBackoff": "1s",
    "retryableStatusCodes": ["UNAVAILABLE"],
}
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [
                {"service": service, "method": method}
                for service, methods in RETRIED.items()
                for method in methods
            ],
            "retryPolicy": _RETRY_POLICY,
        }
    ]
}
OPTIONS = (
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.per_rpc_retry_buffer_size", _RETRY_BUFFER_BYTES),
    ("grpc.max_receive_message_length", _RECEIVE_LIMIT_BYTES),
    # The server takes a ping every 30 s at most and closes on more.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # A sidecar that restarts is back within seconds; gRPC's own waits grow to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # http_proxy is meant for the web, never for the process next door.
    ("grpc.enable_http_proxy", 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """How to speak TLS. Each of the three is PEM text as bytes, or the path of a PEM file.

    Parameters
    ----------
    ca
        Certificates to trust. None: those that come with gRPC.
    certificate, private_key
        The client's own, where the server wants them (mutual TLS).
    server_name
        The name to expect in the server's certificate. None: the target's.

    Examples
    --------
    >>> TlsConfig(ca=b"-----BEGIN CERTIFICATE-----...").server_name is None
    True
    """

    ca: bytes | str | PathLike[str] | None = None
    certificate: bytes | str | PathLike[str] | None = None
    private_key: bytes | str | PathLike[str] | None = None
    server_name: str | None = None


def open_channel(api: Any, target: str, tls: TlsConfig | None) -> Any:  # noqa: ANN401
    """Open a channel of `grpc` or of `grpc.aio`."""
    if tls is None:
        return api.insecure_channel(target, options=OPTIONS)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_pem(tls, "ca"),
        private_key=_pem(tls, "private_key"),
        certificate_chain=_pem(tls, "certificate"),
    )
    name = () if tls.server_name is None else (("grpc.ssl_target_name_override", tls.server_name),)
    return api.secure_channel(target, credentials, options=(*OPTIONS, *name))


def open_calls(channel: Any) -> dict[str, Any]:  # noqa: ANN401
    """Every RPC of the channel by its name."""
    # The health service has a package of its own, for two messages of one field each; the wrapper
    # types have the same bytes.
    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=StringValue.SerializeToString,
        response_deserializer=Int32Value.FromString,
    )
    return {
        **vars(ContextServiceStub(channel)),
        **vars(HistoryServiceStub(channel)),
        **vars(AdminServiceStub(channel)),
        **vars(FeedbackServiceStub(channel)),
        **vars(LearningServiceStub(channel)),
        **vars(PreferenceServiceStub(channel)),
        **vars(SessionServiceStub(channel)),
        "Check": check,
    }


class ClosedCalls(dict[str, Any]):
    """The RPCs of a client that was closed: none."""

    def __missing__(self, rpc: str) -> Any:  # noqa: ANN401
        raise RuntimeError(f"{rpc} was called on a client that is closed: make a new one")


def check_target(target: str) -> None:
    """Refuse what gRPC would take for something else: a URL, a host without a port (it asks 443).

    Raises
    ------
    TypeError
        If it is no text.
    ValueError
        If it is neither "host:port" nor an address with one of gRPC's schemes, such as "unix:".
    """
    if not isinstance(target, str):
        raise TypeError(
            f"target must be text such as {DEFAULT_TARGET!r}, not {type(target).__name__}"
        )
    if target.startswith(_SCHEMES):
        return
    port = re.fullmatch(r"(?:\[[^\]\s]+\]|[^\[\]:/\s]+):([0-9]{1,5})", target)
    if port is None or not 0 < int(port[1]) <= _LAST_PORT:
        raise ValueError(
            f"{target!r} is no address: give host:port, such as {DEFAULT_TARGET}, "
            "or unix:/path/of/the/socket"
        )


def metadata_for(
    target: str, token: str | None, tls: TlsConfig | None
) -> tuple[tuple[str, str], ...]:
    """Metadata of every call. A token is never sent in the clear to another machine."""
    if token is None:
        return ()
    if not (token and token.isascii() and token.isprintable()):
        raise ValueError("the token is empty or holds what no header can carry, such as a line end")
    if tls is None and not _is_local(target):
        raise ValueError(f"the token would travel to {target} unencrypted; give tls=TlsConfig(...)")
    return (("authorization", f"Bearer {token}"),)


def metadata_of(
    metadata: tuple[tuple[str, str], ...], request: object
) -> tuple[tuple[str, str], ...]:
    """Metadata of one call: with its channel, so that a proxy may send all calls of a channel to one server."""
    channel = getattr(request, "channel", "") or getattr(
        getattr(request, "context", None), "channel", ""
    )
    if not isinstance(channel, str) or not channel:
        return metadata
    return (*metadata, (CHANNEL_HEADER, quote(channel, safe="/:@")))


def _is_local(target: str) -> bool:
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    address = re.sub(r"^(dns|ipv4|ipv6):(//[^/]*/)?", "", target)
    host = re.sub(r":\d+$", "", address).strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pem(tls: TlsConfig, name: str) -> bytes | None:
    source: bytes | str | PathLike[str] | None = getattr(tls, name)
    if source is None or isinstance(source, bytes):
        return source
    try:
        return Path(source).read_bytes()
    except OSError as error:
        words = f"TlsConfig.{name} cannot be read: {error.strerror}"
        raise OSError(error.errno, words, error.filename) from None
