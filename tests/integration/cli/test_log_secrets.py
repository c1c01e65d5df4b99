"""No log line of any level, of any library, holds a token, a key or a text: real servers at debug, both edges."""

import contextlib
import json
import logging
import subprocess
import sys
from functools import partial
from pathlib import Path

import grpc
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backscroll import BackscrollError, Client, Message, TlsConfig
from backscroll.v1 import context_pb2
from tests.kit.certificates import certificate_of_own

pytestmark = pytest.mark.slow

TOKEN, WRONG = "tok-7f3a9c51e2d84b60", "tok-wrong-55b1f0c2a7"
KEY, HEADER = "sk-planted-0c9d8e7f6a", "planted-header-4d3c2b1a"
SAID, ASKED = "the safe opens with 4929-1187", "which number opens 墙上的保险柜?"
ANSWERED, REFUSED = "it was quoted above, friend", "you sent a planted vendor sentence"
NAME = "Bartholomew Planted"
SECRETS = (TOKEN, WRONG, KEY, HEADER, SAID, ASKED, "保险柜", ANSWERED, REFUSED, NAME, "4929-1187")

MINE = """
import asyncio, logging
class Failing:
    name = "failing"
    async def gather(self, query):
        logging.getLogger("hpack.table").debug("Adding %s to the table", query.question)
        logging.getLogger("httpx").info(query.question)
        logging.getLogger("asyncio").warning("Executing <Task %s> took 1 s", query.question)
        logging.getLogger("another").setLevel("DEBUG")
        logging.getLogger("another").debug(query.question)
        logging.getLogger("another").error("odd: " + query.question, extra={"body": query.question})
        asyncio.ensure_future(self.lost(query.question))
        asyncio.get_running_loop().call_soon(self.broken, query.question)
        try:
            raise KeyError(query.question)
        except KeyError as error:
            try:
                raise ExceptionGroup("many", [ValueError(query.question), error])
            except ExceptionGroup:
                logging.getLogger("backscroll.mine").exception("a source broke")
        raise ValueError(query.question)
    async def lost(self, question):
        raise ValueError(question)
    def broken(self, question):
        raise ValueError(question)
from backscroll_sidecar.edge.services.history import HistoryServicer
async def broken(self, request, call):
    raise RuntimeError(f"cannot read {request}")
HistoryServicer.search_messages = broken
"""

EDGES = [("auto", "console", False), ("grpc", "json", False), ("auto", "json", True)]


def vendor(server: HTTPServer) -> str:
    """A model that answers with a text, then refuses with a sentence that quotes what it was sent."""
    texts = iter([ANSWERED])

    def answer(request: Request) -> Response:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.headers["x-planted"] == HEADER
        text = next(texts, None)
        if text is None:
            error = {"error": {"message": f"{REFUSED}: {request.get_data(as_text=True)}"}}
            return Response(json.dumps(error), 400, {"x-request-id": KEY})
        chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
        return Response(body, 200, {"content-type": "text/event-stream"})

    server.expect_request("/v1/chat/completions").respond_with_handler(answer)
    return server.url_for("/v1")


@pytest.mark.row("S5-52", "P-17")
@pytest.mark.parametrize(("edge", "form", "with_tls"), EDGES)
def test_no_line_holds_a_token_a_key_or_a_text(shell, httpserver, tmp_path, edge, form, with_tls):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "tokens.toml").write_text(f'[tokens]\n"{TOKEN}" = "club"\n')
    settings = {
        "BACKSCROLL_STRATEGIES": "mine:Failing", "PYTHONPATH": str(tmp_path),
        "PYTHONASYNCIODEBUG": "1", "OPENAI_LOG": "debug", "BACKSCROLL_EDGE": edge,
        "BACKSCROLL_MODEL_BASE_URL": vendor(httpserver), "BACKSCROLL_MODEL_API_KEY": KEY,
        "BACKSCROLL_MODEL_HEADERS": json.dumps({"x-planted": HEADER}),
    }  # fmt: skip
    options = ["--log-level", "debug", "--log-format", form, "--database", str(tmp_path / "b.db")]
    options += ["--tokens-file", str(tmp_path / "tokens.toml")]
    tls = None
    if with_tls:
        files = certificate_of_own(tmp_path)
        options += ["--tls-cert", str(files.cert), "--tls-key", str(files.key)]
        tls = TlsConfig(ca=files.cert)
    with shell.serving(*options, **settings) as process:
        reasons = call_in_every_way(process.address, tls)
        if not with_tls:
            send_what_is_no_message(process.address)
            speak_to_it_by_hand(process.address)
    log = process.log.read_text()
    found = [line for line in log.splitlines() if any(secret in line for secret in SECRETS)]
    assert not found
    assert reasons == ["UNAUTHENTICATED", "UNAUTHENTICATED", "INTERNAL", "UNKNOWN_PROFILE"]
    # The faults were logged, with where they were, and so were the lines of libraries.
    for said in ("rpc.failed", "RuntimeError", "in broken", "a source broke", "ExceptionGroup",
                 "Task exception was never retrieved", "a model call failed", "another"):  # fmt: skip
        assert said in log, said
    assert len(httpserver.log) >= 2
    assert "hpack" not in log


