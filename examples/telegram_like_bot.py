"""A whole bot in one file: standard input is the chat platform, a Backscroll server does the rest.

    backscroll serve &
    python examples/telegram_like_bot.py [SERVER]

A line is a message, such as "ann: who brings the cake?". "ann > 3: I do" answers message 3. The bot replies where it is
named (@cat) or answered; as on Telegram, a reply is one message that is edited while its text grows. Put your platform's
library in the place of `Platform`, and this is your bot.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from backscroll import Author, BackscrollError, Client, Delta, ErrorEvent, Message, Notice

ROOM = "living-room"
ME = Author("cat", "Cat", kind="bot")
SYSTEM = "You are Cat, a friendly house cat in a group chat. Answer in one or two sentences."
EDIT_EVERY_S = 0.5  # platforms limit how often a message may be edited


@dataclass
class Event:
    """A message, as a platform tells of it."""

    id: str
    user: str
    text: str
    reply_to: str | None
    time_ms: int


class Platform:
    """Standard input and output, made to look like a chat platform."""

    def __init__(self) -> None:
        self.count = 0
        self.mine: set[str] = set()

    def events(self) -> Iterator[Event]:
        for line in sys.stdin:
            if found := re.match(r"(\w+)(?: > (\w+))?: (.+)", line):
                self.count += 1
                user, reply_to, text = found.groups()
                yield Event(f"{self.count}", user, text, reply_to, time.time_ns() // 1_000_000)

    def edit(self, text: str) -> None:
        print(f"\r  cat: {text}", end="", flush=True)

    def finish(self, reply_id: str) -> None:
        self.mine.add(reply_id)
        print(f"   [{reply_id}]", flush=True)


def clock() -> str:
    """Tell the day and the time now, UTC."""
    return datetime.now(UTC).strftime("%A %H:%M")


def answer(client: Client, platform: Platform, event: Event) -> None:
    text, edited_s, reply_id = "", 0.0, ""
    for said in client.stream_chat(
        ROOM, trigger_message_id=event.id, self_ids=[ME.id], system=SYSTEM, tools={"clock": clock}
    ):
        match said:
            case Delta(piece) | Notice(piece):
                text += piece
            case ErrorEvent(words):
                text = f"{text} ({words})".lstrip()
        reply_id = getattr(said, "reply_message_id", "")
        if text and time.monotonic() - edited_s > EDIT_EVERY_S:
            platform.edit(text)
            edited_s = time.monotonic()
    platform.edit(text or "(no answer)")
    platform.finish(reply_id)  # the server has stored the reply, under this id


def main() -> None:
    platform = Platform()
    with Client(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7171") as client:
        for event in platform.events():
            said = Message(event.id, event.user, event.text, event.time_ms, reply_to=event.reply_to)
            try:
                if client.append(ROOM, said).problems:
                    print(f"  message {event.id} was not stored", file=sys.stderr)
                if "@cat" in event.text or event.reply_to in platform.mine:
                    answer(client, platform, event)
            except BackscrollError as error:
                print(f"  {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
