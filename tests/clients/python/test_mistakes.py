"""Mistakes of somebody new: each is answered with what was expected, before anything is sent."""

import asyncio
import subprocess
import sys
from importlib.metadata import version

import pytest

import backscroll
from backscroll import AsyncClient, Client, Message, TlsConfig

LINE = {"id": "1", "author": "ann", "text": "hi"}
MISTAKES = {
    "a dict for a message": (lambda c: c.append("room", LINE), "backscroll.Message.*not dict"),
    "dicts for messages": (lambda c: c.append("room", [LINE]), "backscroll.Message.*not dict"),
    "a text for a message": (lambda c: c.append("room", "hi"), "backscroll.Message.*not str"),
    "a number for messages": (lambda c: c.append("room", 7), "backscroll.Message.*not int"),
    "an imported dict": (lambda c: c.import_messages([LINE]), "backscroll.Message.*not dict"),
    "a number for a channel": (lambda c: c.build_context(-100, "q"), r"channel must be text.*str\(-100\)"),
    "a number for an author": (lambda c: c.build_context("room", "q", asker=7), "Author.id must be text"),
    "a tool that is no function": (
        lambda c: c.chat("room", "q", asker="u", tools={"weather": 3}), "'weather' must be a function, not int",
    ),
    "an override": (lambda c: c.build_context("room", "q", max_context=3), r"give overrides=Overrides\(max_context="),
    "an override of a chat": (lambda c: c.chat("room", "q", max_context=3), r"give overrides=Overrides\(max_context="),
    "a keyword that is none": (lambda c: c.build_context("room", "q", colour=3), "unexpected keyword.*'colour'$"),
    "tools in a list": (lambda c: c.chat("room", "q", asker="u", tools=[print]), "dict of functions by name"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_what_was_expected_is_said(name):
    call, words = MISTAKES[name]
    with Client("127.0.0.1:9") as client, pytest.raises(TypeError, match=words) as caught:
        call(client)
    assert caught.type is TypeError


@pytest.mark.parametrize("name", MISTAKES)
async def test_what_was_expected_is_said_where_it_is_awaited(name):
    call, words = MISTAKES[name]
    async with AsyncClient("127.0.0.1:9") as client:
        with pytest.raises(TypeError, match=words):
            await call(client)


@pytest.mark.parametrize("field", ["ca", "certificate", "private_key"])
def test_a_file_of_tls_that_is_not_there_is_told_with_its_field(field):
    with pytest.raises(FileNotFoundError, match=rf"TlsConfig\.{field} cannot be read.*'nope\.pem'"):
        Client("127.0.0.1:9", tls=TlsConfig(**{field: "nope.pem"}))


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("target", [7171, None, b"127.0.0.1:7171"])
def test_a_target_is_text(kind, target):
    with pytest.raises(TypeError, match="target must be text such as"):
        kind(target)


CALLS = {
    "build_context": lambda c: c.build_context("room", "q"),
    "append": lambda c: c.append("room", Message("1", "ann", "x")),
    "import_messages": lambda c: c.import_messages([Message("1", "ann", "x", channel="room")]),
    "health": lambda c: c.health(),
}
STREAMS = {
    "list_messages": lambda c: c.list_messages("room"),
    "export_messages": lambda c: c.export_messages("room"),
    "stream_chat": lambda c: c.stream_chat("room", "q", asker="u"),
}


@pytest.mark.parametrize("name", [*CALLS, *STREAMS])
def test_a_closed_client_says_so(name):
    client = Client("127.0.0.1:9")
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="client that is closed"):
        _ = CALLS[name](client) if name in CALLS else list(STREAMS[name](client))


@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("name", [*CALLS, *STREAMS])
async def test_a_closed_asynchronous_client_says_so(name, is_used):
    client = AsyncClient("127.0.0.1:9", timeout_s=0.01)
    if is_used:
        with pytest.raises(backscroll.BackscrollError):
            await client.get_channel("room")
    await client.close()
    call = CALLS[name](client) if name in CALLS else anext(aiter(STREAMS[name](client)))
    with pytest.raises(RuntimeError, match="client that is closed"):
        await call


def test_a_client_of_another_event_loop_says_so():
    client = AsyncClient("127.0.0.1:9", timeout_s=0.01)

    async def ask() -> None:
        with pytest.raises(backscroll.BackscrollError):
            await client.get_channel("room")

    asyncio.run(ask())
    with pytest.raises(RuntimeError, match="belongs to another event loop: make one for each"):
        asyncio.run(ask())
    asyncio.run(client.close())


def test_the_version():
    assert backscroll.__version__ == version("backscroll")


LIGHT = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"backscroll_sidecar", "backscroll_scoring", "typer", "rich", "numpy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from backscroll._cli_entry import main
main()
"""


@pytest.fixture(scope="module")
def light(tmp_path_factory):
    """An interpreter that finds the client and what it needs, and nothing of the server."""
    script = tmp_path_factory.mktemp("light") / "command.py"
    script.write_text(LIGHT)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False
        )

    return run


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_the_command_of_the_client_alone_helps(light, arguments):
    done = light(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert 'pip install ".[server]"' in done.stdout


def test_the_command_of_the_client_alone_tells_its_version(light):
    done = light("--version")
    assert (done.returncode, done.stdout) == (0, f"backscroll {backscroll.__version__}\n")


def test_a_command_that_needs_the_server_says_so(light):
    done = light("serve")
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs the server's packages" in done.stderr
