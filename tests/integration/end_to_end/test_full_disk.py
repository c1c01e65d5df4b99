"""Law 5 through the door: a full disk refuses appends at once, and contexts are still built."""

import pytest

from backscroll import AsyncClient, Message, Unavailable
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from tests.kit.served import served

HELLO = Message("m1", "ann", "when do we meet?", 1_795_176_000_000)


@pytest.mark.parametrize(
    ("failure", "attempts"), [(StoreReadOnly("the disk is full"), 1), (StoreUnavailable("away"), 4)]
)
async def test_only_what_may_pass_soon_is_tried_again(
    failure: StoreUnavailable, attempts: int
) -> None:
    """The client's own retries stop where the server says that waiting a second helps nobody."""
    asked = 0

    async def refuse(changes: object) -> None:
        nonlocal asked
        asked += 1
        raise failure

    async with served() as (client, app):
        assert isinstance(client, AsyncClient)
        await client.append("room", HELLO)
        app.store.apply = refuse
        with pytest.raises(Unavailable) as caught:
            await client.append("room", Message("m2", "ben", "at six", 1_795_176_001_000))
        assert (caught.value.reason, asked) == (failure.reason.value, attempts)
        context = await client.build_context("room", "so when?", asker="cat", profile="room")
        assert [item.message.id for item in context.items] == ["m1"]
