"""OpenTelemetry: spans of builds, their stages, and model calls. The one module that imports it.

Spans are made when what they tell is over, with the times it took, so that nothing is measured twice. They hold ids,
names, counts and times: no text, whatever the environment says.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from backscroll_sidecar.telemetry.spans import BuildSpan, ModelSpan

OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST = "gen_ai_latest_experimental"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.36.0"
"""Of the names that are used unless the latest are asked for. Those have no schema yet; they are the ones of
opentelemetry-semantic-conventions 0.66b2."""
SERVICE = "backscroll"
CLOSE_S = 3.0
"""Seconds that the last spans get to be sent."""
TRACE_HEADERS = {"traceparent", "tracestate"}
VENDORS = {
    "api.openai.com": "openai",
    ".openai.azure.com": "azure.ai.openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    ".amazonaws.com": "aws.bedrock",
    "api.cohere.com": "cohere",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
}
"""The conventions' words for vendors, by what the host of their address ends with."""

_parent: ContextVar[Context | None] = ContextVar("backscroll_span_parent", default=None)


def otlp_provider(version: str) -> TracerProvider:
    """What sends spans by OTLP over HTTP. Address, headers, sampling and limits come from OpenTelemetry's variables."""
    name = os.environ.get("OTEL_SERVICE_NAME") or SERVICE
    resource = Resource.create({SERVICE_NAME: name, "service.version": version})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class OtelSpans:
    """Makes spans. Safe to call from any task of the event loop.

    Parameters
    ----------
    provider : where they go.
    version : ours.
    hosts : where a model is called, by the payload format of the interface.
    """

    def __init__(self, provider: TracerProvider, version: str, hosts: Mapping[str, str]) -> None:
        self._provider = provider
        self._hosts = hosts
        asked = os.environ.get(OPT_IN, "").split(",")
        self._is_latest = LATEST in {one.strip() for one in asked}
        schema = None if self._is_latest else SCHEMA_URL
        self._tracer = provider.get_tracer("backscroll", version, schema_url=schema)
        self._propagator = TraceContextTextMapPropagator()
        self._is_closed = False

    def called(self, metadata: Iterable[tuple[str, str | bytes]]) -> None:
        """Go on with the caller's trace."""
        found = {k: v for k, v in metadata if k in TRACE_HEADERS and isinstance(v, str)}
        _parent.set(self._propagator.extract(found, Context()) if found else None)

    def built(self, span: BuildSpan) -> None:
        """A span of the build, below it one of each stage. What follows in the call goes below the build."""
        end_ns = time.time_ns()
        at_ns = end_ns - int(span.took_s * 1e9)
        made = self._build(span.channel, at_ns)
        if made.is_recording():
            made.set_attributes(self._build_attributes(span))
        below = trace.set_span_in_context(made, Context())
        _parent.set(below)
        for stage, us in span.stage_us.items():
            until_ns = min(end_ns, at_ns + us * 1_000)
            self._tracer.start_span(stage, below, start_time=at_ns).end(until_ns)
            at_ns = until_ns
        made.end(end_ns)

    def build_failed(self, channel: str, reason: str, took_s: float) -> None:
        """A span of the build with its error."""
        end_ns = time.time_ns()
        made = self._build(channel, end_ns - int(took_s * 1e9))
        made.set_attribute("error.type", reason)
        made.set_status(Status(StatusCode.ERROR))
        made.end(end_ns)

    def model_called(self, span: ModelSpan) -> None:
        """A span of the call, named as the conventions have it."""
        end_ns = time.time_ns()
        made = self._tracer.start_span(
            f"chat {span.model}",
            _parent.get(),
            SpanKind.CLIENT,
            start_time=end_ns - int(span.took_s * 1e9),
        )
        if made.is_recording():
            made.set_attributes(self._model_attributes(span))
        if span.error:
            made.set_status(Status(StatusCode.ERROR))
        made.end(end_ns)

    async def close(self) -> None:
        """In a thread of its own, which is left behind where a collector does not answer."""
        if self._is_closed:
            return
        self._is_closed = True
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut() -> None:
            try:
                self._provider.shutdown()
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut, name="backscroll-spans", daemon=True).start()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), CLOSE_S)

    def _build(self, channel: str, at_ns: int) -> Span:
        name = "search_memory backscroll" if self._is_latest else "build_context"
        made: Span = self._tracer.start_span(name, _parent.get(), start_time=at_ns)
        made.set_attribute("gen_ai.conversation.id", channel)
        if self._is_latest:
            made.set_attribute("gen_ai.operation.name", "search_memory")
            made.set_attribute("gen_ai.memory.store.name", SERVICE)
        return made

    def _build_attributes(self, span: BuildSpan) -> dict[str, AttributeValue]:
        found: dict[str, AttributeValue] = {
            "backscroll.context.id": span.context_id,
            "backscroll.profile": span.profile,
            "backscroll.rung": span.rung.name.lower(),
            "backscroll.messages": span.message_count,
            "backscroll.tokens": span.tokens,
            "backscroll.candidates": span.candidate_count,
            "backscroll.cache_hit": span.cache_hit,
        }
        if span.degradations:
            lost = [f"{one.stage}:{one.source}:{one.reason}" for one in span.degradations]
            found["backscroll.degradations"] = lost
        if self._is_latest:
            found["gen_ai.memory.record.count"] = span.message_count
        return found

    def _model_attributes(self, span: ModelSpan) -> dict[str, AttributeValue]:
        host = self._hosts.get(span.api, "")
        vendor = next((word for end, word in VENDORS.items() if host.endswith(end)), "_OTHER")
        known: dict[str, AttributeValue | None] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name" if self._is_latest else "gen_ai.system": vendor,
            "server.address": host or None,
            "gen_ai.conversation.id": span.channel,
            "gen_ai.request.model": span.model,
            "gen_ai.request.temperature": span.temperature,
            "gen_ai.request.max_tokens": span.max_output_tokens,
            "gen_ai.usage.input_tokens": span.prompt_tokens,
            "gen_ai.usage.output_tokens": span.completion_tokens,
            "gen_ai.response.finish_reasons": (
                [span.finish_reason] if span.finish_reason else None
            ),
            "error.type": span.error or None,
        }
        if self._is_latest:
            known["gen_ai.request.stream"] = True
            known["gen_ai.response.time_to_first_chunk"] = span.first_s
        return {name: value for name, value in known.items() if value is not None}