def call_in_every_way(address: str, tls: TlsConfig | None) -> list[str]:
    """Calls that end well, that are refused, and that break; the reasons of the latter."""
    reasons = []
    for token in (WRONG, None):
        with Client(address, token=token, tls=tls) as stranger:
            message = Message("m0", "u0", SAID, 1_795_132_800_000)
            reasons.append(reason_of(partial(stranger.append, "room", message)))
    with Client(address, token=TOKEN, tls=tls, timeout_s=60) as client:
        me = Message("m1", "u1", SAID, 1_795_132_800_000)
        client.append("room", me)
        built = client.build_context("room", ASKED, asker="u1", preferences=[SAID], system=ASKED)
        assert built.degradations
        events = [*client.stream_chat("room", ASKED, asker="u1")]
        assert any(getattr(one, "text", "") == ANSWERED for one in events)
        assert [*client.stream_chat("room", ASKED, asker="u1")]
        reasons.append(reason_of(lambda: client.search("room", SAID)))
        reasons.append(reason_of(lambda: client.build_context("room", ASKED, profile="gone")))
    return reasons


def reason_of(call) -> str:
    try:
        call()
    except BackscrollError as error:
        return error.reason
    return ""


def send_what_is_no_message(address: str) -> None:
    """Bytes that cannot be parsed, and a text where a name belongs."""
    asked = context_pb2.BuildContextRequest(channel="room", question=ASKED, model=SAID)
    with grpc.insecure_channel(address) as channel:
        method = channel.unary_unary("/backscroll.v1.ContextService/BuildContext")
        for body in (b"\xff" + SAID.encode(), asked.SerializeToString()):
            with contextlib.suppress(grpc.RpcError):
                method(body, metadata=[("authorization", f"Bearer {TOKEN}")], timeout=60)


def speak_to_it_by_hand(address: str) -> None:
    """What is no gRPC, with a token in its head and a text in its body."""
    for version in ("--http1.1", "--http2-prior-knowledge"):
        subprocess.run(
            ["curl", "-s", version, "-m", "10", "-H", f"authorization: Bearer {TOKEN}", "-d", SAID,
             f"http://{address}/{SAID.replace(' ', '-')}"],
            capture_output=True, check=False,
        )  # fmt: skip


END = "-- the next one --"
LINES = [
    ("hpack.hpack", logging.DEBUG, "Decoded %s", (TOKEN,)),
    ("aiosqlite", logging.DEBUG, "executing %s", (SAID,)),
    ("httpcore2.http11", logging.INFO, f"send_request_headers {KEY}", ()),
    ("some.library", logging.WARNING, "cannot read %r", (SAID,)),
    ("some.library", logging.ERROR, f"{SAID} is odd", ()),
    ("asyncio", logging.ERROR, f"Task exception was never retrieved\nfuture: {SAID}", ()),
    ("asyncio", logging.ERROR, f"Exception in callback took('{SAID}')", ()),
]


@pytest.mark.parametrize("form", ["console", "json"])
def test_lines_of_libraries(shell, tmp_path: Path, form):
    """In a process of their own, since logging belongs to the whole of it."""
    script = f"""
import logging, sys
from backscroll_sidecar.telemetry import logs
logs.configure("debug", {form!r})
for name, level, words, values in {LINES!r}:
    logging.getLogger(name).setLevel("DEBUG")
    try:
        int({SAID!r})
    except ValueError:
        logging.getLogger(name).log(level, words, *values, exc_info=True, extra={{"x": {KEY!r}}})
    print({END!r}, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path,
        env=shell.variables({}), check=True,
    )  # fmt: skip
    *said, rest = done.stderr.split(END + "\n")
    assert not rest
    for (name, level, _, _), one in zip(LINES, said, strict=True):
        assert not any(secret in one for secret in SECRETS)
        assert bool(one) is (level >= logging.WARNING)
        if level >= logging.WARNING:
            assert "ValueError" in one
            assert name in one
