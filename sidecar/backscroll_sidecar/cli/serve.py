"""`backscroll serve`: settings, process, event loop; the server itself is `server.py`."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backscroll_sidecar.cli import handover, options, service_manager
from backscroll_sidecar.cli.check_config import loaded_or_refuse
from backscroll_sidecar.cli.console import (
    INTERRUPTED,
    STARTED_S,
    CommandError,
    os_words,
    out,
    print_json,
)
from backscroll_sidecar.concurrency.threads import keep_on_core, pool
from backscroll_sidecar.config.settings import Settings, prepare_process
from backscroll_sidecar.config.sources import Loaded
from backscroll_sidecar.config.types import Durability, LogFormat, LogLevel
from backscroll_sidecar.errors import BackscrollError, StartRefused, StoreReadOnly, StoreUnavailable
from backscroll_sidecar.kernel_cache import KernelCache
from backscroll_sidecar.telemetry import logs

if TYPE_CHECKING:
    from backscroll_sidecar.edge.keys_file import Mark
    from backscroll_sidecar.server import RunningServer
    from backscroll_sidecar.telemetry.scrapes import MetricsServer

EPILOG = "Example: backscroll serve --listen 127.0.0.1:7171 --database ./chat.db"
TAKEN = "stop what listens there, or take any free port: --listen 127.0.0.1:0"
DOCTOR = "look for more with: backscroll doctor"
GRACE_S = 5.0
log = logging.getLogger("backscroll.serve")


@dataclass(frozen=True, slots=True)
class Flags:
    """Settings that may be given as options."""

    listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="host:port or unix:path; port 0 takes a free one. May be given several times.",
        ),
    ] = None
    http_listen: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Serve over HTTP as well, as OpenAI's API and JSON. May be given several times.",
        ),
    ] = None
    database: Annotated[
        str | None,
        typer.Option(
            metavar="DATABASE",
            help="A file, or the URL of PostgreSQL; :memory: forgets everything at the end.",
        ),
    ] = None
    state_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            help="Directory of the database.",
            file_okay=False,
        ),
    ] = None
    durability: Annotated[
        Durability | None,
        typer.Option(help="full survives a power cut, normal a crash of the program."),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Profile of requests that name none. {options.PROFILES}"
        ),
    ] = None
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model in payloads that name none.")
    ] = None
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="PEM file of the certificate chain.", dir_okay=False),
    ] = None
    tls_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="PEM file of its private key.", dir_okay=False),
    ] = None
    tls_client_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="PEM file of who signs clients' certificates.", dir_okay=False
        ),
    ] = None
    tokens_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="TOML file of API keys: see backscroll keys.", dir_okay=False
        ),
    ] = None
    log_level: Annotated[LogLevel | None, typer.Option(help="Least level logged.")] = None
    log_format: Annotated[LogFormat | None, typer.Option(help="For people or for programs.")] = None

    def settings(self) -> dict[str, Any]:
        """By the settings' names; None: not given."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("listen", "http_listen"):
            given[name] = tuple(given[name]) if given[name] else None
        given["default_profile"], given["default_model"] = given.pop("profile"), given.pop("model")
        return given


NO_FLAGS = Flags()


