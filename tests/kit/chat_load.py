"""Many streams at once from a process of its own.

``python -m tests.kit.chat_load ADDRESS STREAMS SECONDS RATE OPEN_S`` prints one JSON object (`Load`). Answers are taken
as bytes and read only once all is over, so that the machine is the server's.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import median

import grpc

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from tests.kit.model_process import script, text_of

METHOD = "/backscroll.v1.ContextService/StreamChat"
CHANNELS = 8


@dataclass
class Load:
    """What became of all streams: endings and statuses by name, texts that were not what the model said."""

    endings: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    wrong_texts: int = 0
    delta_events: int = 0
    deltas: int = 0
    seconds: float = 0.0
    worst_gap_s: float = 0.0
    median_lag_s: float = 0.0
    most_at_once: int = 0


async def _one(
    call: grpc.aio.UnaryStreamMultiCallable, place: int, count: int, gap_s: float, load: Load
) -> tuple[float, float] | None:
    request = pb.StreamChatRequest(
        context=pb.BuildContextRequest(
            channel=f"room{place}", question=f"question {place}?", self_ids=["bot"],
            asker=message_pb2.Author(id="u1", name="Ann"),
            model=script(str(place), gap=gap_s, count=count),
        )
    )  # fmt: skip
    events, times = [], []
    try:
        async for event in call(request.SerializeToString()):
            events.append(event)
            times.append(time.monotonic())
    except grpc.aio.AioRpcError as failed:
        load.endings[f"{failed.code().name}: {failed.details()}"[:100]] += 1
        return None
    heard = [pb.StreamChatResponse.FromString(event) for event in events]
    load.endings[pb.EndReason.Name(heard[-1].end.reason)] += 1
    load.wrong_texts += "".join(event.delta for event in heard) != text_of(count)
    said = [at for event, at in zip(heard, times, strict=True) if event.delta]
    load.delta_events += len(said)
    load.deltas += count
    gaps = [after - before for before, after in pairwise(said)]
    load.worst_gap_s = max(load.worst_gap_s, *gaps, 0.0)
    return (said[0], said[-1]) if said else None


def most_at_once(spans: list[tuple[float, float]]) -> int:
    """Most streams that were between their first and their last delta at one time."""
    steps = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    return max(accumulate((step for _, step in steps), initial=0))


async def _load(address: str, streams: int, seconds: float, rate: float, open_s: float) -> Load:
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(address, options) for _ in range(CHANNELS)]
    calls = [channel.unary_stream(METHOD) for channel in channels]
    load, tasks, began = Load(), [], time.monotonic()
    for place in range(streams):
        await asyncio.sleep(max(0.0, began + open_s * place / streams - time.monotonic()))
        one = _one(calls[place % CHANNELS], place, round(seconds * rate), 1 / rate, load)
        tasks.append(asyncio.create_task(one))
    spans = [span for span in await asyncio.gather(*tasks) if span is not None]
    load.seconds = time.monotonic() - began
    whole_s = (round(seconds * rate) - 1) / rate
    load.median_lag_s = median(end - begin - whole_s for begin, end in spans) if spans else 0.0
    load.most_at_once = most_at_once(spans)
    for channel in channels:
        await channel.close()
    return load


def run_load(
    address: str, streams: int, seconds: float, rate: float, open_s: float
) -> subprocess.Popen[str]:
    """Start it; `result` waits for what came of it."""
    numbers = map(str, (streams, seconds, rate, open_s))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.kit.chat_load", address, *numbers],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def result(process: subprocess.Popen[str], timeout_s: float) -> Load:
    """What it printed."""
    try:
        told, _ = process.communicate(timeout=timeout_s)
    finally:
        process.kill()
    return Load(**json.loads(told))


if __name__ == "__main__":
    try:
        from uvloop import run
    except ModuleNotFoundError:
        from asyncio import run
    address, streams, *numbers = sys.argv[1:]
    print(json.dumps(vars(run(_load(address, int(streams), *map(float, numbers))))))
