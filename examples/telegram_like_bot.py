"""A whole bot in one file: standard input is the chat platform, a Backscroll server does the rest.

    backscroll serve &
    python examples/telegram_like_bot.py [SERVER]

A line is a message, such as "ann: who brings the cake?"; "ann > 3: I do" answers the third message. The bot replies
where it is named (@cat) or answered; as on Telegram, a reply is one message that is edited while its text grows. Put
your platform's library in the place of `Platform`, and this is your bot.
"""

from __future__ import annotations

import re
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from datetime import UTC, datetime

from backscroll import BackscrollError, Client, Delta, End, ErrorEvent, Message, Notice

ROOM, ME = "living-room", "cat"
SYSTEM = "You are Cat, a friendly house cat in a group chat. Answer in one or two sentences."
EDIT_EVERY_S = 0.5  # platforms limit how often a message may be edited
Event = namedtuple("Event", "id user text reply_to time_ms")  # a message, as a platform tells of it


class Platform:
    """Standard input and output, made to look like a chat platform."""

    def __init__(self) -> None:
        self.ids: list[str] = []  # of all messages shown, in order
        self.mine: set[str] = set()

    def events(self) -> Iterator[Event]:
        for line in sys.stdin:
            if found := re.match(r"(\w+)(?: > (\d+))?: (.+)", line):
                user, number, text = found.groups()
                reply_to = dict(enumerate(self.ids, 1)).get(int(number or 0))
                self.ids.append(f"msg-{time.time_ns()}")
                yield Event(self.ids[-1], user, text, reply_to, time.time_ns() // 1_000_000)

    def edit(self, text: str) -> None:
        print(f"\r  cat: {text}", end="", flush=True)

    def finish(self, reply_id: str) -> None:
        self.ids.append(reply_id or f"msg-{time.time_ns()}")  # no id: nothing was stored of it
        self.mine.add(self.ids[-1])
        print(f"   [{len(self.ids)}]", flush=True)


def clock() -> str:
    """Tell the day and the time now, UTC."""
    return datetime.now(UTC).strftime("%A %H:%M")


def answer(client: Client, platform: Platform, event: Event) -> None:
    text, reply_id, edited_s = "", "", 0.0
    about = {"trigger_message_id": event.id, "self_ids": [ME], "system": SYSTEM}
    try:
        for said in client.stream_chat(ROOM, tools={"clock": clock}, **about):
            match said:
                case Delta(piece) | Notice(piece):
                    text += piece
                case ErrorEvent(words):
                    text += f" ({words})"
                case End(reason, _, reply_id):  # by now the server has stored the reply
                    text += " … (broke off)" if reason in {"deadline", "incomplete"} else ""
            if isinstance(said, Delta) and time.monotonic() - edited_s > EDIT_EVERY_S:
                platform.edit(text)
                edited_s = time.monotonic()
    except BackscrollError as error:  # the server went away
        text += f" … ({error})"
    platform.edit(text.strip() or "(no answer)")
    platform.finish(reply_id)


def main() -> None:
    if {"-h", "--help"} & {*sys.argv}:
        print(__doc__)
        return
    platform = Platform()
    with Client(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7171") as client:
        for event in platform.events():
            said = Message(event.id, event.user, event.text, event.time_ms, reply_to=event.reply_to)
            try:
                client.append(ROOM, said)
                if "@cat" in event.text or event.reply_to in platform.mine:
                    answer(client, platform, event)
            except BackscrollError as error:
                print(f"  {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
