"""How single settings are read and checked: what a variable's text becomes, and what it must be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from backscroll_sidecar.concurrency.threads import CORES
from backscroll_sidecar.ports import reserved_fields
from backscroll_sidecar.time_zones import zone_named

MAX_PORT = 65_535
PROFILE_NAMES = (
    "balanced", "classic", "chain_recent", "retrieval", "naive", "memory", "hybrid", "hybrid_linear", "steady", "room",
)  # fmt: skip

Durability = Literal["full", "normal"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["console", "json"]

SOURCE_NAMES = (
    "recent", "window", "thread", "chain", "graph", "semantic", "lexical", "recall", "asker", "mention", "pinned",
)  # fmt: skip
"""Sources of messages that are built in."""


def parts(value: object) -> object:
    """Environment variables hold lists separated by commas."""
    return (
        [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, str)
        else value
    )


def table(value: object) -> object:
    """Environment variables hold tables as JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError:
        raise ValueError('a table is wanted, as JSON: {"name": "value"}') from None


def address(value: str) -> str:
    """Accept ``host:port``, ``[v6]:port`` and ``unix:path``."""
    if value.startswith("unix:"):
        if not value.removeprefix("unix:"):
            raise ValueError("name the socket after 'unix:'")
        return value
    host, colon, port = value.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit()):
        raise ValueError("an address is host:port, [v6 address]:port or unix:path")
    if int(port) > MAX_PORT:
        raise ValueError(f"the port is over {MAX_PORT:,}")
    return value


def core(value: int) -> int:
    """Accept the number of a core this process may use."""
    if not CORES:
        raise ValueError("this system does not let threads choose their core")
    if value not in CORES:
        raise ValueError(f"this process may use {', '.join(map(str, sorted(CORES)))}")
    return value


def profile_name(value: str) -> str:
    """Accept the name of a profile."""
    if value not in PROFILE_NAMES:
        raise ValueError(f"no such profile; there are {', '.join(PROFILE_NAMES)}")
    return value


def time_zone(value: str) -> str:
    """Accept the name of a time zone."""
    if zone_named(value) is None:
        raise ValueError("no such time zone; for example Asia/Shanghai, Europe/Berlin or UTC")
    return value


def strategy(value: str) -> str:
    """Accept ``module:Class``; whether it can be imported is seen at start."""
    if not _is_dotted(value):
        raise ValueError("a strategy is named module:Class")
    return value


def stage(value: str) -> str:
    """Accept ``module:Class``, as `strategy` does."""
    if not _is_dotted(value):
        raise ValueError("a class of your own is named module:Class")
    return value


def source_name(value: str) -> str:
    """Accept a built-in source of messages, or ``module:Class``."""
    if value not in SOURCE_NAMES and not _is_dotted(value):
        raise ValueError(f"it is one of {', '.join(SOURCE_NAMES)}, or module:Class")
    return value


def _is_dotted(value: str) -> bool:
    module, colon, name = value.partition(":")
    return bool(colon) and name.isidentifier() and all(map(str.isidentifier, module.split(".")))


def home(value: Path) -> Path:
    """Let ``~`` be the user's home."""
    try:
        return value.expanduser()
    except RuntimeError:
        raise ValueError("there is no such user's home") from None


_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")
"""One of those that an URL names, maybe with its port."""
_PLACE = re.compile(r"\w+://([^/?]*)(.*)", re.DOTALL)
"""Who and where, and the rest of an URL."""


class PostgresUrl(SecretStr):
    """The address of a PostgreSQL database, which may hold a password: shown without it."""

    def _display(self) -> str:
        # Up to the last @: whoever did not encode a password shall not read it in a log either.
        shown = re.sub(r"(?<=://)([^:/@?]*):.*@", r"\1@", self.get_secret_value())
        return re.sub(r"([?&]\w*password=)[^&]*", r"\1***", shown)


def database(value: object) -> object:
    """Accept a file, and the URL of a store: of SQLite's its path."""
    if not isinstance(value, str):
        return value
    if value == "memory:":
        return Path(":memory:")
    if value.startswith(("postgresql://", "postgres://")):
        return _postgres_url(value)
    if "://" in value and not value.startswith("sqlite:///"):
        kind = value.partition(":")[0]
        raise ValueError(
            f"{kind}:// is no kind of database here: sqlite:///path and postgresql:// are"
        )
    return Path(value.removeprefix("sqlite:///"))


def _postgres_url(value: str) -> PostgresUrl:
    """Refuse what the driver would take apart otherwise than it is meant, without saying any of it."""
    place, rest = _PLACE.fullmatch(value).groups()  # type: ignore[union-attr]
    user, _, hosts = place.rpartition("@")
    is_meant = "@" not in user + rest and user.count(":") < 2 and not set(user) & set("[]")
    is_meant = is_meant and "#" not in value
    if not is_meant or not all(map(_HOST.fullmatch, hosts.split(","))):
        raise ValueError(
            "this is no URL of PostgreSQL: in a name or password write / as %2F, : as %3A, @ as %40, # as %23, [ as %5B"
        )
    return PostgresUrl(value)


def number_or_none(value: object) -> object:
    """Say what is wrong once, not once for each thing it could have been."""
    if value == "none":
        return value
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number <= 2.0 or isinstance(value, bool):
        raise ValueError("it is a number from 0 to 2, or none")
    return number


def body_fields(value: Mapping[str, object]) -> Mapping[str, object]:
    """Accept fields that can be added to a request's body."""
    if found := reserved_fields(value):
        raise ValueError(f"{found[0]} is set by the server alone")
    try:
        orjson.dumps(value)
    except TypeError:
        raise ValueError("it can hold nothing but what JSON can") from None
    return value


UserPath = Annotated[Path, AfterValidator(home)]
Database = Annotated[UserPath | PostgresUrl, BeforeValidator(database)]
Core = Annotated[int, AfterValidator(core)]
Address = Annotated[str, AfterValidator(address)]
ProfileName = Annotated[str, AfterValidator(profile_name)]
TimeZone = Annotated[str, AfterValidator(time_zone)]
StrategyName = Annotated[str, AfterValidator(strategy)]
StageName = Annotated[str, AfterValidator(stage)]
SourceName = Annotated[str, AfterValidator(source_name)]
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float | Literal["none"], BeforeValidator(number_or_none)]
Words = BeforeValidator(parts)
BodyFields = AfterValidator(body_fields)
Table = BeforeValidator(table)
