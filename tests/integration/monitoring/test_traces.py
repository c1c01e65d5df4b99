"""Spans of a server, as an exporter gets them."""

import asyncio
import importlib.util
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import grpc
import pytest

from backscroll import AsyncClient, Message
from backscroll.errors import InvalidRequest
from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import context_pb2_grpc, message_pb2
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault, UsageDelta
from tests.kit.fake_model import STOP, FakeModel, Refuse
from tests.kit.served import running

if importlib.util.find_spec("opentelemetry.sdk") is None:
    pytest.skip("opentelemetry-sdk is not installed", allow_module_level=True)

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from backscroll_sidecar.telemetry.otel import LATEST, OPT_IN, SCHEMA_URL, OtelSpans

NOON = 1_795_176_000_000
SECRET = "the vault opens at noon"
STAGES = ["route", "open", "question", "pick", "write", "fit", "adapt", "record"]
HOSTS = {"openai_chat": "api.openai.com", "anthropic_messages": "relay.example"}


@asynccontextmanager
async def traced(model=None):
    """A server, its client, and the spans it made."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = OtelSpans(provider, "1.2.3", HOSTS)
    model = model or FakeModel(answer=lambda _: [SECRET, UsageDelta(120, 7), STOP])
    async with (
        running(model=model, spans=spans) as (server, _),
        AsyncClient(server.addresses[0]) as client,
    ):
        await client.append(
            "room", [Message(f"m{n}", "ann", f"{SECRET} {n}", NOON + n) for n in range(4)]
        )
        exporter.clear()
        yield client, exporter, server.addresses[0]


def named(exporter, start):
    return [one for one in exporter.get_finished_spans() if one.name.startswith(start)]


@pytest.mark.row("P-16")
async def test_a_build_and_its_stages():
    """The stages lie in the build, one behind the other, and take what the answer says."""
    async with traced() as (client, exporter, _):
        built = await client.build_context(
            "room", SECRET, asker="ben", asked_at=NOON + 9, profile="room"
        )
        [build] = named(exporter, "build_context")
        stages = [one for one in exporter.get_finished_spans() if one is not build]
    assert [one.name for one in stages] == STAGES
    assert {one.parent.span_id for one in stages} == {build.context.span_id}
    told = built.raw.diagnostics.stage_microseconds
    at_ns = build.start_time
    for one in stages:
        assert one.start_time == at_ns
        at_ns = one.end_time
        if one.name != "record":  # which ends behind the answer
            assert one.end_time - one.start_time == pytest.approx(told[one.name] * 1_000, abs=1_000)
    assert at_ns <= build.end_time
    assert build.parent is None
    assert dict(build.attributes) == {
        "gen_ai.conversation.id": "room",
        "backscroll.context.id": built.id,
        "backscroll.profile": "room",
        "backscroll.rung": "ranked",
        "backscroll.messages": 4,
        "backscroll.tokens": built.tokens.total,
        "backscroll.candidates": 4,
        "backscroll.cache_hit": built.raw.diagnostics.cache_hit,
    }
    assert build.instrumentation_scope.name == "backscroll"
    assert build.instrumentation_scope.version == "1.2.3"
    assert build.instrumentation_scope.schema_url == SCHEMA_URL


@pytest.mark.row("P-16")
async def test_a_model_call_below_its_context():
    """Names of the GenAI conventions; the vendor's counts; no text of question, answer or history anywhere."""
    async with traced() as (client, exporter, _):
        await client.chat("room", SECRET, asker="ben", asked_at=NOON + 9, temperature=0.5)
        [build] = named(exporter, "build_context")
        [call] = named(exporter, "chat")
        every = exporter.get_finished_spans()
    assert (call.name, call.kind) == ("chat gpt-4o-mini", SpanKind.CLIENT)
    assert call.parent.span_id == build.context.span_id
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "openai",
        "gen_ai.conversation.id": "room",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 7,
        "server.address": "api.openai.com",
    }
    assert build.end_time <= call.end_time
    assert SECRET not in " ".join(one.to_json() for one in every)


