"""The examples of the guide to HTTP, run as they stand against a server."""

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.fake_vendor import fake_vendor, streamed
from tests.kit.over_http import over_http

PAGE = Path(__file__).parents[2] / "docs/guide/http.md"


def blocks(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


async def test_the_python_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    async with (
        fake_vendor(streamed("under the pot")) as vendor,
        over_http(settings={"model_base_url": vendor.url, "model_api_key": "k"}) as served,
    ):
        for block in blocks("python"):
            code = block.replace("http://127.0.0.1:7172", served.url)
            await asyncio.to_thread(exec, code, {})
        assert "under the pot" in capsys.readouterr().out
        listed = await served.call("HistoryService/ListMessages", {"channel": "group-1"})
        assert [one["message"]["author"]["id"] for one in listed.json()["messages"]] == ["u1", "assistant"]  # fmt: skip


async def test_the_model_that_is_none_answers_what_the_guide_asks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Started as the guide says, but for its port."""
    model = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PAGE.parents[2] / "examples/fake_model.py"),
        "--port",
        "0",
        stdout=asyncio.subprocess.PIPE,
    )
    assert model.stdout is not None
    try:
        url = (await model.stdout.readline()).decode().strip()
        async with over_http(settings={"model_base_url": url}) as served:
            for block in blocks("python"):
                code = block.replace("http://127.0.0.1:7172", served.url)
                await asyncio.to_thread(exec, code, {})
            assert "I was sent 1 messages." in capsys.readouterr().out
            whole = await served.http.post(
                "/v1/chat/completions",
                json={"model": "m", "messages": [{"role": "user", "content": "and then?"}]},
                headers={"X-Backscroll-Channel": "group-1"},
            )
            assert "I was sent 3 messages." in whole.json()["choices"][0]["message"]["content"]
            listed = await served.http.get("/v1/models")
            assert listed.json()["data"][0]["id"] == "fake-model"
    finally:
        model.kill()
        await model.wait()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_the_commands_of_the_guide_run() -> None:
    async with over_http() as served:
        page = "".join(block for block in blocks("console") if "curl" in block)
        said = page.replace("http://127.0.0.1:7172", served.url).replace("$ curl", "curl --fail")
        ran = await asyncio.to_thread(
            subprocess.run, ["bash", "-ec", said], capture_output=True, text=True, check=True
        )
        assert "the roof leaks" in ran.stdout
