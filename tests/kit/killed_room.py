"""A server that kills itself, as -9 does, at a point of a round.

``python -m tests.kit.killed_room DATABASE MODEL_URL POINT``: POINT is ``before:N`` or ``after:N`` (the N-th commit that
keeps a round) or ``event:NAME:N`` (the N-th event of a kind).
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.ports import AppendChange
from backscroll_sidecar.rooms.rounds import RoundService
from backscroll_sidecar.server import start_server
from backscroll_sidecar.wiring import App, open_app


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def watch_commits(app: App, when: str, number: int) -> None:
    apply, seen = app.store.apply, 0

    async def counted(changes):
        nonlocal seen
        is_round = any(
            isinstance(one, AppendChange) and any(kept.kind == "round" for kept in one.records)
            for one in changes
        )
        seen += is_round
        if is_round and when == "before" and seen == number:
            die()
        done = await apply(changes)
        if is_round and when == "after" and seen == number:
            die()
        return done

    app.store.apply = counted


def watch_events(name: str, number: int) -> None:
    seen = 0

    def watched(run):
        async def events(self, *given):
            nonlocal seen
            async for event in run(self, *given):
                yield event
                seen += type(event.told).__name__ == name
                if seen == number:
                    await asyncio.sleep(0.05)  # the caller has it
                    die()

        return events

    RoundService.start = watched(RoundService.start)
    RoundService.resume = watched(RoundService.resume)


async def main(database: str, model_url: str, point: str) -> None:
    kind, *rest = point.split(":")
    settings = Settings(
        database=Path(database), embedder="none", model_base_url=model_url, preload_seconds=0
    )
    if kind == "event":
        watch_events(rest[0], int(rest[1]))
    async with open_app(settings) as app:
        server = await start_server(app, listen=["127.0.0.1:0"])
        if kind != "event":
            watch_commits(app, kind, int(rest[0]))
        print("LISTENS", server.addresses[0], flush=True)
        await asyncio.sleep(120)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
