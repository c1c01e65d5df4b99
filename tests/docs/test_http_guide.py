"""The examples of the guide to HTTP, run as they stand against a server."""

import asyncio
import re
import shutil
import subprocess
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


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_the_commands_of_the_guide_run() -> None:
    async with over_http() as served:
        page = "".join(block for block in blocks("console") if "curl" in block)
        said = page.replace("http://127.0.0.1:7172", served.url).replace("$ curl", "curl --fail")
        ran = await asyncio.to_thread(
            subprocess.run, ["bash", "-ec", said], capture_output=True, text=True, check=True
        )
        assert "the roof leaks" in ran.stdout
