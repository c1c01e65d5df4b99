"""deploy/envoy/envoy.yaml is of one piece, and asks for what the servers of deploy/kubernetes give."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def resources() -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load((ROOT / "deploy/envoy/envoy.yaml").read_text())
    assert list(found) == ["static_resources"]
    return found["static_resources"]


def kubernetes(name: str, kind: str) -> dict[str, Any]:
    import yaml

    documents = yaml.safe_load_all((ROOT / "deploy/kubernetes" / name).read_text())
    return next(one for one in documents if one["kind"] == kind)


def extensions(part: Any) -> Iterator[dict[str, Any]]:
    """What Envoy knows by a type alone."""
    if isinstance(part, dict):
        if "typed_config" in part:
            yield part
        for one in part.values():
            yield from extensions(one)
    elif isinstance(part, list):
        for one in part:
            yield from extensions(one)


def manager(resources: dict[str, Any]) -> dict[str, Any]:
    (listener,) = resources["listeners"]
    (filters,) = (one["filters"] for one in listener["filter_chains"])
    return filters[0]["typed_config"]


def route(resources: dict[str, Any]) -> dict[str, Any]:
    (host,) = manager(resources)["route_config"]["virtual_hosts"]
    (one,) = host["routes"]
    return one["route"]


def test_calls_of_a_channel_go_to_one_server(resources: dict[str, Any]):
    (cluster,) = resources["clusters"]
    assert cluster["lb_policy"] == "RING_HASH"
    assert route(resources)["cluster"] == cluster["name"]
    (policy,) = route(resources)["hash_policy"]
    assert policy == {"header": {"header_name": "x-backscroll-channel"}}


def test_no_answer_is_cut_off_and_no_call_is_made_twice(resources: dict[str, Any]):
    assert route(resources)["timeout"] == "0s"
    assert manager(resources)["stream_idle_timeout"] != "0s"
    safe = {"connect-failure", "refused-stream"}
    assert set(route(resources)["retry_policy"]["retry_on"].split(",")) <= safe


def test_servers_are_asked_for_their_health_by_grpc_over_tls(resources: dict[str, Any]):
    (cluster,) = resources["clusters"]
    (check,) = cluster["health_checks"]
    assert "grpc_health_check" in check
    tls = cluster["transport_socket"]["typed_config"]["common_tls_context"]
    assert tls["alpn_protocols"] == ["h2"]
    (name,) = tls["validation_context"]["match_typed_subject_alt_names"]
    assert name["matcher"]["exact"] == cluster["transport_socket"]["typed_config"]["sni"]


def test_it_asks_the_service_of_kubernetes(resources: dict[str, Any]):
    (cluster,) = resources["clusters"]
    (group,) = cluster["load_assignment"]["endpoints"]
    (endpoint,) = group["lb_endpoints"]
    address = endpoint["endpoint"]["address"]["socket_address"]
    service = kubernetes("service.yaml", "Service")
    namespace = kubernetes("namespace.yaml", "Namespace")["metadata"]["name"]
    assert address == {
        "address": f"{service['metadata']['name']}.{namespace}.svc.cluster.local",
        "port_value": service["spec"]["ports"][0]["port"],
    }
    assert cluster["type"] == "STRICT_DNS"
    assert service["spec"]["clusterIP"] == "None", "else its name stands for one address"


def test_every_extension_has_its_type(resources: dict[str, Any]):
    found = list(extensions(resources))
    assert len(found) >= 4
    for one in found:
        assert one["typed_config"]["@type"].startswith("type.googleapis.com/envoy.extensions.")


def test_nobody_else_reaches_it(resources: dict[str, Any]):
    (listener,) = resources["listeners"]
    assert listener["address"]["socket_address"]["address"] == "127.0.0.1"
