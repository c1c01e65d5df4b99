"""A server with pages, one a module, on a thread of its own; the demo chat in it; and a browser where there is one."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

import grpc
import httpx2
import pytest

from backscroll.v1 import admin_pb2_grpc, context_pb2_grpc, history_pb2_grpc
from backscroll_sidecar.inspector import demo
from backscroll_sidecar.server import RunningServer
from tests.integration.inspector.browser import browsing, driver, missing
from tests.kit.over_http import over_http

DATA = resources.files("backscroll_sidecar") / "data"
DEMO = json.loads((DATA / "demo_questions.json").read_text("utf-8"))
CHANNEL: str = DEMO["channel"]
LARGE = [("grpc.max_receive_message_length", 64 << 20)]
QUESTION: str = DEMO["questions"][1]["trigger_message_id"]


@dataclass(frozen=True)
class Site:
    """A served server. `url` is the inspector's, `address` that of the calls by gRPC."""

    url: str
    address: str
    http: httpx2.Client
    channel: grpc.Channel
    server: RunningServer

    @property
    def history(self) -> history_pb2_grpc.HistoryServiceStub:
        """Calls by gRPC."""
        return history_pb2_grpc.HistoryServiceStub(self.channel)

    @property
    def context(self) -> context_pb2_grpc.ContextServiceStub:
        """The same."""
        return context_pb2_grpc.ContextServiceStub(self.channel)

    @property
    def admin(self) -> admin_pb2_grpc.AdminServiceStub:
        """The same."""
        return admin_pb2_grpc.AdminServiceStub(self.channel)

    def get(self, path: str, **fields: str) -> httpx2.Response:
        """A page, by the last part of its address."""
        return self.http.get(f"/{path}", params=fields)

    def json(self, path: str, **fields: str) -> dict[str, Any]:
        """Its twin."""
        answer = self.get(path, **fields, format="json")
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def site(**given: Any) -> Iterator[Site]:
    """Serve until the block ends; `given` as in `over_http`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="site", daemon=True)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(120)

    opened = over_http(**given)
    try:
        one = run(opened.__aenter__())
        address = one.server.addresses[0]
        try:
            with (
                grpc.insecure_channel(address, LARGE) as channel,
                httpx2.Client(
                    base_url=f"{one.url}/inspector", timeout=120.0, trust_env=False
                ) as http,
            ):
                yield Site(f"{one.url}/inspector", address, http, channel, one.server)
        finally:
            run(opened.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def load_demo(one: Site) -> None:
    """Append the demo chat."""
    for batch in demo.batches():
        one.history.AppendMessages(batch)


@pytest.fixture(scope="module")
def empty() -> Iterator[Site]:
    """A server that holds nothing."""
    with site() as one:
        yield one


@pytest.fixture(scope="module")
def chat() -> Iterator[Site]:
    """A server with the demo chat."""
    with site() as one:
        load_demo(one)
        yield one


@pytest.fixture(scope="module")
def playwright() -> Iterator[Any]:
    """What drives browsers. Its tests are skipped where there is none."""
    if lacks := missing():
        pytest.skip(lacks)
    with driver() as one:
        yield one


@pytest.fixture(scope="module")
def browser(playwright: Any) -> Iterator[Any]:
    """A browser, one a module."""
    with browsing(playwright) as context:
        context.set_default_timeout(60_000)
        yield context


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A page of it; what it complains of fails the test."""
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None,
    )
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    yield page
    page.close()
    browser.clear_cookies()
    assert not complaints
