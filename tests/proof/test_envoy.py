"""Envoy with deploy/envoy/envoy.yaml before three servers. `make deploy-check` brings it, else nothing is shown."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from backscroll.v1 import history_pb2, history_pb2_grpc, message_pb2
from tests.kit.certificates import certificate_of_own
from tests.kit.server_process import ServerProcess

ROOT = Path(__file__).parents[2]
ENVOY = shutil.which("envoy")
CHANNELS = [f"room-{number}" for number in range(24)]
PATIENCE_S = 30.0

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(ENVOY is None, reason="Envoy is not here: make deploy-check"),
]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def stub(address: str, credentials: grpc.ChannelCredentials | None = None) -> Any:
    channel = (
        grpc.secure_channel(address, credentials) if credentials else grpc.insecure_channel(address)
    )
    return history_pb2_grpc.HistoryServiceStub(channel)


def before(servers: list[str], ca: Path, port: int) -> dict[str, Any]:
    """The file, with servers of this machine in the place of the cluster's."""
    import yaml

    config: dict[str, Any] = yaml.safe_load((ROOT / "deploy/envoy/envoy.yaml").read_text())
    (listener,) = config["static_resources"]["listeners"]
    listener["address"]["socket_address"]["port_value"] = port
    (cluster,) = config["static_resources"]["clusters"]
    (group,) = cluster["load_assignment"]["endpoints"]
    group["lb_endpoints"] = [
        {"endpoint": {"address": {"socket_address": {"address": "localhost", "port_value": one}}}}
        for one in (int(address.rpartition(":")[2]) for address in servers)
    ]
    cluster["dns_lookup_family"] = "V4_ONLY"
    tls = cluster["transport_socket"]["typed_config"]
    tls["sni"] = "localhost"
    checks = tls["common_tls_context"]["validation_context"]
    checks["trusted_ca"]["filename"] = str(ca)
    checks["match_typed_subject_alt_names"][0]["matcher"]["exact"] = "localhost"
    return config


@pytest.fixture
def here(tmp_path: Path) -> Iterator[SimpleNamespace]:
    assert ENVOY
    tls, port = certificate_of_own(tmp_path), free_port()
    settings = {"BACKSCROLL_TLS_CERT": str(tls.cert), "BACKSCROLL_TLS_KEY": str(tls.key)}
    with ExitStack() as stack:
        servers = [
            stack.enter_context(ServerProcess(":memory:", settings=settings)) for _ in range(3)
        ]
        config = tmp_path / "envoy.json"
        config.write_text(json.dumps(before([one.address for one in servers], tls.cert, port)))
        envoy = subprocess.Popen(
            [ENVOY, "--config-path", str(config), "--base-id", str(port), "--concurrency", "1"],
            stderr=subprocess.DEVNULL,
        )
        stack.callback(envoy.wait)
        stack.callback(envoy.terminate)
        credentials = grpc.ssl_channel_credentials(tls.cert.read_bytes())
        yield SimpleNamespace(
            servers=servers,
            through=stub(f"127.0.0.1:{port}"),
            direct=[
                stub(one.address.replace("127.0.0.1", "localhost"), credentials) for one in servers
            ],
        )


def append(through: Any, channel: str, identity: str) -> None:
    message = message_pb2.Message(
        id=identity,
        author=message_pb2.Author(id="u1", name="Ann"),
        parts=[message_pb2.Part(text=message_pb2.TextPart(text="at eight, by the station"))],
        sent_at_ms=1_700_000_000_000,
    )
    request = history_pb2.AppendMessagesRequest(channel=channel, messages=[message])
    metadata = (("x-backscroll-channel", channel),)
    ends = time.monotonic() + PATIENCE_S
    while True:  # as a client does: nothing is stored twice
        try:
            through.AppendMessages(
                request, metadata=metadata, wait_for_ready=True, timeout=PATIENCE_S
            )
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > ends:
                raise
            time.sleep(0.1)
        else:
            return


def holders(here: SimpleNamespace, alive: list[int]) -> dict[str, list[int]]:
    """By channel the servers that were asked about it: each has a history of its own."""
    found: dict[str, list[int]] = {}
    for number in alive:
        answer = here.direct[number].ListChannels(
            history_pb2.ListChannelsRequest(), timeout=PATIENCE_S
        )
        for one in answer.channels:
            found.setdefault(one.channel, []).append(number)
    return found


def test_a_channel_keeps_to_its_server_until_that_ends(here: SimpleNamespace):
    count = 0
    while {one for held in holders(here, [0, 1, 2]).values() for one in held} != {0, 1, 2}:
        append(here.through, f"before-{count}", "m1")  # until Envoy knows that all three serve
        count += 1
    for turn in range(3):
        for channel in CHANNELS:
            append(here.through, channel, f"{channel}-{turn}")
    first = {one: held for one, held in holders(here, [0, 1, 2]).items() if one in CHANNELS}
    assert set(first) == set(CHANNELS)
    assert all(len(servers) == 1 for servers in first.values()), first
    assert {one for (one,) in first.values()} == {0, 1, 2}
    here.servers[0].kill()
    for channel in CHANNELS:
        append(here.through, channel, f"{channel}-after")
    then = holders(here, [1, 2])
    assert set(CHANNELS) <= set(then)
    others = {one: held for one, held in first.items() if held != [0]}
    stayed = [one for one, held in others.items() if then[one] == held]
    # A smaller ring has more places of each server, so a few of the others move, too.
    assert len(stayed) > len(others) / 2
