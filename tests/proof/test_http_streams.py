"""A thousand streams of Chat Completions at once: server, model and clients each a process of its own."""

from pathlib import Path

import pytest

from tests.kit.model_process import ModelProcess
from tests.kit.server_process import ServerProcess
from tests.kit.sse_load import sse_load

STREAMS, SECONDS, DELTAS_A_SECOND, OPENED_IN_S = 1_000, 25.0, 20.0, 20.0


@pytest.mark.proof
@pytest.mark.timeout(1_200)
@pytest.mark.row("S5-48")
def test_a_thousand_streams_over_http_are_all_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelProcess() as model:
        monkeypatch.setenv("BACKSCROLL_MODEL_BASE_URL", model.url)
        monkeypatch.setenv("BACKSCROLL_HTTP_LISTEN", "127.0.0.1:0")
        monkeypatch.setenv("BACKSCROLL_LOG_LEVEL", "error")
        with ServerProcess(tmp_path / "chat.db", durability="normal") as server:
            load = sse_load(
                server.http_address, STREAMS, SECONDS, DELTAS_A_SECOND, OPENED_IN_S, 900
            )
    print(f"{STREAMS} streams in {load.seconds:.1f} s, {load.most_at_once} at once")
    assert load.endings == {"200 whole": STREAMS}
    assert (load.wrong_texts, load.without_context) == (0, 0)
    assert load.most_at_once == STREAMS
