"""The demo chat as requests, for a server that has nothing yet."""

from __future__ import annotations

from importlib import resources

from backscroll.v1 import history_pb2, message_pb2
from backscroll_sidecar.importers.items import Options
from backscroll_sidecar.importers.sources import opened
from backscroll_sidecar.importers.survey import messages, survey

BATCH = 500


def batches() -> list[history_pb2.AppendMessagesRequest]:
    """All of it, in order. Reads a file: not for an event loop."""
    chosen = Options()
    data = resources.files("backscroll_sidecar") / "data" / "demo_chat.jsonl.gz"
    with resources.as_file(data) as path, opened([str(path)]) as sources:
        read = messages(survey(sources, chosen), chosen)
        found = [one for one in read if isinstance(one, message_pb2.Message)]
    return [
        history_pb2.AppendMessagesRequest(channel=found[0].channel, messages=found[at : at + BATCH])
        for at in range(0, len(found), BATCH)
    ]
