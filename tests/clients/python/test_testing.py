"""`backscroll.testing`: a bot's own tests against a server that records what it did."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll import Delta, Message, ToolCall
from backscroll.testing import serve
from backscroll_sidecar.kernel_cache import kernel_cache

DOCS = Path(__file__).parents[3] / "docs/guide/testing.md"


@pytest.mark.row("S2-26", "S2-21", "S2-01", "S2-20")
def test_order_counts_and_arguments_of_a_turn_are_recorded():
    with serve(replies=["at six"], default_profile="retrieval") as server:
        server.client.append("room", Message("m1", "ann", "we meet at six", 1_795_176_000_000))
        server.clear()
        text = server.client.chat("room", "when do we meet?", asker="ben", self_ids=["cat"]).text
        calls = list(server.calls)
    assert text == "at six"
    answer = next(
        call for call in calls if call.name == "store.add" and call.arguments["text"] == "at six"
    )
    [search] = server.calls_of("search.semantic")
    [model] = server.calls_of("model")
    assert search.arguments["limit"] == 5
    assert search.arguments["question"] == "when do we meet?"
    assert search.number < model.number < answer.number
    assert answer.arguments["role"] == "assistant"
    assert len(server.calls_of("store.add")) == 2
    assert "we meet at six" in model.arguments["messages"][-2]["content"]


@pytest.mark.row("S2-26")
def test_replies_can_be_texts_pieces_tools_and_functions():
    weather = ToolCall("c1", "weather", '{"city":"Paris"}')

    def look_up(city: str) -> str:
        """Look up the weather of a city."""
        return f"sunny in {city}"

    with serve(replies=[["at ", "six"], weather, "sunny!"]) as server:
        said = server.client.stream_chat("room", "when?", asker="ben")
        assert "".join(one.text for one in said if isinstance(one, Delta)) == "at six"
        heard = list(
            server.client.stream_chat("room", "weather?", asker="ben", tools={"weather": look_up})
        )
        assert [one.text for one in heard if isinstance(one, Delta)] == ["sunny!"]
        told = server.calls_of("model")[-1].arguments["messages"]
        assert told[-1] == {"role": "tool", "content": "sunny in Paris"}
        server.reply("later")
        assert server.client.chat("room", "and?", asker="ben").text == "later"
        answer = server.client.chat("room", "too much", asker="ben")
        assert "no reply" in answer.error.message
    with serve(answer=lambda request: request.messages[-1].content.upper()) as server:
        assert "HELLO" in server.client.chat("room", "hello", asker="ben").text


@pytest.mark.row("S2-26")
def test_two_servers_know_nothing_of_each_other_and_settings_are_taken():
    with serve(default_profile="room") as one, serve() as other:
        one.client.append("room", Message("m1", "ann", "hello", 1_795_176_000_000))
        assert one.client.build_context("room", "x", asker="ben").raw.profile == "room"
        assert not other.client.build_context("room", "x", asker="ben").raw.channel_known
    with pytest.raises(ValueError, match="default_profile"), serve(default_profile="nonsense"):
        pass


def test_kernels_are_those_of_serve_even_if_numba_was_imported_before(tmp_path, monkeypatch):
    compiled = os.environ["NUMBA_CACHE_DIR"]
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = kernel_cache(tmp_path).directory
    shutil.copytree(compiled, kept, dirs_exist_ok=True)
    program = """
import numba
from backscroll.testing import serve
with serve():
    from backscroll_scoring.kernels_top import top as kernel
print(kernel.stats.cache_path, numba.config.CACHE_DIR, sep="|")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=500
    )
    used, afterwards = done.stdout.splitlines()[-1].split("|")  # the server logs there, too
    assert Path(used).parent == kept
    assert not afterwards


def test_without_the_server_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "backscroll_sidecar.kernel_cache", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "\.\[server\]"'), serve():
        pass


@pytest.mark.row("S2-26")
def test_the_example_of_the_docs_runs():
    [code] = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, str(DOCS), "exec"), names)
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    for name in [name for name in names if name.startswith("test_")]:
        names[name]()
