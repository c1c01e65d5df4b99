"""The compose files are what Compose takes, and fit the image, each other and what they mount."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from backscroll_sidecar.config.sources import known_names

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "tests/data/compose/schema.json").read_text())
NAMES = ("compose.yaml", "compose.monitoring.yaml", "compose.replicas.yaml")
SOCKET = re.findall(r"BACKSCROLL_SERVER=(\S+)", (ROOT / "Dockerfile").read_text())[0]


def loaded(name: str) -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load((ROOT / name).read_text())
    return found


def services(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = loaded(name)["services"]
    return found


def problems(document: dict[str, Any]) -> list[str]:
    return [
        f"{one.json_path}: {one.message}"
        for one in Draft202012Validator(SCHEMA).iter_errors(document)
    ]


def test_all_compose_files_are_held_against_it():
    assert set(NAMES) == {one.name for one in ROOT.glob("compose*.y*ml")}


@pytest.mark.parametrize("name", NAMES)
def test_compose_takes_it(name: str):
    assert not problems(loaded(name))
    broken = loaded(name)
    for service in broken["services"].values():
        service["misspelt"] = 1
    assert len(problems(broken)) == len(broken["services"])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_mounted_is_there_and_settings_are_known(name: str):
    volumes = loaded(name).get("volumes", {})
    for service in services(name).values():
        for one in service.get("volumes", ()):
            source = one.partition(":")[0]
            assert source in volumes or (ROOT / source).exists(), one
        for setting in service.get("environment", {}):
            assert not setting.startswith("BACKSCROLL_") or setting in known_names()


@pytest.mark.parametrize("name", NAMES)
def test_the_host_alone_reaches_what_is_published_and_nobody_may_more_than_needed(name: str):
    for title, service in services(name).items():
        assert all(one.startswith("127.0.0.1:") for one in service.get("ports", ()))
        if "image" in service:
            assert service["cap_drop"] == ["ALL"], title
            assert "privileged" not in service


def replicas() -> Iterator[tuple[str, dict[str, Any]]]:
    for title, service in services("compose.replicas.yaml").items():
        if service["image"] == "backscroll":
            yield title, service


def test_replicas_share_a_database_and_nothing_else():
    found = dict(replicas())
    assert len(found) == 3
    listens = [one["environment"]["BACKSCROLL_LISTEN"].split(",") for one in found.values()]
    assert len({address for address, _ in listens}) == 3, "all are in one network"
    assert all(socket == SOCKET for _, socket in listens), "which the image's health check asks"
    assert len({one["environment"]["BACKSCROLL_DATABASE"] for one in found.values()}) == 1
    assert not any("volumes" in one for one in found.values())


def test_everything_of_the_replicas_is_in_one_network_of_its_own():
    everything = services("compose.replicas.yaml")
    assert {
        one.get("network_mode") for title, one in everything.items() if title != "postgres"
    } == {"service:postgres"}
    assert not any("ports" in one for one in everything.values())


def test_haproxy_asks_where_the_replicas_are():
    text = (ROOT / "deploy/haproxy/haproxy.cfg").read_text()
    told = re.findall(r"^ +server \w+ (\S+):(\d+) port (\d+)", text, re.MULTILINE)
    there = [one["environment"] for _, one in replicas()]
    assert [(f"{host}:{port}", f"{host}:{health}") for host, port, health in told] == [
        (one["BACKSCROLL_LISTEN"].partition(",")[0], one["BACKSCROLL_HTTP_LISTEN"]) for one in there
    ]


def test_servers_reach_pgbouncer_and_it_reaches_postgres():
    everything = services("compose.replicas.yaml")
    bouncer = everything["pgbouncer"]["environment"]
    (_, one), *_ = replicas()
    assert (
        f"@{bouncer['LISTEN_ADDR']}:{bouncer['LISTEN_PORT']}/"
        in one["environment"]["BACKSCROLL_DATABASE"]
    )
    assert f"@{bouncer['LISTEN_ADDR']}:5432/" in bouncer["DATABASE_URL"]
    # docs/guide/postgres.md: what hands sessions around takes no prepared statements, and must end idle transactions.
    assert bouncer["POOL_MODE"] == "transaction"
    assert one["environment"]["BACKSCROLL_DATABASE"].endswith("?statement_cache_size=0")
    assert 0 < int(bouncer["IDLE_TRANSACTION_TIMEOUT"]) <= 5
    told = dict(word.split("=") for word in everything["postgres"]["command"] if "=" in word)
    assert int(told["max_connections"]) > int(bouncer["DEFAULT_POOL_SIZE"])
