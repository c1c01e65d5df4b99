"""`backscroll import`: chat logs into a running server. Safe to run twice: what is there already is a duplicate."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.markup import escape

from backscroll import Client
from backscroll.errors import Conflict, Gone, NotFound
from backscroll.v1 import history_pb2
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import CommandError, err, out, print_json, progress, usage
from backscroll_sidecar.importers.items import NotUnderstood, Options, Unreadable
from backscroll_sidecar.importers.times import DateOrder, Times, TimeUnit
from backscroll_sidecar.time_zones import zone_named

if TYPE_CHECKING:
    from backscroll_sidecar.importers.survey import Survey

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
    "OWN_REPLY_SEEN": "is a reply that the server stored itself",
    "TEXT_SANITISED": "held something that is no text",
}
LOOKS_LIKE_TIME = re.compile(r".*(time|date|stamp|when|sent|created)", re.IGNORECASE)


FormatName = Literal[
    "jsonl", "telegram", "discord", "slack", "whatsapp", "irc", "qq", "wechat", "lark", "onebot", "openai",
    "history-table",
]  # fmt: skip
"""As in `importers.recognise`."""


@dataclass(frozen=True, slots=True)
class TimeOptions:
    """How times are read."""

    time_unit: Annotated[
        TimeUnit, typer.Option(help="Unit of times that are numbers; auto: by their size.")
    ] = "auto"
    time_zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Zone of times that say none, such as Europe/Berlin. Unset: this machine's for what people's "
            "programs write; JSON Lines must say one.",
        ),
    ] = None
    date_order: Annotated[
        DateOrder,
        typer.Option(help="Order of day, month and year in texts; auto: by the dates of the file."),
    ] = "auto"
    date: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="The day a log begins that tells hours only: 2025-07-11."),
    ] = None


AS_WRITTEN = TimeOptions()


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files, plain or gzip, zip archives or folders; - reads standard input.",
        ),
    ],
    channel: Annotated[
        str, typer.Option(metavar="NAME", help="Put every message into this channel.")
    ] = "",
    channel_prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Put this before every channel's name.")
    ] = "",
    format_: Annotated[
        FormatName | None,
        typer.Option("--format", help="What the files are. Unset: known by what they begin with."),
    ] = None,
    time_flags: TimeOptions = AS_WRITTEN,
    encoding: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Encoding of texts without a byte order mark, such as big5 or cp1251. Unset: by their bytes.",
        ),
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
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Store chat logs: JSON Lines, what `backscroll export` wrote, or what a platform exports.

    Read are Telegram Desktop (JSON), DiscordChatExporter (JSON), Slack (zip, folder, day file), WhatsApp (text, zip),
    IRC logs, QQ and WeChat (text, CSV, JSON), Lark/Feishu, OneBot events, OpenAI's chat format, a SQLite file with a
    history table.

    Fields of JSON Lines: id or message_id; channel or group_id; author or user_id, name; content, text or parts;
    sent_at_ms or timestamp (a number, or ISO 8601); mentions (names or user objects); reply_to; role; thread_id;
    dedupe_key. Bad lines are named and passed over. What is already stored stays as it is; what went when its
    whole channel was erased is stored again.
    """
    from backscroll_sidecar.importers.sources import opened
    from backscroll_sidecar.importers.survey import survey

    times = Times(
        time_flags.time_unit,
        _zone(time_flags.time_zone),
        time_flags.date_order,
        _day(time_flags.date),
    )
    chosen = Options(channel, channel_prefix, links, times)
    try:
        with opened(files, _encoding(encoding)) as sources:
            found = survey(sources, chosen, format_ or "")
            _check(found, as_json, strict)
            with connected(target) as client:
                answer = send(client, chosen, found, quiet=as_json)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        usage(f"{error.filename} cannot be read: {error.strerror}")
    except NotUnderstood as error:
        raise CommandError(str(error), "nothing was sent") from None
    except Unreadable as error:
        raise CommandError(str(error), "is the file whole?") from None
    if as_json:
        print_json(summary(answer, found, chosen))
    else:
        _print_summary(answer, found, chosen)
    lost = answer.conflict_count + answer.gone_count + answer.refused_count
    nothing = not (answer.stored_count or answer.duplicate_count)
    if (lost and strict) or (nothing and (lost or found.bad_count)):
        raise typer.Exit(1)


def send(
    client: Client, chosen: Options, found: Survey, *, quiet: bool = False
) -> history_pb2.ImportMessagesResponse:
    """Send what the survey found good, under a progress bar on standard error."""
    from backscroll_sidecar.importers.survey import messages

    with progress("importing", found.message_count, quiet=quiet) as told:
        answer = client.import_messages(messages(found, chosen), restore_erased=True, progress=told)
    for channel, message_ids in found.pinned.items():
        _pin(client, channel, message_ids, chosen)
    return answer


def _pin(client: Client, channel: str, message_ids: list[str], chosen: Options) -> None:
    """Pin what is pinned in the file; what cannot be is told."""
    for message_id in message_ids:
        try:
            client.pin_message(channel, message_id)
        except (NotFound, Gone):
            chosen.note(f"{message_id} is pinned in the file and not there")
        except Conflict:
            chosen.note(f"{channel} has as many pinned messages as may be: {message_id} is not")


