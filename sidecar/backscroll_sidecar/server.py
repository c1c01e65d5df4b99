"""The server: where it listens, who may call, when it says SERVING, how it stops.

    check addresses → register services → bind → start, NOT_SERVING → warm up → SERVING → … → NOT_SERVING → drain

It opens no store and closes none: `wiring` hands it an `App` and closes that afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

import structlog

from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.replaying import Replays
from backscroll_sidecar.edge.bind_policy import Address, check_exposure, check_metrics
from backscroll_sidecar.edge.call_pipeline import CallPipeline, CallRecord, log_call
from backscroll_sidecar.edge.grpc.platform import Health, platform_endpoints
from backscroll_sidecar.edge.http import extra
from backscroll_sidecar.edge.http.calls import Calls
from backscroll_sidecar.edge.keys import Table
from backscroll_sidecar.edge.listeners import EdgeName, Listeners, TlsFiles
from backscroll_sidecar.edge.services import Servicer, methods_of
from backscroll_sidecar.edge.services.admin import AdminServicer
from backscroll_sidecar.edge.services.context import (
    Builder,
    Chat,
    ContextServicer,
    Periods,
    Summaries,
)
from backscroll_sidecar.edge.services.feedback import FeedbackServicer
from backscroll_sidecar.edge.services.history import HistoryServicer
from backscroll_sidecar.edge.services.learning import LearningServicer
from backscroll_sidecar.edge.services.preference import PreferenceServicer
from backscroll_sidecar.edge.services.sessions import SessionServicer
from backscroll_sidecar.edge.tenants import OneTenant, Tenants, TokenTenants
from backscroll_sidecar.errors import StartRefused, StoreUnavailable
from backscroll_sidecar.history.replicas import Replicas
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.inspector.facts import Facts
from backscroll_sidecar.learning.learning import Learning
from backscroll_sidecar.ports import Clock, Upstream
from backscroll_sidecar.preferences.service import PreferenceService
from backscroll_sidecar.rooms.rooms import Rooms
from backscroll_sidecar.telemetry.metrics import Metrics, Numbers
from backscroll_sidecar.telemetry.scrapes import MetricsServer
from backscroll_sidecar.telemetry.spans import Spans

if TYPE_CHECKING:
    from backscroll_sidecar.edge.http.server import HttpServer

log = structlog.get_logger("backscroll.server")


class App(Protocol):
    """What the services are made of; `wiring` builds it."""

    @property
    def history(self) -> HistoryService:
        """Stores and reads messages."""

    @property
    def preferences(self) -> PreferenceService:
        """Stores and reads what is known of people."""

    @property
    def builder(self) -> Builder:
        """Builds contexts."""

    @property
    def replays(self) -> Replays:
        """Asks recorded builds again."""

    @property
    def chat(self) -> Chat:
        """Runs turns."""

    @property
    def summaries(self) -> Summaries:
        """Summarises conversations."""

    @property
    def periods(self) -> Periods:
        """Keeps summaries of past periods."""

    @property
    def rooms(self) -> Rooms:
        """Keeps sessions and runs rounds."""

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """All profiles by name."""

    @property
    def learning(self) -> Learning:
        """Records builds, and what people say of answers."""

    @property
    def numbers(self) -> Numbers:
        """What metrics are made of."""

    @property
    def spans(self) -> Spans | None:
        """What takes spans of traces; None: nobody does."""

    @property
    def upstream(self) -> Upstream | None:
        """The model's own API, where it is of OpenAI's shape."""

    @property
    def replicas(self) -> Replicas | None:
        """Brings caches up to what other servers wrote; None where the store is this one's alone."""

    @property
    def clock(self) -> Clock:
        """The time."""

    async def warm_up(self) -> None:
        """Compile, load and check what the first request must not wait for."""


class RunningServer:
    """A server that answers.

    Attributes
    ----------
    addresses
        Where, in the order asked for, with the ports that were bound.
    http_addresses
        The same of HTTP.
    missed_deadlines
        Calls by RPC that were not answered in their caller's time.
    metrics
        What it tells of itself.
    """

    def __init__(
        self,
        listeners: Listeners,
        health: Health,
        pipeline: CallPipeline,
        metrics: Metrics,
        addresses: Sequence[str],
        tenants: Tenants,
        http: HttpServer | None = None,
    ) -> None:
        self._listeners = listeners
        self._http = http
        self.http_addresses = () if http is None else http.addresses
        self.missed_deadlines = pipeline.missed_deadlines
        self.metrics = metrics
        self._health = health
        self._pipeline = pipeline
        self._tenants = tenants
        self.addresses = tuple(addresses)

    async def wait(self) -> None:
        """Return when the server has stopped."""
        await self._listeners.wait()

    def use_tokens(self, tokens: Table) -> None:
        """Take these keys in the place of those before, from the next call on. Calls that run go on.

        Raises `StartRefused`; then those before stay. A server that began without tokens asks for none.
        """
        if isinstance(self._tenants, TokenTenants):
            self._tenants.use(tokens)

    def refuse(self, error: StoreUnavailable) -> None:
        """Answer every call with this from now on. Calls that run go on."""
        self._pipeline.refusal, self._pipeline.ready = error, False
        self._health.say(serving=False)

    async def stop(self, grace_s: float = 5.0) -> None:
        """Say NOT_SERVING, take no new calls, let running ones end for `grace_s`, then break them off. Idempotent."""
        self._health.say(serving=False)
        await asyncio.sleep(0)  # who watches is told
        stopping = [self._listeners.stop(grace_s)]
        if self._http is not None:
            stopping.append(self._http.stop(grace_s))
        await asyncio.gather(*stopping)

    @property
    def http_urls(self) -> tuple[str, ...]:
        """The addresses of HTTP as a browser takes them."""
        return () if self._http is None else self._http.urls


