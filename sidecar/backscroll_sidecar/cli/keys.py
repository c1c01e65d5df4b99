"""`backscroll keys`: makes API keys in the tokens file, shows, checks and revokes them. No server is asked."""

import fcntl
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.check_config import loaded_or_refuse
from backscroll_sidecar.cli.console import CommandError, err, os_words, out, print_json, usage
from backscroll_sidecar.domain import DEFAULT_TENANT
from backscroll_sidecar.edge.keys import Key, Right, keys_of, rights_of
from backscroll_sidecar.edge.keys_file import findings, read_tokens, write_keys
from backscroll_sidecar.errors import StartRefused

HELP = "API keys: whose they are, what they permit, in which channels, until when."
MARK = "bsk_"
"""Keys begin with it, so that scanners for secrets know one."""
KEY_BYTES = 32
STDIN = "-"
_SPAN = re.compile(r"(\d+)([hdw])")
_SPANS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
File = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The tokens file. Default: that of the settings here.", dir_okay=False
    ),
]


def create(
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Whose the key is: it sees nothing of others.")
    ] = DEFAULT_TENANT,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="What list, revoke and the log call it.")
    ] = "",
    channel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="A channel, or a beginning of names with * behind it. Several times for several. None: all.",
        ),
    ] = None,
    right: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RIGHT",
            help=f"One of {', '.join(Right)}. Several times for several. None: all.",
        ),
    ] = None,
    expires: Annotated[
        str,
        typer.Option(
            metavar="WHEN", help="90d, 12h, 4w, or a time such as 2027-01-31. None: never."
        ),
    ] = "",
    file: File = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Make a key, write its digest into the tokens file, and print the key: this once.

    A running server takes it within some seconds. Keys that stood in the file in the clear become digests, too.
    """
    path = _file(file, config, is_new=True)
    now = datetime.now(UTC)
    patterns = tuple(channel or ())
    key = f"{MARK}{secrets.token_urlsafe(KEY_BYTES)}"
    digest = sha256(key.encode()).digest()
    if not tenant.strip() or "" in patterns:
        usage("a tenant and a channel need a name")
    try:
        rights = rights_of(right) if right else None
    except ValueError as error:
        usage(str(error))
    expires_at_ms = _moment_ms(expires, now) if expires else None
    with _changing(path) as keys:
        if name and any(one.name == name for one in keys.values()):
            usage(f"there is a key called {name}", "give another --name, or revoke that one first")
        keys[digest] = Key(
            tenant, digest.hex()[:12], name, rights, AllowedChannels.of(patterns) if patterns else None, patterns,
            expires_at_ms, int(now.timestamp() * 1_000),
        )  # fmt: skip
    made = keys[digest]
    if as_json:
        print_json({"key": key, **_as_dict(made)})
        return
    print(key)  # alone on standard output: it can be piped into a store of secrets
    err().print(f"{escape(_said(made))}. The key is shown this once.", soft_wrap=True)


def list_(file: File = None, config: options.Config = None, as_json: options.Json = False) -> None:
    """List the keys of the tokens file; none can be read back. With --json one object a line."""
    keys = _read(_file(file, config))
    if as_json:
        for one in keys.values():
            print_json(_as_dict(one), indent=None)
        return
    table = Table(
        "id", "name", "tenant", "channels", "rights", "expires", box=None, header_style="bold"
    )
    for one in keys.values():
        channels, rights = ", ".join(one.patterns) or "all", ", ".join(_rights(one)) or "all"
        table.add_row(*map(escape, (one.id, one.name, one.tenant, channels, rights, _expiry(one))))
    out().print(table)


def check(
    token: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Say what this key permits; -: read it from standard input."
        ),
    ] = None,
    file: File = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Check the tokens file, or one key against it: whether a server would take it, and what it permits.

    Exit code 1 if the file cannot be used, or the key is not known or has expired.
    """
    path = _file(file, config)
    keys = _read(path)
    if token is not None:
        given = sys.stdin.readline().strip() if token == STDIN else token
        _check_key(keys, given, as_json=as_json)
        return
    found = list(findings(path, int(time.time() * 1_000)))
    if as_json:
        told = [{"name": one.name, "status": one.status, "detail": one.detail} for one in found]
        print_json({"ok": True, "file": str(path), "keys": len(keys), "findings": told})
        return
    for one in found:
        colour = "green" if one.status == "ok" else "yellow"
        out().print(f"[{colour}]{one.status:4}[/]  {escape(one.detail)}", soft_wrap=True)
        if one.advice:
            out().print(f"      → {escape(one.advice)}", soft_wrap=True)


