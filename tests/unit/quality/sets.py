"""Small sets, written by hand."""

import gzip
import json
from pathlib import Path

from backscroll_bench.quality.data import Line, Question

START = 1_700_000_000_000
MESSAGES = [
    {"message_id": f"m{n}", "group_id": "g", "user_id": user, "name": name, "content": text,
     "timestamp": START + n * 60_000, "mentions": mentions}
    for n, (user, name, text, mentions) in enumerate([
        ("u1", "ann", "who has the key?", []),
        ("u2", "ben", "ann: I do", ["ann"]),
        ("u3", "cat", "天气很好", []),
        ("u1", "ann", "ben: thanks", ["ben"]),
        ("u2", "ben", "the weather is fine", []),
    ])
]  # fmt: skip
REPLY = {"query_id": "q1", "task": "reply", "group_id": "g", "message_id": "m3", "gold": ["m1"],
         "conversation": ["m0", "m1"], "judged_from": "m1"}  # fmt: skip
MEMORY = {"query_id": "q2", "task": "memory", "group_id": "g", "user_id": "u3", "name": "cat", "content": "the key?",
          "timestamp": START + 900_000, "gold": ["m0", "m1"]}  # fmt: skip


def write(path: Path, rows: list) -> Path:
    """JSON Lines, packed where the name says so."""
    text = "".join(
        one + "\n" if isinstance(one, str) else json.dumps(one, ensure_ascii=False) + "\n"
        for one in rows
    )
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def written(
    folder: Path, messages: list | None = None, queries: list | None = None, ending: str = ".jsonl"
) -> str:
    """The name of a set of these rows."""
    write(folder / f"chat.messages{ending}", MESSAGES if messages is None else messages)
    write(folder / f"chat.queries{ending}", [REPLY] if queries is None else queries)
    return str(folder / "chat")


def question(task: str = "reply", gold: tuple = (), cut: int = 10, **more) -> Question:
    return Question("q", task, Line("q", "g", "u", "u", "?", START), cut, frozenset(gold), **more)
