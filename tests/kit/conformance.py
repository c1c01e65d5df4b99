"""The scenario for clients of all languages: servers it is run against, drivers that make its calls, comparison.

clients/conformance/README.md is the protocol, clients/conformance/scenario.json the scenario.
"""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, Self

from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2  # noqa: F401 - registers what the scenario calls; so do the next two
from grpc_reflection.v1alpha import reflection_pb2  # noqa: F401

from backscroll.v1 import context_pb2  # noqa: F401
from tests.kit.certificates import certificate_of_own
from tests.kit.faulty_servers import faulty_servers
from tests.kit.model_process import Exchange, ModelProcess

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients/conformance"
TOKEN = "a-token-of-the-scenario"
EDGES = ("auto", "grpc")
DEADLINE_MS = 30_000
ANSWER_S, LEAVING_S = 90.0, 20.0
"""How long a driver may take for a step; how long the model may take to see that its caller left."""


# --- servers -----------------------------------------------------------------------------------------


class Model:
    """The fake model, and what it has seen."""

    def __init__(self, process: ModelProcess) -> None:
        self._process = process
        self._seen: dict[str, Exchange] = {}

    def was_left(self, tag: str) -> bool:
        """Whether the caller of that answer went before its end; waits a while for it."""
        give_up_s = time.monotonic() + LEAVING_S
        while True:
            self._seen.update((one.tag, one) for one in self._process.journal())
            one = self._seen.get(tag)
            if one is not None and (one.is_whole or one.gone_s is not None):
                return not one.is_whole
            if time.monotonic() > give_up_s:
                return False
            time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Servers:
    """Where drivers of one edge are sent, as their environment, and the model behind them."""

    edge: str
    environment: Mapping[str, str]
    model: Model


class Started(Protocol):
    """A server that runs."""

    address: str


Start = Callable[[dict[str, str]], AbstractContextManager[Started]]
"""Starts a server with these settings, by their environment variables."""


@contextmanager
def servers(start: Start) -> Iterator[list[Servers]]:
    """Real servers until the block ends: one an edge, one with TLS and a token, those that fail, the fake model."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="backscroll-")))
        model = stack.enter_context(ModelProcess())
        tls = certificate_of_own(folder)
        tokens = folder / "tokens.toml"
        tokens.write_text(f'[tokens]\n"{TOKEN}" = "conformance"\n', "utf-8")
        tokens.chmod(0o600)
        own = {edge: {"BACKSCROLL_EDGE": edge} for edge in EDGES}
        own["tls"] = {
            "BACKSCROLL_TLS_CERT": str(tls.cert),
            "BACKSCROLL_TLS_KEY": str(tls.key),
            "BACKSCROLL_TOKENS_FILE": str(tokens),
        }
        for name, settings in own.items():
            settings["BACKSCROLL_DATABASE"] = str(folder / f"{name}.db")
            settings["BACKSCROLL_MODEL_BASE_URL"] = model.url
            settings["BACKSCROLL_MODEL_API_KEY"] = "none"
        with ThreadPoolExecutor() as pool:
            begun = list(pool.map(lambda one: stack.enter_context(start(one)), own.values()))
        address = {name: server.address for name, server in zip(own, begun, strict=True)}
        common = {
            "BACKSCROLL_TLS_ADDRESS": address["tls"],
            "BACKSCROLL_TLS_CA": str(tls.cert),
            "BACKSCROLL_TOKEN": TOKEN,
            "BACKSCROLL_SERVICE_CONFIG": (ROOT / "clients/service-config.json").read_text("utf-8"),
        }
        found, seen = [], Model(model)
        for edge in EDGES:
            faulty = stack.enter_context(faulty_servers(address[edge]))
            environment = {
                **common,
                "BACKSCROLL_ADDRESS": address[edge],
                "BACKSCROLL_RETRY_ADDRESS": faulty.retry,
                "BACKSCROLL_SILENT_ADDRESS": faulty.silent,
            }
            found.append(Servers(edge, environment, seen))
        yield found


# --- drivers -----------------------------------------------------------------------------------------


class DriverFailed(Exception):
    """It ended, was silent too long, or said what is no answer."""


class Driver:
    """A driver's process, ended by its own id."""

    def __init__(self, command: str | Sequence[str], environment: Mapping[str, str]) -> None:
        shell = ["bash", "-c", f"exec {command}"] if isinstance(command, str) else [*command]
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed on exit
        self._process = subprocess.Popen(
            shell, cwd=ROOT, env={**os.environ, **environment}, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Hand over a step; its answer.

        Raises
        ------
        DriverFailed
            With what it said on standard error.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(step, ensure_ascii=False) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=ANSWER_S)
        except (OSError, queue.Empty):
            line = ""
        try:
            said = json.loads(line)
        except ValueError:
            raise DriverFailed(f"answered {line!r}; it said: {self._complaint()}") from None
        if not isinstance(said, dict) or said.get("step") != step["step"]:
            raise DriverFailed(f"answered {line!r} to step {step['step']!r}")
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._errors.close()
        with suppress(OSError):  # it went before it had read all
            self._process.stdin.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _complaint(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-2_000:].strip() or "nothing"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What came of a step; `faults` are empty where all was as expected."""

    step: str
    faults: tuple[str, ...]


def steps() -> list[dict[str, Any]]:
    """The scenario."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "scenario.json").read_text("utf-8"))["steps"]
    return found


