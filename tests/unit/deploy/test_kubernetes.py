"""The manifests of deploy/kubernetes are what Kubernetes takes, and fit each other, the image and the server."""

import copy
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from backscroll_bench.scaling.costs import costs
from backscroll_sidecar.cli.commands import COMMANDS
from backscroll_sidecar.cli.serve import GRACE_S
from backscroll_sidecar.config.sources import known_names, load

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy/kubernetes"
SCHEMAS = json.loads((ROOT / "tests/data/kubernetes/schemas.json").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
IN_THE_IMAGE = dict(
    re.findall(r"\b(BACKSCROLL_\w+|NUMBA_\w+)=(\S+)", DOCKERFILE.rpartition("ENV ")[2])
)
CLOSING_S = 10
"""What the store may take to close, behind the calls that run."""


@cache
def documents() -> dict[str, dict[str, Any]]:
    """All that is applied, by kind: there is one of each."""
    import yaml

    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert set(listed) == {one.name for one in FOLDER.iterdir()} - {"kustomization.yaml"}
    found = [one for name in listed for one in yaml.safe_load_all((FOLDER / name).read_text())]
    by_kind = {one["kind"]: one for one in found}
    assert len(by_kind) == len(found)
    return by_kind


def pod() -> dict[str, Any]:
    return documents()["Deployment"]["spec"]["template"]["spec"]


def server() -> dict[str, Any]:
    (one,) = pod()["containers"]
    return one


def settings() -> dict[str, str]:
    return documents()["ConfigMap"]["data"]


def problems(document: dict[str, Any]) -> list[str]:
    """What Kubernetes would not take."""
    kind = document["kind"]
    names = [one for one in SCHEMAS["$defs"] if one.endswith(f".{kind}")]
    (name,) = names
    resource = Resource.from_contents(SCHEMAS, DRAFT202012)
    checks = Draft202012Validator(
        {"$ref": f"urn:kubernetes#/$defs/{name}"},
        registry=Registry().with_resource("urn:kubernetes", resource),
    )
    return [f"{kind}: {one.json_path}: {one.message}" for one in checks.iter_errors(document)]


KINDS = {
    "Namespace", "ConfigMap", "Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget",
    "NetworkPolicy",
}  # fmt: skip


def test_nothing_else_is_applied_and_no_secret_stands_here():
    assert set(documents()) == KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_kubernetes_takes_it(kind: str):
    assert not problems(documents()[kind])


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in a document objects are, but for tables of names of one's own."""
    if isinstance(document, dict):
        if path and path[-1] in {"labels", "matchLabels", "data"}:
            return
        yield path
        for key, value in document.items():
            yield from places(value, (*path, key))
    elif isinstance(document, list):
        for place, value in enumerate(document):
            yield from places(value, (*path, place))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_misspelt_field_anywhere_is_seen(kind: str):
    for path in places(documents()[kind]):
        broken = copy.deepcopy(documents()[kind])
        at = broken
        for step in path:
            at = at[step]
        at["misspelt"] = 1
        if path[-1:] not in {("requests",), ("limits",)}:  # whose names Kubernetes leaves open
            assert problems(broken), path


def test_the_settings_are_known_and_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    named = {one["name"] for one in server()["env"]} | set(settings())
    assert named <= known_names()
    for name in [one for one in os.environ if one.upper().startswith(("BACKSCROLL_", "MEMORY_"))]:
        monkeypatch.delenv(name)
    for name in ("tls.crt", "tls.key", "tokens.toml"):
        (tmp_path / name).touch()
    for name, value in {**IN_THE_IMAGE, **settings()}.items():
        monkeypatch.setenv(name, re.sub(r"^/etc/backscroll/\w+", str(tmp_path), value))
    loaded = load(directory=tmp_path)
    assert not loaded.problems
    assert {f"environment: {one}" for one in settings()} <= set(loaded.origins.values())


def test_what_is_secret_is_named_and_not_told():
    env = {one["name"]: one for one in server()["env"]}
    assert all(list(one["valueFrom"]) == ["secretKeyRef"] for one in env.values())
    assert {"BACKSCROLL_DATABASE", "BACKSCROLL_MODEL_API_KEY"} == set(env)
    text = "".join(path.read_text() for path in FOLDER.iterdir())
    assert not re.search(r"BEGIN [A-Z ]*KEY|^ *(password|token):", text, re.MULTILINE)


def test_what_selects_pods_selects_these():
    labels = documents()["Deployment"]["spec"]["template"]["metadata"]["labels"]
    chosen = [
        documents()["Deployment"]["spec"]["selector"]["matchLabels"],
        documents()["Service"]["spec"]["selector"],
        documents()["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        documents()["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        *(one["labelSelector"]["matchLabels"] for one in pod()["topologySpreadConstraints"]),
    ]
    assert all(one.items() <= labels.items() for one in chosen)
    scaled = documents()["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert scaled["name"] == documents()["Deployment"]["metadata"]["name"]
    assert "replicas" not in documents()["Deployment"]["spec"], "each apply would undo the scaling"


def test_it_is_reached_where_it_listens():
    (port,) = server()["ports"]
    assert f"0.0.0.0:{port['containerPort']}" in settings()["BACKSCROLL_LISTEN"].split(",")
    (offered,) = documents()["Service"]["spec"]["ports"]
    (allowed,) = documents()["NetworkPolicy"]["spec"]["ingress"]
    assert offered["targetPort"] == port["name"] == allowed["ports"][0]["port"]
    assert documents()["Service"]["spec"]["clusterIP"] == "None"


def test_a_new_server_serves_before_an_old_one_goes():
    strategy = documents()["Deployment"]["spec"]["strategy"]["rollingUpdate"]
    assert strategy["maxUnavailable"] == 0 < strategy["maxSurge"]
    least = documents()["HorizontalPodAutoscaler"]["spec"]["minReplicas"]
    assert documents()["PodDisruptionBudget"]["spec"]["maxUnavailable"] < least


def test_a_server_has_the_time_that_it_takes_to_stop():
    program, seconds = server()["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    assert int(seconds) + GRACE_S + CLOSING_S <= pod()["terminationGracePeriodSeconds"]


def test_probes_ask_for_health_over_a_socket_that_the_server_has():
    program, command = server()["readinessProbe"]["exec"]["command"]
    assert f'\nENTRYPOINT ["{program}"]\n' in DOCKERFILE
    assert command in COMMANDS
    assert IN_THE_IMAGE["BACKSCROLL_SERVER"] in settings()["BACKSCROLL_LISTEN"].split(",")
    for name in ("startupProbe", "livenessProbe"):
        assert server()[name]["exec"]["command"] == [program, command]


def test_it_keeps_to_the_strictest_standard_for_pods():
    labels = documents()["Namespace"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    whole = pod()["securityContext"]
    assert whole["runAsNonRoot"] is True
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
    for one in [*pod()["containers"], *pod()["initContainers"]]:
        confined = one["securityContext"]
        assert confined["allowPrivilegeEscalation"] is False
        assert confined["readOnlyRootFilesystem"] is True
        assert confined["capabilities"] == {"drop": ["ALL"]}
    assert not any(pod().get(name) for name in ("hostNetwork", "hostPID", "hostIPC"))
    assert pod()["automountServiceAccountToken"] is False
    assert {next(k for k in one if k != "name") for one in pod()["volumes"]} <= {
        "emptyDir",
        "secret",
    }


def test_it_can_write_where_the_image_writes():
    """Its root is read-only: what the server writes to is mounted, and belongs to the image's user."""
    mounted = {one["mountPath"]: one["name"] for one in server()["volumeMounts"]}
    empty = {one["name"] for one in pod()["volumes"] if "emptyDir" in one}
    sockets = [one for one in settings()["BACKSCROLL_LISTEN"].split(",") if one.startswith("unix:")]
    written = [
        IN_THE_IMAGE["BACKSCROLL_STATE_DIR"],
        IN_THE_IMAGE["NUMBA_CACHE_DIR"],
        *(str(Path(one.removeprefix("unix:")).parent) for one in sockets),
    ]
    assert {mounted[one] for one in written} <= empty
    (copies,) = pod()["initContainers"]
    assert f"{IN_THE_IMAGE['NUMBA_CACHE_DIR']}/." in copies["command"]
    assert copies["volumeMounts"][0]["name"] == mounted[IN_THE_IMAGE["NUMBA_CACHE_DIR"]]
    user = f"{pod()['securityContext']['runAsUser']}:{pod()['securityContext']['runAsGroup']}"
    assert f"\nUSER {user}\n" in DOCKERFILE
    for path in ("BACKSCROLL_TLS_CERT", "BACKSCROLL_TLS_KEY", "BACKSCROLL_TOKENS_FILE"):
        assert str(Path(settings()[path]).parent) in mounted


def test_the_caches_fit_into_the_memory():
    caches = sum(int(settings()[f"BACKSCROLL_{one}_BYTES"]) for one in ("HOT_CHANNEL", "VECTOR"))
    asked = int(server()["resources"]["requests"]["memory"].removesuffix("Mi")) << 20
    assert caches + costs("postgres").idle_bytes <= asked
