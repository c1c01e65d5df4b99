"""Where settings come from: flag over environment over ``.env`` over file over default.

Serving forgives: a wrong value falls back to its default with a warning. What guards the door does not fall
back, because its default is an open door: a wrong TLS or token setting refuses; so does a stage of one's own.
`check-config` forgives nothing.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource

from backscroll_sidecar.config.settings import CLASSIC_ONLY, UNPREFIXED, MemorySettings, Settings

CONFIG_NAME = "backscroll.toml"
ENV_NAME = ".env"
COMMAND_LINE_NAMES = (
    "BACKSCROLL_CONFIG",
    "BACKSCROLL_MCP_TOKEN",
    "BACKSCROLL_SERVER",
    "BACKSCROLL_TOKEN",
)
"""Read by the commands themselves; no settings of a server."""
GUARDS = frozenset({"listen", "tls_cert", "tls_key", "tls_client_ca", "tokens_file"})
STAGES = frozenset({"naive_provider", "naive_compressor", "naive_assembler"})
IRREPLACEABLE = STAGES | {"database"}
"""Who names a database wants no other history in its place, who names a stage no other pipeline."""
SECRETS = frozenset(
    {"database", "model_base_url", "model_api_key", "model_headers", "model_query"}
).union({"embedder_base_url", "embedder_api_key"})
"""Not repeated where they are wrong: keys, and what may hold one."""
WANTED = {
    **dict.fromkeys(("tuple_type", "list_type"), 'a list is wanted: ["…"]'),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type"), "a table is wanted"
    ),
    **dict.fromkeys(("string_type", "path_type"), 'a text is wanted: "…"'),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number is wanted"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number is wanted"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false is wanted"),
    "extra_forbidden": "there is no such key",
}
"""For pydantic's kinds of errors, what to write; the rest say it in its words."""
FLAGS = {"default_profile": "--profile", "default_model": "--model"}
COMMAND_LINE, DEFAULT = "command line", "default"
ALIKE, ALIKE_UNPREFIXED = 0.8, 0.9
"""How alike a name must be to a known one to count as misspelt: MEMORY_ and bare names may be another program's."""

Kind = Literal["wrong value", "unknown name", "no effect", "needs care"]
HARMLESS: frozenset[Kind] = frozenset({"no effect", "needs care"})
"""Kinds with which a server does what its settings say."""
Section = TypeVar("Section", bound=BaseSettings)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about one setting that its owner should know. A `fatal` one refuses to start."""

    kind: Kind
    name: str
    origin: str
    message: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.origin}): {self.message}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, what is wrong with them, and by field where each value came from."""

    settings: Settings
    problems: tuple[Problem, ...]
    origins: Mapping[str, str]

    @property
    def refusals(self) -> tuple[Problem, ...]:
        """The problems with which a server must not start."""
        return tuple(problem for problem in self.problems if problem.fatal)


@dataclass(frozen=True, slots=True)
class _Given:
    value: Any
    name: str
    origin: str


class ConfigFileError(Exception):
    """The file of settings cannot be read; the text says why."""


def load(
    flags: Mapping[str, object] | None = None,
    *,
    config: Path | None = None,
    directory: Path | None = None,
) -> Loaded:
    """Collect the settings of a server. `flags` hold fields of `Settings` that the command line gave."""
    directory = directory or Path.cwd()
    flags = {name: value for name, value in (flags or {}).items() if value is not None}
    dotenv = _checked_dotenv(directory)
    file, file_name = _read_file(config, directory)
    problems = [*_unknown_names(dotenv), *_unknown_keys(file, file_name)]
    origins: dict[str, str] = {}

    memory_table = file.get("memory")
    memory_table = memory_table if isinstance(memory_table, Mapping) else {}
    given = _given(MemorySettings, {}, memory_table, file_name, dotenv)
    memory = _validated(MemorySettings, given, problems, origins, "memory.")
    given = _given(Settings, flags, file, file_name, dotenv)
    settings = _validated(Settings, given, problems, origins, "", memory=memory)

    problems += _incomplete(settings)
    problems += _idle(settings, origins)
    return Loaded(settings, tuple(problems), origins)


