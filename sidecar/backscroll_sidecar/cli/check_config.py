"""`backscroll check-config`: the settings as serve would use them, and what is wrong with them."""

import importlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from pydantic import SecretStr
from rich import box
from rich.markup import escape
from rich.table import Table

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.console import CommandError, err, os_words, out, print_json
from backscroll_sidecar.config.settings import Settings, prepare_process
from backscroll_sidecar.config.sources import (
    HARMLESS,
    STAGES,
    ConfigFileError,
    Loaded,
    Problem,
    load,
)

KERNELS_ADVICE = "make ~/.cache or the state directory writable, or set NUMBA_CACHE_DIR"
EPILOG = "Example: backscroll check-config --config /etc/backscroll.toml"


def check_config(config: options.Config = None, as_json: options.Json = False) -> None:
    """Check the settings that serve would use here, and print each with where it comes from.

    Exit code 1 if a name is unknown or a value wrong; serve would start with the default and a warning.
    """
    loaded = loaded_or_refuse(config=config)
    loaded = replace(loaded, problems=(*loaded.problems, *_at_start(loaded.settings)))
    wrong = [problem for problem in loaded.problems if problem.kind not in HARMLESS]
    if as_json:
        print_json(
            {
                "ok": not wrong,
                "problems": [_as_dict(problem) for problem in loaded.problems],
                "settings": {
                    name: {"value": _plain(value), "origin": origin}
                    for name, value, origin in effective(loaded)
                },
            }
        )
    else:
        _print(loaded)
    if wrong:
        raise typer.Exit(1)


def loaded_or_refuse(
    flags: Mapping[str, object] | None = None, *, config: Path | None = None
) -> Loaded:
    """The settings, or the error that the file of settings deserves."""
    try:
        return load(flags, config=config)
    except ConfigFileError as error:
        raise CommandError(
            str(error), "correct the file, or name another with --config", exit_code=2
        ) from None


def prepared_with_kernels() -> Settings:
    """The settings, once the process has its kernels, for commands that compute without a server.

    They are where serve keeps them; what is compiled first is told.
    """
    settings = loaded_or_refuse().settings
    try:
        kernels = prepare_process(settings)
    except OSError as error:
        raise CommandError(
            f"compiled kernels can be kept nowhere: {os_words(error)}", KERNELS_ADVICE
        ) from None
    from backscroll_sidecar.cli import compiling

    with compiling.said(kernels.directory):
        importlib.import_module("backscroll_scoring")
    return settings


def effective(loaded: Loaded) -> Iterator[tuple[str, Any, str]]:
    """Each setting with its value and its origin, those of `memory` last."""
    settings = loaded.settings
    for name in Settings.model_fields:
        if name != "memory":
            value = settings.database_name if name == "database" else getattr(settings, name)
            yield name, value, loaded.origins[name]
    for name in type(settings.memory).model_fields:
        yield f"memory.{name}", getattr(settings.memory, name), loaded.origins[f"memory.{name}"]


def _at_start(settings: Settings) -> Iterator[Problem]:
    """Problems that serve finds only when it starts: addresses, tokens, models, own parts."""
    from backscroll_sidecar.edge.bind_policy import check_exposure
    from backscroll_sidecar.edge.keys_file import findings, read_tokens
    from backscroll_sidecar.edge.tenants import TokenTenants
    from backscroll_sidecar.errors import StartRefused

    try:
        tokens = read_tokens(settings.tokens_file) if settings.tokens_file else None
        if tokens is not None:
            TokenTenants(tokens)
            assert settings.tokens_file is not None
            for one in findings(settings.tokens_file, int(time.time() * 1_000)):
                if one.status != "ok":
                    yield Problem("needs care", "tokens_file", "start", one.detail)
        check_exposure(
            settings.listen, has_tls=settings.tls_cert is not None, has_tokens=tokens is not None
        )
    except StartRefused as error:
        yield Problem("wrong value", error.setting, "start", str(error), fatal=True)
    if settings.model_base_url is not None or settings.model_api_key is not None:
        prepare_process(settings)
        from backscroll_sidecar.configured_models import model_problem

        if said := model_problem(settings):
            names = "model_base_url, model_api_key, model_headers, model_query"
            yield Problem("wrong value", names, "start", said)
    if settings.embedder in {"openai", "pair"}:
        prepare_process(settings)
        from backscroll_sidecar.configured_models import embedder_problem

        if said := embedder_problem(settings):
            is_pair = settings.embedder == "pair"
            names = "embedder" if is_pair else "embedder_base_url, embedder_api_key"
            yield Problem("wrong value", names, "start", said, fatal=is_pair)
    yield from _own_parts(settings)


def _own_parts(settings: Settings) -> Iterator[Problem]:
    """Problems of what the operator brought along."""
    from backscroll_sidecar.errors import StartRefused

    if settings.strategies:
        prepare_process(settings)
        from backscroll_sidecar.own_parts import own_strategies

        broken: list[Problem] = []
        own_strategies(
            settings,
            lambda path, error: broken.append(
                Problem("wrong value", "strategies", path, repr(error))
            ),
        )
        yield from broken
    if settings.preference_topics is not None:
        prepare_process(settings)
        from backscroll_sidecar.own_parts import own_topics

        try:
            own_topics(settings)
        except StartRefused as error:
            yield Problem("wrong value", error.setting, "start", str(error), fatal=True)
    if any(":" in (getattr(settings, name) or "") for name in STAGES):
        prepare_process(settings)
        from backscroll_sidecar.own_parts import own_stages

        try:
            own_stages(settings)
        except StartRefused as error:
            yield Problem("wrong value", error.setting, "start", str(error), fatal=True)


def _print(loaded: Loaded) -> None:
    table = Table("setting", "value", "from", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, value, origin in effective(loaded):
        shown = _plain(value)
        words = (
            "unset"
            if shown is None
            else ", ".join(shown)
            if isinstance(shown, list)
            else str(shown)
        )
        table.add_row(
            name, escape(words), escape(origin), style="dim" if origin == "default" else ""
        )
    out().print(table)
    for problem in loaded.problems:
        colour = "yellow" if problem.kind in HARMLESS else "red"
        err().print(f"[{colour}]{problem.kind}:[/] {escape(str(problem))}")
    if not loaded.problems:
        err().print("[green]nothing wrong[/]")


def _as_dict(problem: Problem) -> dict[str, object]:
    return {
        "kind": problem.kind,
        "name": problem.name,
        "origin": problem.origin,
        "message": problem.message,
        "refuses_to_start": problem.fatal,
    }


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A value as JSON has it."""
    if isinstance(value, Path | SecretStr):
        return str(value)  # a secret as asterisks
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return value.model_dump() if hasattr(value, "model_dump") else value
