"""The operator's own parts: classes named module:Class, and topics of preferences in a file."""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backscroll_sidecar.config.types import SOURCE_NAMES
from backscroll_sidecar.context.compress import Compressor, Limits
from backscroll_sidecar.context.layouts import NO_LINES, Assembler, Parts
from backscroll_sidecar.context.own_stages import CheckedAssembler, CheckedCompressor
from backscroll_sidecar.domain import Layout
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.learning.resolver import ArmResolver
from backscroll_sidecar.preferences.own_topics import topics_of
from backscroll_sidecar.preferences.topics import Topic
from backscroll_sidecar.sessions.modes.base import Mode
from backscroll_sidecar.strategies import Strategy

if TYPE_CHECKING:
    from backscroll_sidecar.config.settings import Settings

log = logging.getLogger(__name__)
_MODE_NAME = re.compile(r"[a-z0-9_]{1,64}")

PAGE = "docs/guide/own-stages.md shows how one is written"
RESOLVER_PAGE = "docs/guide/experiments.md shows how one is written"


@dataclass(frozen=True, slots=True)
class OwnStages:
    """The stages of `naive` that are the operator's own; None: built in."""

    provider: Strategy | None = None
    compressor: Compressor | None = None
    assembler: Assembler | None = None


def made(path: str) -> Any:  # noqa: ANN401 - anybody's class
    """An object of the class named ``module:Class``, made without arguments. Raises whatever goes wrong."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)()


def own_strategies(
    settings: Settings, report: Callable[[str, Exception], None] | None = None
) -> Mapping[str, Strategy]:
    """The operator's strategies by name. One that cannot be made is reported and left out."""
    found: dict[str, Strategy] = {}
    for path in settings.strategies:
        try:
            strategy = made(path)
            if not isinstance(strategy, Strategy):
                raise TypeError("it has no name or no gather")
            found[strategy.name] = strategy
        except Exception as error:  # noqa: BLE001 - an own module costs only itself
            if report is not None:
                report(path, error)
            else:
                log.warning("the strategy %s cannot be used: %r", path, error)
    return found


def own_modes(settings: Settings) -> tuple[Mode, ...]:
    """The operator's modes. Raises `StartRefused` for one that cannot be used: its sessions could not go on."""
    found: list[Mode] = []
    for path in settings.modes:
        try:
            mode = made(path)
            if not isinstance(mode, Mode):
                raise TypeError("it lacks a method or an attribute of sessions.modes.base.Mode")
            if not _MODE_NAME.fullmatch(mode.name):
                raise TypeError(
                    f"its name {mode.name!r} is not of lower-case letters, digits and _"
                )
        except Exception as error:
            raise StartRefused("modes", f"is {path}, which cannot be used: {error!r}") from error
        found.append(mode)
    return tuple(found)


def own_resolver(settings: Settings) -> ArmResolver | None:
    """The operator's assignment of channels to arms. Raises `StartRefused` where it cannot be used."""
    path = settings.experiment_resolver
    return None if path is None else _own("experiment_resolver", path, _resolver, RESOLVER_PAGE)


def _resolver(resolver: Any) -> ArmResolver:  # noqa: ANN401
    _has_method(resolver, "arm", "tenant", "experiment_id", "channel", "arms")
    made_by_them: ArmResolver = resolver
    return made_by_them


def own_topics(settings: Settings) -> tuple[Topic, ...]:
    """The operator's topics of preferences. Raises `StartRefused` for a file that cannot be used."""
    path = settings.preference_topics
    if path is None:
        return ()
    try:
        return topics_of(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StartRefused("preference_topics", f"is {path}: {error.strerror}") from error
    except ValueError as error:  # no UTF-8, no TOML, or no topics
        raise StartRefused(
            "preference_topics", f"is {path}, which cannot be used: {error}"
        ) from error


def own_stages(settings: Settings) -> OwnStages:
    """The operator's stages, each tried with nothing to do. Raises `StartRefused` for one that cannot be used.

    Without one of them there would be another pipeline than the one that was asked for, so there is none.
    """
    return OwnStages(
        _stage("naive_provider", settings.naive_provider, _provider),
        _stage("naive_compressor", settings.naive_compressor, _compressor),
        _stage("naive_assembler", settings.naive_assembler, _assembler),
    )


def _stage(setting: str, path: str | None, check: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    return None if path is None or ":" not in path else _own(setting, path, check, PAGE)


def _own(setting: str, path: str, check: Callable[[Any], Any], page: str) -> Any:  # noqa: ANN401
    """An object of the operator's class, checked; `page` says how one is written."""
    module, _, name = path.partition(":")
    try:
        stage = made(path)
    except ModuleNotFoundError as error:
        advice = "put its directory on PYTHONPATH, or install it"
        raise StartRefused(
            setting, f"is {path}: Python finds no module {error.name!r}; {advice}"
        ) from error
    except Exception as error:
        if isinstance(error, AttributeError) and getattr(error, "name", "") == name:
            raise StartRefused(setting, f"is {path}: {module} has no {name}; {page}") from error
        raise StartRefused(
            setting, f"is {path}, which cannot be made without arguments: {error!r}"
        ) from error
    try:
        return check(stage)
    except Exception as error:
        said = str(error) if isinstance(error, TypeError) else repr(error)
        raise StartRefused(setting, f"is {path}, which cannot be used: {said}; {page}") from error


def _provider(stage: Any) -> Strategy:  # noqa: ANN401
    name = getattr(stage, "name", None)
    if not isinstance(name, str) or not name or not name.isprintable():
        raise TypeError("it has no name, a text that can be printed")
    if name in (*SOURCE_NAMES, "preferences", "sharing"):
        raise TypeError(f"{name!r} is the name of a source that is built in")
    _has_method(stage, "gather", "query")
    provider: Strategy = stage
    return provider


def _compressor(stage: Any) -> Compressor:  # noqa: ANN401
    _has_method(stage, "compress", "lines", "limits")
    checked = CheckedCompressor(stage)
    checked.compress(NO_LINES, Limits(12, 4_000, 1_000))
    return checked


def _assembler(stage: Any) -> Assembler:  # noqa: ANN401
    _has_method(stage, "assemble", "parts", "layout", include_system=False)
    checked = CheckedAssembler(stage)
    for layout in Layout:
        checked.assemble(Parts("?"), layout, include_system=False)
    return checked


def _has_method(stage: object, name: str, *given: str, **named: object) -> None:
    """Raises `TypeError` where it cannot be called like that."""
    wanted = ", ".join((*given, *(f"*, {one}" for one in named)))
    method = getattr(stage, name, None)
    if not callable(method):
        raise TypeError(f"it has no method {name}({wanted})")
    try:
        inspect.signature(method).bind(*given, **named)
    except TypeError:
        raise TypeError(f"its {name} cannot be called as {name}({wanted})") from None