def dotenv_value(name: str, directory: Path | None = None) -> str:
    """A variable that the commands read themselves, from the file ``.env``; empty where there is none."""
    dotenv = _checked_dotenv(directory or Path.cwd())
    local = DotEnvSettingsSource(Settings, env_file=dotenv, env_ignore_empty=True)
    return local.env_vars.get(name.lower()) or ""


def environment_name(section: type[BaseSettings], field: str) -> str:
    """The variable that sets a field."""
    prefix = "" if field in UNPREFIXED else section.model_config.get("env_prefix", "")
    return f"{prefix}{field}".upper()


def known_names() -> frozenset[str]:
    """Every variable that means something to us."""
    return frozenset(
        environment_name(section, field)
        for section in (Settings, MemorySettings)
        for field in section.model_fields
        if field != "memory"
    ).union(COMMAND_LINE_NAMES)


def _read_file(config: Path | None, directory: Path) -> tuple[dict[str, Any], str]:
    name = os.environ.get("BACKSCROLL_CONFIG") or dotenv_value("BACKSCROLL_CONFIG", directory)
    named = config or (Path(name) if name else None)
    path = (named or directory / CONFIG_NAME).expanduser()
    if named is None and not path.is_file():
        return {}, CONFIG_NAME
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigFileError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigFileError(f"{path} cannot be read: {error}") from error
    return table, path.name


def _checked_dotenv(directory: Path) -> Path:
    """The file of variables; pydantic passes over a missing one, and would fail on one that is no text."""
    path = directory / ENV_NAME
    try:
        if path.is_file():
            path.read_text("utf-8")
    except OSError as error:
        raise ConfigFileError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigFileError(f"{path} cannot be read: {error}") from error
    return path


def _given(
    section: type[BaseSettings],
    flags: Mapping[str, object],
    file: Mapping[str, Any],
    file_name: str,
    dotenv: Path,
) -> dict[str, _Given]:
    """Each field's value from the strongest source that has one. An empty variable counts as unset."""
    environment = EnvSettingsSource(section, env_ignore_empty=True)
    local = DotEnvSettingsSource(section, env_file=dotenv, env_ignore_empty=True)
    found: dict[str, _Given] = {}
    for field in section.model_fields.keys() - {"memory"}:
        variable = environment_name(section, field)
        if field in flags:
            flag = FLAGS.get(field) or "--" + field.replace("_", "-")
            found[field] = _Given(flags[field], flag, COMMAND_LINE)
        elif (value := environment.env_vars.get(variable.lower())) is not None:
            found[field] = _Given(value, variable, "environment")
        elif (value := local.env_vars.get(variable.lower())) is not None:
            found[field] = _Given(value, variable, ENV_NAME)
        elif field in file:
            found[field] = _Given(file[field], field, file_name)
    return found


def _validated(
    section: type[Section],
    given: Mapping[str, _Given],
    problems: list[Problem],
    origins: dict[str, str],
    prefix: str,
    **ready: object,
) -> Section:
    """Check the values; a wrong one is noted and left to its default."""
    wrong: dict[str, str] = {}
    try:
        result = section.model_validate({**_values(given), **ready})
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            wrong.setdefault(str(detail["loc"][0]).lower(), _sentence(detail))
        kept = {field: one for field, one in given.items() if field not in wrong}
        result = section.model_validate({**_values(kept), **ready})
    for field, message in wrong.items():
        one = given[field]
        fatal = field in GUARDS | IRREPLACEABLE or one.origin == COMMAND_LINE
        words = ", ".join(map(str, one.value)) if isinstance(one.value, tuple) else str(one.value)
        shown = f"the value is wrong: {message}"
        if field not in SECRETS:
            shown = f"{words[:60]!r} is wrong: {message}"
        rest = "" if fatal else f"; using the default, {_shown(getattr(result, field))}"
        problems.append(Problem("wrong value", one.name, one.origin, shown + rest, fatal))
    for field in section.model_fields.keys() - ready.keys():
        taken = field in given and field not in wrong
        origins[prefix + field] = (
            f"{given[field].origin}: {given[field].name}" if taken else DEFAULT
        )
    return result


