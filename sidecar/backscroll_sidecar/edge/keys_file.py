"""The tokens file: read, written whole, and read again where it changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import structlog

from backscroll_sidecar.edge.keys import Key, Table
from backscroll_sidecar.edge.keys_text import findings_of, toml_of
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.ports import Finding

log = structlog.get_logger("backscroll.keys")
Mark = tuple[int, ...]
LOOK_S = 2.0
"""How often a running server looks whether the file is another one."""
OWNER_ONLY = 0o600


def read_tokens(path: Path) -> Table:
    """Read a tokens file: a TOML table ``[tokens]``, by key (or by ``sha256:`` and its digest) a tenant, or a table of
    what the key permits.

    Raises
    ------
    StartRefused
        The file cannot be read or is no such table.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tokens")
    except (OSError, ValueError) as error:
        raise StartRefused("tokens_file", f"cannot be read: {error}") from None
    if not isinstance(table, dict) or not all(
        isinstance(one, str | Mapping) for one in table.values()
    ):
        raise StartRefused("tokens_file", 'is no table [tokens] with lines "TOKEN" = "TENANT"')
    return table


def findings(path: Path, now_ms: int) -> Iterator[Finding]:
    """What whoever runs the server should know of its keys. Raises `StartRefused`."""
    tokens = read_tokens(path)
    yield from findings_of(tokens, path, now_ms, is_private=not path.stat().st_mode & 0o077)


def write_keys(path: Path, keys: Mapping[bytes, Key]) -> None:
    """Put these keys, as digests, into the place of the file's; comments at its beginning stay.

    Whoever reads meanwhile sees the old file or the new one. Nobody but the owner may read it. Raises `OSError`.
    """
    head = _comments(path)
    body = "".join(toml_of(digest, key) for digest, key in keys.items())
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, OWNER_ONLY)
            file.write(f"{head}[tokens]\n{body}")
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


async def follow_tokens(
    path: Path, use: Callable[[Table], None], again: asyncio.Event, known: Mark
) -> None:
    """Hand over the tokens whenever the file is another one, or when `again` is set. Runs until it is cancelled.

    A file that cannot be used changes nothing: it is logged, and the keys before it stay. `known` is its
    mark from before it was read: what changed while the server started is taken, too.
    """
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(again.wait(), LOOK_S)
        mark = await asyncio.to_thread(mark_of, path)
        if mark == known and not again.is_set():
            continue
        again.clear()
        known = mark
        try:
            use(await asyncio.to_thread(read_tokens, path))
        except StartRefused as error:
            log.error("keys.not_reloaded", error=str(error))
        else:
            log.info("keys.reloaded")


def mark_of(path: Path) -> Mark:
    """What tells a file from the one before it."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _comments(path: Path) -> str:
    """What stands before the first line that is neither blank nor a comment."""
    lines: list[str] = []
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        lines.append(line)
    return "".join(lines)
