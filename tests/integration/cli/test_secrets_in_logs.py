"""No line of the log, at any level and of any library, holds a token, a key or a text."""

from __future__ import annotations

import contextlib

import grpc
import pytest
from pytest_httpserver import HTTPServer

from backscroll import BackscrollError, Client, Message
from backscroll.v1 import context_pb2

pytestmark = pytest.mark.slow

TOKEN, KEY, HEADER = "tok-Zanzibar-4711", "sk-Quetzal-0815", "Papageno-2718"
TEXT, QUESTION = "Xylophon-Geheimnis", "Kolibri-Frage?"


@pytest.mark.row("S5-52", "P-17")
@pytest.mark.parametrize("edge", ["auto", "grpc"])
@pytest.mark.parametrize("status", [200, 500])
def test_nothing_secret_is_logged_at_debug(shell, httpserver: HTTPServer, edge, status):
    httpserver.expect_request("/v1/chat/completions").respond_with_data(
        f'{{"error": {{"message": "{KEY} is wrong: {QUESTION}"}}}}', status=status
    )
    (shell.directory / "tokens.toml").write_text(f'[tokens]\n"{TOKEN}" = "one"\n')
    with shell.serving(
        "--log-level", "debug",
        BACKSCROLL_EDGE=edge,
        BACKSCROLL_TOKENS_FILE=str(shell.directory / "tokens.toml"),
        BACKSCROLL_MODEL_BASE_URL=httpserver.url_for("/v1"),
        BACKSCROLL_MODEL_API_KEY=KEY,
        BACKSCROLL_MODEL_HEADERS=f'{{"x-secret": "{HEADER}"}}',
    ) as process:  # fmt: skip
        with Client(process.address, token=TOKEN) as client:
            client.append("room", Message("m1", "ann", TEXT, 1_795_176_000_000))
            client.build_context("room", QUESTION, asker="ben")
            client.chat("room", QUESTION, asker="ben")
            with pytest.raises(BackscrollError):
                client.build_context("room", QUESTION, profile=TEXT)
        with (
            Client(process.address, token="wrong-" + TOKEN) as client,
            pytest.raises(BackscrollError),
        ):
            client.get_channel("room")
        with grpc.insecure_channel(process.address) as channel:
            method = channel.unary_unary("/backscroll.v1.ContextService/BuildContext")
            with contextlib.suppress(grpc.RpcError):
                method(b"\xff" + TEXT.encode(), metadata=[("authorization", f"Bearer {TOKEN}")])
            asked = context_pb2.BuildContextRequest(channel="room", question=QUESTION, model=TEXT)
            method(asked.SerializeToString(), metadata=[("authorization", f"Bearer {TOKEN}")])
    log = process.log.read_text()
    assert "debug" in log
    assert "BuildContext" in log
    for secret in (TOKEN, KEY, HEADER, TEXT, QUESTION):
        assert secret not in log, secret