def _values(given: Mapping[str, _Given]) -> dict[str, Any]:
    return {field: one.value for field, one in given.items()}


def _shown(value: object) -> str:
    """A value as it is written in a file of settings, a text in quotes."""
    return repr(str(value) if isinstance(value, StrEnum) else value)


def _sentence(detail: ErrorDetails) -> str:
    """What is wanted, in the words of the file of settings, and where inside a list or table."""
    text = WANTED.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    inside = ".".join(str(one) for one in detail["loc"][1:] if isinstance(one, str))
    return (f"{inside}: " if inside else "") + text[:1].lower() + text[1:]


def _unknown_names(dotenv: Path) -> Iterator[Problem]:
    """Variables that look like ours and are not; pydantic would pass over them in silence."""
    known = known_names()
    local = DotEnvSettingsSource(Settings, env_file=dotenv).env_vars
    for origin, names in ((ENV_NAME, local), ("environment", os.environ)):
        for upper in sorted(map(str.upper, names)):
            if upper in known:
                continue
            prefixed = upper.startswith(("BACKSCROLL_", "MEMORY_"))
            near = difflib.get_close_matches(
                upper, known, n=1, cutoff=ALIKE if prefixed else ALIKE_UNPREFIXED
            )
            if near:
                yield Problem(
                    "unknown name", upper, origin, f"no such setting; did you mean {near[0]}?"
                )
            elif upper.startswith("BACKSCROLL_"):
                yield Problem("unknown name", upper, origin, "no such setting")


def _unknown_keys(file: Mapping[str, Any], file_name: str) -> Iterator[Problem]:
    memory = file.get("memory", {})
    tables = [("", file, Settings.model_fields)]
    if isinstance(memory, Mapping):
        tables.append(("memory.", memory, MemorySettings.model_fields))
    else:
        yield Problem("wrong value", "memory", file_name, "memory is a table: [memory]")
    for prefix, table, fields in tables:
        for key in table:
            if key not in fields:
                near = difflib.get_close_matches(key, fields, n=1)
                hint = f"; did you mean {prefix}{near[0]}?" if near else ""
                yield Problem("unknown name", prefix + key, file_name, "no such setting" + hint)


def _incomplete(settings: Settings) -> Iterator[Problem]:
    """Settings that only make sense together, and files that must be there."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        missing = "tls_key" if settings.tls_key is None else "tls_cert"
        yield Problem(
            "wrong value", missing, "unset", "tls_cert and tls_key go together", fatal=True
        )
    if settings.tls_client_ca is not None and settings.tls_cert is None:
        yield Problem(
            "wrong value", "tls_client_ca", "set", "needs tls_cert and tls_key", fatal=True
        )
    for name in ("tls_cert", "tls_key", "tls_client_ca", "tokens_file"):
        path = getattr(settings, name)
        if path is not None and not os.access(path, os.R_OK):
            yield Problem("wrong value", name, str(path), "this file cannot be read", fatal=True)


def _idle(settings: Settings, origins: Mapping[str, str]) -> Iterator[Problem]:
    """Settings of `classic` alone where requests go to another profile."""
    used = {settings.default_profile, *settings.channel_profiles.values()}
    used.update(bot.profile for bot in settings.bots.values())
    names = [
        environment_name(MemorySettings, field)
        for field in CLASSIC_ONLY
        if origins[f"memory.{field}"] != DEFAULT
    ]
    if names and "classic" not in used:
        message = (
            f"these define the profile 'classic' only, and the default profile is {settings.default_profile!r}; "
            "set default_profile to 'classic' to use them"
        )
        yield Problem("no effect", ", ".join(names), "set", message)
