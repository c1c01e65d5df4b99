"""`backscroll chat`: talk to the server's model in a channel, and see what context it was given."""

import asyncio
import math
import sys
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape

from backscroll import (
    AsyncClient,
    ChatEvent,
    Context,
    ContextEvent,
    Delta,
    End,
    ErrorEvent,
    Notice,
    ToolCallEvent,
)
from backscroll.errors import BackscrollError, NotFound
from backscroll.v1 import context_pb2
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.channels import near_words
from backscroll_sidecar.cli.connect import connected_for_talk, explained, resolved
from backscroll_sidecar.cli.console import (
    FAILURE,
    CommandError,
    err,
    print_error,
    print_json,
    shown,
    typed_lines,
    usage,
)
from backscroll_sidecar.cli.model_words import ADVICE, ASKER, ECHO, NO_MODEL
from backscroll_sidecar.cli.render import as_dict

EPILOG = 'Example: backscroll chat my-group --once "which one did we mean?" --asker u17\nor: backscroll chat --room'
FINE = frozenset({"complete", "length", "content_filter"})
"""Endings of an answer that is there."""
ENDINGS = {
    "incomplete": ("the answer broke off", "ask again"),
    "upstream_error": ("the model failed", "the server's log says more"),
    "deadline": ("there was no time left", "give more --timeout"),
    "tool_calls": ("the model asks for tools", "there are none here: ask through the bot"),
}


@dataclass(frozen=True, slots=True)
class RoomFlags:
    """Talk in a room instead."""

    room: Annotated[
        bool,
        typer.Option(
            "--room",
            help="Talk with personas. The argument is a JSON or TOML file with personas, mode, role_config, policy and "
            "title; without one it is a small room of three cats.",
        ),
    ] = False
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="ID", help="Go on with this session, or begin it, in a room."
        ),
    ] = None
    space: Annotated[
        str, typer.Option(metavar="SLUG", help="Space that the session of a room is in.")
    ] = ""
    name: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="NAME", help="Who you are in a room: a participant, or somebody new."
        ),
    ] = None


NO_ROOM = RoomFlags()


