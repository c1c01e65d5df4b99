"""`backscroll export`: a channel as JSON Lines, which `backscroll import` reads again."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, cast

import typer
from google.protobuf import json_format

from backscroll import Client
from backscroll.v1 import message_pb2
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.channels import naming_near_channels
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, json_text, print_json, progress, usage

EPILOG = "Example: backscroll export my-group --output my-group.jsonl.gz"
TOLD_EVERY = 500


def export(
    channel: Annotated[str, typer.Argument(help="Channel to export.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            dir_okay=False,
            help="File to write; gzip if it ends in .gz. Unset: standard output.",
        ),
    ] = None,
    server: options.Server = options.DEFAULT_SERVER,
    token: options.Token = None,
    tls_ca: options.TlsCa = None,
    as_json: options.Json = False,
) -> None:
    """Write a channel as JSON Lines, one message a line in order of arrival, as `backscroll import` reads it.

    Everything a message holds is kept: ids, authors, times, replies, threads, sessions, mentions, media, tool calls,
    vectors that came with it. An edited message is written as it stands; recalled ones are left out and counted.
    With --json a summary follows: on standard output, or on standard error where the messages are there.
    """
    with connected(server, token, tls_ca) as client:
        with naming_near_channels(client, channel):
            total = client.get_channel(channel).message_count
        with progress("exporting", total, quiet=as_json or output is None) as told:
            try:
                with _written(output) as file:
                    written, recalled = _write(client, channel, file, told)
            except OSError as error:
                if output is None:
                    raise
                usage(f"{output} cannot be written: {error.strerror}")
    summary = {
        "channel": channel,
        "file": str(output) if output else "-",
        "written": written,
        "recalled_left_out": recalled,
    }
    if as_json and output is not None:
        print_json(summary)
    elif as_json:
        print(json_text(summary), file=sys.stderr, flush=True)
    else:
        left = f", {recalled} recalled left out" if recalled else ""
        err().print(f"{written} written{left}", markup=False)


def line(message: message_pb2.Message) -> bytes:
    """One message as a line. A message without content says so, which an import wants to know."""
    record = {"parts": [], **json_format.MessageToDict(message, preserving_proto_field_name=True)}
    return json_text(record).encode() + b"\n"


def _write(
    client: Client, channel: str, file: IO[bytes], told: Callable[[int], object]
) -> tuple[int, int]:
    """Write everything; how many were written, and how many were left out."""
    written = recalled = 0
    for stored in client.export_messages(channel, timeout_s=float("inf")):
        if stored.recalled:
            recalled += 1
            continue
        message = stored.message
        message.partial = message.partial or stored.partial
        if stored.rank_time_ms != message.sent_at_ms:
            message.rank_time_ms = stored.rank_time_ms
        file.write(line(message))
        written += 1
        if written % TOLD_EVERY == 0:
            told(written)
    return written, recalled


@contextmanager
def _written(output: Path | None) -> Iterator[IO[bytes]]:
    """The file to write to: what is there stays until the new one is whole."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    folder = output.parent if str(output.parent) else Path()
    handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=folder)
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as raw:
            if output.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield raw
        beside.chmod(0o666 & ~_umask())
        beside.replace(output)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
