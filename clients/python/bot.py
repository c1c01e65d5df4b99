"""A whole bot: standard input is the chat platform, one event a line (clients/chat.jsonl).

BACKSCROLL_ADDRESS=127.0.0.1:7171 python bot.py < chat.jsonl
"""

import json
import os
import sys

from backscroll import Author, Client, Message

ME = Author("cat-bot", "Cat", kind="bot")


def main() -> None:
    """Store every event; where one is for the bot, show what a model would be told."""
    with Client(os.environ.get("BACKSCROLL_ADDRESS") or "127.0.0.1:7171") as client:
        for event in map(json.loads, sys.stdin):
            who = Author(event["user_id"], event["user_name"])
            said = Message(
                event["id"],
                who,
                event["text"],
                event["time_ms"],
                reply_to=event["reply_to"] or None,
            )
            # Safe to repeat, so the client does: what is stored already is a duplicate.
            report = client.append(event["channel"], said)
            for problem in report.problems:
                print(f"not stored: {problem}", file=sys.stderr)
            if event["for_me"]:
                context = client.build_context(
                    event["channel"], trigger_message_id=event["id"], self_ids=[ME.id]
                )
                print(context.text)  # context.payload is the body to post to a model


if __name__ == "__main__":
    main()
