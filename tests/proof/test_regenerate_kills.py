"""Whoever asks again has one answer at any time: kills of the server while answers take the place of others."""

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backscroll import AsyncClient
from backscroll.results import text_of
from tests.kit.fake_vendor import FakeVendor, fake_vendor, whole
from tests.kit.server_process import ServerProcess

KILLS = int(os.environ.get("TEST_KILLS", "100")) // 4
CHANNEL, SCHEME = "asked-again", "http://"
HISTORY = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
BODY = {"model": "m", "messages": [*HISTORY, {"role": "user", "content": "when is dinner?"}]}


async def ask_until_killed(url: str, answered: asyncio.Event) -> str:
    """The last answer that came whole; `answered` is set once there is one."""
    last = ""
    async with httpx2.AsyncClient(base_url=url, timeout=10.0, trust_env=False) as http:
        while True:
            try:
                answer = await http.post(
                    "/v1/chat/completions", json=BODY, headers={"X-Backscroll-Channel": CHANNEL}
                )
            except httpx2.HTTPError:
                return last
            assert answer.status_code == 200, answer.text
            assert "x-backscroll-stored" not in answer.headers
            last = answer.json()["choices"][0]["message"]["content"]
            answered.set()


async def answers_of(server: ServerProcess) -> list[str]:
    """What stands behind the question."""
    async with AsyncClient(server.address) as client:
        stored = [text_of(row.message) async for row in client.list_messages(CHANNEL)]
    assert stored[:3] == ["hi", "hello", "when is dinner?"]
    return [text for text in stored[3:] if text]


def started(tmp_path: Path, vendor: FakeVendor) -> ServerProcess:
    settings = {
        "BACKSCROLL_MODEL_BASE_URL": vendor.url,
        "BACKSCROLL_HTTP_LISTEN": "127.0.0.1:0",
        "BACKSCROLL_LOG_LEVEL": "error",
        "BACKSCROLL_EMBEDDER": "none",
    }
    return ServerProcess(
        tmp_path / "killed.db", state_dir=tmp_path / "state", settings=settings
    ).start()


@pytest.mark.proof
@pytest.mark.timeout(1_800)
@pytest.mark.row("S5-48")
async def test_one_answer_is_there_after_every_kill(tmp_path: Path) -> None:
    rng = random.Random(20_261_129)
    said = 0

    def answer(_: Any) -> Any:
        nonlocal said
        said += 1
        return whole({"content": f"answer {said:06}"})

    async with fake_vendor(answer=answer) as vendor:
        for _ in range(KILLS):
            server = await asyncio.to_thread(started, tmp_path, vendor)
            answered = asyncio.Event()
            asking = asyncio.create_task(
                ask_until_killed(f"http://{server.http_address.removeprefix(SCHEME)}", answered)
            )
            first = asyncio.create_task(answered.wait())
            await asyncio.wait([first, asking], return_when=asyncio.FIRST_COMPLETED)
            first.cancel()
            await asyncio.sleep(rng.uniform(0.0, 0.3))
            await asyncio.to_thread(server.kill)
            last = await asking
            server = await asyncio.to_thread(started, tmp_path, vendor)
            try:
                (kept,) = await answers_of(server)
            finally:
                await asyncio.to_thread(server.stop)
            assert kept >= last, "an answer that came whole is lost"
    print(f"{KILLS} kills, {said} answers")
    assert said > 2 * KILLS