def revoke(
    key: Annotated[str, typer.Argument(metavar="NAME_OR_ID", help="As list shows it.")],
    file: File = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> None:
    """Take a key out of the tokens file. A running server refuses it within some seconds; calls that run go on."""
    with _changing(_file(file, config)) as keys:
        found = [digest for digest, one in keys.items() if key in (one.name, one.id)]
        if not found:
            raise CommandError(
                f"there is no key {key}", "backscroll keys list shows those there are"
            )
        if len(found) > 1:
            usage(f"several keys are called {key}", "give the id that list shows")
        gone = keys.pop(found[0])
    if as_json:
        print_json(_as_dict(gone))
        return
    out().print(f"revoked: {escape(_said(gone))}", soft_wrap=True)
    if not keys:
        err().print(
            "no key is left: the server takes no call, and does not start again without one"
        )


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "create": (
        create,
        "Example: backscroll keys create --name reader --channel 'guild-1/*' --right read --expires 90d",
    ),
    "list": (list_, "Example: backscroll keys list --file tokens.toml"),
    "check": (check, "Example: backscroll keys check --token - < key.txt"),
    "revoke": (revoke, "Example: backscroll keys revoke reader"),
}


def _check_key(keys: dict[bytes, Key], token: str, *, as_json: bool) -> None:
    found = keys.get(sha256(token.encode(errors="replace")).digest())
    if found is None:
        raise CommandError("the key is not known", "backscroll keys list shows those there are")
    has_expired = found.has_expired(int(time.time() * 1_000))
    if as_json:
        print_json({"ok": not has_expired, **_as_dict(found)})
    else:
        out().print(escape(_said(found)), soft_wrap=True)
    if has_expired:
        raise typer.Exit(1)


def _file(given: Path | None, config: Path | None, *, is_new: bool = False) -> Path:
    path = given or loaded_or_refuse(config=config).settings.tokens_file
    if path is None:
        usage("no tokens file is set", "give --file, or set BACKSCROLL_TOKENS_FILE")
    if not is_new and not path.exists():
        raise CommandError(f"there is no file {path}", "backscroll keys create makes it")
    return path


def _read(path: Path) -> dict[bytes, Key]:
    try:
        return keys_of(read_tokens(path))
    except StartRefused as error:
        raise CommandError(str(error), f"correct {path}") from None


@contextmanager
def _changing(path: Path) -> Iterator[dict[bytes, Key]]:
    """The keys of a file, which is written with what the block makes of them. One process at a time does."""
    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise CommandError(os_words(error)) from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        keys = _read(path) if path.exists() else {}
        yield keys
        write_keys(path, keys)
    except OSError as error:
        raise CommandError(os_words(error)) from None
    finally:
        os.close(held)


def _moment_ms(text: str, now: datetime) -> int:
    """A span from now, or a time, in milliseconds."""
    span = _SPAN.fullmatch(text)
    try:
        if span:
            at = now + int(span[1]) * _SPANS[span[2]]
        else:
            at = datetime.fromisoformat(text)
            at = at if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        usage(f"{text} is no time", "give 90d, 12h, 4w, or a time such as 2027-01-31")
    if at <= now:
        usage(f"{text} is over already")
    return int(at.timestamp()) * 1_000


def _rights(key: Key) -> list[str]:
    """In the order in which people think of them."""
    return [one.value for one in Right if key.rights is not None and one in key.rights]


def _as_dict(key: Key) -> dict[str, Any]:
    """A key for programs; null: no such limit."""
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "channels": list(key.patterns) if key.channels is not None else None,
        "rights": _rights(key) if key.rights is not None else None,
        "expires_at_ms": key.expires_at_ms,
        "created_at_ms": key.created_at_ms,
    }


def _expiry(key: Key) -> str:
    if key.expires_at_ms is None:
        return "never"
    word = "expired " if key.has_expired(int(time.time() * 1_000)) else ""
    return f"{word}{datetime.fromtimestamp(key.expires_at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC"


def _said(key: Key) -> str:
    """A key in one line."""
    named = f"{key.name} ({key.id})" if key.name else key.id
    what = ", ".join(_rights(key)) or "everything"
    where = ", ".join(key.patterns) if key.channels is not None else "all channels"
    return f"key {named} of {key.tenant}: {what} in {where}, expires: {_expiry(key)}"
