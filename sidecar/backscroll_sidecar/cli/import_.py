"""`backscroll import`: chat logs into a running server. Safe to run twice: what is there already is a duplicate."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from backscroll import Client
from backscroll.v1 import history_pb2
from backscroll_sidecar.cli import chatlog, options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import CommandError, err, out, print_json, usage

EPILOG = "Example: backscroll import chat.jsonl.gz --channel my-group"
SHOWN_LINES = 10
WARNINGS = {
    "REPLY_TO_SELF": "replies to itself",
    "REPLY_CYCLE": "replies in a circle",
    "REPLY_PARENT_UNKNOWN": "replies to a message that is not there",
    "REPLY_PARENT_IN_OTHER_CHANNEL": "replies to a message of another channel",
    "TIME_ZERO": "has no time; it counts as sent now",
    "TIME_IN_FUTURE": "was sent in the future; it counts as sent now",
    "TIME_LOOKS_LIKE_SECONDS": "has a time in seconds or microseconds; it counts as sent now",
    "METADATA_DIFFERS": "was there already, with another role, reply, mentions or names",
    "DEDUPE_KEY_SEEN": "has the dedupe_key of another message",
    "TEXT_SANITISED": "held something that is no text",
}


def import_(
    files: Annotated[
        list[str],
        typer.Argument(help="JSON Lines, plain or gzip; - reads standard input."),
    ],
    channel: Annotated[
        str, typer.Option(metavar="NAME", help="Put every message into this channel.")
    ] = "",
    channel_prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Put this before every channel's name.")
    ] = "",
    links: Annotated[
        bool, typer.Option("--links", help="Take explicit_reply_to for the reply.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Send nothing if a line is bad; fail if a message is not stored."
        ),
    ] = False,
    server: options.Server = options.DEFAULT_SERVER,
    token: options.Token = None,
    tls_ca: options.TlsCa = None,
    as_json: options.Json = False,
) -> None:
    """Store chat logs: one JSON object a line, a message each.

    Fields: id or message_id; channel or group_id; author or user_id, name; content, text or parts; sent_at_ms or
    timestamp (milliseconds, or ISO 8601); mentions (names or user objects); reply_to; role; thread_id; dedupe_key.
    Bad lines are named and passed over. What is already stored stays as it is.
    """
    chosen = chatlog.Options(channel, channel_prefix, links)
    try:
        with chatlog.opened(files) as sources:
            found = chatlog.survey(sources, chosen)
            _show_bad_lines(found, as_json)
            if strict and found.bad_lines:
                count = f"{len(found.bad_lines)} bad line{'s' * (len(found.bad_lines) != 1)}"
                raise CommandError(
                    f"{count}; nothing was sent", "correct it, or leave out --strict"
                )
            with connected(server, token, tls_ca) as client:
                answer = send(client, sources, chosen, found, quiet=as_json)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        usage(f"{error.filename} cannot be read: {error.strerror}")
    except chatlog.Unreadable as error:
        raise CommandError(str(error), "is the file whole?") from None
    if as_json:
        print_json(summary(answer, found))
    else:
        _print_summary(answer, found)
    lost = answer.conflict_count + answer.gone_count + answer.refused_count
    nothing = not (answer.stored_count or answer.duplicate_count)
    if (lost and strict) or (nothing and (lost or found.bad_lines)):
        raise typer.Exit(1)


def send(
    client: Client,
    sources: chatlog.Sources,
    chosen: chatlog.Options,
    found: chatlog.Survey,
    *,
    quiet: bool = False,
) -> history_pb2.ImportMessagesResponse:
    """Send what the survey found good, under a progress bar on standard error."""
    console = err()
    bar = Progress(
        TextColumn("importing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=found.message_count)
        return client.import_messages(
            chatlog.messages(sources, chosen, found),
            restore_erased=True,
            progress=lambda count: bar.update(task, completed=count),
        )


def summary(answer: history_pb2.ImportMessagesResponse, found: chatlog.Survey) -> dict[str, Any]:
    """What became of everything, for programs."""
    return {
        "stored": answer.stored_count,
        "duplicate": answer.duplicate_count,
        "conflict": answer.conflict_count,
        "gone": answer.gone_count,
        "refused": answer.refused_count,
        "with_warnings": answer.warning_count,
        "warnings": {
            kind.lower(): count for kind, count in sorted(answer.warning_count_by_kind.items())
        },
        "channels": dict(found.channels),
        "problems": [
            {
                "message_id": one.message_id,
                "outcome": outcome(one),
                "reason": reason(one),
                "field": one.field,
            }
            for one in answer.problems
        ],
        "bad_lines": [
            {"file": file, "line": number, "reason": why} for file, number, why in found.bad_lines
        ],
        "unknown_fields": dict(found.unknown_fields),
        "unresolved_mentions": dict(found.unresolved_mentions),
    }


def outcome(result: history_pb2.AppendResult) -> str:
    """``conflict``, ``refused`` and the like."""
    name: str = history_pb2.AppendOutcome.Name(result.outcome)
    return name.removeprefix("APPEND_OUTCOME_").lower()


def reason(result: history_pb2.AppendResult) -> str:
    """Why a message was not stored, in words."""
    if result.outcome == history_pb2.APPEND_OUTCOME_CONFLICT:
        return "the id is taken by a message with another text, author or time"
    name: str = history_pb2.AppendRefusal.Name(result.refusal)
    return name.removeprefix("APPEND_REFUSAL_").lower().replace("_", " ")


def warnings(answer: history_pb2.ImportMessagesResponse) -> str:
    """Each kind of warning in words, with how often it was given."""
    counts = sorted(answer.warning_count_by_kind.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(
        f"{WARNINGS.get(kind, kind.lower().replace('_', ' '))} ({count})" for kind, count in counts
    )


def _show_bad_lines(found: chatlog.Survey, as_json: bool) -> None:
    if as_json or not found.bad_lines:
        return
    console = err()
    for file, number, why in found.bad_lines[:SHOWN_LINES]:
        console.print(f"[yellow]{escape(file)}:{number}:[/] {escape(why)}")
    if len(found.bad_lines) > SHOWN_LINES:
        console.print(f"and {len(found.bad_lines) - SHOWN_LINES} bad lines more")


def _print_summary(answer: history_pb2.ImportMessagesResponse, found: chatlog.Survey) -> None:
    console = out()
    many = (
        f"{len(found.channels)} channels"
        if len(found.channels) != 1
        else next(iter(found.channels))
    )
    console.print(
        f"[bold]{answer.stored_count}[/] stored in {escape(many)}, {answer.duplicate_count} there already"
    )
    for count, words in (
        (answer.conflict_count, "in conflict with what is stored; the first stays"),
        (answer.gone_count, "recalled or erased before; they stay gone"),
        (answer.refused_count, "refused"),
        (answer.warning_count, f"stored with a warning: {warnings(answer)}"),
        (len(found.bad_lines), f"{'line' if len(found.bad_lines) == 1 else 'lines'} passed over"),
    ):
        if count:
            console.print(f"[yellow]{count}[/] {words}")
    _print_reasons(console, answer)
    for words, names in (
        ("fields nobody reads", found.unknown_fields),
        ("mentions of nobody known", found.unresolved_mentions),
    ):
        if names:
            listed = ", ".join(
                f"{name} ({count})" for name, count in names.most_common(SHOWN_LINES)
            )
            console.print(f"[dim]{words}: {escape(listed)}[/]")


def _print_reasons(console: Console, answer: history_pb2.ImportMessagesResponse) -> None:
    reasons = Counter(f"{outcome(one)}: {reason(one)}" for one in answer.problems)
    for words, count in reasons.most_common():
        first = next(one for one in answer.problems if f"{outcome(one)}: {reason(one)}" == words)
        console.print(
            f"  {escape(words)} ({count}, such as {escape(first.message_id or 'one without an id')})"
        )
