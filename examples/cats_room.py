"""Three cats and two people in one room, in one file: a Backscroll server decides who answers and keeps it all.

    backscroll serve &
    python examples/cats_room.py [SERVER]

A line is a message, such as "ann: @Tom good morning" or "ben: who is awake?"
Each cat's answer is printed while it comes. "ann: /task write a poem about fish" hands a task from cat to cat: Tom
writes, Kit reviews, Ash has the last word. "ann: /all" ends that and lets everybody talk again.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable

from backscroll import (
    Author,
    BackscrollError,
    Client,
    Message,
    Persona,
    Room,
    RoomPolicy,
    RoundEvent,
    RoundNotice,
    TargetDelta,
    TargetEnded,
    TargetStarted,
)

CATS = [
    Persona("tom", "Tom", "You are Tom, a lazy black cat who likes words.", summary="writes"),
    Persona("kit", "Kit", "You are Kit, a strict white cat.", nickname="Kitty", summary="reviews"),
    Persona("ash", "Ash", "You are Ash, a cheerful grey cat.", summary="has the last word"),
]
NAMES = {cat.id: cat.name for cat in CATS}
PEOPLE = {"ann": Author("u1", "Ann"), "ben": Author("u2", "Ben")}
WORK = {
    "nodes": ["writer", "reviewer", "editor"],
    "role_map": {"writer": "tom", "reviewer": "kit", "editor": "ash"},
}
# A cat that names another at the beginning of a line hands on to it, twice in one round at most.
RULES = RoomPolicy(onward_depth=2, language="en")


def show(events: Iterable[RoundEvent]) -> None:
    """Print each cat's words behind its name, as they come; cats may speak at once."""
    speaking = ""
    for event in events:
        match event:
            case TargetStarted(cat):
                print(f"\n  {cat.name} ({cat.reason}): ", end="")
                speaking = cat.id
            case TargetDelta(text, cat_id) | RoundNotice(text, cat_id):
                if cat_id != speaking:  # another one goes on
                    print(f"\n  {NAMES[cat_id]} … ", end="")
                    speaking = cat_id
                print(text, end="", flush=True)
            case TargetEnded() if event.error:
                print(f" [{event.error}]", end="")
    print(flush=True)


def answer(room: Room, who: Author, text: str) -> None:
    """What the room makes of one line."""
    command, _, rest = text.partition(" ")
    if command == "/all":
        room.update(mode="free_chat")
        return
    if command == "/task":
        room.update(mode="workflow", role_config=WORK)
        text = rest
    message_id = f"line-{uuid.uuid4().hex}"  # a chat platform has its own
    heard = room.say(Message(message_id, who, text))
    show(heard)
    if heard.ended is not None and heard.ended.reason == "nobody":
        print("  nobody answers")


def main() -> None:
    if {"-h", "--help"} & {*sys.argv}:
        print(__doc__)
        return
    with Client(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7171") as client:
        room = client.room("cats", personas=[*CATS, *PEOPLE.values()], policy=RULES)
        for line in sys.stdin:
            name, _, text = line.strip().partition(": ")
            who = PEOPLE.get(name) or Author(name, name)
            try:
                if text:
                    answer(room, who, text)
            except BackscrollError as error:
                print(f"  {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
