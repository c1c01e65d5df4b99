"""A little of everything, client against fake server, in whatever environment runs it: prints versions as JSON.

Started by `test_versions.py` in environments with nothing but the base install.
"""

import asyncio
import importlib.metadata
import importlib.util
import json

import grpc

from backscroll import AsyncClient, Author, Client, Gone, Media, Message, NotFound, text_of
from tests.clients.python.fake_server import FakeServer, status_of

HELLO = Message("m1", Author("u1", "Ann \ud83d"), "那猫呢？", 1_795_132_800_000, [Media("image")])


def synchronous(fake):
    with Client(fake.address, token="t") as client:
        assert client.append("room", [HELLO, Message("m2", "u2", "x", reply_to="m1")]).stored == 2
        assert client.append("room", HELLO).duplicates == 1
        context = client.build_context(
            "room", "so?", layout="single_user", overrides={"max_context": 3}
        )
        assert context.payload["messages"][0]["content"].startswith("那猫呢？")
        assert [text_of(each.message) for each in client.list_messages("room", limit=1)] == [
            "那猫呢？"
        ]
        assert len(list(client.export_messages("room"))) == 2
        assert client.import_messages([Message("m3", "u", "y", channel="attic")]).stored_count == 1
        check_errors(fake, client.get_channel, client.recall_message)


async def asynchronous(fake):
    async with AsyncClient(fake.address, token="t") as client:
        assert (await client.append("den", [HELLO])).stored == 1
        context = await client.build_context("den", "so?", asker=Author("u1"))
        assert context.messages[-1] == {"role": "user", "content": "so?"}
        assert [each.sequence async for each in client.list_messages("den")] == [1]
        assert [each.sequence async for each in client.export_messages("den")] == [1]
        assert (await client.import_messages([HELLO], channel="attic")).stored_count == 1
        fake.fail("GetChannel", status_of(grpc.StatusCode.UNAVAILABLE), times=2)
        assert (await client.get_channel("den")).message_count == 1


def check_errors(fake, get_channel, recall_message):
    unknown = error_of(NotFound, get_channel, "nowhere")
    assert (unknown.reason, unknown.field) == ("CHANNEL_NOT_FOUND", "channel")
    fake.fail("RecallMessage", status_of(grpc.StatusCode.FAILED_PRECONDITION, "no", "MESSAGE_GONE"))
    assert error_of(Gone, recall_message, "room", "m1").reason == "MESSAGE_GONE"


def error_of(kind, call, *args):
    try:
        call(*args)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def main():
    with FakeServer(with_health=False) as fake:
        synchronous(fake)
        asyncio.run(asynchronous(fake))
    print(
        json.dumps(
            {
                "versions": {
                    name: importlib.metadata.version(name)
                    for name in ("grpcio", "grpcio-status", "protobuf", "googleapis-common-protos")
                },
                "heavy": [
                    name
                    for name in ("numpy", "numba", "pydantic", "hnswlib", "typer", "grpc_health")
                    if importlib.util.find_spec(name)
                ],
                "installed": sorted(each.name for each in importlib.metadata.distributions()),
            }
        )
    )


if __name__ == "__main__":
    main()
