"""`backscroll export`: a channel as JSON Lines, which `backscroll import` reads again."""

import contextlib
import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any, cast

import typer
from google.protobuf import json_format
from google.protobuf.message import Message

from backscroll import Client
from backscroll.v1 import history_pb2, message_pb2
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.channels import naming_near_channels
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, json_text, print_json, progress, usage

EPILOG = "Example: backscroll export my-group --output my-group.jsonl.gz"
TOLD_EVERY = 500
A_MOMENT_MS = 1_000
"""Members are told as of this long after the newest message, since some rank after their time."""


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
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Write a channel as JSON Lines, one message a line in order of arrival, as `backscroll import` reads it.

    Everything a message holds is kept: ids and other ids, authors, times, replies, threads, sessions, mentions, media,
    tool calls, vectors that came with it. An edited message is written as it stands; of a recalled one its place, which
    is marked as taken back. Pins have lines of their own, and members of whom the messages do not tell all.
    With --json a summary follows: on standard output, or on standard error where the messages are there.
    """
    with connected(target) as client:
        with naming_near_channels(client, channel):
            stands = client.get_channel(channel)
        with progress("exporting", stands.message_count, quiet=as_json or output is None) as told:
            try:
                with written(output) as file:
                    done = _write(client, stands, file, told)
            except OSError as error:
                if output is None:
                    raise
                usage(f"{output} cannot be written: {error.strerror}")
    summary = {
        "channel": channel,
        "file": str(output) if output else "-",
        "written": done.messages,
        "recalled": done.recalled,
        "members": done.members,
        "pinned": done.pinned,
    }
    if as_json and output is not None:
        print_json(summary)
    elif as_json:
        print(json_text(summary), file=sys.stderr, flush=True)
    else:
        counts = ((done.recalled, "recalled"), (done.members, "members"), (done.pinned, "pinned"))
        more = "".join(f", {count} {words}" for count, words in counts if count)
        err().print(f"{done.messages} written{more}", markup=False)


def line(message: message_pb2.Message) -> bytes:
    """One message as a line. A message without content says so, which an import wants to know."""
    return _line({"parts": [], **_record(message)})


def _record(message: Message) -> dict[str, Any]:
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def _line(record: dict[str, Any]) -> bytes:
    return json_text(record).encode() + b"\n"


@dataclass(slots=True)
class _Counts:
    """How much was written of what; `messages` are those that were not recalled."""

    messages: int = 0
    recalled: int = 0
    members: int = 0
    pinned: int = 0


@dataclass(slots=True)
class _AuthorSeen:
    """What an author's messages tell of them, which an import learns."""

    name: str = ""
    kind: int = 0
    at_ms: int = 0
    names: set[str] = field(default_factory=set)

    def see(self, author: message_pb2.Author, at_ms: int) -> None:
        if at_ms >= self.at_ms:
            self.at_ms, self.name, self.kind = at_ms, author.name or self.name, author.kind
        self.names |= {author.name} - {""}

    def tells(self, member: history_pb2.Member) -> bool:
        """Whether nothing more is known of the member."""
        told_more = member.aliases or member.role or member.stays
        return (
            not told_more
            and (member.name, member.kind) == (self.name, self.kind)
            and {member.name, *member.former_names} - {""} == self.names
        )


def _write(
    client: Client,
    stands: history_pb2.GetChannelResponse,
    file: IO[bytes],
    told: Callable[[int], object],
) -> _Counts:
    """Write everything. People come before the first message that mentions them, so that an import finds them."""
    done = _Counts()
    channel, as_of = stands.channel, {}
    if 0 < stands.newest_sent_at_ms <= time.time_ns() // 1_000_000:
        as_of = {"members_at_ms": str(stands.newest_sent_at_ms + A_MOMENT_MS)}
    members = {one.user_id: one for one in client.list_members(channel)}

    def write_member(member: history_pb2.Member) -> None:
        file.write(_line({"channel": channel, "members": [_record(member)], **as_of}))
        done.members += 1

    authors: dict[str, _AuthorSeen] = {}
    for stored in client.export_messages(channel, timeout_s=float("inf")):
        message = stored.message
        marked = {one.user_id for one in message.mentions}
        for user_id in stored.mentioned_user_ids:
            if user_id in marked or user_id not in members:
                continue
            if user_id not in authors or not authors[user_id].tells(members[user_id]):
                write_member(members.pop(user_id))
        authors.setdefault(message.author.id, _AuthorSeen()).see(
            message.author, stored.rank_time_ms
        )
        message.partial = message.partial or stored.partial
        if stored.rank_time_ms != message.sent_at_ms:
            message.rank_time_ms = stored.rank_time_ms
        message.alias_ids.extend(stored.alias_ids)
        message.recalled = stored.recalled
        file.write(line(message))
        done.recalled += stored.recalled
        done.messages += not stored.recalled
        if done.messages % TOLD_EVERY == 0:
            told(done.messages)
    for user_id, member in members.items():
        if user_id not in authors or not authors[user_id].tells(member):
            write_member(member)
    pinned = [one.message.id for one in client.list_pinned_messages(channel)]
    if pinned:
        file.write(_line({"channel": channel, "pinned_message_ids": pinned}))
        done.pinned = len(pinned)
    return done


@contextmanager
def written(output: Path | None) -> Iterator[IO[bytes]]:
    """The file to write to, for its owner alone; an old one stays until the new one is whole, which has its rights."""
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
        if output.exists():
            beside.chmod(output.stat().st_mode & 0o777)
        beside.replace(output)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