async def start_server(
    app: App,
    *,
    listen: Sequence[str],
    http_listen: Sequence[str] = (),
    tls: TlsFiles | None = None,
    tokens: Table | None = None,
    edge: EdgeName = "auto",
    observe: Callable[[CallRecord], None] = log_call,
    warmed_up: Callable[[], None] = lambda: None,
) -> RunningServer:
    """Start to serve and return once the server says SERVING.

    Parameters
    ----------
    app
        What answers. It is neither opened nor closed here. While it warms up, health says NOT_SERVING and every
        call is UNAVAILABLE.
    listen
        ``host:port``, ``[v6]:port`` or ``unix:path``; port 0 takes a free one.
    http_listen
        The same for HTTP; empty: nowhere.
    tls
        For all addresses but unix sockets.
    tokens
        Tenants, or what keys permit, by token (`read_tokens` reads them from a file). None: everybody is the default
        tenant.
    edge
        What answers on this machine's own addresses without TLS; see `edge.listeners`.
    observe
        Told of every call once it is over.
    warmed_up
        Called right before the server says SERVING, for what nobody's call shall wait for.

    Raises
    ------
    StartRefused
        An address is unsafe, taken or none; a file cannot be read; what serves HTTP is not installed.
    """
    exposure = partial(check_exposure, has_tls=tls is not None, has_tokens=tokens is not None)
    addresses = exposure(listen)
    http_addresses = exposure(http_listen, setting=extra.SETTING) if http_listen else []
    tenants: Tenants = OneTenant() if tokens is None else TokenTenants(tokens)
    pipeline = CallPipeline(
        tenants,
        observe,
        begun=None if app.spans is None else app.spans.called,
        catch_up=None if app.replicas is None else app.replicas.catch_up,
    )
    metrics = Metrics(app.numbers, lambda: pipeline.missed_deadlines)
    servicers: tuple[Servicer, ...] = (
        ContextServicer(app.builder, app.chat, app.summaries, app.periods, version("backscroll")),
        HistoryServicer(app.history),
        AdminServicer(
            app.history,
            app.learning.usage,
            app.learning.channel_settings,
            app.learning.tuner,
            app.profiles,
            metrics,
            app.learning.experiments,
            app.learning.reports,
            tenants=lambda: tenants.names,
        ),
        PreferenceServicer(app.preferences),
        FeedbackServicer(app.learning.feedback),
        LearningServicer(app.learning, app.replays),
        SessionServicer(app.rooms, app.history, version("backscroll")),
    )
    app.rooms.sessions.know_tenants(lambda: tenants.names)
    names = [one.SERVICE.full_name for one in servicers]
    health = Health(names)
    endpoints = [pipeline.endpoint(method) for one in servicers for method in methods_of(one)]
    listeners = Listeners([*endpoints, *platform_endpoints(health, names)], tls, edge)
    try:
        bound = [listeners.bind(address) for address in addresses]
        http = None
        if http_addresses:
            calls = Calls(endpoints, servicers, tenants)
            facts = Facts(
                bound[0],
                has_tls=tls is not None,
                needs_token=tokens is not None,
                profiles=tuple(app.profiles),
            )
            http = _http_server(app, pipeline, calls, http_addresses, tls, facts)
    except BaseException:
        await listeners.stop(0)
        raise
    running = RunningServer(listeners, health, pipeline, metrics, bound, tenants, http)
    try:
        await listeners.start()
        if http is not None:
            await http.start()
        await app.warm_up()
        warmed_up()
    except BaseException:
        await running.stop(grace_s=0)
        raise
    pipeline.ready = True
    health.say(serving=True)
    log.info("server.serving", addresses=running.addresses, tls=tls is not None)
    return running


def _http_server(
    app: App,
    pipeline: CallPipeline,
    calls: Calls,
    addresses: Sequence[Address],
    tls: TlsFiles | None,
    facts: Facts,
) -> HttpServer:
    """What answers over HTTP. Imported only where somebody wants it, for it is an extra."""
    extra.check_installed()
    from backscroll_sidecar.edge.http.app import http_app  # noqa: PLC0415
    from backscroll_sidecar.edge.http.asked_questions import AskedQuestions  # noqa: PLC0415
    from backscroll_sidecar.edge.http.completions import Completions  # noqa: PLC0415
    from backscroll_sidecar.edge.http.json_calls import json_routes  # noqa: PLC0415
    from backscroll_sidecar.edge.http.openai_routes import openai_routes  # noqa: PLC0415
    from backscroll_sidecar.edge.http.server import HttpServer  # noqa: PLC0415
    from backscroll_sidecar.edge.http.session_chat import session_routes  # noqa: PLC0415
    from backscroll_sidecar.inspector.app import Inspector  # noqa: PLC0415

    questions = AskedQuestions(app.history, app.clock)
    completions = Completions(app.chat, questions, app.upstream)
    routes = [
        *Inspector(calls, facts).routes(),
        *json_routes(calls, lambda: pipeline.ready),
        *session_routes(calls),
        *openai_routes(calls, *map(pipeline.endpoint, completions.methods)),
    ]
    return HttpServer(http_app(routes, needs_token=facts.needs_token), addresses, tls)


def serve_metrics(running: RunningServer, listen: str) -> MetricsServer:
    """Answer scrapes at an address of this machine's own until the result is closed.

    Raises
    ------
    StartRefused
        The network could reach the address, or it is taken, or it is none.
    """
    address = check_metrics(listen)
    try:
        return MetricsServer(address.host, address.port, running.metrics)
    except OSError as error:
        raise StartRefused("metrics_listen", f"cannot be served: {error}") from None
