"""Many streams of Chat Completions at once over HTTP, from a process of its own.

``python -m tests.kit.sse_load HOST:PORT STREAMS SECONDS RATE OPEN_S`` prints one JSON object (`SseLoad`). Answers are
taken as bytes and read only once all is over, so that the machine is the server's.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field

from tests.kit.chat_load import most_at_once
from tests.kit.model_process import script, text_of


@dataclass
class SseLoad:
    """What became of all streams: statuses and endings, and texts that were not what the model said."""

    endings: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    wrong_texts: int = 0
    without_context: int = 0
    seconds: float = 0.0
    most_at_once: int = 0


async def _one(
    host: str, port: int, place: int, count: int, gap_s: float, load: SseLoad
) -> tuple[float, float]:
    asked = {
        "model": script(str(place), gap=gap_s, count=count),
        "messages": [{"role": "user", "content": f"question {place}?"}],
        "stream": True,
    }
    body = json.dumps(asked).encode()
    reader, writer = await asyncio.open_connection(host, port)
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"x-backscroll-channel: room{place}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    began = time.monotonic()
    said = await reader.read(-1)
    ended = time.monotonic()
    writer.close()
    pieces, rest = [], said
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        pieces.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    events = [line[6:] for line in b"".join(pieces).split(b"\n\n") if line]
    is_whole = events[-1:] == [b"[DONE]"] and said.endswith(b"0\r\n\r\n")
    load.endings[f"{answer[9:12].decode()} {'whole' if is_whole else 'broken'}"] += 1
    load.without_context += b"x-backscroll-context: " not in answer or b"context: none" in answer
    text = "".join(
        choice["delta"].get("content") or ""
        for event in events
        if event != b"[DONE]"
        for choice in json.loads(event)["choices"]
    )
    load.wrong_texts += text != text_of(count)
    return began, ended


async def _load(address: str, streams: int, seconds: float, rate: float, open_s: float) -> SseLoad:
    host, _, port = address.rpartition(":")
    load, tasks, began = SseLoad(), [], time.monotonic()
    for place in range(streams):
        await asyncio.sleep(max(0.0, began + open_s * place / streams - time.monotonic()))
        one = _one(host, int(port), place, round(seconds * rate), 1 / rate, load)
        tasks.append(asyncio.create_task(one))
    spans = await asyncio.gather(*tasks)
    load.seconds = time.monotonic() - began
    load.most_at_once = most_at_once(spans)
    return load


def sse_load(
    address: str, streams: int, seconds: float, rate: float, open_s: float, timeout_s: float
) -> SseLoad:
    """Run it to its end."""
    numbers = map(str, (streams, seconds, rate, open_s))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.kit.sse_load", address, *numbers],
        stdout=subprocess.PIPE, text=True, timeout=timeout_s, check=True,
    )  # fmt: skip
    return SseLoad(**json.loads(ran.stdout))


if __name__ == "__main__":
    try:
        from uvloop import run
    except ModuleNotFoundError:
        from asyncio import run
    address, streams, *numbers = sys.argv[1:]
    print(json.dumps(vars(run(_load(address, int(streams), *map(float, numbers))))))
