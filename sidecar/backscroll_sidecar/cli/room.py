"""`backscroll chat --room`: people and personas in a terminal, each answer behind its name as it comes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import typer
from google.protobuf.json_format import MessageToDict
from rich.console import Console
from rich.markup import escape

from backscroll import (
    AsyncClient,
    AsyncRoom,
    AsyncRound,
    Author,
    LoopSuppressed,
    Participant,
    RoundEnded,
    RoundEvent,
    RoundNotice,
    StateChanged,
    TargetDelta,
    TargetEnded,
    TargetStarted,
    text_of,
)
from backscroll.errors import BackscrollError
from backscroll.v1 import message_pb2, session_pb2
from backscroll.values import ResponsePartName
from backscroll_sidecar.cli.connect import connected_for_talk, explained
from backscroll_sidecar.cli.console import (
    FAILURE,
    err,
    out,
    print_error,
    print_json,
    shown,
    typed_lines,
)
from backscroll_sidecar.cli.model_words import ADVICE, ASKER, ECHO, NO_MODEL
from backscroll_sidecar.cli.options import Target
from backscroll_sidecar.cli.room_files import RoomFile, cats, room_file

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
NOT_READ: tuple[ResponsePartName, ...] = ("item_messages", "messages", "payloads", "text")
OPEN_MODES = frozenset({"free_chat", "workflow"})
"""Modes in which everybody hears everything: answers are shown while they come."""
ENDINGS = {
    "nobody": "nobody answers",
    "deadline": "there was no time left: give more --timeout; a blank line goes on",
    "interrupted": "a persona waits for tools: there are none here",
    "loop_suppressed": "nobody answers, to break a loop",
    "step_limit": "the round has its limit; a blank line goes on",
    "coalesced": "answered with the messages around it",
}
"""What is said of a round that did not simply end."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line."""

    file: str
    is_room: bool
    session: str | None
    space: str
    name: str | None
    asker: str
    profile: str | None
    timeout_s: float


def talk(wish: Wish, once: str | None, target: Target, *, as_json: bool) -> None:
    """Talk in a room, line by line."""
    given = room_file(Path(wish.file)) if wish.file else None
    with connected_for_talk(target) as (runner, client):
        talker = runner.run(_seated(client, wish, given, as_json=as_json))
        if not as_json:
            err().print(f"[dim]{talker.greeting()}[/]")
        if once is not None:
            if not runner.run(talker.say(once)):
                raise typer.Exit(FAILURE)
            return
        is_typed = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
        failures = 0
        for line in typed_lines(is_typed=is_typed, keeps_blank=is_typed):
            try:
                failures += not runner.run(talker.say(line))
            except BackscrollError as error:
                failures += 1
                print_error(explained(error, target), as_json=as_json)
            except KeyboardInterrupt:
                if not is_typed:
                    raise
                err().print("\n[dim]stopped[/]")
        if failures and not is_typed:
            raise typer.Exit(FAILURE)


async def _seated(
    client: AsyncClient, wish: Wish, given: RoomFile | None, *, as_json: bool
) -> Talker:
    """Find or begin the session, and take a seat in it."""
    begins = given or (cats() if wish.is_room else None)
    if begins is None:
        room = client.room(wish.session)
        if wish.space:
            room = client.room(wish.session, space=wish.space)
    else:
        room = client.room(
            wish.session,
            personas=begins.participants,
            mode=begins.mode,
            role_config=begins.role_config,
            policy=begins.policy,
            space=wish.space,
            title=begins.title,
        )
    session = await room.session()
    me = _me(session.participants, wish)
    if not any(one.id == me.id for one in session.participants):
        await room.add(Participant(me.id, me.name))
        session = await room.session()
    return Talker(room, session, me, wish, as_json=as_json)


def _me(participants: Sequence[session_pb2.Participant], wish: Wish) -> Author:
    """The participant of the name that was given, else somebody new."""
    name = wish.name or wish.asker
    for one in participants:
        if name.casefold() in {each.casefold() for each in (one.id, one.name, one.nickname)}:
            return Author(one.id, one.name)
    return Author(wish.asker if wish.asker != ASKER else name, name)