def summary(
    answer: history_pb2.ImportMessagesResponse, found: Survey, chosen: Options
) -> dict[str, Any]:
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
        "formats": {source.name: form.name for source, form in found.files},
        "channels": dict(found.channels),
        "members": found.member_count,
        "pinned": sum(map(len, found.pinned.values())),
        "problems": [
            {
                "message_id": one.message_id,
                "outcome": outcome(one),
                "reason": reason(one),
                "field": one.field,
            }
            for one in answer.problems
        ],
        "skipped": dict(found.skipped),
        "bad_line_count": found.bad_count,
        "bad_lines": [
            {"file": file, place.unit: place.number, "reason": why}
            for file, place, why in found.bad
        ],
        "unknown_fields": dict(found.unread),
        "unresolved_mentions": dict(found.unresolved_mentions),
        "notes": list(chosen.notes),
    }


def outcome(result: history_pb2.AppendResult) -> str:
    """``conflict``, ``refused`` and the like."""
    name: str = history_pb2.AppendOutcome.Name(result.outcome)
    return name.removeprefix("APPEND_OUTCOME_").lower()


def reason(result: history_pb2.AppendResult) -> str:
    """Why a message was not stored, in words."""
    if result.field == "alias_ids":
        return "another id of it is that of another message; it is stored without"
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


def _encoding(name: str) -> str:
    """The encoding by Python's name."""
    try:
        "".encode(name or "utf-8")
    except (LookupError, ValueError):
        usage(
            f"--encoding {name} is no encoding of texts",
            "for example gb18030, big5, cp1251, utf-16-le",
        )
    return codecs.lookup(name).name if name else ""


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    zone = zone_named(name)
    if zone is None:
        usage(
            f"--time-zone {name} is no time zone", "for example Europe/Berlin, Asia/Shanghai or UTC"
        )
    return zone


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text is not None else None
    except ValueError:
        usage(f"--date {text} is no day", "for example 2025-07-11")


def _check(found: Survey, as_json: bool, strict: bool) -> None:
    """Name what is bad; refuse where that was asked for, and where times are there but not where we look for them."""
    _show_bad_lines(found, as_json)
    if strict and found.bad_count:
        count = f"{found.bad_count} bad line{'s' * (found.bad_count != 1)}"
        raise CommandError(f"{count}; nothing was sent", "correct it, or leave out --strict")
    times = [name for name in found.unread if LOOKS_LIKE_TIME.match(name)]
    if times and found.untimed_count == found.message_count > 0:
        raise CommandError(
            f"no message has a time that we read, and nobody reads the field {times[0]}; nothing was sent",
            f"call it timestamp in the file, else all would count as sent now (without {times[0]}, they do)",
        )


def _show_bad_lines(found: Survey, as_json: bool) -> None:
    if as_json or not found.bad_count:
        return
    console = err()
    for file, place, why in found.bad[:SHOWN_LINES]:
        console.print(f"[yellow]{escape(file)}:{place}:[/] {escape(why)}")
    if found.bad_count > SHOWN_LINES:
        console.print(f"and {found.bad_count - SHOWN_LINES} bad lines more")


def _print_summary(
    answer: history_pb2.ImportMessagesResponse, found: Survey, chosen: Options
) -> None:
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
        (len(found.recalled), "taken back later in the file"),
        (found.member_count, "members told"),
        (sum(map(len, found.pinned.values())), "pinned"),
        (found.bad_count, f"{'line' if found.bad_count == 1 else 'lines'} passed over"),
    ):
        if count:
            console.print(f"[yellow]{count}[/] {words}")
    _print_reasons(console, answer)
    for line in _remarks(found, chosen):
        console.print(f"[dim]{escape(line)}[/]")


def _remarks(found: Survey, chosen: Options) -> Iterator[str]:
    """What else should be known."""
    named = [(source.name, form.label) for source, form in found.files if form.name != "jsonl"]
    for name, label in named[:SHOWN_LINES]:
        yield f"{name} is {label}"
    if len(named) > SHOWN_LINES:
        yield f"and {len(named) - SHOWN_LINES} files more"
    for words, names in (
        ("not taken, by kind", found.skipped),
        ("fields nobody reads", found.unread),
        ("mentions of nobody known", found.unresolved_mentions),
    ):
        if names:
            most = names.most_common(SHOWN_LINES)
            yield f"{words}: {', '.join(f'{name} ({count})' for name, count in most)}"
    yield from chosen.notes


def _print_reasons(console: Console, answer: history_pb2.ImportMessagesResponse) -> None:
    reasons = Counter(f"{outcome(one)}: {reason(one)}" for one in answer.problems)
    for words, count in reasons.most_common():
        first = next(one for one in answer.problems if f"{outcome(one)}: {reason(one)}" == words)
        console.print(
            f"  {escape(words)} ({count}, such as {escape(first.message_id or 'one without an id')})"
        )
