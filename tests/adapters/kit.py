"""What every adapter is tried with: the program of the guide in a process of its own, the real server, a fake model.

The program runs as it stands, by the Python of `make adapters`, which has the framework. Changed is only where
things are: the server, and what a prelude says of the platform's address.
"""

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from backscroll import AsyncClient, NotFound, text_of
from backscroll._encode import enum_name
from backscroll.v1 import message_pb2
from tests.kit.patience import patience
from tests.kit.served import running

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guide/adapters.md"
VENV = Path(os.environ.get("BACKSCROLL_ADAPTERS_VENV", ROOT / ".venv-adapters"))
NODE = ROOT / "tests/adapters/node"
MOST_LINES = 30


def python_with(package: str) -> str:
    """The Python that has a framework; the test is skipped where there is none."""
    python = VENV / "bin/python"
    if not any(VENV.glob(f"lib/python3*/site-packages/{package}")):
        pytest.skip(f"{package} is not installed: make adapters")
    return str(python)


def example(heading: str, language: str = "python") -> str:
    """The program under a heading of the guide."""
    section = re.split(rf"\n#+ {re.escape(heading)}\n", GUIDE.read_text("utf-8"))[1]
    source = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)[1]
    assert len(source.splitlines()) < MOST_LINES, heading
    return source


@asynccontextmanager
async def web(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application on a free port; its host and port."""
    config = uvicorn.Config(
        app, port=0, log_level="warning", lifespan="off", ws="websockets-sansio"
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    serving = asyncio.create_task(server._serve())
    async with patience():
        while not server.started:  # noqa: ASYNC110 - it has no event for that
            await asyncio.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        yield f"{host}:{port}"
    finally:
        server.should_exit = True
        await serving


class Model:
    """What OpenAI's client talks to: it keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, str]]] = []
        self.outputs: list[dict] = []
        """What the next calls of the Responses API answer; behind it the same text as elsewhere."""
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._completions, methods=["POST"]),
                Route("/v1/responses", self._responses, methods=["POST"]),
            ]
        )

    async def _responses(self, request: Request) -> JSONResponse:
        self.asked.append((await request.json())["input"])
        text = {"type": "output_text", "text": "At nine.", "annotations": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
        output = self.outputs.pop(0) if self.outputs else message
        return JSONResponse(
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 1,
                "model": "m",
                "output": [output | {"status": "completed"}],
                "parallel_tool_calls": False,
                "tool_choice": "auto",
                "tools": [],
            }
        )

    async def _completions(self, request: Request) -> JSONResponse:
        self.asked.append((await request.json())["messages"])
        answer = {"role": "assistant", "content": "At nine."}
        return JSONResponse(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
            }
        )


class Stage:
    """A server, a model and what the bot's program made of the platform's events."""

    def __init__(self, client: AsyncClient, model: Model, environment: dict[str, str]) -> None:
        self.client = client
        self.environment = environment
        self.model = model
        self.bot: subprocess.Popen[bytes] | None = None

    async def lines(self, channel: str) -> list[dict[str, object]]:
        """What is stored of a channel, fields that say nothing left out."""
        try:
            stored = [
                one async for one in self.client.list_messages(channel, include_recalled=True)
            ]
        except NotFound:
            return []
        return [_line(one) for one in stored]

    async def until(self, channel: str, is_there: Callable[[list[dict[str, object]]], bool]):
        """Wait until a channel holds something, and return its lines."""
        lines: list[dict[str, object]] = []
        try:
            async with patience():
                while not is_there(lines := await self.lines(channel)):
                    assert self.bot is None or self.bot.poll() is None, "the bot ended by itself"
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{channel} holds only {lines}") from None
        return lines

    async def until_stored(self, channel: str, message_id: str) -> list[dict[str, object]]:
        """Wait until a message is there."""
        return await self.until(
            channel, lambda lines: any(one["id"] == message_id for one in lines)
        )


def _line(stored) -> dict[str, object]:
    message = stored.message
    line = {
        "id": message.id,
        "author": message.author.id,
        "name": message.author.name,
        "text": text_of(message),
        "media": [
            {
                key: value
                for key in ("kind", "alt_text", "uri", "mime")
                if (value := getattr(part.media, key))
            }
            for part in message.parts
            if part.HasField("media")
        ],
        "sent_at_ms": message.sent_at_ms,
        "reply_to": message.reply.message_id,
        "reply_kind": enum_name(message_pb2.ReplyKind.DESCRIPTOR, message.reply.kind)
        if message.HasField("reply")
        else "",
        "mentions": list(stored.mentioned_user_ids),
        "is_own": message.role == message_pb2.ROLE_ASSISTANT,
        "thread": message.thread_id,
        "aliases": list(stored.alias_ids),
        "revision": stored.revision,
        "recalled": stored.recalled,
    }
    return {key: value for key, value in line.items() if value}


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    """The server and the model, and the environment of a bot that finds them."""
    model = Model()
    async with running() as (server, _), web(model.app) as model_address:
        environment = {
            "SERVER": server.addresses[0],
            "OPENAI_BASE_URL": f"http://{model_address}/v1",
            "OPENAI_API_KEY": "none",
        }
        async with AsyncClient(server.addresses[0]) as client:
            yield Stage(client, model, environment)


@asynccontextmanager
async def program(
    stage: Stage, source: str, command: list[str], folder: Path, prelude: str = ""
) -> AsyncIterator[None]:
    """Run a bot until the block ends; what it printed is shown if the block fails."""
    is_node = command[0].endswith("node")
    if is_node:
        (folder / "node_modules").symlink_to(NODE / "node_modules")
    path = folder / ("bot.mjs" if is_node else "bot.py")
    path.write_text(
        prelude + source.replace("127.0.0.1:7171", stage.environment["SERVER"]), "utf-8"
    )
    inherited = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    said = folder / "said.txt"
    with said.open("wb") as out:
        process = subprocess.Popen(  # noqa: ASYNC220 - it begins at once
            [*command, str(path)],
            cwd=folder,
            env=inherited
            | {"PYTHONPATH": str(ROOT / "clients/python"), "PYTHONUNBUFFERED": "1"}
            | stage.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        stage.bot = process
        yield
        assert process.poll() is None, "the bot ended by itself"
    except BaseException:
        sys.stderr.write(said.read_text("utf-8", "replace"))
        raise
    finally:
        process.kill()
        with contextlib.suppress(ProcessLookupError):
            await asyncio.to_thread(process.wait)


async def run(
    stage: Stage, source: str, command: list[str], folder: Path, *asked: str, prelude: str = ""
) -> list[str]:
    """Run a program that asks for lines until an empty one; what it says to each."""
    path = folder / "program.py"
    path.write_text(
        prelude + source.replace("127.0.0.1:7171", stage.environment["SERVER"]), "utf-8"
    )
    process = await asyncio.create_subprocess_exec(
        *command,
        str(path),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "clients/python")} | stage.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with patience():
            said, failed = await process.communicate("\n".join([*asked, "", ""]).encode())
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, failed.decode()
    return said.decode().removesuffix("> ").replace("> ", "").splitlines()


def node_with(package: str) -> str:
    """Node with a framework and the client; the test is skipped where there is none."""
    found = shutil.which("node")
    if not found or not all(
        (NODE / "node_modules" / one).exists() for one in (package, "backscroll")
    ):
        pytest.skip(f"{package} is not installed for Node: make adapters")
    return found