class Talker:
    """Somebody at a terminal who takes part in a session."""

    def __init__(
        self,
        room: AsyncRoom,
        session: session_pb2.Session,
        me: Author,
        wish: Wish,
        *,
        as_json: bool,
    ) -> None:
        self._room = room
        self._session = session
        self._me = me
        self._wish = wish
        self._as_json = as_json
        self._names = {one.id: one.name or one.id for one in session.participants}
        self._warned = as_json

    def greeting(self) -> str:
        """Where one is, with markup."""
        others = ", ".join(
            f"[{self._colour(one.id)}]{escape(self._names[one.id])}[/]"
            for one in self._session.participants
            if one.id != self._me.id
        )
        return (
            f"{escape(self._me.name)} in the session {escape(self._session.session_id)} "
            f"({escape(self._session.mode)}) with {others}. Ctrl-C ends an answer, Ctrl-D the chat; "
            "--session goes on with it."
        )

    def _colour(self, id_: str) -> str:
        ids = list(self._names)
        return COLOURS[ids.index(id_) % len(COLOURS)] if id_ in ids else "white"

    async def say(self, line: str) -> bool:
        """Say a line, or nothing, and show what comes of it; whether nobody failed."""
        if not line.strip() and self._session.mode == "free_chat":
            return True  # nobody's turn
        heard = self._heard(line)
        screen = Screen(out(), self._names, self._colour, self._may_see)
        screen.holds = self._session.mode not in OPEN_MODES
        async with heard:
            async for event in heard:
                if self._as_json:
                    print_json(
                        MessageToDict(event.raw, preserving_proto_field_name=True), indent=None
                    )
                elif isinstance(event, StateChanged):
                    screen.end()
                    self._announce(event.announcements, over=event.over)
                else:
                    screen.show(event)
        if not self._as_json:
            self._say_how_it_ended(heard)
        return heard.ended is not None and not heard.errors

    def _may_see(self, message: message_pb2.Message) -> bool:
        return not message.audience or self._me.id in message.audience

    def _heard(self, line: str) -> AsyncRound:
        timeout_s, profile = self._wish.timeout_s, self._wish.profile
        if not line.strip():
            return self._room.go_on(timeout_s=timeout_s, profile=profile, omit=NOT_READ)
        return self._room.say(line, self._me, timeout_s=timeout_s, profile=profile, omit=NOT_READ)

    def _announce(self, said: Sequence[message_pb2.Message], *, over: bool) -> None:
        """What the mode says, and to whom; not what is for others alone."""
        for one in said:
            if self._may_see(one):
                only = " [dim](only you see this)[/]" if one.audience else ""
                out().print(f"[bold]*[/] {escape(text_of(one))}{only}", soft_wrap=True)
        if over:
            err().print("[dim]it is over[/]")

    def _say_how_it_ended(self, heard: AsyncRound) -> None:
        for name, ended in heard.errors.items():
            advice = ADVICE.get(ended.error_reason, "")
            err().print(f"[red]{escape(name)}: {escape(ended.error)}[/] {escape(advice)}".rstrip())
        reason = "" if heard.ended is None else heard.ended.reason
        if reason in ENDINGS and not (reason == "nobody" and heard.announcements):
            err().print(f"[dim]{ENDINGS[reason]}[/]")
        if not self._warned and any(text.startswith(ECHO) for text in heard.replies.values()):
            self._warned = True
            err().print(f"[yellow]{NO_MODEL}[/]")


@dataclass(slots=True)
class _Answer:
    text: str = ""
    is_over: bool = False


@dataclass(slots=True)
class Screen:
    """Shows one answer while it comes; those that come beside it follow when it is over.

    Where it `holds`, an answer is shown once it is known whom it is for.
    """

    console: Console
    names: dict[str, str]
    colour: Callable[[str], str]
    may_see: Callable[[message_pb2.Message], bool]
    holds: bool = False
    _answers: dict[str, _Answer] = field(default_factory=dict)
    _on_air: str = ""
    _is_in_line: bool = False

    def show(self, event: RoundEvent) -> None:
        """Show an event, now or when it is its turn."""
        if self.holds and isinstance(
            event, TargetStarted | TargetDelta | RoundNotice | TargetEnded
        ):
            if isinstance(event, TargetEnded) and event.message and self.may_see(event.message):
                self._line(event.target_id, event.text)
                print(flush=True)
                self._is_in_line = False
            return
        match event:
            case TargetStarted(target):
                self.names.setdefault(target.id, target.name or target.id)
                self._answers[target.id] = _Answer()
                self._next()
            case TargetDelta(text, who, whole):
                self._take(who, text, whole=whole)
            case RoundNotice(text, who):
                self._take(who, text, whole=False)
            case TargetEnded():
                answer = self._answers.setdefault(event.target_id, _Answer())
                if event.reason == "silent":
                    self._take(event.target_id, "(says nothing)", whole=not answer.text)
                answer.is_over = True
                if event.target_id == self._on_air:
                    self._next()
            case LoopSuppressed():
                who = self.names.get(event.participant_id, event.participant_id)
                err().print(f"[dim]{escape(who)} does not answer, to break a loop[/]")
            case RoundEnded():
                self.end()
            case _:
                pass

    def _take(self, who: str, text: str, *, whole: bool) -> None:
        answer = self._answers.setdefault(who, _Answer())
        before, answer.text = answer.text, text if whole else answer.text + text
        if who != self._on_air:
            return
        if whole and before and before != text:
            self._line(who, text)
        elif not (whole and before):
            print(shown(text), end="", flush=True)

    def _next(self) -> None:
        """Put the next answers on, up to one that is still coming."""
        while True:
            on_air = self._answers.get(self._on_air)
            if on_air is not None and not on_air.is_over:
                return
            self._answers.pop(self._on_air, None)
            if self._is_in_line:
                print(flush=True)
                self._is_in_line = False
            self._on_air = next(iter(self._answers), "")
            if not self._on_air:
                return
            self._line(self._on_air, self._answers[self._on_air].text)

    def _line(self, who: str, text: str) -> None:
        if self._is_in_line:
            print(flush=True)
        name = escape(self.names.get(who, who))
        self.console.print(f"[bold {self.colour(who)}]{name}[/]: ", end="")
        print(shown(text), end="", flush=True)
        self._is_in_line = True

    def end(self) -> None:
        """Show what is still to be shown."""
        for one in self._answers.values():
            one.is_over = True
        self._next()
