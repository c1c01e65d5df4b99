"""kill -9 in the middle of the backlog: the next start finds what is left, and only that (S2-22)."""

import json
import time
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backscroll import Author, Client, Message
from backscroll_sidecar.vectors.backlog import MAX_BATCH
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.kept import rows
from tests.kit.server_process import ServerProcess

COUNT = 300
NOON = 1_795_176_000_000


@pytest.mark.slow
def test_a_kill_in_the_middle_of_the_backlog(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def embed(request: Request) -> Response:
        texts = json.loads(request.data)["input"]
        asked.extend(texts)
        time.sleep(0.05)
        rows = [
            {"index": n, "embedding": FakeEmbedder().vector(text).tolist()}
            for n, text in enumerate(texts)
        ]
        return Response(json.dumps({"data": rows}), content_type="application/json")

    httpserver.expect_request("/v1/embeddings").respond_with_handler(embed)
    monkeypatch.setenv("BACKSCROLL_EMBEDDER", "openai")
    monkeypatch.setenv("BACKSCROLL_EMBEDDER_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("BACKSCROLL_EMBEDDER_MODEL", "small")
    database = tmp_path / "killed.db"
    server = ServerProcess(database).start()
    with Client(server.address) as client:
        client.append(
            "room", [Message(f"m{n}", Author("u1"), f"line {n}", NOON + n) for n in range(COUNT)]
        )
    deadline = time.monotonic() + 20
    while len(asked) < 3 * MAX_BATCH and time.monotonic() < deadline:
        time.sleep(0.01)
    server.kill()
    before = len(asked)
    assert 3 * MAX_BATCH <= before < COUNT
    with ServerProcess(database) as server, Client(server.address) as client:
        assert client.wait_for_index("room", wait_s=30).ready
        assert client.get_channel("room").unembedded_count == 0
        found = client.build_context(
            "room", "line 7", asker="u2", profile="retrieval", asked_at=NOON + COUNT
        )
        assert not found.raw.degradations
    assert set(asked) == {f"line {n}" for n in range(COUNT)} | {"line 7"}
    assert len(asked) <= COUNT + 2 * MAX_BATCH + 1
    assert rows(database, "SELECT count(*), count(DISTINCT message_id) FROM vectors") == [
        (COUNT, COUNT)
    ]
