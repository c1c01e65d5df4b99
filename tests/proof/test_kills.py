"""Nothing acknowledged is lost, nothing is stored twice: 100 kills while 8 clients append and edit (law 1)."""

import asyncio
import os
import random
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from backscroll import AsyncClient, BackscrollError, Message
from backscroll.results import text_of
from tests.kit.server_process import ServerProcess

KILLS = int(os.environ.get("TEST_KILLS", "100"))
CLIENTS = 8
WARM_START_LIMIT_CPU_S = 4.0
CHANNEL = "killed"


@dataclass
class Ledger:
    """What one client knows: texts acknowledged, and changes sent of which it never heard."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    in_doubt: dict[str, str] = field(default_factory=dict)


async def write_until_killed(
    client: AsyncClient, name: str, ledger: Ledger, rng: random.Random
) -> None:
    """Append new messages and edit old ones, noting each only once it is acknowledged."""
    for number in range(10**9):
        message_id = f"{name}-{number}"
        if ledger.acknowledged and rng.random() < 0.3:
            message_id = rng.choice(list(ledger.acknowledged))
            text = f"edited {rng.random()}"
            ledger.in_doubt[message_id] = text
            await client.edit_message(CHANNEL, message_id, text)
            ledger.acknowledged[message_id] = text
            del ledger.in_doubt[message_id]
        else:
            ids = [f"{message_id}-{i}" for i in range(rng.randint(1, 5))]
            texts = {i: f"text of {i}" for i in ids}
            ledger.in_doubt.update(texts)
            batch = [
                Message(i, name, text, 1_700_000_000_000 + number) for i, text in texts.items()
            ]
            await client.append(CHANNEL, batch)
            ledger.acknowledged.update(texts)
            for i in ids:
                del ledger.in_doubt[i]


async def one_life(server: ServerProcess, life: int, rng: random.Random) -> Ledger:
    """Let the clients work against the server and kill it at a random moment."""
    ledgers = [Ledger() for _ in range(CLIENTS)]
    async with AsyncClient(server.address, timeout_s=5.0) as client:
        tasks = [
            asyncio.create_task(
                write_until_killed(client, f"{life}-{n}", ledger, random.Random(rng.random()))
            )
            for n, ledger in enumerate(ledgers)
        ]
        await asyncio.sleep(rng.uniform(0.02, 0.6))
        server.kill()
        ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
    assert all(isinstance(error, BackscrollError) for error in ended), ended
    together = Ledger()
    for ledger in ledgers:
        together.acknowledged.update(ledger.acknowledged)
        together.in_doubt.update(ledger.in_doubt)
    return together


async def check(server: ServerProcess, ledgers: list[Ledger]) -> int:
    """Every acknowledged change is there, none twice; what was in doubt is there whole or not at all."""
    async with AsyncClient(server.address) as client:
        stored = [m async for m in client.list_messages(CHANNEL)]
    seen = Counter(m.message.id for m in stored)
    assert not [message_id for message_id, count in seen.items() if count > 1]
    texts = {m.message.id: text_of(m.message) for m in stored}
    known: set[str] = set()
    for ledger in ledgers:
        for message_id, text in ledger.acknowledged.items():
            assert texts.get(message_id) in {text, ledger.in_doubt.get(message_id, text)}, (
                message_id
            )
        for message_id, text in ledger.in_doubt.items():
            assert texts.get(message_id) in {text, ledger.acknowledged.get(message_id)}, message_id
        known |= ledger.acknowledged.keys() | ledger.in_doubt.keys()
    assert set(texts) <= known
    assert sorted(m.sequence for m in stored) == list(range(1, len(stored) + 1))
    return len(stored)


@pytest.mark.proof
@pytest.mark.timeout(3_600)
def test_no_acknowledged_change_is_lost_in_any_kill(tmp_path: Path) -> None:
    """Law 1: kill -9 at random moments; then the server serves again after 4 s of work at most, with a warm cache."""
    rng = random.Random(20_261_121)
    ledgers: list[Ledger] = []
    starts: list[float] = []
    database, state_dir = tmp_path / "killed.db", tmp_path / "state"
    ServerProcess(database, state_dir=state_dir).start().stop()  # fills the kernel cache
    for life in range(KILLS):
        server = ServerProcess(database, state_dir=state_dir).start()
        starts.append(server.start_cpu_s)
        ledgers.append(asyncio.run(one_life(server, life, rng)))
    server = ServerProcess(database, state_dir=state_dir).start()
    try:
        count = asyncio.run(check(server, ledgers))
    finally:
        server.stop()
    acknowledged = sum(len(ledger.acknowledged) for ledger in ledgers)
    print(
        f"{KILLS} kills, {acknowledged} acknowledged, {count} stored, "
        f"start median {statistics.median(starts):.2f} CPU s, worst {max(starts):.2f}"
    )
    assert acknowledged > KILLS
    assert statistics.median(starts) <= WARM_START_LIMIT_CPU_S