def languages() -> dict[str, dict[str, Any]]:
    """How each language's driver is built and run, by the language's name."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "languages.json").read_text("utf-8"))
    return found


def run(command: str | Sequence[str], places: Servers, name: str) -> list[StepResult]:
    """The whole scenario with one driver. After a driver's own failure no further step is run."""
    run_id = uuid.uuid4().hex
    saved = {"run": run_id, "channel": f"conformance-{name}-{places.edge}-{run_id}"}
    results: list[StepResult] = []
    with Driver(command, places.environment) as driver:
        for step in steps():
            try:
                asked = {"deadline_ms": DEADLINE_MS, **filled(step, saved)}
                expected = asked.pop("expect")
                said = driver.ask(asked)
                faults = compared(said, expected, asked["call"], saved, places.model.was_left)
            except (DriverFailed, KeyError) as error:
                results.append(StepResult(step["step"], (str(error),)))
                break
            results.append(StepResult(step["step"], tuple(faults)))
    return results


# --- comparison --------------------------------------------------------------------------------------


def filled(value: Any, saved: Mapping[str, str]) -> Any:
    """The value with what was saved in the place of ``${name}``. KeyError: nothing was."""
    match value:
        case str():
            return re.sub(r"\$\{(\w+)\}", lambda found: saved[found[1]], value)
        case list():
            return [filled(one, saved) for one in value]
        case dict():
            return {key: filled(one, saved) for key, one in value.items()}
    return value


def compared(
    said: Mapping[str, Any],
    expected: Mapping[str, Any],
    call: str,
    saved: dict[str, str],
    was_left: Callable[[str], bool],
) -> Iterator[str]:
    """What is not as expected, each in a sentence."""
    for name, default in (("status", "OK"), ("reason", ""), ("field", "")):
        if said.get(name, "") != (wanted := expected.get(name, default)):
            yield f"{name} is {said.get(name)!r}, not {wanted!r}"
    try:
        responses = [canonical(one, call) for one in said["responses"]]
    except (json_format.ParseError, KeyError, TypeError) as error:
        yield f"its responses are not what {call} answers: {error}"
        return
    if "responses" in expected:
        yield from differences(responses, expected["responses"], "responses", saved)
    for name, at in (("first", 0), ("last", -1)):
        if name in expected:
            found = responses[at] if responses else None
            yield from differences(found, expected[name], name, saved)
    for wanted in expected.get("some", ()):
        yield from differences(responses, {"$has": [wanted]}, "responses", saved)
    if "text" in expected:
        text = "".join(one.get("delta", "") for one in responses)
        yield from differences(text, expected["text"], "text", saved)
    if "model_left" in expected and not was_left(expected["model_left"]):
        yield "the model answered to the end: nobody told it that its caller had left"


def canonical(response: Any, call: str) -> dict[str, Any]:
    """One response with the names of the proto files and all defaults, whichever spelling it came in."""
    service, method = call.split("/")
    found = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method]
    message = message_factory.GetMessageClass(found.output_type)()
    json_format.ParseDict(response, message)
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def differences(found: Any, wanted: Any, path: str, saved: dict[str, str]) -> Iterator[str]:
    """Where it is not as told; saves what is to be saved."""
    match wanted:
        case dict() if any(key.startswith("$") for key in wanted):
            yield from unmet(found, wanted, path, saved)
        case dict():
            for key, one in wanted.items():
                if not isinstance(found, dict) or key not in found:
                    yield f"{path} has no {key}: {short(found)}"
                else:
                    yield from differences(found[key], one, f"{path}.{key}", saved)
        case list() if not isinstance(found, list) or len(found) != len(wanted):
            yield f"{path} is not {len(wanted)} long: {short(found)}"
        case list():
            for at, (element, one) in enumerate(zip(found, wanted, strict=True)):
                yield from differences(element, one, f"{path}[{at}]", saved)
        case _ if found != wanted:
            yield f"{path} is {found!r}, not {wanted!r}"


def unmet(
    found: Any, condition: Mapping[str, Any], path: str, saved: dict[str, str]
) -> Iterator[str]:
    """Why a condition of the scenario does not hold."""
    match condition:
        case {"$save": str(name)}:
            if not found:
                yield f"{path} is empty"
            saved[name] = str(found)
        case {"$has": [*each]}:
            for one in each:
                yield from missing(found, one, path, saved)
        case {"$least": bound}:
            if found is None or int(found) < bound:
                yield f"{path} is {found}, not at least {bound}"
        case {"$most": bound}:
            if found is None or int(found) > bound:
                yield f"{path} is {found}, not at most {bound}"
        case _:
            raise ValueError(f"the scenario has no such condition: {condition}")


def missing(found: Any, one: Any, path: str, saved: dict[str, str]) -> Iterator[str]:
    """Whether a text, or some element of a list, has this; saves what the first such element is to save."""
    if isinstance(found, str):
        if one not in found:
            yield f"{path} has no {one!r}: {found!r}"
        return
    for element in found or ():
        kept = dict(saved)
        if not any(differences(element, one, path, kept)):
            saved.update(kept)
            return
    yield f"{path} has nothing like {short(one)}: {short(found)}"


def short(value: Any) -> str:
    """Its JSON, cut."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 600 else f"{text[:600]} …"