def chat(
    channel: Annotated[str, typer.Argument(help="Channel to ask in; with --room a file.")] = "",
    once: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Ask this one question and end.", show_default=False),
    ] = None,
    asker: Annotated[str, typer.Option(metavar="ID", help="User id of who asks.")] = ASKER,
    self_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="User id of the bot; its replies are stored under it."),
    ] = None,
    profile: options.Profile = None,
    room: RoomFlags = NO_ROOM,
    timeout: Annotated[float, typer.Option(help="Seconds an answer may take.", min=0.001)] = 120.0,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Ask the server's model in a channel and stream its answer, with one line about the context it was given.

    Questions and answers are stored in the channel. Questions are read line by line; Ctrl-C ends an answer, Ctrl-D ends
    the chat. With --json each answer is one line, one that Ctrl-C ended with "interrupted": true.

    With --room each persona's answer is shown behind its name, and lines such as /vote NAME are moves in the session's
    mode. A blank line lets those speak whom the mode waits for. With --json each event is one line.
    """
    if once is not None and not once.strip():
        usage("the question is blank", "give --once a text")
    target = resolved(target)
    if room.room or room.session is not None:
        from backscroll_sidecar.cli.room import Wish, talk

        wish = Wish(
            channel, room.room, room.session, room.space, room.name, asker, profile, timeout
        )
        talk(wish, once, target, as_json=as_json)
        return
    _check_no_room(channel, room)
    with connected_for_talk(target) as (runner, client):
        asking = Asker(client, channel, asker, self_id, profile, timeout, as_json)
        runner.run(_look_at(client, channel, quiet=as_json))
        if once is not None:
            if problem := runner.run(asking.ask(once)):
                raise problem
            return
        is_typed = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
        failures = 0
        greeting = (
            f"{escape(asker)} in {escape(channel)}; questions and answers are stored there. "
            "Ctrl-C ends an answer, Ctrl-D the chat."
        )
        for question in typed_lines(greeting, is_typed=is_typed):
            try:
                problem = runner.run(asking.ask(question))
            except BackscrollError as error:
                problem = explained(error, target)
            except KeyboardInterrupt:
                if not is_typed:
                    raise
                problem = None
                err().print("\n[dim]stopped[/]")
            if problem:
                failures += 1
                print_error(problem, as_json=as_json)
        if failures and not is_typed:
            raise typer.Exit(FAILURE)


def _check_no_room(channel: str, room: RoomFlags) -> None:
    if not channel:
        usage("name a channel to ask in", "or talk with personas: backscroll chat --room")
    if room.name is not None or room.space:
        usage("--as and --space are for rooms", "give --room, or --session")


@dataclass(slots=True)
class Answer:
    """What has come of an answer."""

    texts: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    context: Context | None = None
    error: ErrorEvent | None = None
    end: End | None = None

    @property
    def is_echo(self) -> bool:
        """Whether no model answered."""
        return "".join(self.texts).startswith(ECHO)


@dataclass(frozen=True, slots=True)
class Asker:
    """Somebody who asks in a channel."""

    client: AsyncClient
    channel: str
    asker: str
    self_id: str | None
    profile: str | None
    timeout_s: float
    as_json: bool

    async def ask(self, question: str) -> CommandError | None:
        """Ask, print what comes, and return what went wrong with the answer."""
        events = self.client.stream_chat(
            self.channel,
            question,
            asker=self.asker,
            self_ids=() if self.self_id is None else (self.self_id,),
            profile=self.profile,
            timeout_s=self.timeout_s,
        )
        answer = Answer()
        try:
            async with aclosing(events):
                async for event in events:
                    _take(answer, event)
                    if not self.as_json:
                        _show(event)
        except asyncio.CancelledError:  # by Ctrl-C
            if self.as_json:
                print_json(_as_json(question, answer, interrupted=True), indent=None)
            raise
        if self.as_json:
            print_json(_as_json(question, answer), indent=None)
        elif answer.texts or answer.notices:
            print(flush=True)
        if answer.is_echo and not self.as_json:
            err().print(f"[yellow]{NO_MODEL}[/]")
        return _problem(answer)


async def _look_at(client: AsyncClient, channel: str, *, quiet: bool) -> None:
    """Say before the first question that it begins a channel, whose name may be mistyped. Raises where nobody is."""
    try:
        await client.get_channel(channel)
    except NotFound:
        if quiet:
            return
        near = await client.near_channels(channel)
        meant = f" {near_words(near)}" if near else ""
        err().print(
            f"[yellow]{escape(channel)} is a new channel, this question begins it.{escape(meant)}[/]"
        )


def context_line(context: Context) -> str:
    """One line, with markup, about what the model was shown."""
    raw = context.raw
    rung = context_pb2.Rung.Name(raw.rung).removeprefix("RUNG_").lower()
    count = len(raw.items)
    pieces = [
        f"{count} message{'' if count == 1 else 's'}",
        f"{raw.tokens.total:,} of {raw.tokens.budget:,} tokens",
        rung,
    ]
    failed = [f"{one.source or one.stage} {one.reason}" for one in raw.degradations]
    if failed:
        pieces.append(f"without: {', '.join(failed)}")
    return f"[dim]context: {escape(' · '.join(pieces))}[/]"


def _take(answer: Answer, event: ChatEvent) -> None:
    match event:
        case ContextEvent(context):
            answer.context = context
        case Delta(text):
            answer.texts.append(text)
        case Notice(text):
            answer.notices.append(text)
        case ErrorEvent():
            answer.error = event
        case End():
            answer.end = event
        case ToolCallEvent():
            pass  # the end says it


def _show(event: ChatEvent) -> None:
    match event:
        case ContextEvent(context):
            err().print(context_line(context))
        case Delta(text) | Notice(text):
            # Nobody's text may move the cursor or colour the terminal.
            print(shown(text), end="", flush=True)
        case _:
            pass


def _problem(answer: Answer) -> CommandError | None:
    reason = "" if answer.end is None else answer.end.reason
    message, advice = ENDINGS.get(reason, ("the answer has no end", "ask again"))
    if (error := answer.error) is not None:
        advice = ADVICE.get(error.reason, advice if reason in ENDINGS else "")
        if error.retry_after_ms is not None:
            wait_s = math.ceil(error.retry_after_ms / 1_000)
            advice = "; ".join(
                filter(None, (f"the model's vendor asks to wait {wait_s:,} s", advice))
            )
        return CommandError(f"{error.message} [{error.reason}]", advice)
    return None if reason in FINE else CommandError(f"{message} [{reason}]", advice)


def _as_json(question: str, answer: Answer, *, interrupted: bool = False) -> dict[str, Any]:
    return {
        "question": question,
        "text": "".join([*answer.texts, *answer.notices]),
        "echo": answer.is_echo,
        "interrupted": interrupted,
        "error": None
        if answer.error is None
        else {
            "message": answer.error.message,
            "reason": answer.error.reason,
            "retry_after_ms": answer.error.retry_after_ms,
        },
        "end": None
        if answer.end is None
        else MessageToDict(answer.end.raw.end, preserving_proto_field_name=True),
        "context": None if answer.context is None else as_dict(answer.context.raw),
    }
