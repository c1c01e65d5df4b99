"""The model's HTTP server of the fault table: pytest-httpserver where it can play the bytes, else bare sockets."""

import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.contract.models.sse_server import Reply, Step, sse_server
from tests.integration.chat.talk import Bot, talk


@dataclass
class Upstream:
    """Where the model is, the bodies it was sent so far, and a log that a test may write into as well."""

    url: str
    bodies: list[bytes] = field(default_factory=list)
    log: list[tuple[str, str]] = field(default_factory=list)

    def took(self, path: str, body: bytes) -> int:
        """Note a request; how many there were before it."""
        self.log.append(("model", path))
        self.bodies.append(body)
        return len(self.bodies) - 1

    @property
    def sent(self) -> list[dict]:
        return [json.loads(body) for body in self.bodies]


@asynccontextmanager
async def upstream(httpserver: HTTPServer, replies: Sequence[Reply]) -> AsyncIterator[Upstream]:
    """Play the replies in order, the last one again and again.

    werkzeug, behind pytest-httpserver, writes a body as it is and ends it by closing the connection. It cannot hang
    up before or inside the body of a response that says when it ends, wait without holding its one thread, or say
    nothing at all: such a reply is played by the sockets of `sse_server`, for a whole test.
    """
    if any(map(_needs_sockets, replies)):
        async with sse_server() as server:
            server.replies[:] = replies
            playing = Upstream(server.url)
            choose = server.choose

            def keeping(exchange, at):
                playing.took(exchange.line.split()[1], exchange.body)
                return choose(exchange, at)

            server.choose = keeping
            yield playing
    else:
        yield on_httpserver(httpserver, replies)


@asynccontextmanager
async def designed(
    httpserver: HTTPServer, replies: Sequence[Reply], **settings: object
) -> AsyncIterator[tuple[Bot, Upstream]]:
    """A bot of such a model, in the wording of the designs."""
    async with (
        upstream(httpserver, replies) as model,
        talk(model_base_url=model.url, wording="designs", **settings) as bot,
    ):
        yield bot, model


def on_httpserver(httpserver: HTTPServer, replies: Sequence[Reply]) -> Upstream:
    playing = Upstream(httpserver.url_for("/v1"))

    def answer(request: Request) -> Response:
        at = playing.took(request.path, request.get_data())
        reply = replies[min(at, len(replies) - 1)]
        headers = {"content-type": "text/event-stream", **reply.headers}
        return Response(_body(reply.steps), reply.status, headers)

    handler = httpserver.expect_request("/v1/chat/completions", method="POST")
    handler.respond_with_handler(answer)
    return playing


def _needs_sockets(reply: Reply) -> bool:
    return bool(reply.before_head) or any(isinstance(step, str) for step in reply.steps)


def _body(steps: Iterable[Step]) -> Iterator[bytes]:
    for step in steps:
        if isinstance(step, float):
            time.sleep(step)
        else:
            yield step
