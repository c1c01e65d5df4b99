"""Chats to fill a server with, and ways to read them back."""

from itertools import chain

import grpc

from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2 as pb
from tests.integration.edge.conftest import START_MS, Served, text

NOT_FOUND = grpc.StatusCode.NOT_FOUND
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def lines(count: int, **changes: object) -> list[pb.Message]:
    return [
        text(f"line {i}", f"m{i}", sent_at_ms=START_MS + i * 1_000, **changes)
        for i in range(1, count + 1)
    ]


def ids(page: hpb.ListMessagesResponse | hpb.GetThreadResponse) -> list[str]:
    return [row.message.id for row in page.messages]


def flat(runs: list[list[object]]) -> list[object]:
    return list(chain.from_iterable(runs))


async def pages(served: Served, **fields: object) -> list[list[str]]:
    """All pages of a list."""
    found: list[list[str]] = []
    token = ""
    while True:
        page = await served.history.ListMessages(
            hpb.ListMessagesRequest(page_token=token, **fields)
        )
        found.append(ids(page))
        token = page.next_page_token
        if not token:
            return found
