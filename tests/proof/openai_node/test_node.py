"""OpenAI's own client for Node against the server: only its base URL and headers are others."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from tests.kit.fake_vendor import Said, Sent, fake_vendor, streamed, whole
from tests.kit.over_http import over_http

HERE = Path(__file__).parent
CHANNEL = "cellar"
T0 = 1_795_000_000_000


def missing() -> str:
    """Why it cannot run here; empty: it can."""
    if shutil.which("node") is None:
        return "Node is not installed"
    if not (HERE / "node_modules/openai").is_dir():
        return "npm's openai is not installed: run `make proof-node`"
    return ""


pytestmark = [
    pytest.mark.proof,
    pytest.mark.row("S5-48"),
    pytest.mark.skipif(bool(missing()), reason=missing() or "it is there"),
]


def answer(sent: Sent) -> Said:
    """Streams where that is asked for; calls a tool once."""
    if sent.body.get("stream"):
        return streamed("under ", "the pot 🪴")
    last = sent.body["messages"][-1]
    if last["role"] == "tool":
        return whole({"content": f"at six, for it is {last['content']}"})
    if "tools" in sent.body:
        call = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
        return whole({"content": None, "tool_calls": [call]}, "tool_calls")
    return whole({"content": "hi"})


async def test_openais_client_for_node_streams_calls_tools_and_passes_through() -> None:
    async with (
        fake_vendor(answer=answer) as vendor,
        over_http(settings={"model_base_url": vendor.url, "model_api_key": "k"}) as served,
    ):
        texts = ["the key of the bicycle cellar is under the blue flower pot"]
        texts += [f"line {at} about the weather" for at in range(300)]
        ben = {"id": "u2", "name": "Ben"}
        rows = [
            {
                "id": f"m{at}",
                "author": ben,
                "parts": [{"text": {"text": text}}],
                "sentAtMs": T0 + at,
            }
            for at, text in enumerate(texts)
        ]
        await served.call("HistoryService/AppendMessages", {"channel": CHANNEL, "messages": rows})
        node = await asyncio.create_subprocess_exec(
            "node", "ask.mjs", served.url + "/v1", CHANNEL, cwd=HERE, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await asyncio.wait_for(node.communicate(), 120)
        assert node.returncode == 0
        told = json.loads(out)
        assert told == {
            "streamed": "under the pot 🪴",
            "call": "clock",
            "said": "at six, for it is five o'clock",
            "untouched": ["hi", "none; reason=unknown_channel"],
            "refused": 400,
        }
        first, *_, untouched = vendor.sent
        assert any("blue flower pot" in text for text in first.texts)
        assert untouched.texts == ["user: where is the key of the bicycle cellar?"]
        listed = await served.call(
            "HistoryService/ListMessages", {"channel": CHANNEL, "newestFirst": True, "limit": 4}
        )
        said = [one["message"]["parts"][0]["text"]["text"] for one in listed.json()["messages"]]
        assert said == [
            "at six, for it is five o'clock",
            "when is dinner?",
            "under the pot 🪴",
            "where is the key of the bicycle cellar?",
        ]