def serve(
    flags: Flags = NO_FLAGS,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Run the server until SIGTERM or SIGINT.

    Every option is also a setting of the environment and of the file: see check-config. Once it serves, one line on
    standard output says where; the log goes to standard error.
    """
    loaded = loaded_or_refuse(flags.settings(), config=config)
    settings = _usable(loaded)
    _leave_on_interrupt()
    try:
        _refuse_to_listen(settings)
        _import_all(prepare_process(settings))
        _run(_serve(settings, as_json))
    except (StoreUnavailable, StoreReadOnly) as error:
        path = settings.database_name
        said = str(error) if path in str(error) else f"{path}: {error}"
        raise CommandError(said, DOCTOR) from None
    except StartRefused as error:
        advice = TAKEN if error.setting in {"listen", "http_listen"} else ""
        raise CommandError(str(error), advice, exit_code=2) from None
    except BackscrollError as error:
        raise CommandError(str(error), DOCTOR) from None
    except OSError as error:
        raise CommandError(
            os_words(error), "give another --state-dir, or make this one writable"
        ) from None


def _usable(loaded: Loaded) -> Settings:
    """The settings, their warnings logged; or the refusal to start with them."""
    if loaded.refusals:
        advice = "backscroll check-config shows every setting and where it comes from"
        raise CommandError("\n".join(map(str, loaded.refusals)), advice, exit_code=2)
    settings = loaded.settings
    logs.configure(settings.log_level, settings.log_format)
    for problem in loaded.problems:
        log.warning("setting: %s", problem, extra={"kind": problem.kind})
    return settings


def _leave_on_interrupt() -> None:
    """End at once on Ctrl-C, until the loop takes signals over (`_signals`): nothing is open yet that must be closed.

    Not by KeyboardInterrupt: raised where Python may not raise (a call back from the compiler, a weak reference's
    end), it is printed, dropped, and the start goes on.
    """
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))


def _import_all(kernels: KernelCache) -> None:
    """What serves, with its kernels. Before the loop runs: an interrupt that meets an import inside gRPC's loop ends
    in tracebacks.
    """
    from backscroll_sidecar.cli import compiling

    if kernels.fallback_reason:
        log.warning(
            "compiled kernels are kept in the state directory: %s",
            kernels.fallback_reason,
            extra={"directory": str(kernels.directory)},
        )
    with compiling.said(kernels.directory):
        importlib.import_module("backscroll_sidecar.server")
        importlib.import_module("backscroll_sidecar.wiring")


def _run(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop where it is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(main)
    else:
        uvloop.run(main)


async def _serve(settings: Settings, as_json: bool) -> None:
    """Open, start, say so, wait for a signal, stop. The store closes last."""
    from backscroll_sidecar.edge.keys_file import mark_of, read_tokens
    from backscroll_sidecar.edge.listeners import TlsFiles
    from backscroll_sidecar.server import start_server
    from backscroll_sidecar.wiring import open_app, rehearse

    cert, key = settings.tls_cert, settings.tls_key
    tls = TlsFiles(cert, key, settings.tls_client_ca) if cert and key else None
    mark = mark_of(settings.tokens_file) if settings.tokens_file else ()
    tokens = read_tokens(settings.tokens_file) if settings.tokens_file else None
    stopping = _signals()
    asyncio.get_running_loop().set_default_executor(pool("backscroll-work"))

    async def get_ready() -> None:
        await rehearse(settings)
        _freeze()

    arrived = await handover.arrived(settings, get_ready, stopping)
    if stopping.is_set():
        log.info("stopped before it served")
        return
    async with open_app(settings) as app:
        if arrived:
            await handover.until_free(settings)
        starting = asyncio.create_task(
            start_server(
                app,
                listen=settings.listen,
                http_listen=settings.http_listen,
                tls=tls,
                tokens=tokens,
                edge=settings.edge,
                warmed_up=gc.freeze if arrived else _freeze,
            )
        )
        if not await _before(starting, stopping):
            log.info("stopped before it served")
            return
        running = starting.result()
        metrics = await _metrics(running, settings.metrics_listen)
        if settings.event_loop_core is not None:
            keep_on_core(settings.event_loop_core)
        started_s = time.monotonic() - STARTED_S
        status = f"serves on {', '.join(running.addresses)}"
        # Whoever is told that it serves may ask for a reload at once.
        async with _following(running, settings.tokens_file, mark):
            _announce(running, metrics, started_s, as_json)
            log.info(
                "started",
                extra={"seconds": round(started_s, 3), "database": settings.database_name},
            )
            leaving = asyncio.create_task(handover.leave(app.store, running, stopping))
            async with service_manager.served(status):
                await stopping.wait()
            leaving.cancel()
        log.info("stopping")
        await running.stop(GRACE_S)
        if metrics is not None:
            metrics.close()
    log.info("stopped")


@asynccontextmanager
async def _following(running: RunningServer, path: Path | None, mark: Mark) -> AsyncIterator[None]:
    """Take keys from the file whenever it changes, and on SIGHUP."""
    from backscroll_sidecar.edge.keys_file import follow_tokens

    if path is None:
        if service_manager.is_there():  # its reload must not end what has nothing to read again
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        yield
        return
    loop, again = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, again.set)
    following = asyncio.create_task(follow_tokens(path, running.use_tokens, again, mark))
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        following.cancel()
        await asyncio.wait((following,))


def _freeze() -> None:
    """Let the garbage collector never look again at what lives as long as the process."""
    gc.collect()
    gc.freeze()


async def _metrics(running: RunningServer, listen: str | None) -> MetricsServer | None:
    """Answer scrapes, if somebody wants them; where that cannot be, nothing is served."""
    from backscroll_sidecar.server import serve_metrics

    if listen is None:
        return None
    try:
        return serve_metrics(running, listen)
    except BackscrollError:
        await running.stop(0)
        raise


def _refuse_to_listen(settings: Settings) -> None:
    """Look at addresses and tokens before kernels are compiled and a database is made for nothing.

    That a port is taken is said before gRPC does, which also logs it in words of its own.
    """
    from backscroll_sidecar.edge.bind_policy import Reach, check_exposure
    from backscroll_sidecar.edge.http.extra import check_installed
    from backscroll_sidecar.edge.keys_file import read_tokens
    from backscroll_sidecar.edge.tenants import TokenTenants

    if settings.tokens_file:
        TokenTenants(read_tokens(settings.tokens_file))
    exposure = partial(
        check_exposure,
        has_tls=settings.tls_cert is not None,
        has_tokens=settings.tokens_file is not None,
    )
    addresses = exposure(settings.listen)
    if settings.http_listen:
        check_installed()
        addresses += exposure(settings.http_listen, setting="http_listen")
    for address in addresses:
        if address.reach is Reach.LOOPBACK and address.is_taken():
            if asyncio.run(handover.is_arriving(settings)):
                return  # of the server that has the history until then
            raise CommandError(f"{address.target} is taken by another program", TAKEN, exit_code=2)


async def _before(starting: asyncio.Task[Any], stopping: asyncio.Event) -> bool:
    """Whether the start ends before somebody wants it to; else it is broken off."""
    waiting = asyncio.create_task(stopping.wait())
    await asyncio.wait((starting, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if starting.done():
        return True
    starting.cancel()
    await asyncio.wait((starting,))
    return False


def _signals() -> asyncio.Event:
    """An event that the first SIGTERM or SIGINT sets; the second one ends the process at once."""
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        stopping.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    return stopping


def _announce(
    running: RunningServer, metrics: MetricsServer | None, started_s: float, as_json: bool
) -> None:
    if as_json:
        ready = {
            "event": "serving",
            "listen": running.addresses,
            **({"http": running.http_addresses} if running.http_addresses else {}),
            **({"metrics": metrics.address} if metrics else {}),
            "pid": os.getpid(),
            "start_seconds": round(started_s, 3),
        }
        print_json(ready, indent=None)
    else:
        out().print(
            f"Backscroll serves on {', '.join(running.addresses)} (started in {started_s:.1f} s)",
            markup=False,
        )
        if running.http_addresses:
            out().print(f"HTTP: {', '.join(running.http_urls)}", markup=False)
        if metrics is not None:
            out().print(f"Metrics: http://{metrics.address}/metrics", markup=False)
        out().file.flush()