@pytest.mark.row("P-16")
async def test_the_latest_names_are_asked_for(monkeypatch):
    """By OTEL_SEMCONV_STABILITY_OPT_IN, among others there. A capture of contents that is asked for is none."""
    monkeypatch.setenv(OPT_IN, f"http, {LATEST}")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    async with traced() as (client, exporter, _):
        await client.chat(
            "room", SECRET, asker="ben", asked_at=NOON + 9, model_api="anthropic_messages"
        )
        [build] = named(exporter, "search_memory backscroll")
        [call] = named(exporter, "chat")
        every = exporter.get_finished_spans()
    assert build.attributes["gen_ai.operation.name"] == "search_memory"
    assert build.attributes["gen_ai.memory.store.name"] == "backscroll"
    assert build.attributes["gen_ai.memory.record.count"] == 4
    assert call.attributes["gen_ai.provider.name"] == "_OTHER"  # a relay may be anybody
    assert call.attributes["server.address"] == "relay.example"
    assert 0 <= call.attributes["gen_ai.response.time_to_first_chunk"] < 60
    assert "gen_ai.system" not in call.attributes
    assert SECRET not in " ".join(one.to_json() for one in every)


@pytest.mark.row("P-16")
async def test_what_fails_is_an_error():
    """A build that is refused, a model that fails: each by its word."""
    model = FakeModel(answer=lambda _: [Refuse(failed(ModelFault.RATE_LIMITED))])
    async with traced(model) as (client, exporter, _):
        with pytest.raises(InvalidRequest):
            await client.build_context("room", "?", asker="ben", profile="none such")
        [build] = named(exporter, "build_context")
        exporter.clear()
        await client.chat("room", "?", asker="ben")
        [call] = named(exporter, "chat")
    assert build.attributes["error.type"] == "UNKNOWN_PROFILE"
    assert call.attributes["error.type"] == "rate_limited"
    assert build.status.status_code is call.status.status_code is StatusCode.ERROR


@pytest.mark.row("P-16")
async def test_a_callers_trace_goes_on():
    """W3C's header beside the call makes the bot's span the parent; the next call without one begins anew."""
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    request = pb.BuildContextRequest(
        channel="room", question="?", asker=message_pb2.Author(id="ben"), profile="room"
    )
    async with traced() as (_, exporter, address), grpc.aio.insecure_channel(address) as channel:
        stub = context_pb2_grpc.ContextServiceStub(channel)
        header = (("traceparent", f"00-{trace_id}-{span_id}-01"),)
        for metadata in (header, (), (("traceparent", "nonsense"),)):
            await stub.BuildContext(request, metadata=metadata)
        below, alone, odd = named(exporter, "build_context")
    assert below.context.trace_id == int(trace_id, 16)
    assert below.parent.span_id == int(span_id, 16)
    assert alone.parent is odd.parent is None
    assert len({one.context.trace_id for one in (below, alone, odd)}) == 3


class _Collector(BaseHTTPRequestHandler):
    got: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self):
        size = int(self.headers["content-length"])
        self.got.append((self.path, self.rfile.read(size)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.mark.row("P-16")
async def test_spans_are_sent(monkeypatch):
    """`traces = "otlp"`: over HTTP to where OpenTelemetry's own variable says; what is left is sent at the stop."""
    _Collector.got = []
    collector = HTTPServer(("127.0.0.1", 0), _Collector)
    thread = Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{collector.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    try:
        async with (
            running(traces="otlp") as (server, _),
            AsyncClient(server.addresses[0]) as client,
        ):
            await client.build_context("room", SECRET, asker="ben")
    finally:
        collector.shutdown()
        collector.server_close()
    assert {path for path, _ in _Collector.got} == {"/v1/traces"}
    sent = b"".join(body for _, body in _Collector.got)
    assert b"build_context" in sent
    assert b"backscroll.profile" in sent
    assert SECRET.encode() not in sent


@pytest.mark.row("P-16")
async def test_a_dead_collector_costs_nothing_but_spans(monkeypatch):
    """Builds go on, and a stop waits some seconds at most."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    async with asyncio.timeout(60):
        async with (
            running(traces="otlp") as (server, _),
            AsyncClient(server.addresses[0]) as client,
        ):
            for _ in range(3):
                built = await client.build_context("room", "?", asker="ben")
                assert built.id


def test_off_means_that_nothing_is_imported():
    """The default costs no import."""
    code = (
        "import asyncio, json, sys\n"
        "from backscroll_sidecar.config.settings import Settings\n"
        "from backscroll_sidecar.wiring import open_app\n"
        "async def main():\n"
        "    async with open_app(Settings(database=':memory:', embedder='none')) as app:\n"
        "        assert app.spans is None\n"
        "asyncio.run(main())\n"
        "print(json.dumps([m for m in sys.modules if m.startswith('opentelemetry')]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
